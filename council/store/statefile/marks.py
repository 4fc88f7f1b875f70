r"""The marks of a conversation file, and what may stand between them.

A mark is a line that starts with `<!--council`. Marks are found by exact
search at line starts, never by headings or patterns. A text between marks is
byte for byte what was given: a line of it that could be read as a mark gets a
backslash when written and loses it when read. This module knows where marks
are; what they mean for the conversation is decided elsewhere.

Source: XC-010, `store.md` section 4.
"""

from __future__ import annotations

import json

from council.core.plain_text import read_json
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OPEN = "<!--council"
BRIEF = "<!--council:brief-->"
ENTRY = "<!--council:entry "
END = "<!--council:end-->"
NOTE = "<!--council:note-->"
STATE = "<!--council-state"
EOF = "<!--council-eof-->"
STRUCTURE = (BRIEF, ENTRY, END, EOF)
_CLOSE = "-->"
_DIGEST_CHARS = 16


class Region(Record):
    """What lies between a pair of marks, from the start of the first to the end of the last.

    `kind` is `brief`, `entry`, `state` or `eof`. `id` and `digest` are what
    the mark of an entry says; `body` is the text with its escapes undone.
    """

    kind: str
    start: int
    end: int
    body: str = ""
    id: str = ""
    digest: str = ""


class Marks(Record):
    """Every region of a file in order, and the lines that look like marks and are none."""

    regions: list[Region]
    strays: list[tuple[int, str]]


def escape(text: str) -> str:
    """Return `text` with a backslash before each line that could be read as a mark."""
    if OPEN not in text:
        return text
    return "\n".join(
        "\\" + line if line.lstrip("\\").startswith(OPEN) else line for line in text.split("\n")
    )


def unescape(text: str) -> str:
    """Undo `escape`."""
    if OPEN not in text:
        return text
    return "\n".join(
        line[1:] if line[:1] == "\\" and line.lstrip("\\").startswith(OPEN) else line
        for line in text.split("\n")
    )


def plain(text: str) -> str:
    r"""Return a file's text without byte order mark, and with `\n` where an editor converted all.

    A single CRLF inside a contribution is the author's and stays; the line of
    the state block is ours, so that one tells a converted file.
    """
    if text.startswith("\ufeff"):
        text = text[1:]
    if "\r\n" in text and (f"\n{STATE}\r\n" in text or text.count("\r\n") == text.count("\n")):
        text = text.replace("\r\n", "\n")
    return text


def same_lines(text: str) -> str:
    r"""Return `text` with every line end as `\n`: for comparing only."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def entry_text(entry_id: str, tour: int, digest: str, text: str, said_by: str = "") -> str:
    """Return one contribution between its marks; `said_by` is a line for readers before it."""
    kind = " told=1" if said_by else ""
    mark = f"{ENTRY}id={entry_id} tour={tour} sha256={digest[:_DIGEST_CHARS]}{kind}-->"
    told = f"{said_by}\n" if said_by else ""
    return f"{mark}\n{told}[Tour {tour}]: {escape(text)}\n{END}"


def brief_text(brief: str) -> str:
    """Return the brief between its marks."""
    return f"{BRIEF}\n{escape(brief)}\n{END}"


def without_prefix(text: str) -> str:
    """Return `text` without a leading `[Tour N]: `."""
    if text.startswith("[Tour "):
        close = text.find("]:", 6, 24)
        if close > 0 and text[6:close].strip().isdecimal():
            rest = text[close + 2 :]
            return rest[1:] if rest[:1] == " " else rest
    return text


def scan(text: str) -> Marks:
    """Find all regions of a file, in time proportional to its length."""
    starts = [0] if text.startswith(OPEN) else []
    at = text.find("\n" + OPEN)
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n" + OPEN, at + 1)
    found = Marks(regions=[], strays=[])
    limits = [*starts[1:], len(text)]
    number = 0
    while number < len(starts):
        start, limit = starts[number], limits[number]
        line = _line(text, start)
        if line == BRIEF or (line.startswith(ENTRY) and line.endswith(_CLOSE)):
            if limit < len(text) and _line(text, limit) == END:
                found.regions.append(_texts(text, start, limit, line))
                number += 2
                continue
            found.strays.append((start, line))
        elif line == EOF:
            found.regions.append(Region(kind="eof", start=start, end=start + len(EOF)))
        elif line.startswith(STATE) and line[len(STATE) : len(STATE) + 1] in ("", " ", "{", "\t"):
            found.regions.append(_state(text, start, limit))
        elif line != NOTE:
            found.strays.append((start, line))
        number += 1
    return found


def _line(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start : end if end >= 0 else len(text)].rstrip()


def _texts(text: str, start: int, limit: int, line: str) -> Region:
    body = text[text.find("\n", start) + 1 : limit - 1]
    end = limit + len(END)
    if line == BRIEF:
        return Region(kind="brief", start=start, end=end, body=unescape(body))
    said = dict(word.partition("=")[::2] for word in line[len(ENTRY) : -len(_CLOSE)].split())
    if "told" in said:
        body = body.partition("\n")[2]
    return Region(
        kind="entry",
        start=start,
        end=end,
        body=unescape(without_prefix(body)),
        id=said.get("id", ""),
        digest=said.get("sha256", ""),
    )


def _state(text: str, start: int, limit: int) -> Region:
    """Return a candidate for the state block; one that is not closed reaches to the next mark."""
    close = text.find("\n" + _CLOSE, start, limit) + 1
    if close == 0:
        close = text.find(_CLOSE, start, limit)
    if close < 0:
        return Region(kind="state", start=start, end=limit, body="")
    body = text[start + len(STATE) : close]
    return Region(kind="state", start=start, end=close + len(_CLOSE), body=body)


def read_block(body: str) -> dict[str, Any] | None:
    """Return the JSON object of a state block, None if it is none."""
    try:
        value = read_json(body, parse_constant=_refuse_constant)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_LISTED = ("participants", "convergence", "rounds", "tasks", "ledger")


compact = json.JSONEncoder(ensure_ascii=False).encode


def block_text(record: dict[str, Any]) -> str:
    """Return what `block_of` returns as text."""
    return block_of(record).decode()


def block_of(record: dict[str, Any]) -> bytes:
    """Return the state block: one field a line, one participant, round, task or entry a line."""
    lines = [
        f" {compact(key)}: {_lines(value) if key in _LISTED else compact(value)}"
        for key, value in record.items()
    ]
    # In bytes, line by line: one emoji makes a text four times as large, and a search ten times.
    try:
        data = b"{\n" + b",\n".join([line.encode() for line in lines]) + b"\n}"
    except UnicodeEncodeError:
        data = json.dumps(record, indent=1).encode()
    data = data.replace(b"<", b"\\u003c").replace(b">", b"\\u003e")
    data = data.replace(b"--", b"\\u002d\\u002d")
    return b"%s\n%s\n%s" % (STATE.encode(), data, _CLOSE.encode())


def _lines(value: Any) -> str:
    if isinstance(value, dict) and value:
        inner = [f"  {compact(key)}: {compact(one)}" for key, one in value.items()]
        return "{\n" + ",\n".join(inner) + "\n }"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"  {compact(one)}" for one in value) + "\n ]"
    return compact(value)
