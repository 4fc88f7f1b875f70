"""Who is meant by a name: members of a room, agents of the workspace, accounts of Discord."""

from __future__ import annotations

from council.kernel import ids
from council.kernel.errors import Refused
from council.kernel.record import TYPE_CHECKING
from council.rooms import page
from council.rooms.model import Member, Room

if TYPE_CHECKING:
    from council.app import App


def member(app: App, word: str) -> tuple[str, Member]:
    """Return a member's id and what is known of it, by its id or its account on Discord."""
    from council.agents import souls  # late: members that speak are known to the room
    from council.runs import limits  # late: as above

    name = " ".join(word.split())[:64]
    known = limits.registry_of(app).identities.get(name)
    ident = known.agent_id if known else name.casefold()
    agent = souls.agents(app.root, app.settings).get(ident)
    if agent is None:
        return ident, Member(name=name)
    return ident, Member(agent_id=ident, name=agent.name, emoji=agent.emoji)


def author(app: App, state: Room, by: str) -> tuple[str, str | None, str]:
    """Return author, agent and origin of what is said as `by`; a run speaks for its agent alone."""
    ident, agent = page.speaker(state, by)
    if ident not in state.members:
        ident, one = member(app, by)
        agent = one.agent_id
    if not app.env.get("COUNCIL_TOKEN"):
        if agent and app.settings.trust == "strict":
            hint = 'post from its own run, or set trust = "open" in council.toml'
            raise Refused("not-verified", f"{agent} has to speak from its own run", hint)
        return ident, agent, "claimed"
    mine, name = ids.digest(app.env["COUNCIL_TOKEN"]), app.env.get("COUNCIL_NAME", "")
    for row in app.kinds:
        runs = row.document(app, name).peek().runs.by_id if name in row.names(app) else {}
        if any(run.token == mine and run.agent == agent for run in runs.values()):
            return ident, agent, "verified"
    raise Refused("not-you", f"this run does not speak for {ident}", "leave out --as")
