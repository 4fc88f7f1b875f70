"""The commands on routing: `route explain|check`.

Source: `cli.md` section 2, P8-071 to P8-075.
"""

from __future__ import annotations

from council.cli.edge import Output
from council.core.plain_text import plain_line
from council.operations.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.delegation.routing import Route, Warned

_MARKS = {"chosen": "->", "no-such-agent": "x", "no-match": "-"}


def route_explain(
    place: Place,
    session: str,
    peer: str,
    channel: str,
    account: str,
    mode: str,
    capability: list[str],
) -> Output:
    """Say which agent something that comes in would go to, and why; nothing is started."""
    from council.core.delegation.routing import Facts
    from council.operations.delegation.routing import explain as explained

    facts = Facts(
        session=session,
        peer=peer,
        channel=channel,
        account=account,
        mode=mode,
        capabilities=tuple(capability or ()),
    )
    found = explained(place, facts)
    record = {"facts": facts.to_record(), **found.to_record()}
    return Output(record=record, text=_explained(found))


def _explained(found: Route) -> str:
    if found.agent:
        lines = [f"{found.agent}  by {found.rule} (tier: {found.tier})"]
        lines.append(f"session: {found.session}")
    else:
        lines = [
            "nobody: no rule holds, and there is no default",
            "add to council.toml: [[bindings]] with default = true and agent = ID",
        ]
    lines.append("")
    lines.append("Looked at, the most specific first:")
    for one in found.path:
        said = f"{one.rule} names {one.agent}" if one.rule else "no rule holds"
        said += ", who does not exist" if one.outcome == "no-such-agent" else ""
        lines.append(f"  {_MARKS[one.outcome]:<3}{one.tier:<9}{said}")
    if found.others:
        lines.append("")
        lines.append("Next would have been:")
        lines += [f"  {one.to_text()}" for one in found.others]
    return "\n".join([*map(plain_line, lines), *_warned(found.warnings)])


def _warned(warnings: list[Warned]) -> list[str]:
    return [plain_line(f"warning ({one.kind}): {one.said}") for one in warnings]


def route_check(place: Place, strict: bool) -> Output:
    """Look for rules that are ambiguous, name nobody, or let direct messages meet."""
    from council.operations.delegation.routing import rules, warnings

    known, found = rules(place), warnings(place)
    some = "1 rule" if len(known) == 1 else f"{len(known)} rules"
    return Output(
        record={
            "ok": not found,
            "rules": len(known),
            "warnings": [one.to_record() for one in found],
        },
        text="\n".join(_warned(found) or [f"{some}; nothing to warn of"]),
        code=3 if strict and found else 0,
    )
