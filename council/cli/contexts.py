"""The commands on contexts: `ctx open|close|set|show`.

Source: `cli.md` section 2, PR-545, PR-571, PR-572.
"""

from __future__ import annotations

from council.cli.edge import Output
from council.cli.parameters import LANG, argument, command, option
from council.core.errors import UsageError
from council.core.times import parse_duration
from council.operations.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.protocol.contexts import Kept

CONTEXT = argument("ID", "The context, such as S1.")


@command("ctx open", "council ctx open --for 2h")
def open_(
    place: Place,
    context: str = argument("[ID]", "An id from outside, such as Sabc12; else the next."),
    longest: str = option("--for", "DURATION", "Close it after that time; else never."),
    lang: str = LANG,
) -> Output:
    """Open a context for lines of your own; it stays open until you close it."""
    from council.operations.protocol.tasks import open_context

    span = parse_duration(longest) if longest else None
    kept = open_context(place, context=context, longest=span, lang=lang)
    return _shown(kept, f"opened {kept.exchange.context}")


@command("ctx close", 'council ctx close S1 --reason "done by hand"')
def close(
    place: Place, context: str = CONTEXT, reason: str = option("--reason", "TEXT", "Why.")
) -> Output:
    """Close a context; tasks that are open in it are cancelled."""
    from council.operations.conversations.answer import wake_next
    from council.operations.protocol.tasks import close_context

    kept = close_context(place, context, reason)
    wake_next(place)
    return _shown(kept, f"closed {context}")


@command("ctx set", "council ctx set S1 style=short lang=en")
def set_(
    place: Place,
    context: str = CONTEXT,
    values: list[str] = argument("KEY=VALUE...", "What #CTX:KEY means; an empty VALUE removes."),
) -> Output:
    """Let #CTX:key mean something in a context."""
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


@command("ctx show", "council ctx show S1", reads=True)
def show(place: Place, context: str = CONTEXT) -> Output:
    """Show a context: its request, its tasks, its values, its last messages."""
    from council.cli.task_pages import context_page
    from council.operations.protocol.exchanging import contexts
    from council.operations.protocol.payloads import spelled_out

    kept = contexts(place).read(context)
    return _shown(kept, context_page(spelled_out(place, kept.exchange), place.now()))


def _shown(kept: Kept, text: str) -> Output:

    return Output(record=kept.exchange.to_record(), text=text)
