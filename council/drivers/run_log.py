"""The log of a run: what was started, how it ended, the end of what it printed, and no secret.

Source: XC-017, `cli.md` section 5.
"""

from __future__ import annotations

import json
import os

from council.core.reasons import Reason
from council.drivers.environment import masked
from council.drivers.runs import Answer, EndAsked, Run, failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.drivers.processes import Finished

_TAIL_BYTES = 64 * 1024
_MOST_REASON_CHARS, _MOST_READ_CHARS = 300, 4096


class RunLog:
    """The log of one run, which begins with what is started.

    Args:
        run: What is run.
        argv: Its command, as the log shows it.
        cwd: The folder in which it works.
        secrets: What neither the log nor the reason of a failure may show.
    """

    def __init__(self, run: Run, argv: list[str], cwd: str, secrets: tuple[str, ...]) -> None:
        self._path, self._argv, self._secrets = run.log_file, argv, secrets
        lines = [
            f"task: {run.task}",
            f"agent: {run.agent}",
            f"argv: {json.dumps(argv, ensure_ascii=False)}",
            f"folder: {cwd}",
            f"limit: {run.timeout.total_seconds():g} s",
        ]
        self._error = add_to_log(self._path, masked("\n".join(lines), secrets) + "\n")

    def end(self, answer: Answer, finished: Finished | None = None, hint: str = "") -> Answer:
        """Write down how the run ended.

        Args:
            answer: What came of it.
            finished: How its program ended, None if it never ran.
            hint: The variables that it may have lacked, "" for none.

        Returns:
            The answer; each text of its reason is one line without secrets.

        Raises:
            EndAsked: The program was ended because this process is to end; the log says so.
        """
        from council.core.plain_text import plain_line, shortened

        interrupted = finished is not None and finished.interrupted
        if interrupted:
            answer = failed(Reason.of("interrupted"))

        reason = answer.reason
        for name, value in reason.values.items():
            if isinstance(value, str):
                # A part of a secret is known for one only where the text ends: first it is masked.
                line = masked(plain_line(value[:_MOST_READ_CHARS]), self._secrets)
                reason = reason.with_values(**{name: shortened(line, _MOST_REASON_CHARS)})
        reason = reason.with_values(unseen=hint)
        outcome = json.dumps(reason.to_record(), ensure_ascii=False) if reason else "answered"
        lines = [f"outcome: {outcome}"]
        if finished is not None:
            how = finished.ended_by if finished.exit_code is None else str(finished.exit_code)
            lines = [
                f"exit: {how}",
                f"duration: {finished.seconds:.3f} s",
                *lines,
                "--- standard error ---",
                self._tail(finished.stderr, finished.stderr_cut),
                "--- standard output ---",
                self._tail(finished.stdout, finished.stdout_cut),
            ]
        error = add_to_log(self._path, "\n".join(lines) + "\n") or self._error
        if interrupted:
            raise EndAsked
        return answer.copy(reason=reason, log_error=error)

    def not_started(self, error: OSError | ValueError) -> Answer:
        """Write down that the program cannot be started, and return the failed attempt."""
        program = self._argv[0]
        if isinstance(error, FileNotFoundError):
            return self.end(failed(Reason.of("no-program", program=program), hopeless=True))
        if isinstance(error, PermissionError):
            return self.end(failed(Reason.of("no-right", program=program), hopeless=True))
        said = error.strerror if isinstance(error, OSError) else str(error)
        return self.end(failed(Reason.of("cannot-start", program=program, text=said or str(error))))

    def _tail(self, content: bytes, cut: bool) -> str:
        cut = cut or len(content) > _TAIL_BYTES
        # A letter cut in two at the start must not stand before the end of a secret.
        text = content[-_TAIL_BYTES:].decode("utf-8", "replace")
        text = masked(text.lstrip("\ufffd") if cut else text, self._secrets)
        return f"[...]\n{text}" if cut else text


def add_to_log(path: str, text: str) -> str:
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
