"""Which agent an inbound goes to, and why: the rules `[[bindings]]` of `council.toml`.

The most specific rule that holds wins: one that names a session or peer, then a channel, an
account, a mode or capability, then the default. Of equal ones the first in the file wins, with a
warning. A rule that names a missing agent is passed over (document 004; P8-071 to P8-075).
"""

from __future__ import annotations

from council.kernel.errors import Invalid
from council.kernel.ids import is_name
from council.kernel.record import Any, Record

TIERS = {
    "peer": ("session", "peer"), "channel": ("channel",), "account": ("account",),
    "mode": ("mode", "capability"), "default": (),
}  # fmt: skip
MATCHERS = tuple(name for names in TIERS.values() for name in names)
Facts = dict[str, list[str]]


class Binding(Record, settled=True):
    """One rule: `wants` has, for each thing that it names, the values of which one must hold."""

    rule_id: str
    agent_id: str
    wants: Facts = {}

    def tiers(self) -> list[bool]:
        """Return how specific it is, tier by tier; the greater of two is more specific."""
        return [any(name in self.wants for name in names) for names in TIERS.values()]

    def tier(self) -> str:
        """Return the tier of the most specific thing that it names."""
        return [*TIERS][[*self.tiers()[:-1], True].index(True)]

    def meets(self, facts: Facts) -> bool:
        """Return whether one value of each thing that both name is the same."""
        both = self.wants.keys() & facts.keys()
        return all({*facts[name]} & {*self.wants[name]} for name in both)


_NONE = Binding(rule_id="", agent_id="")


def bindings(tables: list[Any]) -> tuple[list[Binding], list[str]]:
    """Return the rules in file order, and what is wrong with those that are left out."""
    made, faults = list[Binding](), list[str]()
    for number, table in enumerate(tables, 1):
        rest = dict(table) if isinstance(table, dict) else {"": ""}
        ident, agent = rest.pop("id", f"binding-{number}"), rest.pop("agent", "")
        is_default = rest.pop("default", False)
        wants = {k: v if isinstance(v, list) else [v] for k, v in rest.items()}
        odd = [k for k, v in wants.items() if k not in MATCHERS or {*map(type, v)} != {str}]
        wrong = [f"no rule may name {', '.join(odd)} so"] * bool(odd)
        if not isinstance(agent, str) or not is_name(agent):
            wrong.append("agent is no agent's id")
        if bool(wants) == bool(is_default):
            wrong.append("it has to name something, or else to be the default")
        faults += [f"bindings {number}: {words}" for words in wrong]
        made += [] if wrong else [Binding(rule_id=str(ident), agent_id=agent, wants=wants)]
    return made, faults


def facts_of(words: list[str]) -> Facts:
    """Return facts given as `peer=anna channel=den`; the same name may come several times."""
    made: Facts = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in MATCHERS or not value:
            hint = f"write NAME=VALUE, with one of {', '.join(MATCHERS)}"
            raise Invalid("bad-fact", f"not a fact: {word[:60]}", hint)
        made.setdefault(name, []).append(value)
    return made


def route(
    rules: list[Binding], facts: Facts, agents: set[str], scope: str = "main"
) -> dict[str, Any]:
    """Return the agent for an inbound, and why (`json.md`, `route`); `agents` are those here."""
    held = [one for one in rules if one.wants.keys() <= facts.keys() and one.meets(facts)]
    tried, path = sorted(held, key=Binding.tiers, reverse=True), list[dict[str, str]]()
    of = {tier: [one for one in tried if one.tier() == tier] or [_NONE] for tier in TIERS}
    for tier, one in [(tier, one) for tier, many in of.items() for one in many]:
        outcome = "chosen" if one.agent_id in agents else "no-such-agent"
        row = {"tier": tier, "ruleId": one.rule_id, "agentId": one.agent_id}
        path.append({**row, "outcome": outcome if one.agent_id else "no-match"})
        if outcome == "chosen":
            break
    is_found = outcome == "chosen"
    result = {key: path[-1][key] * is_found for key in ("agentId", "ruleId", "tier")}
    result["sessionKey"] = _session(one.agent_id, facts, scope) * is_found
    same = [other for other in held if other.agent_id in agents and other.tiers() == one.tiers()]
    warnings = _ambiguous(one, same * is_found)
    return {"facts": facts, **result, "fallbackPath": path, "warnings": warnings}


def check(rules: list[Binding], agents: set[str], scope: str) -> list[dict[str, Any]]:
    """Return what in the rules may not be meant: `ambiguous`, `missing-agent`, `dm-scope`."""
    made = list[dict[str, Any]]()
    for at, one in enumerate(rules):
        later = [o for o in rules[at + 1 :] if o.meets(one.wants) and o.tiers() == one.tiers()]
        made += _ambiguous(one, later)
    names = ("account", "channel")
    used = {name: {o for one in rules for o in one.wants.get(name, [])} for name in names}
    several = [f"{len(values)} {name}s" for name, values in used.items() if len(values) > 1]
    if several and scope == "main":
        many, fix = " and ".join(several), 'say dm_scope = "account-channel-peer" under [routing]'
        words = f"all direct messages to an agent share one session, and there are {many}: {fix}"
        made.append(_warned("dm-scope", [], words))
    lost = [one for one in rules if one.agent_id not in agents]
    words = "{0.rule_id} names {0.agent_id}, which is no agent here"
    return made + [_warned("missing-agent", [one], words.format(one)) for one in lost]


def _ambiguous(first: Binding, same: list[Binding]) -> list[dict[str, Any]]:
    others = [one for one in same if one.agent_id != first.agent_id]
    words = f"{', '.join(o.rule_id for o in others)} may hold, too, and is as specific"
    words += f"; {first.rule_id} stands first"
    return [_warned("ambiguous", [first, *others], words)] if others else []


def _warned(kind: str, rules: list[Binding], words: str) -> dict[str, Any]:
    return {"kind": kind, "rules": [one.rule_id for one in rules], "message": words}


def _session(agent: str, facts: Facts, scope: str) -> str:
    """Return the session in which an agent hears an inbound; `main` is one for all peers."""
    of = {name: values[0] for name, values in facts.items()}
    if "session" in of or "peer" not in of or scope == "main":
        return of.get("session", f"agent:{agent}:inbox")
    parts = [of.get(name, "-") for name in ("account", "channel") if name in scope]
    return f"agent:{agent}:peer:{':'.join([*parts, of['peer']])}"
