"""What `council --help` and `council help` print, drawn from the table alone.

The first page shows the commands that most people need, on one screen;
`council help` shows all of them, `council help GROUP` those of one heading.
A terminal sees boxes and colours, a pipe or a file plain lists. Both are
drawn here, because loading Typer and rich takes longer than the whole command.
The pages of single commands are Typer's.

Source: `cli.md` section 2.
"""

from __future__ import annotations

import os
import sys
from textwrap import wrap

from council.commands.options import ROWS, names

ABOUT = (
    "Let agents and people deliberate through files. Start with: council init; "
    'without any agent program: council ask --rehearse "…"'
)
USAGE = "council [OPTIONS] COMMAND [ARGS]..."
FIRST = "init ask convene respond status show explain list heartbeat doctor serve demo"
# Names, short name, what it does; the two of completion are Typer's own.
OPTIONS = (
    ("--version", "", "Print the version."),
    ("--install-completion", "", "Install completion for the current shell."),
    (
        "--show-completion",
        "",
        "Show completion for the current shell, to copy it or customize the installation.",
    ),
    ("--help", "-h", "Show this message and exit."),
)
_WIDEST_PLAIN = 80
_NARROWEST = 50

Sections = list[tuple[str, list[tuple[str, str]]]]


def page() -> str:
    """Return the first page as standard output shows it best."""
    groups = ", ".join(title.split()[0].lower() for title, _ in _headings())
    more = f"All others: council help, or council help GROUP, of {groups}."
    return _drawn([("Commands", [(name, ROWS[name].summary) for name in FIRST.split()])], more)


def all_page(group: str) -> str:
    """Return all commands by headings, or those of one; "" if there is no such heading."""
    found = [one for one in _headings() if one[0].split()[0].lower() == group.lower()]
    options = [(", ".join(filter(None, (short, long))), said) for long, short, said in OPTIONS]
    shown = found if group else [("Options", options), *_headings()]
    return _drawn(shown, "Of one: council COMMAND --help.") if shown else ""


def _headings() -> Sections:
    """Return the commands below each heading with their summaries."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name in names(""):
        found.setdefault(ROWS[name].heading, []).append((name, ROWS[name].summary))
    return list(found.items())


def _drawn(sections: Sections, more: str) -> str:
    width = _columns()
    if is_plain() or not _draws_boxes():
        return _plain(sections, more, max(min(width, _WIDEST_PLAIN) - 2, _NARROWEST))
    return _boxes(sections, more, max(width, _NARROWEST))


def is_plain() -> bool:
    """Return true if standard output is no terminal, and is not to be taken for one."""
    return not (sys.stdout.isatty() or os.environ.get("FORCE_COLOR"))


def _columns() -> int:
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _WIDEST_PLAIN
    except (OSError, ValueError):
        return _WIDEST_PLAIN


def _draws_boxes() -> bool:
    try:
        "╭─│╰".encode(sys.stdout.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def _plain(sections: Sections, more: str, width: int) -> str:
    lines = [f"Usage: {USAGE}", ""]
    lines += [f"  {line}" for line in wrap(ABOUT, width - 2)]
    for title, rows in sections:
        lines += ["", f"{title}:"]
        beside = max(len(name) for name, _ in rows) + 2
        for name, said in rows:
            first, *others = wrap(said, width - beside - 2)
            lines.append(f"  {name:<{beside}}{first}")
            lines += [" " * (beside + 2) + line for line in others]
    return "\n".join([*lines, "", *wrap(more, width)]) + "\n"


def _boxes(sections: Sections, more: str, width: int) -> str:
    dim, bold, name_style, usage, end = _styles()
    lines = [f" {usage}Usage:{end} {bold}{USAGE}{end}", ""]
    lines += [f" {line}" for line in wrap(ABOUT, width - 2)]
    for title, rows in sections:
        rule = "─" * (width - len(title) - 5)
        lines.append(f"{dim}╭─ {title} {rule}╮{end}")
        beside = max(len(name) for name, _ in rows)
        room = width - beside - 6
        for name, said in rows:
            shown = name
            for line in wrap(said, room):
                cell = f"{name_style}{shown:<{beside}}{end}" if shown else " " * beside
                lines.append(f"{dim}│{end} {cell}  {line:<{room}} {dim}│{end}")
                shown = ""
        lines.append(f"{dim}╰{'─' * (width - 2)}╯{end}")
    lines += [f" {line}" for line in wrap(more, width - 2)]
    return "\n".join(lines) + "\n"


def _styles() -> tuple[str, str, str, str, str]:
    """Return how to begin what is dim, bold, a name, the word usage; and how to end it."""
    if os.environ.get("TERM", "") in ("dumb", "unknown"):
        return "", "", "", "", ""
    if os.environ.get("NO_COLOR"):
        return "\x1b[2m", "\x1b[1m", "\x1b[1m", "\x1b[1m", "\x1b[0m"
    return "\x1b[2m", "\x1b[1m", "\x1b[1;36m", "\x1b[1;33m", "\x1b[0m"
