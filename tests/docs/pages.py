"""The pages that people read, and the commands that they name.

A command is named in a `console` block, where it begins with `$ `, or in inline code of running
text and tables. Blocks of other kinds are listed in `KINDS`: what is in one may be played too.
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from typing import NamedTuple

HOUSE = Path(__file__).resolve().parents[2]
CLIENTS = sorted(f"docs/clients/{page.name}" for page in (HOUSE / "docs/clients").glob("*.md"))
DOCS = sorted(f"docs/{page.name}" for page in (HOUSE / "docs").glob("*.md"))
PLAYED = ["README.md", *DOCS, *CLIENTS]
# People look up commands in these, too, but begin no session with them.
READ = [*PLAYED, "SECURITY.md", "CONTRIBUTING.md"]
# What a block may be, and what it is for.
KINDS = {
    "console": "a session: each line with `$ ` is typed",
    "toml": "lines for council.toml",
    "json": "a document",
    "text": "what a program shows",
    "ini": "a unit of systemd",
    "caddy": "settings of a proxy, tried by make e2e",
    "nginx": "settings of a proxy, tried by make e2e",
    "": "lines of a shell, in CONTRIBUTING.md",
    "python": "code, in CONTRIBUTING.md",
}
_FENCE = re.compile(r"^```", re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


class Named(NamedTuple):
    """One command in running text: the page that names it, and the command line."""

    page: str
    line: str


@cache
def text_of(page: str) -> str:
    """Return the text of a page."""
    return (HOUSE / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Return (kind, command or text, expected output) in the order of the page."""
    found: list[tuple[str, str, list[str]]] = []
    kind = ""
    for line in text_of(page).splitlines():
        if line.startswith("```"):
            kind = "" if kind else line[3:]
            if kind in ("toml", "json"):
                found.append((kind, "", []))
        elif kind == "console" and line.startswith("$ "):
            found.append((kind, line[2:], []))
        elif kind in ("console", "toml", "json"):
            found[-1][2].append(line)
    return [(kind, command, "\n".join(lines).strip()) for kind, command, lines in found]


def kinds(page: str) -> list[str]:
    """Return the kind of each block of a page."""
    return re.findall(r"^```(\w*)$", text_of(page), re.MULTILINE)[::2]


def inline(page: str) -> list[str]:
    """Return all inline code of a page, each on one line."""
    outside = "".join(_FENCE.split(text_of(page))[::2])
    return [" ".join(one.split()) for one in _INLINE.findall(outside)]


def commands_of(line: str) -> list[str]:
    """Return the single commands of a line of a shell, without what they are joined by."""
    found: list[list[str]] = [[]]
    for word in _words(line):
        if set(word) <= set("&|;"):
            found.append([])
        else:
            found[-1].append(word)
    return [shlex.join(one) for one in found if one]


def needs_a_shell(line: str) -> bool:
    """Say whether a line is more than one plain command."""
    return bool(re.search(r"\$[({\w]", line)) or any(
        set(one) <= set("&|;<>") for one in _words(line)
    )


def _words(line: str) -> list[str]:
    words = shlex.shlex(line, posix=True, punctuation_chars="&|;<>")
    words.whitespace_split = True
    words.commenters = ""
    return [one for one in words if one]


def named(program: str) -> list[Named]:
    """Return every command of a program that running text names, without repetitions."""
    return [
        Named(page, one)
        for page in READ
        for line in dict.fromkeys(inline(page))
        for one in ([line] if program == "council" else commands_of(line))
        if re.match(rf"{re.escape(program)}( |$)", one)
    ]
