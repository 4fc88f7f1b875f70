"""What a person may change of the rules that a conversation was convened with.

The order of speaking, the most rounds, the threshold and the early stop; the
other rules were chosen for the whole of it and are put back. Fields that we do
not know belong to other programs.

Source: C0-019, DL-022, DL-042, A-82, `store.md` section 3.
"""

from __future__ import annotations

from council.core.conversations.procedures import ORDERS
from council.core.conversations.rules import EARLY_STOPS, MAX_ROUNDS, Rules
from council.core.record import json_form
from council.store.statefile.facts import MISSING, Facts, table_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FIELDS = {key: field for field, key in json_form(Rules)[0]}


def take_rules(facts: Facts) -> None:
    """Take in what a person wished of order and rules. Changes the state of `facts`."""
    _take_order(facts)
    rules = facts.state.rules
    if rules is None:
        return
    if "id" not in facts.old and "id" in facts.new:
        facts.refuse("id", facts.new["id"], "set by the tool")
    old, new = table_of(facts.old.get("config")), facts.new.get("config", {})
    if not isinstance(new, dict):
        facts.refuse("config", new, "it is not an object", keep=True)
        return
    for key in dict.fromkeys([*old, *new]):
        value = new.get(key, MISSING)
        if not _is_same(value, old.get(key, MISSING)):
            _take_rule(facts, rules, key, value)


def _take_order(facts: Facts) -> None:
    value = facts.new.get("order", "")
    if value == facts.old.get("order", "") or value == facts.state.order:
        return
    if value not in ("", *ORDERS):
        reason = f"the order is one of {', '.join(ORDERS)}"
        facts.refuse("order", value, reason, keep=True)
        return
    facts.accept("order", facts.state.order, value)
    facts.state.order = value


def _take_rule(facts: Facts, rules: Rules, key: str, value: Any) -> None:
    name, field = f"config.{key}", _FIELDS.get(key, "")
    said = None if value is MISSING else value
    if not field:
        facts.accept(name, rules.extra.pop(key, None), said)
        if value is not MISSING:
            rules.extra[key] = value
        return
    standing = getattr(rules, field)
    if _is_same(value, standing):
        return
    why = _why_not(key, value, len(facts.state.participants))
    if why:
        facts.refuse(name, said, why, keep=value is not MISSING)
        return
    facts.accept(name, standing, value)
    setattr(rules, field, value)


def _why_not(key: str, value: Any, agents: int) -> str:
    """Return why a rule cannot have this value, "" when it can."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if value is MISSING:
        return "it was removed"
    if key == "maxRounds":
        possible = is_whole and 1 <= value <= MAX_ROUNDS
        return "" if possible else f"it is a whole number from 1 to {MAX_ROUNDS}"
    if key == "consensusThreshold":
        possible = is_whole and 0 <= value <= agents
        return "" if possible else f"it is a whole number up to {agents}, 0 for two thirds"
    if key == "earlyStop":
        return "" if value in EARLY_STOPS else f"it is one of {', '.join(EARLY_STOPS)}"
    return "it was chosen when the conversation was convened"


def _is_same(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are equal and of one type: `true` is not 1."""
    return type(one) is type(other) and bool(one == other)
