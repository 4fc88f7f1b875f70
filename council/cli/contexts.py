"""The commands on contexts: `ctx open|close|set|show`.

Source: `cli.md` section 2, PR-545, PR-571, PR-572.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from council.cli.edge import Output
from council.cli.parameters import Json, Lang, Now, Root, do, help_text
from council.core.errors import UsageError
from council.core.times import parse_duration
from council.operations.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.protocol.contexts import Kept

Context = Annotated[str, typer.Argument(metavar="ID", help="The context, such as S1.")]


def open_(
    context: Annotated[
        str,
        typer.Argument(metavar="[ID]", help="An id from outside, such as Sabc12; else the next."),
    ] = "",
    longest: Annotated[
        str, typer.Option("--for", metavar="DURATION", help="Close it after that time; else never.")
    ] = "",
    lang: Lang = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Open a context for lines of your own; it stays open until you close it."""

    def command(place: Place) -> Output:
        from council.operations.protocol.tasks import open_context

        span = parse_duration(longest) if longest else None
        kept = open_context(place, context=context, longest=span, lang=lang)
        return _shown(kept, f"opened {kept.exchange.context}")

    do("ctx open", json, root, now, command)


def close(
    context: Context,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why.")] = "",
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Close a context; tasks that are open in it are cancelled."""

    def command(place: Place) -> Output:
        from council.operations.conversations.answer import wake_next
        from council.operations.protocol.tasks import close_context

        kept = close_context(place, context, reason)
        wake_next(place)
        return _shown(kept, f"closed {context}")

    do("ctx close", json, root, now, command)


def set_(
    context: Context,
    values: Annotated[
        list[str],
        typer.Argument(metavar="KEY=VALUE...", help="What #CTX:KEY means; an empty VALUE removes."),
    ],
    root: Root = "",
    now: Now = "",
    json: Json = False,
) -> None:
    """Let #CTX:key mean something in a context."""

    def command(place: Place) -> Output:
        from council.core.plain_text import plain_line
        from council.operations.protocol.tasks import set_values

        told: dict[str, str] = {}
        for one in values:
            key, equals, value = one.partition("=")
            if not equals:
                raise UsageError(f"{one!r} is no value", "write KEY=VALUE, such as style=short")
            told[key] = value
        kept = set_values(place, context, told)
        lines = [plain_line(f"#CTX:{key} = {value}") for key, value in kept.exchange.values.items()]
        return _shown(kept, "\n".join(lines) or f"{context} has no values")

    do("ctx set", json, root, now, command)


def show(context: Context, root: Root = "", now: Now = "", json: Json = False) -> None:
    """Show a context: its request, its tasks, its values, its last messages."""

    def command(place: Place) -> Output:
        from council.cli.task_pages import context_page
        from council.operations.protocol.exchanging import contexts
        from council.operations.protocol.payloads import spelled_out

        kept = contexts(place).read(context)
        return _shown(kept, context_page(spelled_out(place, kept.exchange), place.now()))

    do("ctx show", json, root, now, command)


def _shown(kept: Kept, text: str) -> Output:
    from council.core.protocol.exchange_records import exchange_to_record

    return Output(record=exchange_to_record(kept.exchange), text=text)


_EXAMPLES: dict[str, tuple[Callable[..., None], str]] = {
    "ctx open": (open_, "council ctx open --for 2h"),
    "ctx close": (close, 'council ctx close S1 --reason "done by hand"'),
    "ctx set": (set_, "council ctx set S1 style=short lang=en"),
    "ctx show": (show, "council ctx show S1"),
}
COMMANDS: dict[str, Callable[..., None]] = {name: one for name, (one, _) in _EXAMPLES.items()}
for _function, _example in _EXAMPLES.values():
    _function.__doc__ = help_text(_function.__doc__ or "", _example)
