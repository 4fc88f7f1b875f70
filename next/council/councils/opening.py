"""A new conversation from what `convene` is told and what the settings say."""

from __future__ import annotations

from council.councils import procedures
from council.councils.model import MODES, ORDERS, Config, Participant
from council.kernel.errors import NotFound, Usage
from council.kernel.record import Any, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.app import App


class Opening(Record):
    """What `convene` is told of a new conversation; empty values take the settings'."""

    topic: str
    brief: str = ""
    name: str = ""
    procedure: str = ""
    mode: str = ""
    agents: list[str] = []
    people: list[str] = []
    roles: dict[str, str] = {}
    order: str = ""
    phases: list[str] = []
    timeout: int = 0
    max_rounds: int = 0
    threshold: int | None = None
    options: list[str] = []
    coordinator: str = ""
    synthesizer: str = ""
    blind: bool | None = None
    anonymous: bool = False
    advocate: str = ""
    sign_off: str = ""
    max_runs: int | None = None
    max_tokens: int | None = None
    max_usd: float | None = None
    lang: str = ""


def members(app: App, opening: Opening) -> dict[str, Participant]:
    """Return who takes part. People who only synthesize, coordinate or sign are no members.

    Raises:
        NotFound: An agent is not one of the workspace (`no-agent`).
        Usage: Fewer than two would take part (`too-few`), or an option names somebody else.
    """
    from council.agents import souls  # late: only `convene` and `ask`

    known = souls.agents(app.root, app.settings)
    officers = (opening.synthesizer, opening.coordinator, opening.sign_off)
    agents = opening.agents or [one for one in known if one not in opening.people]
    idents = [*agents, *[one for one in opening.people if one not in officers]]
    found: dict[str, Participant] = {}
    for ident in dict.fromkeys(idents):
        if ident not in known and ident not in opening.people:
            hint = f"council agent add {ident}, or one of: {', '.join(known) or 'none yet'}"
            raise NotFound("no-agent", f"no agent {ident[:64]!r}", hint)
        one = known.get(ident) or app.settings.agent(ident, None)
        role = opening.roles.get(ident) or one.role
        found[ident] = Participant(
            name=one.name,
            emoji=one.emoji,
            role=role,
            model=one.model,
            person=ident in opening.people,
            advocate=ident == opening.advocate or role.casefold() == "advocate",
        )
    if len(found) < 2:
        raise Usage("too-few", "a council needs two participants", "council agent add ID")
    strangers = {*opening.roles, opening.advocate, ""} - {"", *found}
    if strangers:
        raise Usage("not-a-participant", f"{min(strangers)[:64]} does not take part",
                    f"participants: {', '.join(found)}")  # fmt: skip
    return found


def config(app: App, opening: Opening, found: dict[str, Participant]) -> Config:
    """Return the settings of a new conversation.

    Raises:
        Usage: A mode, order or number is not one that there is.
    """
    settings, limits = app.settings, app.settings.limits
    procedure = opening.procedure or "council"
    for value, known, what in ((opening.mode, MODES, "mode"), (opening.order, ORDERS, "order")):
        if value and value not in known:
            raise Usage(f"bad-{what}", f"no such {what}: {value[:40]}", f"use {', '.join(known)}")
    talk = settings.deliberation
    blind = opening.blind
    values: dict[str, Any] = {
        "mode": opening.mode or "debate",
        "order": opening.order or "rotate",
        "phases": opening.phases,
        "timeout": opening.timeout or settings.phase_timeout,
        "max_rounds": opening.max_rounds or talk.max_rounds,
        "threshold": opening.threshold or talk.threshold or None,
        "confidence_floor": talk.confidence_floor,
        "blind": procedures.FIRST_IS_BLIND.get(procedure, True) if blind is None else blind,
        "anonymous": opening.anonymous,
        "options": opening.options,
        "coordinator": opening.coordinator or settings.coordinator or next(iter(found)),
        "synthesizer": opening.synthesizer,
        "sign_off": opening.sign_off,
        "backoff": settings.retry_backoff,
        "context_limit": settings.context_limit,
    }
    for key, given, usual in (
        ("max_runs", opening.max_runs, limits.max_runs_per_council),
        ("max_tokens", opening.max_tokens, limits.max_tokens_per_council),
        ("max_usd", opening.max_usd, limits.max_usd_per_council),
    ):
        values[key] = usual if given is None else given
    return Config(**values)


def warnings(found: dict[str, Participant]) -> list[str]:
    """Return what a person should know: one model for all, one name for several."""
    models = {one.model for one in found.values() if not one.person}
    made = []
    if len(models) == 1 and models != {""} and len(found) > 1:
        made.append(f"all agents use one model ({min(models)}): they may share its errors")
    names = [one.name.casefold() for one in found.values()]
    for ident, one in found.items():
        if names.count(one.name.casefold()) > 1:
            made.append(f"{ident} is not the only one called {one.name}: use ids")
    return made
