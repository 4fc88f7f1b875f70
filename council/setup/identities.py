"""Which agent an account of Discord is: kept in the registry, shown in `identities.json`.

Document 001, section 1. The file is written for programs that read it; entries of such a file, or
of padded-cell's `ego.json`, are taken in by `agent add --from`, and by heartbeats.
"""

from __future__ import annotations

import os

from council.agents import settings
from council.kernel import codec, files
from council.kernel.errors import Invalid, Refusal
from council.kernel.record import TYPE_CHECKING, Any
from council.rooms import relay

if TYPE_CHECKING:
    from council.app import App

FILE = "memory/shared/identities.json"
SOURCE = "~/.openclaw/ego.json"  # unless `[paths] identity_source` names another one


def register(app: App, agent: str, account: str, name: str = "") -> None:
    """Note an agent's account, in the place of an earlier one; its name is its id by default."""
    if not account.isdecimal():
        raise Invalid("bad-account", f"no Discord user id: {account[:40]!r}", "it is a number")
    _take(app, {account: (agent, name)}, replace=True)


def found(app: App) -> dict[str, tuple[str, str]]:
    """Return what the other program's file says, {} where there is none; a slave has none."""
    source = str(app.settings.tables.get("paths", {}).get("identity_source", SOURCE))
    home = app.env.get("HOME", "") if source[:2] == "~/" else app.root
    path = os.path.join(home, source.removeprefix("~/"))
    try:
        return _read(path) if os.path.isfile(path) and not relay.is_slave(app) else {}
    except Invalid:
        return {}  # not ours: `agent add --from` says what is wrong with it


def look(app: App, path: str = "") -> list[str]:
    """Take in new accounts of a file, "" the other program's; return what contradicts ours."""
    return _take(app, _read(path) if path else found(app))


def _read(path: str) -> dict[str, tuple[str, str]]:
    """Return agent and name by account; none where padded-cell is not there (document 001)."""
    data = codec.loads(settings.content(path) or b"null", path)
    try:
        if isinstance(data, list):
            rows = {row["discordUserId"]: (row["agentId"], row.get("agentName")) for row in data}
        elif "discord-id" not in data["columns"]:
            return {}
        else:
            scope = data["agentScope"].items()
            rows = {row.get("discord-id"): (agent, row.get("name")) for agent, row in scope}
        return {str(key): (str(one[0]), str(one[1] or "")) for key, one in rows.items() if key}
    except (AttributeError, LookupError, TypeError):
        what = f"{path} is neither an ego.json nor a list of identities"
        raise Invalid("bad-identities", what, "see memory/shared/identities.json") from None


def _take(app: App, rows: dict[str, Any], replace: bool = False) -> list[str]:
    faults: list[str] = []
    if not rows:
        return faults
    relay.refuse_slave(app)

    def decide(state: Any) -> list[dict[str, Any]]:
        made = []
        for account, (agent, name) in rows.items():
            old = [key for key, one in state.identities.items() if one.agent_id == agent]
            known = state.identities.get(account)
            if (old or known) and not replace:
                if old != [account]:
                    faults.append(f"{account} is {known.agent_id if known else agent}'s already")
                continue
            gone = [key for key in old if key != account]
            made += [{"account": key, "agentId": "", "agentName": ""} for key in gone]
            made.append({"account": account, "agentId": agent, "agentName": name or agent})
        return [{"type": "identified", **one} for one in made]

    change = app.registry().change(decide, by="council", at=app.now, create=True)
    if not change.events:
        return faults
    state = change.state
    shown = [{"discordUserId": key, **one.to_json()} for key, one in state.identities.items()]
    try:
        files.replace(f"{app.root}/{FILE}", codec.encoded(shown) + b"\n", 0o644)
    except (OSError, Refusal):
        faults.append(f"{FILE} cannot be written")
    return faults
