"""What agent programs print, read as it comes: answer, use, failure, signs of pointless waiting.

A reader takes one JSON object of a program's output and says in `Said` what it means. It looks at
the structure alone, never at the words of an answer; what it does not know it passes over. What
each expects was recorded from the real program (`tests/programs`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable

from council.kernel.record import Any, Record

MOST_TRIES = 5  # after so many failed requests in a row a program is not waited for
WORDS = 400
NORMAL = frozenset(("", "stop", "end_turn", "completed", "stop_sequence", "tool_use"))
CUT = frozenset(("length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"))
REFUSED = frozenset(("refusal", "content_filter", "content-filter", "safety"))


class Said(Record):
    """What a program has said until now.

    Attributes:
        text: The last message of its model, as far as it came.
        message: What tells that message from the next one.
        reason: Why its model stopped, in the program's own word.
        is_over: The last event of a turn that went well was there.
        goes_round: It began again after that.
        fault: Its failure in its own words; `status` and `code` as its structure gives them.
        retries: Requests that failed one after the other, the last one as `fault` tells it.
        tokens, usd: What it used; None is unknown.
        strange: The first line that is no event.
    """

    text: str = ""
    message: str = ""
    reason: str = ""
    is_over: bool = False
    goes_round: bool = False
    fault: str = ""
    status: int = 0
    code: str = ""
    retries: int = 0
    tokens: int | None = None
    usd: float | None = None
    strange: str = ""

    def fails(self, words: str, status: float = 0, code: str = "", *, retry: bool = False) -> None:
        """Note a failure; `retry`: the program will ask again by itself."""
        inner, inner_status, inner_code = _inner(words)
        self.fault = inner or code or "it does not say why"
        self.status, self.code = int(status) or inner_status, code or inner_code
        self.retries = self.retries + 1 if retry else 0

    def lives(self) -> None:
        """Note a sign of its model: what was tried again has worked."""
        if self.retries:
            self.fault, self.status, self.code, self.retries = "", 0, "", 0

    def uses(self, tokens: float, usd: float = 0, *, more: bool = False) -> None:
        """Note totals, or `more`; programs that cannot count say 0, which is unknown."""
        old = (self.tokens or 0, self.usd or 0.0) if more else (0, 0.0)
        self.tokens = int(old[0] + tokens) or self.tokens
        self.usd = old[1] + usd or self.usd

    def is_hopeless(self) -> bool:
        """Return whether its own further tries are pointless."""
        final = ("refused-key", "no-credit", "bad-model", "context-full", "refused-by-model")
        is_final = classified(self.fault, self.status, self.code) in final
        return self.retries >= (2 if is_final else MOST_TRIES)


class Listener:
    """Feeds the bytes of an output, as they come, to the reader of that name; `text` has none."""

    def __init__(self, name: str) -> None:
        self.said, self._read, self._rest = Said(), READERS.get(name), b""

    def hear(self, data: bytes, *, last: bool = False) -> None:
        """Take what was printed next; the `last` line needs no end."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in [*lines, self._rest] if last else lines:
            text = line.decode("utf-8", "replace").strip()
            if not text or self._read is None:
                continue
            event = None
            if text[0] == "{":
                try:
                    event = json.loads(text)
                except (ValueError, RecursionError):
                    event = None
            if isinstance(event, dict):
                self._read(self.said, event)
            else:
                self.said.strange = self.said.strange or text[:WORDS]


# --- Parts of events, whatever they turn out to be


def _at(event: Any, *keys: str) -> Any:
    for key in keys:
        event = event.get(key) if isinstance(event, dict) else None
    return event


def _text(event: Any, *keys: str) -> str:
    value = _at(event, *keys)
    return value if isinstance(value, str) else ""


def _number(event: Any, *keys: str) -> float:
    value = _at(event, *keys)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 1e12 else 0


def _sum(event: Any, names: str) -> float:
    return sum(_number(event, name) for name in names.split())


def _parts(content: Any) -> str:
    """Return the text parts of a message's content."""
    if isinstance(content, str):
        return content
    many = content if isinstance(content, list) else []
    return "".join(_text(one, "text") for one in many if _at(one, "type") == "text")


def _inner(words: str) -> tuple[str, int, str]:
    """Return message, status and code of a server's JSON within words."""
    start = words.find("{")
    try:
        found, _ = json.JSONDecoder().raw_decode(words[start:]) if start >= 0 else (None, 0)
    except (ValueError, RecursionError):
        found = None
    error = _at(found, "error") or found
    message = _text(error, "message")
    if not message:
        return words, 0, ""
    reasons = [_text(one, "reason") for one in _at(error, "details") or [] if _text(one, "reason")]
    code = _text(error, "code") or (reasons or [""])[0] or _text(error, "status")
    status = int(_number(error, "code")) or status_in(words[:start])
    return message, status, code or _text(error, "type")


# --- One reader a program


def _claude(said: Said, event: dict[str, Any]) -> None:
    kind = _text(event, "type")
    if kind == "system" and event.get("subtype") == "api_retry":
        status, code = _number(event, "error_status"), _text(event, "error")
        said.fails(f"{code} ({status:.0f})" if status else code, status, code, retry=True)
    elif kind == "stream_event":
        said.lives()
        said.reason = _text(event, "event", "delta", "stop_reason") or said.reason
        if _text(event, "event", "type") == "message_start":
            said.is_over, said.message = False, ""
    elif kind == "assistant" and not event.get("is_api_error_message"):
        said.lives()
        text, ident = _parts(_at(event, "message", "content")), _text(event, "message", "id")
        if text and not text.startswith("[API Error:"):
            said.text = said.text + text if ident and ident == said.message else text
        said.message = ident if text else said.message
    elif kind == "result":
        _claude_result(said, event)


def _claude_result(said: Said, event: dict[str, Any]) -> None:
    result = _text(event, "result")
    models, usage = _at(event, "modelUsage"), _at(event, "usage")
    names = "inputTokens outputTokens cacheReadInputTokens cacheCreationInputTokens"
    tokens = sum(_sum(one, names) for one in models.values()) if isinstance(models, dict) else 0
    tokens = tokens or _number(usage, "total_tokens") or _sum(usage, "inputTokens outputTokens")
    said.uses(tokens, _number(event, "total_cost_usd"))
    said.reason = _text(event, "stop_reason") or said.reason
    if event.get("is_error") or event.get("subtype") != "success":
        code = "prompt_too_long" if event.get("terminal_reason") == "prompt_too_long" else ""
        code = said.reason if said.reason in REFUSED else code
        words = result or _text(event, "error", "message") or _text(event, "subtype")
        said.fails(words, _number(event, "api_error_status"), code)
        return
    # Of several blocks of one message `result` may have one, or none at all.
    said.text = said.text if result.strip() in said.text else result
    said.is_over = True


def _codex(said: Said, event: dict[str, Any]) -> None:
    kind, item = _text(event, "type"), _text(event, "item", "type")
    if kind == "error":
        again = re.fullmatch(r"Reconnecting\.\.\. \d+/\d+ \((.+)\)", _text(event, "message"), re.S)
        said.fails(again[1] if again else _text(event, "message"), retry=bool(again))
    elif kind == "turn.failed":
        said.fails(_text(event, "error", "message"))
    elif kind == "turn.started":
        said.text, said.is_over = "", False
    elif kind == "turn.completed":
        said.fault, said.is_over = "", True
        said.uses(_sum(_at(event, "usage"), "input_tokens output_tokens"))
    elif item and item != "error":
        said.lives()
        if kind == "item.completed" and item == "agent_message":
            said.text = _text(event, "item", "text")


def _gemini(said: Said, event: dict[str, Any]) -> None:
    kind = _text(event, "type")
    if kind == "message" and event.get("role") == "assistant":
        piece = _text(event, "content")
        said.lives()
        # A stream that broke is asked for again: its beginning comes once more.
        if said.message == "tool" or (len(piece) > 20 and said.text.startswith(piece)):
            said.text = ""
        said.text, said.message = said.text + piece, ""
    elif kind in ("tool_use", "tool_result"):
        said.message = "tool"
    elif kind == "error":
        said.fails(_text(event, "message"))
    elif kind == "result":
        said.uses(_number(event, "stats", "total_tokens"))
        if event.get("status") == "success":
            said.fault, said.is_over = "", True
        elif _text(event, "error", "message") or not said.fault:
            said.fails(_text(event, "error", "message"))


def _opencode(said: Said, event: dict[str, Any]) -> None:
    kind, part = _text(event, "type"), _at(event, "part")
    if kind == "error":
        error, data = _at(event, "error"), _at(event, "error", "data")
        said.fails(_text(data, "message"), _number(data, "statusCode"), _text(error, "name"))
    elif kind == "step_finish":
        tokens, cache = _at(part, "tokens"), _at(part, "tokens", "cache")
        each = _sum(tokens, "input output reasoning") + _sum(cache, "read write")
        said.uses(_number(tokens, "total") or each, _number(part, "cost"), more=True)
        said.reason = _text(part, "reason")
        said.is_over = said.is_over or (said.reason != "tool-calls" and bool(said.text.strip()))
        if not said.text.strip() and said.reason == "unknown":  # round and round without a word
            said.fails("its model ends every step without a word", retry=True)
    elif said.is_over:  # a provider whose finish reason it does not know is asked without end
        said.goes_round = True
    elif kind == "text":
        said.lives()
        ident, text = _text(part, "messageID"), _text(part, "text")
        said.text = f"{said.text}\n\n{text}" if ident == said.message and said.text else text
        said.message = ident


def _copilot(said: Said, event: dict[str, Any]) -> None:
    kind, data = _text(event, "type"), _at(event, "data")
    if kind == "assistant.message":
        said.lives()
        said.text = _text(data, "content")
    elif kind == "model.call_failure":
        status = _number(data, "statusCode")
        said.fails(f"HTTP {status:.0f}", status, retry=True)
    elif kind == "session.error":
        said.fails(_text(data, "message"), _number(data, "statusCode"), _text(data, "errorType"))
    elif kind == "result" and event.get("exitCode") == 0:
        said.is_over = True


def _pi(said: Said, event: dict[str, Any]) -> None:
    kind, message = _text(event, "type"), _at(event, "message")
    if kind == "message_end" and _at(message, "role") == "assistant":
        usage = _at(message, "usage")
        said.uses(_number(usage, "totalTokens"), _number(usage, "cost", "total"), more=True)
        said.reason = _text(message, "stopReason")
        if said.reason == "error":
            said.fails(_text(message, "errorMessage"), retry=True)
        else:
            said.lives()
            said.text = _parts(_at(message, "content"))
    elif kind == "agent_settled":
        said.is_over = said.reason == "stop"


def _kimi(said: Said, event: dict[str, Any]) -> None:
    if event.get("role") == "assistant" and not event.get("tool_calls"):
        said.lives()
        said.text = _parts(_at(event, "content"))
    elif event.get("type") == "turn.step.retrying":
        words, code = _text(event, "error_message"), _text(event, "error_name")
        said.fails(words, _number(event, "status_code"), code, retry=True)
    elif event.get("type") == "session.resume_hint":
        said.is_over = bool(said.text)


def _cline(said: Said, event: dict[str, Any]) -> None:
    inner = _at(event, "event")
    if event.get("type") == "run_result":
        said.uses(
            _sum(_at(event, "usage"), "inputTokens outputTokens"),
            _number(event, "usage", "totalCost"),
        )
        if event.get("finishReason") == "completed":
            said.text, said.fault, said.is_over = _text(event, "text"), "", True
        elif not said.fault:
            said.fails(_text(event, "text"))
    elif _at(inner, "type") == "error":
        said.fails(_text(inner, "error", "message"), 0, _text(inner, "errorClass"))


def _vibe(said: Said, event: dict[str, Any]) -> None:
    if event.get("role") == "assistant" and event.get("type", "message") == "message":
        outcome = _text(event, "outcome", "type") or "committed"
        said.text = _parts(_at(event, "content")) if outcome == "committed" else ""


def _openhands(said: Said, event: dict[str, Any]) -> None:
    kind = _text(event, "kind")
    if kind == "MessageEvent" and event.get("source") == "agent":
        said.text = _parts(_at(event, "llm_message", "content"))
    elif kind == "ConversationErrorEvent":
        said.fails(_text(event, "detail"), 0, _text(event, "code"))


def _openai(said: Said, event: dict[str, Any]) -> None:
    """Read what the driver `openai` prints (`runs/drivers/openai.py`)."""
    said.text += _text(event, "piece")
    if "use" in event:
        counts = [one if isinstance(one, int | float) else 0 for one in event["use"]]
        said.uses(counts[0] + counts[1], counts[2])
    if "fault" in event:
        said.fails(_text(event, "fault"), _number(event, "status"), _text(event, "code"))
    if "end" in event:
        said.reason, said.is_over = _text(event, "end"), True
        # The two halves of a character may come in two pieces.
        said.text = said.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


READERS: dict[str, Callable[[Said, dict[str, Any]], None]] = {
    **{"claude": _claude, "qwen": _claude, "codex": _codex, "gemini": _gemini},
    **{"opencode": _opencode, "copilot": _copilot, "pi": _pi, "kimi": _kimi},
    **{"cline": _cline, "vibe": _vibe, "openhands": _openhands, "openai": _openai},
}

# --- What a failure is

_STATUS = re.compile(r"(?:^|status|HTTP|code|error)[ :]*([1-5]\d\d)\b", re.I)


def status_in(words: str) -> int:
    """Return the HTTP status that the words of a failure name in a usual form, 0 for none."""
    found = _STATUS.search(words)
    return int(found[1]) if found else 0


_BY_STATUS = {
    **{401: "refused-key", 403: "refused-key", 402: "no-credit", 404: "bad-model"},
    **{408: "unreachable", 413: "context-full", 429: "quota"},
}


def classified(words: str, status: int = 0, code: str = "") -> str:
    """Return the code of `runs.work` for a failure that a program tells in words."""
    import tomllib  # late: of failures only

    with open(f"{os.path.dirname(__file__)}/failures.toml", "rb") as file:
        forms = tomllib.load(file)
    if code in forms or code == "bad-settings":
        return code
    status = status or status_in(words)
    by_status = _BY_STATUS.get(status, "unreachable" if status >= 500 else "")
    tests = {name: "|".join(many) for name, many in forms.items()}
    said = f"{code} {words}"
    found = next((name for name, form in tests.items() if re.search(form, said, re.I)), "")
    is_finer = found == "context-full" or (by_status, found) == ("quota", "no-credit")
    if is_finer or by_status in ("", "unreachable"):
        return found or by_status or "crashed"
    return by_status


def words_of(errors: str) -> str:
    """Return the line of standard error that says what went wrong, "" where there is none."""
    plain = re.sub(r"\x1b\[[\d;]*[a-zA-Z]|[\x00-\x08\x0b-\x1f\x7f]", "", errors)
    lines = [_inner(line.strip())[0] for line in plain.splitlines() if line.strip()]
    telling = r"\b(error|failed|fatal|stopped|cannot)\b|^\d\d\d\b"
    chosen = ([one for one in lines if re.search(telling, one, re.I)] or lines or [""])[-1]
    return re.sub(r"^(error: )+", "", chosen, flags=re.I)[:WORDS]


def tokens_in(errors: str) -> int | None:
    """Return the tokens that `llm --usage` tells on standard error."""
    found = re.search(r"^Token usage: ([\d,]+) input(?:, ([\d,]+) output)?", errors, re.M)
    return sum(int(one.replace(",", "")) for one in found.groups() if one) if found else None
