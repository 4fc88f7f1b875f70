"""The ways to run an agent: what each driver, mostly a module, is given, and what it gives back."""

from __future__ import annotations

from council.agents import readers
from council.agents.readers import Said
from council.kernel.ids import is_blank
from council.kernel.record import TYPE_CHECKING, Any, Record
from council.runs.work import Use

if TYPE_CHECKING:
    from collections.abc import Iterable

NORMAL = "stop end_turn completed complete stop_sequence tool_use eos eos_token"
CUT = "length max_tokens max_output_tokens model_length model_context_window_exceeded"
GOES_ON = ("", "tool_use", "tooluse")  # all words of these three are in lower case
_PROXIES = "HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY"
_OTHERS = """COUNCIL_NOW PATH HOME USER LOGNAME SHELL LANG TERM TMPDIR TZ SSL_CERT_FILE SSL_CERT_DIR
NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_USE_SYSTEM_CA LC_*"""
# What a run sees of the environment, beside what its preset and its agent's `env` name.
ALLOWED = frozenset(f"{_PROXIES} {_PROXIES.lower()} {_OTHERS}".split())


class RunPlace(Record):
    """Where and as what a run takes place."""

    root: str  # the workspace, absolute
    id: str  # the run's id, which the agent sees as its task id
    agent: str
    folder: str  # the run's own, absolute, of `prompt.md`, `output`, `errors`, `report` and `pid`
    token: str = ""  # the secret that makes what it says *verified*
    schema: Any = None  # the JSON schema of the answer, None for free text
    variables: dict[str, str] = {}  # further ones of the run (`COUNCIL_NAME`, `COUNCIL_PHASE`, …)
    environ: dict[str, str] = {}  # the environment of the caller, of which the run sees a part
    max_bytes: int = 1024 * 1024  # the longest answer that is taken
    seconds: float = 0.0  # how long it may take
    stop: Any = None  # asked several times a second whether the run has to end

    def environment(self, names: Iterable[str]) -> dict[str, str]:
        """Return what its program sees; `names` are those of settings and preset."""
        wanted = ALLOWED.union(names)
        begins = tuple(name[:-1] for name in wanted if name[-1:] == "*")
        seen = {k: v for k, v in self.environ.items() if k in wanted or k.startswith(begins)}
        own = {"ROOT": self.root, "AGENT": self.agent, "TASK_ID": self.id, "CWD": self.root}
        own |= {"REPORT": f"{self.folder}/report", "TOKEN": self.token}
        return seen | self.variables | {f"COUNCIL_{name}": one for name, one in own.items()}


class Output(Record):
    """What came of a run."""

    text: str = ""  # the answer as its program gave it; where `code` is set, what there was of one
    code: str = ""  # "" for an answer, else why there is none (`runs.work`)
    words: str = ""  # about that, in one line
    use: Use = Use()
    cut: str = ""  # the program's own word for an end that is not a normal stop, e.g. `length`
    status: str = ""  # a status that a scripted answer carries, "" otherwise


def judged(
    said: Said, errors: str, exit_code: int, ended: tuple[str, str], by_tool: bool = False
) -> Output:
    """Return what came of a program that has ended, with `errors` on its standard error.

    `exit_code` is negative for a signal. `ended` is why it was ended from outside, code and words:
    a code of `runs.work`, `hopeless` (its own words say why), `over` (it had finished and did not
    exit). `by_tool`: it answers otherwise, so it may print nothing.
    """
    (code, words), why = ended, said.reason.lower()
    output = Output(text="" if by_tool else said.text)
    tokens, read = (said.tokens, said.input) if said.tokens else readers.tokens_in(errors)
    output.use = Use(tokens=tokens, input=read, usd=said.usd)
    is_cut = said.is_over is False and why in GOES_ON and bool(output.text.strip())
    if said.is_over or not (exit_code or code or said.fault or is_cut):
        output.cut = "" if why in NORMAL.split() else said.reason
        if why in CUT.split():
            output.code, output.words = "cut-off", f"the model was cut off ({said.reason})"
        elif said.refusal or why in readers.REFUSED:
            told = said.refusal or output.text.strip() or said.reason
            output.code, output.words = "refused-by-model", f"the model refused: {told[:200]}"
        elif not by_tool and is_blank(output.text):
            last = readers.words_of(said.strange or errors * (not said.is_over), failed=False)
            output.code = readers.classified(last).replace("crashed", "no-answer")
            output.words = readers.told(last or said.strange)
    else:
        last = said.fault or readers.words_of(errors)
        if code not in ("", "hopeless"):
            output.code, output.words = code, "; its last words: ".join(filter(None, (words, last)))
        else:
            how = f"signal {-exit_code}" if exit_code < 0 else f"exit {exit_code}"
            last = last or ("its output ended before its turn did" * is_cut or said.strange)
            output.code = readers.classified(last, said.status, said.code)
            silently = ", silently" * (not said.text)
            output.words = readers.told(last) or f"it ended with {how}{silently}"
            output.words += f" ({how})" if output.code == "crashed" and last and exit_code else ""
    words = "".join(filter(str.isprintable, " ".join(output.words.split())))
    output.words = words or "it ended without an answer" * (output.code == "no-answer")
    return output


def scripted(place: RunPlace) -> Output:
    """Return the answer that `answers.md` of an agent has for this turn.

    An answer for the round of a number counts before one for a phase. `*` is everybody.
    """
    path = f"{place.root}/memory/agents/{place.agent}/answers.md"
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            said = script(file.read(16 << 20))
    except OSError as error:
        return Output(code="bad-settings", words=f"{path}: {error.strerror}")
    for due in (place.variables.get(f"COUNCIL_{one}", "") for one in ("TOUR", "PHASE")):
        if found := said.get((place.agent, due)) or said.get(("*", due)):
            return Output(text=found[0], status=found[1])
    return Output(code="no-answer", words="its file has no answer for this turn")


def script(text: str) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the answers of a file: text and status by agent and when it is due.

    A heading such as `## henry COLLECT` or `## sage 3 done` says agent, when, and status; the
    answer is all up to the next one. Of several under the same heading the first one counts.
    """
    import re  # late: slow to import, and few agents are scripted

    _, *parts = re.split(r"(?m)^## (\S+) (\d+|[A-Z]+)(?: (responded|agreed|done))?[ \t]*$", text)
    rows = [*zip(*(parts[at::4] for at in range(4)), strict=True)]
    return {row[:2]: (row[3].strip(), (row[2] or "").upper()) for row in reversed(rows)}
