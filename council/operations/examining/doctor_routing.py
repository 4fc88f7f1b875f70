"""Faults of the rules that choose agents: for `doctor`.

Source: P8-075, `cli.md` section 2 (`doctor`).
"""

from __future__ import annotations

from council.core.errors import CouncilError
from council.operations.examining.finding import Finding
from council.operations.place import Place

_WHAT = "routing"
_AMBIGUOUS = "make one more specific, or take one out; see: council route explain"
_FIXES = {
    "ambiguous": _AMBIGUOUS,
    "missing-agent": "correct agent in [[bindings]] of council.toml, or: council agent add ID",
    "dm-scope": "name account or channel in the rule, or set dm_scope under [routing]",
}


def examine_routing(place: Place) -> list[Finding]:
    """Return what is wrong with `[[bindings]]`; nothing where there are none."""
    if not place.settings.bindings and not place.settings.routing:
        return []
    from council.operations.delegation.routing import rules, warnings

    try:
        known, found = rules(place), warnings(place)
    except CouncilError as error:
        return [Finding(what=_WHAT, ok=False, found=error.message, fix=error.hint)]
    if not found:
        told = "1 rule" if len(known) == 1 else f"{len(known)} rules"
        return [Finding(what=_WHAT, ok=True, found=told)]
    return [Finding(what=_WHAT, ok=False, found=one.said, fix=_FIXES[one.kind]) for one in found]
