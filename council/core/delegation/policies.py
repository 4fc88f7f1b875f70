"""The policy of an agent: who may call it or leave it messages, and what it grants.

It is `policy.json` in its folder. Without the file, or without a word on
something, everybody may and no limit is loosened. A file that cannot be
understood refuses everybody until it is mended: it may have said no.

    {
      "schemaVersion": 1,
      "call": {"allow": ["*"], "deny": ["gecko"]},
      "message": {"allow": ["*"], "deny": []},
      "limits": {"timeoutMs": 600000}
    }

`deny` counts before `allow`; `*` is everybody. A limit says up to where a
caller may loosen it for this agent.

Source: P8-059, XC-013, A-98.
"""

from __future__ import annotations

from council.core.delegation.delegation import CALL, DEFAULTS, MESSAGE, POLICY, Refusal
from council.core.errors import InvalidStateError
from council.core.record import Any, Record

_POLICY_VERSION = 1
EVERYBODY = "*"
_IN_POLICY = frozenset(("schemaVersion", CALL, MESSAGE, "limits"))


class Access(Record):
    """Who may do one thing."""

    allow: list[str] = [EVERYBODY]
    deny: list[str] = []

    def admits(self, agent: str) -> bool:
        """Return true if an agent may."""
        if agent in self.deny or EVERYBODY in self.deny:
            return False
        return agent in self.allow or EVERYBODY in self.allow


class Policy(Record):
    """What one agent allows others; `odd` names what was not understood and is harmless."""

    agent: str
    call: Access = Access()
    message: Access = Access()
    limits: dict[str, int] = {}
    odd: list[str] = []

    def refuses(self, what: str, caller: str) -> Refusal | None:
        """Return the refusal of a call or a message of `caller`, None when it may pass."""
        access = self.call if what == CALL else self.message
        if access.admits(caller):
            return None
        verb = "call" if what == CALL else "leave messages for"
        said = f"the policy.json of {self.agent} does not let {caller} {verb} it"
        return Refusal(guard=POLICY, code="E13", message=said)


def new_policy() -> dict[str, Any]:
    """Return what the `policy.json` of a new agent says: everybody may, nothing is loosened."""
    return {"schemaVersion": _POLICY_VERSION, **Policy(agent="").as_json("call message limits")}


def policy_of(agent: str, record: object, where: str) -> Policy:
    """Read the policy of an agent.

    Args:
        agent: Whose.
        record: The parsed file.
        where: The file, for people.

    Raises:
        InvalidStateError: It does not have the form of a policy.
    """
    if not isinstance(record, dict):
        raise _broken(where, "is not a JSON object")
    version = record.get("schemaVersion", _POLICY_VERSION)
    if not isinstance(version, int) or version > _POLICY_VERSION:
        raise _broken(where, f"has schemaVersion {version!r}; this council knows {_POLICY_VERSION}")
    return Policy(
        agent=agent,
        call=_access(record, CALL, where),
        message=_access(record, MESSAGE, where),
        limits=_limits(record.get("limits", {}), where),
        odd=[f"{where}: nothing is called {key}" for key in record if key not in _IN_POLICY],
    )


def _access(record: dict[str, Any], key: str, where: str) -> Access:
    table = record.get(key, {})
    if not isinstance(table, dict):
        raise _broken(where, f"{key} is not an object with allow and deny")
    lists = {name: table.get(name, usual) for name, usual in (("allow", ["*"]), ("deny", []))}
    for name, value in lists.items():
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise _broken(where, f"{key}.{name} is not a list of agents")
    if set(table) - set(lists):
        raise _broken(where, f"{key} knows allow and deny, not {min(set(table) - set(lists))}")
    return Access(**lists)


def _limits(table: object, where: str) -> dict[str, int]:
    if not isinstance(table, dict):
        raise _broken(where, "limits is not an object")
    for name, value in table.items():
        if name not in DEFAULTS:
            raise _broken(where, f"no limit is called {name}; there are: {', '.join(DEFAULTS)}")
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
            raise _broken(where, f"limits.{name} is not a whole number from 0")
    return dict(table)


def _broken(where: str, what: str) -> InvalidStateError:
    return InvalidStateError(f"{where} {what}", "correct it; until then nobody reaches the agent")
