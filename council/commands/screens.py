"""What a terminal is shown, drawn by rich: tables, minutes, signs that it does not obey.

Source: `cli.md` section 1 (rich when a terminal, plain when not).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from rich import table
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from council.commands.drawing import PIPE_WIDTH, Table, text_of
from council.commands.output import DRAWN
from council.core.plain_text import plain_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.commands.drawing import Part


class PlainConsole(Console):
    """A console that prints no sign which a terminal obeys but its own (SC-005)."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield what `renderable` comes to, its texts without control characters."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else plain_text(text), style, control)


def console() -> Console:
    """Return the console of standard output; it knows `NO_COLOR` and pipes."""
    return PlainConsole(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)


def as_text(*parts: Part | RenderableType) -> str:
    """Return what rich prints on the terminal, without colours when it is none."""
    target = console()
    with target.capture() as captured:
        for part in parts:
            target.print(renderable(part))
    lines = captured.get().replace("\x1b", DRAWN).split("\n")
    return "\n".join(map(str.rstrip, lines))


def renderable(part: Part | RenderableType) -> RenderableType:
    """Return a part as rich knows it."""
    if isinstance(part, tuple):
        return _text(part)
    if not isinstance(part, Table):
        return part
    made = table.Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="bold",
        show_header=any(part.columns),
    )
    for column in part.columns:
        whole = column in part.whole
        made.add_column(column, overflow=part.overflow, no_wrap=whole)  # type: ignore[arg-type]
    for row in part.rows:
        made.add_row(*map(_text, row))
    return made


def _text(cell: object) -> Text:
    if not isinstance(cell, tuple):
        return Text(text_of(cell))
    text, style, *more = cell
    if style == "path":
        return Text(text, style="dim", overflow="ignore", no_wrap=True)
    return Text(text, style=style).append_tokens(zip(more[::2], more[1::2], strict=True))


def markdown(text: str) -> str:
    """Return Markdown as the terminal shows it."""
    from rich.markdown import Markdown  # it takes longer to load than all else here

    return as_text(Markdown(plain_text(text), hyperlinks=False))
