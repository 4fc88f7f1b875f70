"""What a driver is given and what it gives back."""

from __future__ import annotations

from council.kernel.record import Any, Record
from council.runs.work import Use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.agents.readers import Said


class RunPlace(Record):
    """Where and as what a run takes place.

    Attributes:
        root: The workspace, absolute.
        id: The run's id, which the agent sees as its task id.
        agent: Who runs; `phase` and `tour` say in which round (for `scripted`).
        folder: The run's own folder, absolute; `prompt.md`, `output`, `errors`, `report` and
            `pid` are written there.
        token: The secret that makes what it says *verified*.
        variables: Further variables of the run (`COUNCIL_NAME`, `COUNCIL_PHASE`, …).
        environ: The environment of the caller, of which the run sees a part.
        max_bytes: The longest answer that is taken.
        max_tokens, max_usd: What the run may use at most; 0 is no bound.
        now, seconds, stop: Set by `drivers.run`: when it begins, how long it may take, and what is
            asked now and then whether it has to end.
    """

    root: str
    id: str
    agent: str
    folder: str
    phase: str = ""
    tour: int = 1
    token: str = ""
    variables: dict[str, str] = {}
    environ: dict[str, str] = {}
    max_bytes: int = 1024 * 1024
    max_tokens: int = 0
    max_usd: float = 0.0
    now: Any = None
    seconds: float = 0.0
    stop: Any = None


class Output(Record):
    """What came of a run.

    Attributes:
        text: The answer as its program gave it. Where `code` is set, what there was of one.
        code: "" for an answer, else why there is none (`runs.work`).
        words: The failure in one line, in the program's words where it has any.
        use: What the program said that it used.
        cut: The program's own word for an end that is not a normal stop, e.g. `length`.
        again: When it may be tried again at the earliest, as text; None where nobody said.
        status: A status that a scripted answer carries, "" otherwise.
    """

    text: str = ""
    code: str = ""
    words: str = ""
    use: Use = Use()
    cut: str = ""
    again: str | None = None
    status: str = ""


class Finished(Record):
    """How a program ended.

    Attributes:
        code: Its exit code; negative for a signal.
        ended: Why it was ended: a code of `runs.work`, `hopeless` (its own words say why), `over`
            (it had finished and did not exit), "" where it ended by itself.
        words: The same in words.
    """

    code: int = 0
    ended: str = ""
    words: str = ""


def judged(
    said: Said | None, text: str, errors: str, finished: Finished, by_tool: bool = False
) -> Output:
    """Return what came of a program that has ended, with `errors` on its standard error.

    `said` is what its reader understood, None for a program whose output, `text`, is its answer.
    `by_tool`: it answers otherwise, so it may print nothing.
    """
    output = Output(text="" if by_tool else said.text if said else text)
    is_clean = not finished.code and not finished.ended
    if said is not None:
        output.use, is_whole = Use(tokens=said.tokens, usd=said.usd), said.is_over
        is_whole = is_whole or (is_clean and not said.fault)
    else:
        is_whole = is_clean
        if is_clean and (by_tool or text.strip()) and "Token usage: " not in errors:
            return output
    # Late: a plain answer needs no JSON.
    from council.agents import readers

    if said is None:
        output.use = Use(tokens=readers.tokens_in(errors))
    if is_whole:
        reason = said.reason if said else ""
        if reason in readers.CUT:
            output.code, output.words = "cut-off", f"the model was cut off ({reason})"
        elif reason in readers.REFUSED:
            output.code = "refused-by-model"
            output.words = f"the model refused: {output.text[:200].strip() or reason}"
        elif not by_tool and not output.text.strip():
            output.code = "no-answer"
            output.words = (said.strange if said else "") or "it ended without an answer"
        output.cut = "" if reason in readers.NORMAL else reason
    elif finished.ended and finished.ended != "hopeless":
        output.code, output.words = finished.ended, finished.words
        last = (said.fault if said else "") or readers.words_of(errors)
        output.words = "; its last words: ".join(filter(None, (finished.words, last)))
    else:
        words = (said.fault if said else "") or readers.words_of(errors)
        words = words or (said.strange if said else "")
        status, code = (said.status, said.code) if said and said.fault else (0, "")
        how = f"signal {-finished.code}" if finished.code < 0 else f"exit {finished.code}"
        output.code = readers.classified(words, status, code)
        output.words = words[: readers.WORDS] or f"it ended with {how}, silently"
        if output.code == "crashed" and words:
            output.words += f" ({how})"
    words = " ".join(output.words.split())
    output.words = "".join(letter for letter in words if letter.isprintable())
    return output
