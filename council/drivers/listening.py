"""Listening to a well-known program while it runs: when it is ended early, and what it comes to.

Such a program may try again by itself for a quarter of an hour where a key is wrong, and say
nothing that people see. So it is ended when a key was refused several times, when all it does for a
minute is to try again, or when it shows no sign of its model for as long as a healthy run may need.

Source: CL-002.
"""

from __future__ import annotations

import time

from council.core.agents import ANSWER_TOOL, AgentSettings
from council.core.reasons import NO_ANSWER, Reason
from council.drivers.outputs import Output
from council.drivers.processes import Finished
from council.drivers.programs import PRESETS, Preset
from council.drivers.runs import Answer, Run, answer_of, failed, fault

# Our own attempts come later, and say why.
_RETRIES_S = 60.0
# The first may be for an old token, which the program then renews.
_REFUSALS = 3
_TEXT = Preset(argv=(), version="")


class Listener:
    """Hears one run of a well-known program, or of one that has a limit for its first output.

    Args:
        program: The preset by whose form its output is read, "" for text.
        run: What is run.
        settings: Of its agent.
    """

    def __init__(self, program: str, run: Run, settings: AgentSettings) -> None:
        self._program, self._run = program, run
        self._by_tool = settings.answer == ANSWER_TOOL
        self._output = Output(program, run.max_text_bytes)
        own, self._row = settings.first_output, PRESETS.get(program, _TEXT)
        # An argv of the user's own may lack what lets the program speak early.
        usual_s = 0.0 if settings.argv else self._row.first_output_s
        self._silent_s = own.total_seconds() if own else usual_s
        self._started = time.monotonic()
        self._retrying_since: float | None = None
        self._gave_up: Answer | None = None

    @property
    def prompt(self) -> str:
        """The prompt as the program takes it for what it is."""
        return self._row.taking(self._run.prompt)

    @property
    def hears_all(self) -> bool:
        """Whether its events are taken as they come, however many; else its output is kept."""
        return not self._output.said.is_text

    def hear(self, chunk: bytes, is_complaint: bool) -> None:
        """Take what it printed next."""
        self._output.hear(chunk, complaint=is_complaint)

    def must_end(self) -> bool:
        """Return true if it is not to be waited for any longer."""
        said, now = self._output.said, time.monotonic()
        if said.retry is None:
            self._retrying_since = None
            if self._silent_s and not said.is_alive and now - self._started >= self._silent_s:
                limit = Reason.of("no-sign", **{"for": self._silent_s})
                self._gave_up = failed(limit, timed_out=True)
        else:
            self._retrying_since = self._retrying_since or now
            longest = min(_RETRIES_S, self._silent_s or _RETRIES_S)
            answer = fault(*said.retry)
            if answer.hopeless and said.retries >= _REFUSALS:
                self._gave_up = answer
            elif now - self._retrying_since >= longest:
                self._gave_up = answer.copy(reason=answer.reason.with_values(retried=longest))
        if self._output.is_too_long and not self._by_tool:
            self._gave_up = failed(self._run.too_long)
        return self._gave_up is not None

    def judge(self, finished: Finished, reason: Reason) -> Answer:
        """Return what came of the run, with what it used.

        Args:
            finished: How the program ended.
            reason: Why it failed by that alone, no reason if it did not.
        """
        said = self._output.close()
        answer = self._gave_up or self._failure(finished, reason)
        if answer is None and self._by_tool:
            answer = Answer(ok=True, by_tool=True)
        if answer is None:
            text = self._row.given(said.text)
            whole = finished.stdout if said.is_text else text.encode("utf-8", "replace")
            answer = answer_of(self._run, whole)
        timed_out = answer.timed_out or finished.timed_out
        return answer.copy(
            tokens=said.tokens, usd=said.usd, timed_out=timed_out, exit_code=finished.exit_code
        )

    def _failure(self, finished: Finished, reason: Reason) -> Answer | None:
        said = self._output.said
        found = said.fault or (reason and (said.retry or said.complaint))
        if found:
            answer = fault(*found)
            late = reason.values.get("after") if finished.timed_out else None
            return answer.copy(reason=answer.reason.with_values(timeout=late))
        if reason and 0 != finished.exit_code == self._row.keyless_exit:
            return fault(finished.stderr.decode("utf-8", "replace"), 401)
        if reason:
            return failed(reason)
        if said.is_ended or said.is_text or self._by_tool:
            return None
        if said.strange:
            program = f"{self._program} {self._row.version}"
            strange = Reason.of("strange-output", program=program, text=said.strange)
            return failed(strange, hopeless=True)
        is_silent = not finished.stdout.strip()
        return failed(NO_ANSWER if is_silent else Reason.of("cut-short"))
