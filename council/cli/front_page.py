"""What `council --help` prints: all commands in panels, drawn from the table alone.

A terminal sees boxes and colours, a pipe or a file plain lists. Both are
drawn here, because loading Typer and rich takes longer than the whole command.
The pages of single commands are Typer's.

Source: `cli.md` section 2.
"""

from __future__ import annotations

import os
import sys

from council.cli.table import ABOUT, PANELS

USAGE = "council [OPTIONS] COMMAND [ARGS]..."
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


def page() -> str:
    """Return the page as standard output shows it best."""
    width = _columns()
    if is_plain() or not _draws_boxes():
        return _plain(max(min(width, _WIDEST_PLAIN) - 2, _NARROWEST))
    return _boxes(max(width, _NARROWEST))


def is_plain() -> bool:
    """Tell whether standard output is no terminal (and nobody insists that it were one)."""
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


def _sections() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the commands of each panel with their summaries."""
    return [
        (title, [(name, said) for name, (_, said) in rows.items()])
        for title, rows in PANELS.items()
    ]


def _plain(width: int) -> str:
    options = [(", ".join(filter(None, (short, long))), said) for long, short, said in OPTIONS]
    lines = [f"Usage: {USAGE}", ""]
    lines += [f"  {line}" for line in _wrapped(ABOUT, width - 2)]
    for title, rows in [("Options", options), *_sections()]:
        lines += ["", f"{title}:"]
        beside = max(len(name) for name, _ in rows) + 2
        for name, said in rows:
            first, *more = _wrapped(said, width - beside - 2)
            lines.append(f"  {name:<{beside}}{first}")
            lines += [" " * (beside + 2) + line for line in more]
    return "\n".join(lines) + "\n"


def _boxes(width: int) -> str:
    dim, bold, name_style, usage, end = _styles()
    lines = ["", f" {usage}Usage:{end} {bold}{USAGE}{end}", ""]
    lines += [f" {line}" for line in _wrapped(ABOUT, width - 2)] + [""]
    options = [(f"{long}  {short}".rstrip(), said) for long, short, said in OPTIONS]
    for title, rows in [("Options", options), *_sections()]:
        rule = "─" * (width - len(title) - 5)
        lines.append(f"{dim}╭─ {title} {rule}╮{end}")
        beside = max(len(name) for name, _ in rows)
        room = width - beside - 6
        for name, said in rows:
            shown = name
            for line in _wrapped(said, room):
                cell = f"{name_style}{shown:<{beside}}{end}" if shown else " " * beside
                lines.append(f"{dim}│{end} {cell}  {line:<{room}} {dim}│{end}")
                shown = ""
        lines.append(f"{dim}╰{'─' * (width - 2)}╯{end}")
    return "\n".join(lines) + "\n"


def _styles() -> tuple[str, str, str, str, str]:
    """Return how to begin what is dim, bold, a name, the word usage; and how to end it."""
    if os.environ.get("TERM", "") in ("dumb", "unknown"):
        return "", "", "", "", ""
    if os.environ.get("NO_COLOR"):
        return "\x1b[2m", "\x1b[1m", "\x1b[1m", "\x1b[1m", "\x1b[0m"
    return "\x1b[2m", "\x1b[1m", "\x1b[1;36m", "\x1b[1;33m", "\x1b[0m"


def _wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a text, broken between words."""
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]
