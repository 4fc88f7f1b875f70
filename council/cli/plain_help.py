"""The help of `council` where nobody sees colours: the same panels, as plain lists.

Typer lists all commands in a row when it does without rich, and loading rich
takes longer than all the rest of a help that goes to a pipe or a file.

Source: `cli.md` section 1.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from typer.core import TyperGroup


def is_wanted() -> bool:
    """Tell whether standard output is no terminal (and nobody insists that it were one)."""
    return not (sys.stdout.isatty() or os.environ.get("FORCE_COLOR"))


class PanelGroup(TyperGroup):
    """A group of commands that keeps its panels in plain help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one list for each panel, in the order in which the panels were made."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                panel = getattr(command, "rich_help_panel", None)
                title = panel if isinstance(panel, str) else "Commands"
                panels.setdefault(title, []).append((name, command.get_short_help_str(limit=120)))
        for title, rows in panels.items():
            with formatter.section(title):
                formatter.write_dl(rows)
