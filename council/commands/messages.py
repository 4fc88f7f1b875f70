"""The commands that read messages: `msg parse`, `validate`, `lint`, `diff`, `explain`.

They work without a workspace; where there is one they take its language and
limits from it. Those that write messages stand in `message_writing`.

Source: PR-001 to PR-009, PR-592, PR-597, `cli.md` section 2.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from council.commands.message_streams import (
    Answer,
    Given,
    answer_each,
    batches,
    fault_lines,
    fields_page,
    forced_version,
    heading,
    numbered,
    warning_lines,
)
from council.commands.output import Output
from council.core.errors import InvalidInputError, NotFoundError, UsageError
from council.core.plain_text import json_text
from council.operations.place import Place
from council.operations.protocol.messages import language_of, most_bytes
from council.operations.protocol.payloads import known_of
from council.store.texts import words_of
from council.wire.conversion import compare
from council.wire.economy import lint as advise
from council.wire.messages import VERSIONS, parse, validate
from council.wire.pages import changes_between
from council.wire.replies import reply_to_fault

_INVALID = InvalidInputError.exit_code


def msg_parse(place: Place | None, values: dict[str, Any]) -> int:
    """Read messages of any version; tell their fields, or every fault at once."""
    return _judged(place, values, fields_page)


def msg_validate(place: Place | None, reply: bool, values: dict[str, Any]) -> int:
    """Check messages against the checklist of their version."""
    return _judged(place, values, lambda found: "" if reply else f"valid: {heading(found)}")


def _judged(place: Place | None, values: dict[str, Any], said: Callable[[Any], str]) -> int:
    """Read messages and print each as it comes: `said` of a valid one, or its faults.

    With `--known` it is a fault to name an agent, a task or a reference that the workspace
    does not know.

    Raises:
        NotFoundError: The workspace is asked for, and there is none.
    """
    forced, message, strict = forced_version(values["version"]), values["message"], values["strict"]
    reply, known = values.get("reply", False), values.get("known", False)
    if known and place is None:
        raise NotFoundError("no council workspace here or above; run: council init")

    def answer(given: Given) -> Answer:
        parsed = given.read(forced)
        context = known_of(place, parsed) if known and place and not parsed.errors else None
        found = validate(parsed, strict=strict, context=context)
        code = _INVALID if found.errors else 0
        text = reply_to_fault(found) if reply else None
        if values["json"]:
            record = found.to_record()
            return [json_text({**record, "reply": text} if reply else record)], [], code
        notes = numbered([*fault_lines(found), *warning_lines(found)], given)
        shown = (text or "") if found.errors else said(found)
        parted = "\n" if "\n" in shown and not given.alone and not shown.endswith("\n") else ""
        return ([shown.removesuffix("\n") + parted] if shown else []), notes, code

    return answer_each(batches(message, most_bytes(place), forced), answer)


def msg_lint(place: Place | None, message: str | None, version: str, lang: str) -> Output:
    """Say what messages of one cycle could save: advice, never a fault."""
    forced = forced_version(version)
    spoken = language_of(place, lang, os.environ)
    unreadable: list[str] = []

    def texts() -> Any:
        for batch in batches(message, most_bytes(place), forced):
            for one in batch:
                text = one.read(forced).text
                if one.too_long or text.encode("utf-8", "replace") != one.data:
                    unreadable.append(f"message {one.number} is no UTF-8 or too long")
                yield text

    found = advise(texts(), forced)
    lines = [f"message {one.message}: {one.rule}: {one.text(spoken)}" for one in found]
    record = {"advice": [{**one.to_record(), "text": one.text(spoken)} for one in found]}
    code = _INVALID if unreadable else 0
    return Output(record=record, text="\n".join(lines), notes=unreadable, code=code)


def msg_diff(place: Place | None, before: str, after: str, lang: str) -> Output:
    """Say what changed between two versions, or what differs between two messages."""
    given = [one.upper() for one in (before, after)]
    named = [one in VERSIONS for one in given]
    if all(named):
        return _versions_compared(given[0], given[1], language_of(place, lang, os.environ))
    if any(named):
        raise UsageError("a version and a message have nothing in common", "give two of a kind")
    return _messages_compared(before, after)


def _versions_compared(older: str, newer: str, lang: str) -> Output:
    found = changes_between(older, newer, lang)
    words = words_of(lang, "messages")
    lines = []
    for step in found:
        lines.append(f"{step['from']} → {step['to']}")
        for kind in ("added", "changed", "removed"):
            items = step[kind]
            assert isinstance(items, list)
            lines += [f"  {words[kind]:8} {item}" for item in items]
    return Output(record={"steps": found}, text="\n".join(lines))


def _messages_compared(before: str, after: str) -> Output:
    both = [parse(os.fsencode(one)) for one in (before, after)]
    faults = [
        f"message {number}: {line}"
        for number, one in enumerate(both, start=1)
        for line in fault_lines(one)
    ]
    if faults:
        records = [one.to_record() for one in both]
        return Output(record={"messages": records}, notes=faults, code=_INVALID)
    found = compare(*both)
    lines = [
        f"{name}: {_or_dash(old)} → {_or_dash(new)}" for name, old, new in found.differences
    ] or ["the same"]
    return Output(record=found, text="\n".join(lines))


def _or_dash(value: object) -> str:
    return "-" if value is None else str(value)


def msg_explain(
    place: Place | None, what: str | None, card: bool, version: str, lang: str, json: bool
) -> Output | int:
    """Explain a message part by part, a code, a version or a word; print the reference card."""
    from council.commands.message_pages import explained, explained_card

    forced = forced_version(version)
    spoken = language_of(place, lang, os.environ)
    if card:
        return explained_card(spoken)
    return explained(what, forced, spoken, most_bytes(place), json)
