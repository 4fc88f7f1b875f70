"""What `doctor` says of delegation: policies and ledgers.

Source: `cli.md` section 2 (`doctor`), P8-059.
"""

from __future__ import annotations

import os

from council.core.delegation.policies import EVERYBODY
from council.core.errors import CouncilError
from council.operations.examining.finding import Finding
from council.operations.place import Place
from council.store.agents import known_agents
from council.store.delegation.policies import policy_path, read_policy
from council.store.delegation.traces import damaged_notes, read_trace, traces


def examine_delegation(place: Place) -> list[Finding]:
    """Look at who may call whom, and at what was counted."""
    return [*_policies(place), *_ledgers(place)]


def _policies(place: Place) -> list[Finding]:
    known = known_agents(place.root, place.settings)
    found = []
    for agent in known:
        if not os.path.lexists(policy_path(place.paths, agent)):
            continue
        what = f"policy of {agent}"
        try:
            policy = read_policy(place.paths, agent)
        except CouncilError as error:
            found.append(Finding(what=what, ok=False, found=error.message, fix=error.hint))
            continue
        named = {*policy.call.allow, *policy.call.deny, *policy.message.allow}
        named |= set(policy.message.deny)
        strangers = sorted(named - {*known, EVERYBODY})
        odd = [*policy.odd, *(f"it names {one}, who is no agent here" for one in strangers)]
        fix = "correct it, if that is a slip"
        found += [Finding(what=what, ok=False, found=one, fix=fix) for one in odd]
    return found


def _ledgers(place: Place) -> list[Finding]:
    found = []
    for trace in traces(place.paths):
        try:
            read_trace(place.paths, trace)
        except CouncilError as error:
            finding = Finding(what="calls", ok=False, found=error.message, fix=error.hint)
            found.append(finding)
    found += [
        Finding(
            what="calls",
            ok=False,
            found=f"{os.path.relpath(path, place.root)} tells of a call and cannot be understood",
            fix="read it, then remove it",
        )
        for path in damaged_notes(place.paths)
    ]
    return found
