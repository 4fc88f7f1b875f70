"""The log of one run: what was started, how it ended, the end of what it printed.

Values of variables that settings or preset added never appear in it.

Source: XC-017, `trust.md`.
"""

from __future__ import annotations

import json
import os

from council.drivers.environment import masked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.drivers.processes import Finished
    from council.drivers.runs import Run

TAIL_BYTES = 64 * 1024


def started(run: Run, argv: list[str], cwd: str, secrets: tuple[str, ...]) -> str:
    """Return what the log says before the program runs."""
    lines = [
        f"task: {run.task}",
        f"agent: {run.agent}",
        f"argv: {json.dumps(argv, ensure_ascii=False)}",
        f"folder: {cwd}",
        f"limit: {run.timeout.total_seconds():g} s",
    ]
    return masked("\n".join(lines), secrets) + "\n"


def ended(finished: Finished, reason: str, secrets: tuple[str, ...]) -> str:
    """Return what the log says after the program ended."""
    how = finished.ended_by if finished.exit_code is None else str(finished.exit_code)
    parts = [
        f"exit: {how}",
        f"duration: {finished.seconds:.3f} s",
        f"outcome: {masked(reason, secrets) or 'answered'}",
        "--- standard error ---",
        _tail(finished.stderr, finished.stderr_cut, secrets),
        "--- standard output ---",
        _tail(finished.stdout, finished.stdout_cut, secrets),
    ]
    return "\n".join(parts) + "\n"


def append(path: str, text: str) -> str:
    """Add to a log that only its owner may read; return what went wrong, "" for nothing.

    A run is worth more than its log, so a full disk ends no run.
    """
    if not path:
        return ""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        with open(os.open(path, flags, 0o600), "a", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        return f"{os.path.basename(path)}: {error.strerror or error}"
    return ""


def _tail(content: bytes, cut: bool, secrets: tuple[str, ...]) -> str:
    cut = cut or len(content) > TAIL_BYTES
    # A letter cut in two at the start must not stand before the end of a secret.
    text = content[-TAIL_BYTES:].decode("utf-8", "replace")
    text = masked(text.lstrip("\ufffd") if cut else text, secrets)
    return f"[...]\n{text}" if cut else text
