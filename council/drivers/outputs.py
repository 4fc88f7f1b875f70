"""What a well-known program prints, read as it comes: answer, tokens, cost, failure, retries.

Each reader takes one event, a JSON object on a line of its own, and says in `Said` what it means.
Readers look at the structure alone: no words of an answer are searched for what looks like an
error, and what an event does not say stays unknown. A kind of event that no reader knows is passed
over. The name of a reader is that of its row in `programs.py`; what each expects was recorded from
the real program of the version that stands there (`tests/drivers/recorded`).

Source: CL-002.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from council.core.record import Any, Record

_MOST_STDERR_LINE = 16 * 1024
_MOST_STRANGE = 4096


# What went wrong: the words of the program, and status and code as its structure gives them.
Fault = tuple[str, int, str]


class Said(Record):
    """What a program has said until now.

    Attributes:
        parts: The last message of its model, in pieces.
        message: By what that message is told from the next one.
        drafted: How many letters of that message came, also where it is not whole yet.
        is_alive: There was a sign of its model.
        is_ended: The last event of a turn that went well was there.
        fault: How it failed, None for as long as it did not.
        complaint: What it calls an error on standard error; that counts if its exit code says so.
        retry: Why it tries again by itself, None if its model was heard since.
        retries: How often it has tried again, one after the other.
        tokens: What it used, None for unknown.
        usd: What that cost, None for unknown.
        strange: The first line that is no event.
        is_text: It prints no events: its answer is all of its standard output.
    """

    parts: list[str] = []
    message: str = ""
    drafted: int = 0
    is_alive: bool = False
    is_ended: bool = False
    fault: Fault | None = None
    complaint: Fault | None = None
    retry: Fault | None = None
    retries: int = 0
    tokens: int | None = None
    usd: float | None = None
    strange: str = ""
    is_text: bool = False

    @property
    def text(self) -> str:
        """The last message of its model."""
        return "".join(self.parts)

    def writes(self, text: str) -> None:
        """Add to the last message."""
        self.parts.append(text)
        self.drafted += len(text)

    def begins(self, message: str = "") -> None:
        """Note that what follows is another message."""
        self.parts, self.drafted, self.message = [], 0, message

    def lives(self) -> None:
        """Note a sign of the model: what was tried again has worked."""
        self.is_alive, self.retry, self.retries = True, None, 0

    def tries_again(self, words: str, status: int = 0, code: str = "") -> None:
        """Note that a request failed and is sent again."""
        self.retry, self.retries = (words, status, code), self.retries + 1

    def fails(self, words: str, status: int = 0, code: str = "") -> None:
        """Note how it failed."""
        self.fault = words or code or "it says not why", status, code

    def uses(self, tokens: int, usd: float = 0.0) -> None:
        """Add what was used; a cost of 0 is one that it does not know."""
        self.tokens = (self.tokens or 0) + tokens
        if usd > 0:
            self.usd = (self.usd or 0.0) + usd


class Output:
    """The output of one run.

    Args:
        program: A row of `PRESETS` that is structured; another's answer is all that it prints.
        most_bytes: The longest answer that is taken; a longer one, or a line eight times as
            long, makes `is_too_long` true.
    """

    def __init__(self, program: str, most_bytes: int) -> None:
        self._read, self._complains = _READERS.get(program), program in _READERS
        self.said = Said(is_text=self._read is None)
        self.is_too_long = False
        self._most = most_bytes
        self._begun = {False: b"", True: b""}

    def hear(self, chunk: bytes, *, complaint: bool = False) -> None:
        """Take what was printed next, on standard error if it is a complaint."""
        if self._read is None and not complaint and chunk.strip():
            self.said.lives()
        if not (self._complains if complaint else self._read):
            return
        *lines, begun = (self._begun[complaint] + chunk).split(b"\n")
        for line in lines:
            self._take(line, complaint)
        if complaint:
            begun = begun[:_MOST_STDERR_LINE]
        elif len(begun) > 8 * self._most:
            self.is_too_long = True
            begun = b"\0"  # of such a line no end may look like an event
        self._begun[complaint] = begun
        self.is_too_long |= self.said.drafted > self._most

    def close(self) -> Said:
        """Take the last lines, which need no end, and return what was said."""
        for complaint, line in self._begun.items():
            self._take(line, complaint)
        self._begun = {False: b"", True: b""}
        return self.said

    def _take(self, line: bytes, complaint: bool) -> None:
        said, text = self.said, line.decode("utf-8", "replace")
        if complaint:
            _complaint(said, text)
        elif text.strip() and self._read:
            try:
                event = json.loads(text)
            except (ValueError, RecursionError):
                event = None
            if isinstance(event, dict) and isinstance(event.get("type"), str):
                self._read(said, event)
            else:
                said.strange = said.strange or text[:_MOST_STRANGE]


# --- Parts of events, whatever they turn out to be


def at(event: Any, *keys: str) -> Any:
    """Return what stands under keys, one in the other; None where one of them is missing."""
    for key in keys:
        event = event.get(key) if isinstance(event, dict) else None
    return event


def text_at(event: Any, *keys: str) -> str:
    """Return a text, "" for whatever else stands there."""
    value = at(event, *keys)
    return value if isinstance(value, str) else ""


def list_at(event: Any, *keys: str) -> list[Any]:
    """Return a list, an empty one for whatever else stands there."""
    value = at(event, *keys)
    return value if isinstance(value, list) else []


def number_at(event: Any, *keys: str) -> float:
    """Return a number from 0 on; 0 for whatever else stands there."""
    value = at(event, *keys)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 1e12 else 0


def _count(event: Any, *names: str) -> int:
    return int(sum(number_at(event, name) for name in names))


def _inner(words: str) -> tuple[str, int, str]:
    """Return the message, status and code of a provider that stand as JSON within words."""
    start = words.find('{"error"')
    if start >= 0:
        try:
            error, _ = json.JSONDecoder().raw_decode(words[start:])
        except (ValueError, RecursionError):
            return words, 0, ""
        if message := text_at(error, "error", "message"):
            each = list_at(error, "error", "details")
            code = next(filter(None, (text_at(one, "reason") for one in each)), "")
            status = int(number_at(error, "error", "code"))
            return message, status, code or text_at(error, "error", "status")
    return words, 0, ""


_STATUS = re.compile(
    r"\b(?:unexpected status|last status:|Error code:|provider returned HTTP) ([1-5]\d\d)\b"
)


def status_in(words: str) -> int:
    """Return the HTTP status that an error message of a program names by its usual form."""
    found = _STATUS.search(words)
    return int(found[1]) if found else 0


# --- One reader for each program


def _claude(said: Said, event: dict[str, Any]) -> None:
    kind = event["type"]
    if kind == "system" and event.get("subtype") == "api_retry":
        status = int(number_at(event, "error_status"))
        code = text_at(event, "error")
        said.tries_again(f"{code} ({status})" if status else code, status, code)
    elif kind == "stream_event":
        said.lives()
        if text_at(event, "event", "type") == "message_start":
            said.begins()
        said.drafted += len(text_at(event, "event", "delta", "text"))
    elif kind == "assistant":
        if event.get("is_api_error_message"):
            said.begins(text_at(event, "error"))  # what stands in it is no message of its model
        else:
            said.lives()
    elif kind == "result" and isinstance(event.get("is_error"), bool):
        _claude_result(said, event)


def _claude_result(said: Said, event: dict[str, Any]) -> None:
    code, text, models = said.message, text_at(event, "result"), at(event, "modelUsage")
    said.is_ended = True
    said.begins()
    said.writes(text)
    names = "inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"
    each = models.values() if isinstance(models, dict) else ()
    said.uses(sum(_count(one, *names) for one in each), number_at(event, "total_cost_usd"))
    if event["is_error"] or event.get("subtype") != "success":
        errors = "; ".join(map(str, list_at(event, "errors")))
        words = text or errors or text_at(event, "subtype")
        if text_at(event, "terminal_reason") == "prompt_too_long":
            code = "prompt_too_long"
        status = int(number_at(event, "api_error_status"))
        said.fails(words, status, code or text_at(event, "api_error_type"))


# Where it gives no status: the sentences that it has for a code of its provider.
_CODEX_SAYS = {
    "Quota exceeded. ": "insufficient_quota",
    "We’re currently experiencing high demand": "server_error",
}
_RECONNECTING = re.compile(r"Reconnecting\.\.\. \d+/\d+ \((.+)\)", re.DOTALL)


def _codex(said: Said, event: dict[str, Any]) -> None:
    kind, item = event["type"], text_at(event, "item", "type")
    if kind == "error":
        words = text_at(event, "message")
        if again := _RECONNECTING.fullmatch(words):
            words = again[1]
        said.tries_again(*_of_codex(words))
    elif kind == "turn.failed":
        said.fails(*_of_codex(text_at(event, "error", "message")))
    elif kind == "turn.completed":
        said.is_ended = True
        said.uses(_count(at(event, "usage"), "input_tokens", "output_tokens"))
    elif item and item != "error":
        said.lives()
        if kind == "item.completed" and item == "agent_message":
            said.begins()
            said.writes(text_at(event, "item", "text"))


def _of_codex(words: str) -> tuple[str, int, str]:
    codes = (code for begin, code in _CODEX_SAYS.items() if words.startswith(begin))
    return words, status_in(words), next(codes, "")


def _gemini(said: Said, event: dict[str, Any]) -> None:
    kind = event["type"]
    if kind == "message" and event.get("role") == "assistant":
        said.lives()
        if said.message == "tool":  # what it said before is no part of its last message
            said.begins()
        said.writes(text_at(event, "content"))
    elif kind in ("tool_use", "tool_result"):
        said.lives()
        said.message = "tool"
    elif kind == "result":
        said.is_ended = True
        said.uses(_count(at(event, "stats"), "total_tokens"))
        if event.get("status") != "success":
            said.fails(*_inner(text_at(event, "error", "message")))


def _opencode(said: Said, event: dict[str, Any]) -> None:
    kind, part = event["type"], at(event, "part")
    if kind == "error":
        words = text_at(event, "error", "data", "message")
        status = int(number_at(event, "error", "data", "statusCode"))
        said.fails(words, status, text_at(event, "error", "name"))
        return
    said.lives()
    if kind == "text":
        message = text_at(part, "messageID")
        if message != said.message:
            said.begins(message)
        said.writes(("\n\n" if said.parts else "") + text_at(part, "text"))
    elif kind == "step_finish":
        said.is_ended = text_at(part, "reason") != "tool-calls"
        tokens, cache = at(part, "tokens"), at(part, "tokens", "cache")
        each = _count(tokens, "input", "output", "reasoning") + _count(cache, "read", "write")
        said.uses(_count(tokens, "total") or each, number_at(part, "cost"))


_COUNT = r"(\d[\d,]{0,14})"
_USAGE = re.compile(rf"Token usage: (?:{_COUNT} input)?(?:, )?(?:{_COUNT} output)?")
_ATTEMPT = re.compile(r"Attempt \d+ failed with status (\d{3})\. Retrying with backoff")


def _complaint(said: Said, line: str) -> None:
    """Read a line of standard error: `llm` and `gemini` say there what stands nowhere else."""
    if (usage := _USAGE.match(line)) and any(usage.groups()):
        said.uses(sum(int(one.replace(",", "")) for one in usage.groups() if one))
    elif attempt := _ATTEMPT.match(line):
        words, _, code = _inner(line)
        said.tries_again(words, int(attempt[1]), code)
    elif line.startswith("Error: "):
        words = line.removeprefix("Error: ")
        said.complaint = words, status_in(words), ""


_READERS: dict[str, Callable[[Said, dict[str, Any]], None] | None] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "llm": None,
}
