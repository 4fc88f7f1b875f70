"""The help of a group where nobody sees colours, and of `council` itself.

Typer lists all commands in a row when it does without rich, and loading rich
takes longer than all the rest of a help that goes to a pipe or a file.

Source: `cli.md` section 1.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from council.cli import front_page


class PanelGroup(TyperGroup):
    """A group of commands that lists them with whole summaries in plain help."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names alone; Typer would load every command for them."""
        del ctx
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one list of all commands."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, one.get_short_help_str(limit=120)) for name, one in found if one is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class FrontGroup(PanelGroup):
    """`council` itself: its help is drawn from the table, with nothing loaded."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the front page."""
        del ctx
        formatter.write(front_page.page())
