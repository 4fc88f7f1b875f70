"""The worker's side: what a program printed as the messages that it means.

A worker gets one line and answers lines of its own version, or just words. A
line that is a message counts as one; words become the answer `S`. What a
message of an older version cannot say, depth, context and budget, is what the
request said.

The checks that every worker owes before it works stand here too, for workers
that are ours.

Source: PR-538, PR-546, PR-558, PR-559, PR-583, PR-598.
"""

from __future__ import annotations

from council.core.errors import ConversionRefusedError
from council.core.protocol.messages import COORDINATOR, DATA_CHARS, Message, inline, is_inline
from council.core.protocol.payload import flags_and_pairs
from council.core.record import Record
from council.wire.carried import message_of
from council.wire.identifiers import is_code, is_digits
from council.wire.messages import parse
from council.wire.parsed import Parsed

_LEAST_BARS = 4
_BARS = {"V2": 4, "V3": 6, "V4": 7, "V5": 10}
_NAME = "result"
_REF = "#REF:"
_KINDS = frozenset("SCUXA")
_STATES = {"S": "D", "C": "R", "U": "R", "X": "R", "A": "-", "E": "F"}
_CHARS_OF_A_TOKEN = 4
_BEGINS_CHARS = 80


class Told(Record):
    """One message of a program, in the words of V5; `whole` is DATA that was too long for it."""

    message: Message
    whole: str = ""


class Said(Record):
    """What a program said.

    Args:
        messages: Its messages in order.
        faulty: The lines that want to be messages and are none, as read.
        words: All that is no message.
    """

    messages: list[Told] = []  # noqa: RUF012 - Record copies it
    faulty: list[Parsed] = []  # noqa: RUF012 - never changed in place
    words: str = ""


def read_output(text: str, request: Message) -> Said:
    """Return what the output of a program means, asked for `request`."""
    said = Said()
    words = []
    for line in text.split("\n"):
        found = _as_message(line.strip("\r"))
        if found is None:
            words.append(line)
            continue
        try:
            if found.errors:
                raise ConversionRefusedError("faults", found.version, "V5")
            message = message_of(found)
        except ConversionRefusedError:
            said.faulty.append(found)
            continue
        if found.version != "V5":
            message = message.copy(
                context=request.context,
                budget=request.budget,
                depth=request.depth + (message.kind == "X"),
            )
        cut = "W_DATA_TRUNCATED" in found.warnings
        whole = found.text.split("|", _BARS[found.version])[-1] if cut else ""
        said.messages.append(Told(message=message, whole=whole))
    said.words = "\n".join(words).strip()
    return said


def _as_message(line: str) -> Parsed | None:
    """Return the reading of a line that wants to be a message, None of any other."""
    head, bars = line.partition("|")[0], line.count("|")
    is_numbered = (head[:1] == "M" and is_digits(head[1:])) or (
        head[:4] == "MSG_" and is_digits(head[4:])
    )
    return parse(line) if is_numbered and bars >= _LEAST_BARS else None


def reply(
    request: Message,
    kind: str,
    data: str,
    *,
    worker: str,
    state: str = "",
    code: str = "",
    budget: int | None = None,
) -> Message:
    """Return a worker's message about a request: same task, context, depth and priority."""
    flags, pairs = flags_and_pairs(data)
    return Message(
        number=request.number + 1,
        sender=worker,
        receiver=request.sender,
        kind=kind,
        task=request.task,
        priority=request.priority,
        state=state,
        code=code,
        depth=request.depth,
        context=request.context,
        budget=request.budget if budget is None else budget,
        data=data,
        pairs=tuple(pairs.items()),
        flags=tuple(flags),
    )


def fits(words: str) -> bool:
    """Tell whether words can be the result in DATA as they stand."""
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
        tokens: What it used up, 0 for an estimate from the length of the words.

    Source: PR-536, PR-539, PR-582.
    """
    used = tokens or -(-len(words) // _CHARS_OF_A_TOKEN)
    left = None if request.budget is None else max(0, request.budget - used)
    pairs = referring(words, ref) if ref else {_NAME: words}
    data = ";".join(f"{name}={value}" for name, value in pairs.items())
    return reply(request, "S", data, worker=worker, state="D", budget=left)


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
    """Tell whether a worker answers a message: one of O1, or a hand-off to it (PR-559)."""
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
    handed = reply(request, "X", data, worker=worker, state="R")
    half = None if request.budget is None else request.budget // 2
    handed = handed.copy(receiver=target, depth=request.depth + 1, budget=half)
    told = f"handoff={target};reason={inline(handed.pair('reason') or 'specialised', 60)}"
    notice = reply(request, "U", told, worker=worker, state="R")
    return [handed, notice.copy(receiver=COORDINATOR, number=request.number + 2)]
