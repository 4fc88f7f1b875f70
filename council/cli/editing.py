"""The commands for people who work on the file itself: `edit` and `diff`.

Source: `cli.md` section 2 (documents 000 and 003).
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
from types import FrameType

from council.cli.edge import Output
from council.core.errors import NotFoundError, UsageError
from council.operations.place import Place, conversation_name

_TELL_IT_TO_WAIT = (
    "nothing was changed (an editor that opens in the background must be told to wait, "
    'such as EDITOR="code --wait")'
)


def edit(place: Place, name: str, json: bool) -> Output:
    """Open the file in your editor, then take in at once what you saved."""
    from council.operations.conversations.editing import edit as take_part
    from council.operations.conversations.editing import sentences

    words = _editor()
    wanted = conversation_name(place, name)
    taken = take_part(place, wanted, lambda path: _opened(words, path, quiet=json))
    lines = sentences(taken.events)
    if taken.changed and not lines:
        lines.append("taken in: your text")
    lines += [f"kept apart: {path}" for path in taken.kept]
    notes = []
    if taken.code:
        notes.append(f"council: the editor ended with {taken.code}; what it saved counts")
    text = "\n".join(lines) or _TELL_IT_TO_WAIT
    if taken.changed:
        text = f"{wanted}: revision {taken.state.rev}\n{text}"
    return Output(record=taken.to_record(), text=text, notes=notes, code=bool(taken.code))


def _editor() -> list[str]:
    """Return the words that start the person's editor.

    Raises:
        UsageError: There is none.
    """
    for variable in ("VISUAL", "EDITOR"):
        given = os.environ.get(variable, "").strip()
        if given:
            try:
                return shlex.split(given)
            except ValueError as error:
                raise UsageError(f"{variable} is no command: {error}", "mend its quotes") from None
    raise UsageError(
        "no editor is set",
        "set VISUAL or EDITOR, such as EDITOR=vim; or open the file yourself: it is plain Markdown",
    )


def _opened(words: list[str], path: str, *, quiet: bool) -> int:
    """Run the editor on a file and return its exit code; Ctrl-C is the editor's while it runs.

    Raises:
        NotFoundError: There is no such program.
    """
    import subprocess

    def ignore(_number: int, _frame: FrameType | None) -> None:
        return

    # A handler, unlike SIG_IGN, is not handed down: the editor still gets its own signals.
    before = {one: signal.signal(one, ignore) for one in (signal.SIGINT, signal.SIGQUIT)}
    try:
        done = subprocess.run([*words, path], stdout=sys.stderr if quiet else None, check=False)
    except OSError as error:
        raise NotFoundError(
            f"cannot start the editor {words[0]!r}: {error.strerror}", "set VISUAL or EDITOR"
        ) from None
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    return done.returncode


def diff(place: Place, revision: int, other: int | None, whole: bool, name: str) -> Output:
    """Show what differs between two revisions, or a revision and the file as it is."""
    from council.operations.conversations.editing import difference

    found = difference(place, conversation_name(place, name), revision, other, whole=whole)
    if found.lines:
        text = _coloured(found.lines)
    elif found.hidden:
        text = "only marks and the state block differ; to see them: --whole"
    else:
        text = "no difference"
    return Output(record=found.to_record(), text=text)


def _coloured(lines: list[str]) -> str:
    if not sys.stdout.isatty():
        return "\n".join(lines)
    from rich.text import Text

    from council.cli.screens import as_text

    shown = Text()
    for line in lines:
        style = "bold" if line.startswith(("---", "+++")) else _STYLES.get(line[:1], "")
        shown.append(line + "\n", style=style)
    return as_text(shown).rstrip("\n")


_STYLES = {"+": "green", "-": "red", "@": "cyan"}
