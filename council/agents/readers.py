"""What agent programs print, read as it comes: answer, use, failure, signs of pointless waiting.

The rules of each program are in `readers.toml`. They look at the structure alone, never at the
words of an answer; what no rule fits is passed over.
"""

from __future__ import annotations

from council.kernel import codec
from council.kernel.errors import Invalid
from council.kernel.page import decoded
from council.kernel.record import TYPE_CHECKING, Any, Record
from council.kernel.words import table

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_TRIES = 5  # after so many failed requests in a row a program is not waited for
WORDS = 400
REFUSED = frozenset(("refusal", "content_filter", "content-filter", "safety"))
HOPELESS = ("refused-key", "no-credit", "bad-model", "context-full", "refused-by-model")


class Said(Record):
    """What a program has said until now."""

    text: str = ""  # the last message of its model, as far as it came
    message: str = ""  # the id of that
    before: str = ""  # the message before it, which it may only point at
    is_done: bool = False  # what follows is another message
    reason: str = ""  # why its model stopped, in the program's own word
    refusal: str = ""  # the words of its model
    is_over: bool | None = None  # its turn went well and has ended; None before its first event
    goes_round: bool = False  # it began again after that
    fault: str = ""  # its failure in its own words
    status: int = 0  # of its failure, as its structure gives it
    code: str = ""  # likewise
    retries: int = 0  # requests that failed one after the other, the last one as `fault` says
    tokens: int | None = None  # None is unknown
    input: int | None = None  # those of `tokens` that its model read
    usd: float | None = None
    strange: str = ""  # the first line that is no event, or all of a short text

    def is_hopeless(self) -> bool:
        """Return whether its own further tries are pointless."""
        is_final = self.retries > 1 and classified(self.fault, self.status, self.code) in HOPELESS
        return is_final or self.retries >= MOST_TRIES


class Listener:
    """Feeds the bytes of an output, as they come, to the rules of a name.

    A function, or `text`, which takes it as it is, gets the whole of it at the end instead.
    """

    def __init__(self, reader: str | Callable[[str], Said]) -> None:
        self.said, self._rest = Said(), b""
        self._whole: Callable[[str], Said] = _plain if isinstance(reader, str) else reader
        self.is_plain = reader == "text"
        self._rules = list[dict[str, Any]]()
        if isinstance(reader, str) and not self.is_plain:
            self._rules = table("agents/readers.toml")[reader]

    def hear(self, data: bytes, *, last: bool = False) -> None:
        """Take what was printed next; the `last` line needs no end."""
        self._rest += data
        if not self._rules:
            self.said = self._whole(decoded(self._rest).removeprefix("\ufeff")) if last else Said()
            return
        *lines, self._rest = self._rest.split(b"\n")
        for line in [*lines, self._rest] if last else lines:
            text = line.decode("utf-8", "replace").strip()
            try:
                event = codec.loads(text) if text[:1] == "{" else None
            except Invalid:
                event = None
            if event is not None:
                rule = next((one for one in self._rules if _fits(event, one["when"])), {})
                _follow(self.said, rule, event)
            elif text:
                self.said.strange = self.said.strange or text[:WORDS]
        if last:  # the two halves of a character may have come in two pieces
            raw = _behind(self.said.before, self.said.text).encode("utf-16", "surrogatepass")
            self.said.text = raw.decode("utf-16", "replace")


def _plain(text: str) -> Said:
    return Said(text=text, strange=text.strip() if len(text) < WORDS else "")


def _at(event: Any, path: str) -> list[Any]:
    """Return the values at a path: one, none, or with `*` several."""
    values = [event]
    for key in path.split("."):
        if key == "*":
            many = [one for one in values if isinstance(one, dict | list)]
            values = [x for one in many for x in (one if isinstance(one, list) else one.values())]
        else:
            values = [one[key] for one in values if isinstance(one, dict) and key in one]
    return values


def text_at(event: Any, path: str) -> str:
    """Return the text at a path; of content in parts what is text."""
    value = (_at(event, path) or [""])[0]
    if isinstance(value, list):
        parts = [one for one in value if isinstance(one, dict) and one.get("type") == "text"]
        return "".join(one["text"] for one in parts if isinstance(one.get("text"), str))
    return value if isinstance(value, str) else ""


def _sum(event: Any, paths: list[str]) -> float:
    many: list[float] = [one for path in paths for one in _at(event, path)]
    return sum(one for one in many if type(one) in (int, float) and 0 <= one < 1e12)


def _fits(event: dict[str, Any], when: dict[str, Any]) -> bool:
    for path, expected in when.items():
        value = (_at(event, path) or [None])[0]
        many = expected if isinstance(expected, list) else [expected]
        if (bool(value) if isinstance(expected, bool) else value) not in many:
            return False
    return True


def _follow(said: Said, rule: dict[str, Any], event: dict[str, Any]) -> None:
    """Note what an object means by its rule."""
    if "use" in rule:
        sums = ([_sum(event, paths) for paths in rule[key]] for key in ("use", "read"))
        tokens, read = (next(filter(None, many), 0) for many in sums)
        usd, more = _sum(event, [rule.get("usd", "")]), rule.get("more", False)
        # Programs that cannot count say 0, which is unknown.
        said.tokens = int(tokens + (said.tokens or 0) * more) or said.tokens
        said.input = int(read + (said.input or 0) * more) or said.input
        said.usd = (usd + (said.usd or 0.0) * more) or said.usd
    if said.goes_round or (rule.get("round") and said.is_over):
        said.goes_round = True
        return
    said.is_done = said.is_done or rule.get("next", False)
    said.reason = text_at(event, rule.get("reason", "")) or said.reason
    said.refusal += text_at(event, rule.get("refusal", ""))
    if "text" in rule or "add" in rule:
        _write(said, rule, event)
    said.before = text_at(event, rule.get("before", "")) or said.before
    final = text_at(event, rule.get("final", ""))
    if "final" in rule and final.strip() not in said.text:
        said.before, said.text = _behind(said.before, said.text), final
    if "fault" in rule:
        _fail(said, rule, event)
    if "over" in rule:
        said.is_over = rule["over"]
        said.fault = "" if said.is_over else said.fault


def _behind(before: str, text: str) -> str:
    """Return the last message, behind the one before where it only says that that is the answer."""
    if len(text) >= min(160, len(before)):
        return text
    from council.agents.expressions import plain, search  # late: of short ones only

    return f"{before}\n\n{text}" if search("only points", plain(text)) else text


def _write(said: Said, rule: dict[str, Any], event: dict[str, Any]) -> None:
    """Note a piece of a message, or a whole one; an empty one may still be a sign of the model."""
    if said.retries:  # what was tried again has worked
        said.fault, said.status, said.code, said.retries = "", 0, "", 0
    text = text_at(event, rule.get("text") or rule["add"])
    ident = text_at(event, rule.get("message", ""))
    if "message" in rule and not text:
        return
    # A stream that broke is asked for again, or its last piece is all of it.
    is_whole = len(text) > 20 or (bool(said.reason) and text == said.text)
    is_again = is_whole and "add" in rule and said.text.startswith(text)
    goes_on = "add" in rule or (ident and ident == said.message)
    if goes_on and said.text and not said.is_done and not is_again:
        text = said.text + rule.get("join", "") + text
    elif not is_again and said.text:
        said.before = _behind(said.before, said.text)
    said.text, said.message, said.is_done = text, ident, False


def _fail(said: Said, rule: dict[str, Any], event: dict[str, Any]) -> None:
    """Note a failure that the structure tells."""
    words = next(filter(None, (text_at(event, path) for path in rule["fault"])), "")
    code = " ".join(filter(None, (text_at(event, path) for path in rule.get("code", []))))
    said.status, said.code = int(_sum(event, [rule.get("status", "")])), code
    shown = f"HTTP {said.status}" if said.status and str(said.status) not in words else ""
    why = ": ".join(filter(None, (shown, words or code)))
    said.fault = why or said.fault or "it does not say why"
    said.retries = said.retries + 1 if rule.get("retry") else 0


def told(words: str) -> str:
    """Return the words of a failure, without the JSON that a server put around them."""
    import re  # late: of a failure only

    found = re.search(r'"message": *"((?:[^"\\]|\\.)+)"', words)
    return (found[1] if found else words)[:WORDS]


def status_in(words: str) -> int:
    """Return the HTTP status that the words of a failure name in a usual form, 0 for none."""
    import re  # late: of a failure only

    found = re.search(r'(?:^|status|HTTP|code|error)[ :"]*([1-5]\d\d)\b', words, re.I)
    return int(found[1]) if found else 0


_BY_STATUS = {
    **{401: "refused-key", 403: "refused-key", 402: "no-credit", 404: "bad-model"},
    **{408: "unreachable", 413: "context-full", 429: "quota"},
}


def classified(words: str, status: int = 0, code: str = "") -> str:
    """Return the code of `runs.work` for a failure that a program tells in words."""
    import re  # late: of a failure only

    forms = table("agents/failures.toml")
    if code in forms or code in ("bad-settings", "timed-out"):
        return code
    status = status or status_in(words)
    by_status = _BY_STATUS.get(status, "unreachable" if status >= 500 else "")
    is_told = (k for k, many in forms.items() if re.search("|".join(many), f"{code} {words}", re.I))
    found = next(is_told, "")
    is_finer = found == "context-full" or (by_status, found) == ("quota", "no-credit")
    return (found if is_finer or by_status in ("", "unreachable") else "") or by_status or "crashed"


def words_of(errors: str, *, failed: bool = True) -> str:
    """Return the lines of standard error that say what went wrong, or the last one if it failed."""
    import re  # late: of a failure only

    plain = re.sub(r"\x1b\[[\d;]*[a-zA-Z]|[\x00-\x08\x0b-\x1f\x7f]", "", errors)
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    telling = r"\b(error|failed|fatal|stopped|cannot)\b|^\d\d\d\b"
    places = [at for at, one in enumerate(lines) if re.search(telling, one, re.I)]
    at = [len(lines) - failed, *places][-1]
    return re.sub(r"^(error: )+", "", " ".join(lines[at : at + 2]), flags=re.I)[:WORDS]


def tokens_in(errors: str) -> tuple[int | None, int | None]:
    """Return the tokens, and those of them that were read, of `llm --usage` on standard error."""
    _, mark, told = errors.partition("Token usage: ")
    words = told.partition("\n")[0].split()[:4] if mark else []  # 1,024 input, 7 output
    counts = [int(one.replace(",", "")) for one in words[::2] if one.replace(",", "").isdecimal()]
    return (sum(counts), counts[0]) if counts else (None, None)
