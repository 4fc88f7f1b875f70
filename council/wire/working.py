"""The worker's side: what a program printed as the messages that it means.

A worker gets one line. It answers by a letter and DATA (`S results=5`), by
lines of its own version, or by just words: words become the answer `S`. What a
message of an older version cannot say, depth, context and budget, is what the
request said. Lines behind a result belong to it.

The checks that every worker has to make before it works stand here too, for
workers that are ours.

Source: HR-015, HR-016, PR-538, PR-546, PR-558, PR-559, PR-583, PR-598.
"""

from __future__ import annotations

from council.core.errors import ConversionRefusedError
from council.core.plain_text import estimated_tokens
from council.core.protocol.messages import COORDINATOR, DATA_CHARS, Message, inline, is_inline
from council.core.protocol.payload import flags_and_pairs
from council.core.reading_answers.cleaning import clean, fence_of
from council.core.reading_answers.protocol_lines import unwrapped
from council.core.record import Record
from council.wire.carried import message_of
from council.wire.codes import CODES, mapped
from council.wire.forms import NAMES
from council.wire.identifiers import is_code
from council.wire.worker_lines import Asked, Line, json_line, line_in, line_to_send, not_sendable

_NAME = "result"
_REF = "#REF:"
_KINDS = frozenset("SCUXA")
_STATES = {"S": "D", "C": "R", "U": "R", "X": "R", "A": "-", "E": "F"}
_BEGINS_CHARS = 80
_KNOWN_CODES = frozenset(CODES["V5"]) | frozenset(CODES["V4"])
# What DATA cannot hold, as signs that seem the same to a person.
_WIDE = str.maketrans({"|": "｜", ">": "＞"})


class Told(Record):
    """One message of a program, in the words of V5.

    Args:
        message: The message.
        whole: A text that its DATA cannot hold, "" for none.
        name: The pair whose value that text is; "" where it is all that DATA says.
        repaired: What was repaired in its line, in words.
    """

    message: Message
    whole: str = ""
    name: str = ""
    repaired: tuple[str, ...] = ()


class Said(Record):
    """What a program said.

    Args:
        messages: Its messages in order.
        faulty: The lines that are meant as messages and cannot be read as any.
        words: All that is no message.
    """

    messages: list[Told] = []
    faulty: list[Line] = []
    words: str = ""


def read_output(
    text: str, request: Message, *, worker: str = "", version: str = "V5", lang: str = "en"
) -> Said:
    """Return what the output of a program means.

    Args:
        text: All that it printed.
        request: What it was asked.
        worker: Its id, "" for the one who was asked.
        version: The version that it speaks.
        lang: `en` or `fr`, for what is wrong with a line.
    """
    asked = Asked(request=request, worker=worker or request.receiver, version=version, lang=lang)
    plain = clean(text)
    as_json = json_line(plain, asked)
    if as_json is not None:
        return Said(faulty=[as_json])
    reader = _Reader(asked)
    is_alone = not plain.strip().count("\n")
    for line in plain.split("\n"):
        reader.take(line, is_alone=is_alone)
    return reader.end()


class _Reader:
    """Takes the lines of an output one by one."""

    def __init__(self, asked: Asked) -> None:
        self.said = Said()
        self._asked = asked
        self._words: list[str] = []
        self._result: Told | None = None  # lines behind it belong to it
        self._more: list[str] = []

    def take(self, line: str, *, is_alone: bool) -> None:
        """Take one line; `is_alone` says that the output has no other."""
        found = line_in(line, self._asked)
        if found is not None:
            self._close()
            self._take_line(found)
            return
        short = _short_form(line, self._asked, is_alone=is_alone)
        if short:
            self._close()
            self._add(short)
        elif self._result is not None and line.strip() and not fence_of(line):
            self._more.append(line.rstrip())
        else:
            self._close()
            self._words.append(line)

    def end(self) -> Said:
        """Return all that was said."""
        self._close()
        self.said.words = "\n".join(self._words).strip()
        return self.said

    def _take_line(self, line: Line) -> None:
        found = line.found
        try:
            if found.errors:
                raise ConversionRefusedError("faults", found.version, "V5")
            message = message_of(found)
        except ConversionRefusedError:
            if not line.fault:
                right = line_to_send([], self._asked)
                line = line.copy(fault=not_sendable(self._asked.lang), right=right)
            self.said.faulty.append(line)
            return
        if found.version != "V5":
            request = self._asked.request
            depth = request.depth + (message.kind == "X")
            message = message.copy(context=request.context, budget=request.budget, depth=depth)
        cut = "W_DATA_TRUNCATED" in found.warnings
        data = (
            found.text.split("|", len(NAMES[found.version]) - 1)[-1].rstrip("\r\n") if cut else ""
        )
        told = _fitting(message, data) if cut else Told(message=message)
        self._add([told.copy(repaired=line.repaired)])

    def _add(self, told: list[Told]) -> None:
        self.said.messages += told
        self._result = told[-1] if told[-1].message.kind == "S" else None

    def _close(self) -> None:
        """End the result that was open: what stood behind it is part of it."""
        if self._result is not None and self._more:
            first = self._result.whole or _readable(self._result.message.data)
            self._result.whole = "\n".join([first, *self._more])
        self._result, self._more = None, []


def _readable(data: str) -> str:
    """Return DATA as a text: one pair a line, the value alone of a result that is all of it."""
    flags, pairs = flags_and_pairs(data)
    if not pairs:
        return data
    if list(pairs) == [_NAME] and not flags:
        return pairs[_NAME]
    return "\n".join([*flags, *(f"{name}: {value}" for name, value in pairs.items())])


def _fitting(message: Message, data: str) -> Told:
    """Return a message whose DATA is too long, or holds marks that no DATA may hold.

    A result lies elsewhere as a whole, of a hand-off its longest value. What else
    is too long is cut on the wire, and is whole where the message is acted on.
    """
    flags, pairs = flags_and_pairs(data)
    if message.kind == "S":
        short = inline(data, DATA_CHARS)
        return Told(message=message.saying(short), whole=_readable(data))
    if not pairs:
        return Told(message=message.saying(inline(data, DATA_CHARS)))
    longest = max(pairs, key=lambda name: len(pairs[name]))
    room = DATA_CHARS - len(data) + len(pairs[longest])
    cut = {**pairs, longest: inline(pairs[longest], max(1, room))}
    wire = ";".join([*flags, *(f"{name}={value}" for name, value in cut.items())])
    kept = message.copy(
        data=wire.translate(_WIDE)[:DATA_CHARS], pairs=tuple(pairs.items()), flags=tuple(flags)
    )
    if message.kind == "X" and len(data) > DATA_CHARS:
        return Told(message=kept, whole=pairs[longest], name=longest)
    return Told(message=kept)


def _short_form(line: str, asked: Asked, *, is_alone: bool) -> list[Told]:
    """Return the messages that a line in the short form stands for, [] for mere words.

    A letter or a code, and DATA: `S results=5`, `C question=…;options=a,b`, `E33 desc=…`,
    `U progress=50%`, `X W2 call=…;reason=…`. Behind bullets, in bold or in a code span it counts
    too, with a small letter or a colon as well.

    Codes are those of V4 where the worker speaks V4. Where the output has no other line, DATA
    need not be a pair.

    Source: HR-016.
    """
    if not _may_be_short(line):
        return []
    bare, mended = unwrapped(line)
    word, data, marks = _parted(bare)
    if not data or not _is_said(word, data, is_alone=is_alone and not mended):
        return []
    if is_code(word) and asked.version == "V4":
        word = mapped(word, "V4", "V5")[0]
    repaired = (*mended, *marks)
    told = [
        _fitting(one, one.data) if not _can_be_sent(one.data) else Told(message=one)
        for one in written_short(f"{word} {data}", asked.request, asked.worker)
    ]
    if told and told[0].message.kind == "S" and asked.request.budget is not None:
        left = max(0, asked.request.budget - estimated_tokens(data))
        told[0].message = told[0].message.copy(budget=left)
    return [one.copy(repaired=repaired) for one in told]


def _may_be_short(line: str) -> bool:
    """Return false quickly if no letter or code stands behind the marks of a line."""
    head = line.lstrip(" \t>-*+•#`_\"'“«0123456789.)|")[:4]
    return head[:1].upper() in _KINDS | {"E"} and (
        head[1:2] in (" ", ":", "|", "*", "`", "\t") or head[1:3].isdigit()
    )


def _parted(line: str) -> tuple[str, str, list[str]]:
    """Return the letter or code of a short line, its DATA, and what was repaired."""
    at = 3 if line[1:3].isdigit() else 1
    word, rest = line[:at], line[at:]
    marks = [] if word.isupper() else ["letter case"]
    plain = rest.lstrip("*`_")
    plain = plain.lstrip()
    if plain[:1] in (":", "|"):
        plain = plain[1:].lstrip("*`_ ")
        marks.append("the sign behind its letter")
    elif rest[:1] not in (" ", "\t", "*", "`"):
        return word, "", marks
    return word.upper(), plain.strip(), marks


def _is_said(word: str, data: str, *, is_alone: bool) -> bool:
    """Return true if DATA behind a letter can only be meant as such, and is no sentence."""
    if word == "X":
        target, _, data = data.partition(" ")
        return target[:1] in "Ww" and target[1:].isdigit() and _begins_with_pair(data.strip())
    if _begins_with_pair(data):
        return word != "A"
    if not is_alone or (is_code(word) and word not in _KNOWN_CODES):
        return False
    return word == "S" or is_code(word) or (word == "C" and data.endswith("?")) or data == "ok"


def _begins_with_pair(data: str) -> bool:
    name, equals, value = data.partition("=")
    name = name.rstrip()
    return bool(equals and value.strip()) and name.isidentifier()


def _can_be_sent(data: str) -> bool:
    return len(data) <= DATA_CHARS and not set("|>") & set(data) and data.isprintable()


def reply(
    request: Message, kind: str, data: str, *, worker: str, state: str = "", code: str = ""
) -> Message:
    """Return a worker's message about a request: same task, context, depth, priority, budget."""
    changes = {"sender": worker, "receiver": request.sender, "number": request.number + 1}
    return request.saying(data, kind=kind, state=state, code=code, **changes)


def fits(words: str) -> bool:
    """Return true if words can be the result in DATA as they stand."""
    return is_inline(words, DATA_CHARS - len(f"{_NAME}="))


def wrapped(
    words: str, request: Message, *, worker: str, ref: str = "", tokens: int = 0
) -> Message:
    """Return words as the answer S to a request.

    Args:
        words: What the program printed.
        request: What it was asked.
        worker: Its id.
        ref: The artifact that holds the words whole, where DATA cannot.
        tokens: What it used up, 0 for an estimate from the words.

    Source: PR-536, PR-539, PR-582.
    """
    used = tokens or estimated_tokens(words)
    left = None if request.budget is None else max(0, request.budget - used)
    pairs = referring(words, ref) if ref else {_NAME: words}
    data = ";".join(f"{name}={value}" for name, value in pairs.items())
    return reply(request, "S", data, worker=worker, state="D").copy(budget=left)


def referring(whole: str, ref: str) -> dict[str, str]:
    """Return the pairs of DATA that stand for a text too long for it (PR-536)."""
    begins = inline(whole.replace("#", ""), _BEGINS_CHARS)  # it refers to nothing itself
    return {_NAME: f"{_REF}{ref}", "begins": begins}


class Profile(Record):
    """What a worker of ours knows of itself.

    Args:
        worker: Its id.
        caps: What it can do; () is refused nothing.
        max_depth: It serves messages whose depth is below this.
        estimate: The tokens that the work will take.
    """

    worker: str
    caps: tuple[str, ...] = ()
    max_depth: int = 4
    estimate: int = 0


def refusal(request: Message, profile: Profile) -> Message | None:
    """Return why a worker cannot take a request on, None when it can.

    Source: PR-558, PR-583.
    """
    capability = request.pair("call")
    if request.depth >= profile.max_depth:
        code, data = "E16", f"desc=max_depth;details=depth {request.depth} of {profile.max_depth}"
    elif request.budget is not None and request.budget < profile.estimate:
        needed = f"needed={profile.estimate};have={request.budget}"
        code, data = "E17", f"desc=budget insufficient;{needed}"
    elif capability and profile.caps and capability not in profile.caps:
        code, data = "E19", f"desc=capability not supported;details={inline(capability, 40)}"
    else:
        return None
    return reply(request, "E", data, worker=profile.worker, state="F", code=code)


def is_for(request: Message, worker: str) -> bool:
    """Return true if a worker answers a message: one of O1, or a hand-off to it (PR-559)."""
    if request.receiver != worker:
        return False
    if request.sender.startswith("O"):
        return request.kind in ("R", "C", "S")
    return request.kind == "X" and request.depth > 0


def written_short(line: str, request: Message, worker: str) -> list[Message]:
    """Return the messages that one short line of a worker stands for, none for mere words.

    `S results=5`, `E33 desc=file not found`, `C question=…`, `U progress=50%`,
    `X W2 call=…`: a letter and DATA, with everything else as in the request. A
    hand-off brings its notice to the orchestrator with it.
    """
    word, _, data = line.strip().partition(" ")
    data = data.strip()
    if not data:
        return []
    if is_code(word):
        return [reply(request, "E", data, worker=worker, state="F", code=word)]
    if word not in _KINDS:
        return []
    if word != "X":
        state = _STATES[word].replace("-", "")
        return [reply(request, word, data, worker=worker, state=state)]
    target, _, data = data.partition(" ")
    target, data = target.upper(), data.strip()
    handed = reply(request, "X", data, worker=worker, state="R")
    half = None if request.budget is None else request.budget // 2
    handed = handed.copy(receiver=target, depth=request.depth + 1, budget=half)
    told = f"handoff={target};reason={inline(handed.pair('reason') or 'specialised', 60)}"
    notice = reply(request, "U", told, worker=worker, state="R")
    return [handed, notice.copy(receiver=COORDINATOR, number=request.number + 2)]
