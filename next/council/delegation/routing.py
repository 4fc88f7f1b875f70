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
    "peer": ("session", "peer"),
    "channel": ("channel",),
    "account": ("account",),
    "mode": ("mode", "capability"),
    "default": (),
}
MATCHERS = tuple(name for names in TIERS.values() for name in names)
SCOPES = ("main", "per-peer", "channel-peer", "account-channel-peer")


class Binding(Record, settled=True):
    """One rule: `wants` has, for each thing that it names, the values of which one must hold."""

    rule_id: str
    agent_id: str
    wants: dict[str, list[str]] = {}

    def tiers(self) -> list[bool]:
        """Return how specific it is, tier by tier; the greater of two is more specific."""
        return [any(name in self.wants for name in names) for names in TIERS.values()]

    def tier(self) -> str:
        """Return the tier of the most specific thing that it names."""
        return next(
            (t for t, is_named in zip(TIERS, self.tiers(), strict=True) if is_named), "default"
        )

    def holds(self, facts: dict[str, list[str]]) -> bool:
        """Return whether all that it names holds."""
        return all({*facts.get(name, [])} & {*values} for name, values in self.wants.items())


def bindings(tables: list[Any]) -> tuple[list[Binding], list[str]]:
    """Return the rules in file order, and what is wrong with those that are left out."""
    made, faults = list[Binding](), list[str]()
    for number, table in enumerate(tables, 1):
        rest = dict(table) if isinstance(table, dict) else {"": ""}
        ident, agent = rest.pop("id", f"binding-{number}"), rest.pop("agent", "")
        is_default = rest.pop("default", False)
        wants = {k: v if isinstance(v, list) else [v] for k, v in rest.items()}
        odd = [
            k for k, v in wants.items() if k not in MATCHERS or not v or set(map(type, v)) != {str}
        ]
        wrong = [f"no rule may name {', '.join(odd)} so"] if odd else []
        wrong += [] if isinstance(agent, str) and is_name(agent) else ["agent is no agent's id"]
        wrong += ["its id is not new"] if any(one.rule_id == ident for one in made) else []
        wrong += ["it names nothing and is not the default"] if not (wants or is_default) else []
        wrong += ["the default names nothing else"] if wants and is_default else []
        faults += [f"bindings {number}: {one}" for one in wrong]
        if not wrong:
            made.append(Binding(rule_id=str(ident), agent_id=agent, wants=wants))
    return made, faults


def facts_of(words: list[str]) -> dict[str, list[str]]:
    """Return facts given as `peer=anna channel=den`; the same name may come several times.

    Raises:
        Invalid: A word is no fact.
    """
    made: dict[str, list[str]] = {}
    for word in words:
        name, is_fact, value = word.partition("=")
        if not is_fact or name not in MATCHERS or not value:
            hint = f"write NAME=VALUE, with one of {', '.join(MATCHERS)}"
            raise Invalid("bad-fact", f"not a fact: {word[:60]}", hint)
        made.setdefault(name, []).append(value)
    return made


def route(
    rules: list[Binding], facts: dict[str, list[str]], agents: dict[str, list[str]],
    usual: str = "", scope: str = "main",
) -> dict[str, Any]:  # fmt: skip
    """Return the agent for an inbound, and why (`json.md`, `route`).

    `agents` are those that exist, with their capabilities: where capabilities are asked for and no
    rule of that tier or above holds, the first that has them all. `usual` is who is asked when
    nothing else holds.
    """
    held = sorted((one for one in rules if one.holds(facts)), key=Binding.tiers, reverse=True)
    wanted = {*facts.get("capability", [])}
    path, chosen = list[dict[str, str]](), Binding(rule_id="", agent_id="")
    tier = ""
    for tier in TIERS:
        tried = [one for one in held if one.tier() == tier]
        if tier == "mode" and wanted:
            able = (who for who, can in agents.items() if wanted <= {*can})
            tried += [Binding(rule_id=f"able:{'+'.join(sorted(wanted))}", agent_id=a) for a in able]
        if tier == "default" and usual:
            tried.append(Binding(rule_id="coordinator", agent_id=usual))
        path += [] if tried else [{"tier": tier, "ruleId": "", "outcome": "no-match"}]
        for one in tried:
            outcome = "chosen" if one.agent_id in agents else "no-such-agent"
            row = {"tier": tier, "ruleId": one.rule_id, "agentId": one.agent_id}
            path.append({**row, "outcome": outcome})
            if outcome == "chosen":
                chosen = one
                break
        if chosen.agent_id:
            break
    equal = [o for o in held if o.tiers() == chosen.tiers() and o.agent_id != chosen.agent_id]
    equal = [one for one in equal if one.agent_id in agents and chosen in held]
    words = f"{', '.join(o.rule_id for o in equal)} holds, too, and is as specific"
    warnings = [_warned("ambiguous", [chosen, *equal], f"{words}; {chosen.rule_id} stands first")]
    return {
        **{"facts": facts, "agentId": chosen.agent_id, "ruleId": chosen.rule_id},
        **{"tier": tier if chosen.agent_id else "", "fallbackPath": path},
        "sessionKey": _session(chosen.agent_id, facts, scope) if chosen.agent_id else "",
        "warnings": (warnings if equal else []) + _missing(held, agents),
    }


def check(
    rules: list[Binding], agents: dict[str, list[str]], ways: dict[str, list[str]], scope: str
) -> list[dict[str, Any]]:
    """Return what in the rules may not be meant: `ambiguous`, `missing-agent`, `dm-scope`.

    `ways` are the known values of `account` and `channel`.
    """
    made = []
    for at, one in enumerate(rules):
        for other in rules[at + 1 :]:
            shared = one.wants.keys() & other.wants.keys()
            both = all({*one.wants[name]} & {*other.wants[name]} for name in shared)
            if both and one.tiers() == other.tiers() and one.agent_id != other.agent_id:
                words = f"{one.rule_id} and {other.rule_id} may both hold and are as specific"
                made.append(_warned("ambiguous", [one, other], f"{words}: the first one wins"))
    several = []
    for name in ("account", "channel"):
        named = {value for one in rules for value in one.wants.get(name, [])}
        count = len(named | {*ways.get(name, [])})
        several += [f"{count} {name}s"] if count > 1 else []
    if several and rules:
        there = f"there are {' and '.join(several)}"
        lone = [o for o in rules if "peer" in o.wants and not {"account", "channel"} & {*o.wants}]
        for one in lone:
            words = f"{one.rule_id} names a peer without account or channel, and {there}"
            made.append(_warned("dm-scope", [one], f"{words}: whoever has that name is meant"))
        if scope == "main":
            words = f"all direct messages to an agent share one session, and {there}"
            fix = 'say dm_scope = "account-channel-peer" under [routing]'
            made.append(_warned("dm-scope", [], f"{words}: {fix}"))
    return made + _missing(rules, agents)


def _missing(rules: list[Binding], agents: dict[str, list[str]]) -> list[dict[str, Any]]:
    lost = [one for one in rules if one.agent_id not in agents]
    return [
        _warned("missing-agent", [o], f"{o.rule_id} names {o.agent_id}, which is no agent here")
        for o in lost
    ]


def _warned(kind: str, rules: list[Binding], words: str) -> dict[str, Any]:
    return {"kind": kind, "rules": [one.rule_id for one in rules], "message": words}


def _session(agent: str, facts: dict[str, list[str]], scope: str) -> str:
    """Return the session in which an agent hears an inbound; `main` is one for all peers."""
    of = {name: values[0] for name, values in facts.items()}
    if "session" in of:
        return of["session"]
    if "peer" not in of or scope == "main":
        return f"agent:{agent}:inbox"
    parts = [of.get(name, "-") for name in ("account", "channel") if name in scope]
    return f"agent:{agent}:peer:{':'.join([*parts, of['peer']])}"
