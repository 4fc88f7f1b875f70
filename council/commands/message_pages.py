"""What `msg explain` shows: a message part by part, a code, a version, the card.

Source: PR-109, PR-313, PR-413, PR-418, PR-592, PR-597.
"""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from council.commands.message_streams import Answer, Given, answer_each, batches
from council.commands.output import Output
from council.commands.screens import as_text
from council.core.errors import InvalidInputError, NotFoundError
from council.core.plain_text import json_text
from council.store.texts import words_of
from council.wire.codes import CODES
from council.wire.explanation import (
    card,
    explain,
    explain_code,
    explain_codes,
    explain_version,
    explain_word,
)
from council.wire.pages import PAGES
from council.wire.parsed import Parsed
from council.wire.replies import written_out

# A text with one of these is meant as a message, however wrong it is.
_IN_MESSAGES = frozenset("|>[:;=\n ")


def explained_card(lang: str) -> Output:
    """Return the quick reference card."""
    return Output(record={"card": card(lang)}, text=card(lang))


def explained(
    what: str | None, version: str | None, lang: str, most: int, json: bool
) -> Output | int:
    """Return the explanation of a code, a version, a word or a message; of a stream, the exit code.

    Raises:
        NotFoundError: No version has that code or word.
    """
    name = (what or "").upper()
    if name in PAGES:
        return _version(name, lang)
    if len(name) == 3 and name[0] == "E" and name[1:].isdigit():
        return _code(name, version, lang)
    if what and what.startswith("E|E"):
        text = written_out(what)
        said = f"{words_of(lang, 'messages')['stands']}: {text}"
        return Output(record={"shorthand": what, "standsFor": text}, text=said)
    if what and what != "-" and version is None and not set(what) & _IN_MESSAGES:
        return _word(what, lang)

    def answer(given: Given) -> Answer:
        found = given.read(version)
        is_text = not given.too_long and found.text.encode("utf-8", "replace") == given.data
        code = 0 if is_text else InvalidInputError.exit_code
        record = explain(found, lang)
        if json:
            return [json_text(record)], [], code
        shown = as_text(_message(record, found, lang)).rstrip("\n")
        return [shown if given.alone else f"{shown}\n"], [], code

    return answer_each(batches(what, most, version), answer)


def _version(version: str, lang: str) -> Output:
    record = explain_version(version, lang)
    record["codes"] = explain_codes(version, lang) if version in CODES else []
    words = words_of(lang, "messages")
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for kind in ("segments", "types"):
        for name, meaning in record[kind].items():
            usual = record["senders"].get(name, "") if kind == "types" else ""
            told = f"{meaning} ({usual})" if usual else meaning
            table.add_row(f"{words[kind]} {name}", Text(told))
    for one in record["codes"]:
        told = _meaning(one)
        table.add_row(f"{words['codes']} {one['code']}", Text(told))
    head = Text(f"{version} {record['use']}", style="bold")
    return Output(record=record, text=as_text(Group(head, *map(Text, record["page"]), table)))


def _code(code: str, version: str | None, lang: str) -> Output:
    if version:
        found = [explain_code(code, version, lang)]
    else:
        having = [name for name, codes in CODES.items() if code in codes and name != "V5D"]
        found = [explain_code(code, name, lang) for name in having]
    if not found:
        raise NotFoundError(f"no version has the code {code}", "see: council msg explain V5")
    lines = [f"{one['version']} {one['code']}: {_meaning(one)}" for one in found]
    record: dict[str, Any] = dict(found[0]) if version else {"code": code, "meanings": found}
    return Output(record=record, text="\n".join(lines))


def _word(word: str, lang: str) -> Output:
    meanings, words = explain_word(word, lang), words_of(lang, "messages")
    lines = []
    for one in meanings:
        kind = words[one["kind"]]
        version = f"{one['version']} " if one["version"] else ""
        lines.append(f"{version}{kind} {word}: {one['meaning']}")
    return Output(record={"word": word, "meanings": meanings}, text="\n".join(lines))


def _meaning(code: dict[str, str]) -> str:
    """Return what a code means, with its category where its version has one for it."""
    return f"{code['meaning']} ({code['category']})" if code["category"] else code["meaning"]


def _message(record: dict[str, Any], found: Parsed, lang: str) -> RenderableType:
    words = words_of(lang, "messages")
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="dim")
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold", style="cyan")
    table.add_column(overflow="fold")
    for part in record["segments"]:
        table.add_row(
            str(part["segment"]), part["name"], Text(_shown(part["value"])), Text(part["meaning"])
        )
    notes = []
    if record["call"]:
        arguments = ", ".join(f"{k}={v}" for k, v in record["call"]["arguments"].items())
        said = f"{words['call']}: {record['call']['capability']}({arguments})"
        notes.append(Text(said))
    if record["references"]:
        notes.append(Text(f"{words['references']}: {', '.join(record['references'])}"))
    for fault in record["errors"]:
        where = f" {fault['segment']} {fault['name']}" if fault["segment"] else ""
        said = f"{words['fault']}{where}: {fault['code']} {fault['meaning']}"
        notes.append(Text(f"{said} ({fault['rule']})", style="red"))
    for warning in record["warnings"]:
        said = f"{words['warning']}: {warning['meaning']} ({warning['name']})"
        notes.append(Text(said, style="yellow"))
    head = Text(f"{found.version} {record['standing']}", style="bold")
    return Group(head, table, *notes)


def _shown(value: str) -> str:
    return "".join(one if one.isprintable() else "�" for one in value)
