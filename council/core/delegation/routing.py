"""Routing: which agent something that came in goes to, and why.

A rule, `[[bindings]]` in `council.toml`, names an agent and what must hold of
the inbound; all that it names must hold. The more specific rule wins, tier by
tier, and of two that are equal the first in the file. A rule whose agent does
not exist is passed over, and so it goes down to the default. Nothing else
decides, so the same facts have the same route.

Source: P8-071 to P8-075, A-100.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from council.core.ids import is_name
from council.core.record import Any, Record

# The tiers, most specific first, and what a rule of each may name.
TIERS: dict[str, tuple[str, ...]] = {
    "session": ("session", "peer"),
    "channel": ("channel",),
    "account": ("account",),
    "mode": ("mode", "capability"),
    "default": (),
}
MATCHERS = tuple(name for names in TIERS.values() for name in names)
DEFAULT = "default"

# Which session a direct message of a peer belongs to.
DM_SCOPES = ("main", "peer", "channel-peer", "account-channel-peer")
_OWN_KEYS = frozenset(("id", "agent", "default", *MATCHERS))


class Facts(Record):
    """What is known of something that came in; "" and empty for what is not."""

    _keys = "session~ peer~ channel~ account~ mode~ capabilities:capability~"

    session: str = ""
    peer: str = ""
    channel: str = ""
    account: str = ""
    mode: str = ""
    capabilities: tuple[str, ...] = ()

    def of(self, matcher: str) -> tuple[str, ...]:
        """Return what holds of the inbound where a rule names `matcher`."""
        if matcher == "capability":
            return self.capabilities
        value = str(getattr(self, matcher))
        return (value,) if value else ()


class Binding(Record):
    """One rule: `wants` maps what it names to the values of which one must hold."""

    id: str
    agent: str
    wants: dict[str, tuple[str, ...]] = {}

    @property
    def tier(self) -> str:
        """The tier of the most specific thing that it names."""
        return next(tier for tier, names in TIERS.items() if not names or self._names(names))

    @property
    def specificity(self) -> tuple[bool, ...]:
        """How specific it is, to be compared: what it names, tier by tier."""
        return tuple(self._names(names) for names in TIERS.values())

    def _names(self, names: Iterable[str]) -> bool:
        return any(name in self.wants for name in names)

    def matches(self, facts: Facts) -> bool:
        """Return true if all that the rule names holds."""
        return all(set(facts.of(name)) & set(values) for name, values in self.wants.items())

    def to_text(self) -> str:
        """Return the rule in one line, as people read it."""
        wanted = " ".join(f"{name}={'|'.join(values)}" for name, values in self.wants.items())
        return f"{self.id} ({wanted or DEFAULT}) -> {self.agent}"


class Looked(Record):
    """One step on the way to an agent: a tier, the rule looked at ("" for none), the outcome.

    `outcome` is `no-match`, `no-such-agent` or `chosen`.
    """

    _keys = "rule:ruleId? agent:agentId?"

    tier: str
    rule: str
    agent: str = ""
    outcome: str


class Warned(Record):
    """Something in the rules that may not be meant: `kind`, the rules it is about, the words."""

    _keys = "said:message"

    kind: str
    rules: tuple[str, ...]
    said: str


class Route(Record):
    """Where an inbound goes: the agent, "" for none, and why.

    `path` is what was looked at from the most specific tier down to the choice;
    `others` are the rules that would have been next.
    """

    agent: str
    rule: str
    tier: str
    session: str = ""
    path: list[Looked] = []
    others: list[Binding] = []
    warnings: list[Warned] = []

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `route explain`."""
        return {
            **self.as_json(
                "agent:agentId? rule:ruleId? tier? path:fallbackPath session:sessionKey?"
            ),
            "others": [one.as_json("id:ruleId agent:agentId tier") for one in self.others],
            **self.as_json("warnings"),
        }


def bindings_of(tables: Sequence[object]) -> tuple[list[Binding], list[str]]:
    """Read `[[bindings]]`; return the rules in file order, and what is wrong with others."""
    found: list[Binding] = []
    faults: list[str] = []
    for number, table in enumerate(tables, 1):
        where = f"bindings[{number}]"
        if not isinstance(table, dict):
            faults.append(f"{where} is not a table")
            continue
        binding, wrong = _binding(table, number)
        if binding is not None and any(one.id == binding.id for one in found):
            wrong.append(f"another rule has the id {binding.id!r}")
        if wrong or binding is None:
            faults += [f"{where}: {one}" for one in wrong]
            continue
        found.append(binding)
    return found, faults


def _binding(table: Mapping[str, Any], number: int) -> tuple[Binding | None, list[str]]:
    wrong = [f"no rule may name {key!r}" for key in table if key not in _OWN_KEYS]
    own = table.get("id", f"binding-{number}")
    agent = table.get("agent", "")
    if not isinstance(own, str) or not own or not own.isprintable():
        wrong.append("its id is not a text of one line")
    if not isinstance(agent, str) or not is_name(agent):
        wrong.append(f"agent is not the id of an agent (it is {agent!r})")
    wants: dict[str, tuple[str, ...]] = {}
    for name in MATCHERS:
        if name in table:
            value = table[name]
            values = value if isinstance(value, list) else [value]
            if values and all(isinstance(one, str) and one for one in values):
                wants[name] = tuple(values)
            else:
                wrong.append(f"{name} is not a text or a list of texts")
    is_default = table.get("default", False)
    if not isinstance(is_default, bool):
        wrong.append("default is not true or false")
    elif is_default and wants:
        wrong.append("a default rule names nothing else")
    elif not is_default and not wants and not wrong:
        wrong.append(f"it names none of {', '.join(MATCHERS)}, and is not the default")
    return (None if wrong else Binding(id=own, agent=agent, wants=wants)), wrong


def route(
    bindings: Sequence[Binding],
    facts: Facts,
    agents: Collection[str],
    *,
    able: Mapping[str, Collection[str]] | None = None,
    otherwise: Sequence[tuple[str, str]] = (),
    dm_scope: str = "main",
) -> Route:
    """Choose the agent for an inbound.

    Args:
        bindings: The rules, in file order.
        facts: What is known of it.
        agents: Those that exist; a rule that names another one is passed over.
        able: What each agent says it can do: where capabilities are asked for and
            no rule of that tier or above holds, the first that has them all.
        otherwise: Who is asked when nothing else holds, as (name of the reason, agent).
        dm_scope: Which session a direct message belongs to.

    Source: P8-071 to P8-074.
    """
    # Sorting is stable: of equal rules the first in the file stays the first.
    order = sorted(bindings, key=lambda one: one.specificity, reverse=True)
    held = [one for one in order if one.matches(facts)]
    steps: list[Looked] = []
    chosen: Looked | None = None
    for tier in TIERS:
        tried = [(one.id, one.agent) for one in held if one.tier == tier]
        if tier == "mode":
            tried += _able(facts, able or {})
        if tier == DEFAULT:
            tried += [one for one in otherwise if one[1]]
        for rule, agent in tried:
            outcome = "chosen" if agent in agents else "no-such-agent"
            steps.append(Looked(tier=tier, rule=rule, agent=agent, outcome=outcome))
            if outcome == "chosen":
                chosen = steps[-1]
                break
        if chosen is not None:
            break
        if not tried:
            steps.append(Looked(tier=tier, rule="", outcome="no-match"))
    if chosen is None:
        return Route(agent="", rule="", tier="", path=steps, warnings=_missing(held, agents))
    holding = next((one for one in held if one.id == chosen.rule), None)
    return Route(
        **chosen.as_json("agent rule tier"),
        session=session_of(chosen.agent, facts, dm_scope),
        path=steps,
        others=[one for one in held if all(one.id != step.rule for step in steps)],
        warnings=_missing(held, agents) + _equal(holding, held, agents),
    )


def _able(facts: Facts, able: Mapping[str, Collection[str]]) -> list[tuple[str, str]]:
    wanted = set(facts.capabilities)
    if not wanted:
        return []
    return [(f"able:{'+'.join(sorted(wanted))}", one) for one in able if wanted <= set(able[one])]


def _equal(rule: Binding | None, held: list[Binding], agents: Collection[str]) -> list[Warned]:
    """Warn of rules that hold as well, are as specific, and would choose another agent."""
    if rule is None:
        return []
    others = [
        one
        for one in held
        if one.specificity == rule.specificity and one.agent != rule.agent and one.agent in agents
    ]
    if not others:
        return []
    names = ", ".join(one.id for one in others)
    said = f"{names} holds as well and is as specific; {rule.id} stands first in the file"
    return [Warned(kind="ambiguous", rules=(rule.id, *(one.id for one in others)), said=said)]


def session_of(agent: str, facts: Facts, dm_scope: str) -> str:
    """Return the session of `agent` in which an inbound is heard.

    With the scope `main` all who write to an agent directly share one session.
    """
    if facts.session:
        return facts.session
    if not facts.peer or dm_scope == "main":
        return f"agent:{agent}:inbox"
    parts = [facts.account] if dm_scope.startswith("account-") else []
    parts += [facts.channel] if "channel" in dm_scope else []
    named = ":".join([*(one or "-" for one in parts), facts.peer])
    return f"agent:{agent}:peer:{named}"


def check(
    bindings: Sequence[Binding],
    agents: Collection[str],
    *,
    accounts: Collection[str] = (),
    channels: Collection[str] = (),
    dm_scope: str = "main",
) -> list[Warned]:
    """Return everything in the rules that may not be meant.

    Args:
        bindings: The rules, in file order.
        agents: Those that exist.
        accounts: The accounts of channels that the workspace knows.
        channels: Its channels.
        dm_scope: Which session a direct message belongs to.

    Source: P8-075.
    """
    ways = {
        "accounts": {*accounts, *_named(bindings, "account")},
        "channels": {*channels, *_named(bindings, "channel")},
    }
    risky = _risky_scope(bindings, ways, dm_scope)
    return [*_overlapping(bindings), *_missing(bindings, agents), *risky]


def _overlapping(bindings: Sequence[Binding]) -> list[Warned]:
    found = []
    for number, one in enumerate(bindings):
        for other in bindings[number + 1 :]:
            if one.specificity != other.specificity or one.agent == other.agent:
                continue
            shared = one.wants.keys() & other.wants.keys()
            if all(set(one.wants[name]) & set(other.wants[name]) for name in shared):
                said = (
                    f"{one.to_text()} and {other.to_text()} may both hold and are as specific: "
                    f"{one.id} wins because it stands first"
                )
                found.append(Warned(kind="ambiguous", rules=(one.id, other.id), said=said))
    return found


def _missing(bindings: Sequence[Binding], agents: Collection[str]) -> list[Warned]:
    return [
        Warned(
            kind="missing-agent",
            rules=(one.id,),
            said=f"{one.id} names {one.agent}, and there is no such agent: it is passed over",
        )
        for one in bindings
        if one.agent not in agents
    ]


def _risky_scope(
    bindings: Sequence[Binding], ways: Mapping[str, set[str]], dm_scope: str
) -> list[Warned]:
    """Warn where direct messages that come by different ways meet, where they may not be meant to.

    A peer has its name within one account and one channel: in another one the
    same name may be another one.
    """
    several = [f"{len(names)} {what}" for what, names in ways.items() if len(names) > 1]
    if not several or not bindings:
        return []
    there_are = " and ".join(several)
    found = [
        Warned(
            kind="dm-scope",
            rules=(one.id,),
            said=f"{one.id} names a peer and neither account nor channel, and there are "
            f"{there_are}: whoever bears that name in any of them is meant",
        )
        for one in bindings
        if "peer" in one.wants and not {"account", "channel"} & one.wants.keys()
    ]
    if dm_scope == "main":
        said = (
            f"all direct messages to an agent share one session, and there are {there_are}: "
            'say dm_scope = "account-channel-peer" under [routing] in council.toml'
        )
        found.append(Warned(kind="dm-scope", rules=(), said=said))
    return found


def _named(bindings: Sequence[Binding], matcher: str) -> set[str]:
    return {value for one in bindings for value in one.wants.get(matcher, ())}
