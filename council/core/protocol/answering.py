"""The answer to the user: what came of the tasks, short and without a trace of the protocol.

Source: PR-556, PR-557, A-91.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from council.core.conversations.conversation import TaskState
from council.core.protocol.exchange import LAST_MESSAGE, Exchange, ExchangeStep, Task
from council.core.protocol.messages import COORDINATOR, USER, inline
from council.core.protocol.payload import flags_and_pairs
from council.core.protocol.transaction import Transaction
from council.core.reading_answers.protocol_lines import without_lines

Payload = Callable[[str], str]

RESULT = "result"
_TITLE_CHARS = 80
_SUMMARY_CHARS = 150
# Pairs that are there for the programs between which a result travelled.
_NOT_FOR_USERS = frozenset(
    (
        *("pid", "auth", "src", "call", "params", "part", "handoff", "subtask", "from", "to"),
        "begins",
        *("retry", "max", "fallback", "fallback_from", "needed", "have", "raised", "simpler"),
    )
)
# What went wrong, by code; the reason follows where a worker gave one.
_WORDS: dict[str, tuple[str, str]] = {
    "E16": ("this was handed on too often", "ceci a été transmis trop de fois"),
    "E17": ("this needs more than its budget", "ceci dépasse le budget prévu"),
    "E18": ("there were too many questions", "il y a eu trop de questions"),
    "E19": ("nobody here can do this", "personne ici ne sait le faire"),
    "E20": ("this took too long", "cela a pris trop de temps"),
    "E21": ("no answer came in time", "aucune réponse n’est venue à temps"),
    "E22": ("who did this is gone", "qui le faisait a disparu"),
    "E23": ("nobody chose in time", "personne n’a choisi à temps"),
    "E30": ("nobody was there to do this", "personne n’était là pour le faire"),
    "E31": ("everybody was busy", "tout le monde était occupé"),
    "E32": ("something that is needed was not there", "une ressource nécessaire manquait"),
    "E33": ("a file was not found", "un fichier est introuvable"),
}
_UNREAD = ("the answer could not be read", "la réponse n’a pas pu être lue")
_UNKNOWN = (
    "the answer named something that cannot be found",
    "la réponse nommait quelque chose d’introuvable",
)
# What was wrong with what a worker sent, where it did not say so itself.
_REFUSED = {
    **dict.fromkeys(("E10", "E11", "E12", "E13", "E14", "E15"), _UNREAD),
    **dict.fromkeys(("E40", "E41", "E42", "E43"), _UNKNOWN),
}
_OTHER = ("this failed", "cela a échoué")
# The code of a worker that is away stands for one as well that crashed or said nothing of use.
_WITHOUT_ANSWER = (
    "no worker gave an answer that could be used",
    "aucun worker n’a donné de réponse utilisable",
)
_CANCELLED = ("This was cancelled.", "Ceci a été annulé.")
_DONE_BY = ("done by {}", "fait par {}")
_SO_MANY = ("{} of {} ", "{} sur {} ")
_NOT_DONE = ("Not done: {}.", "Pas fait : {}.")
_NOTHING = ("Done.", "C’est fait.")
_GONE = (
    "This was done, but its result cannot be found.",
    "Ceci a été fait, mais le résultat est introuvable.",
)
_BY_DEFAULT = (
    "Nobody answered “{}” in time: “{}” was taken.",
    "Personne n’a répondu à temps à « {} » : « {} » a été retenu.",
)
_NOBODY_FOR = ("no worker for {}", "personne pour {}")
_WITH_REASON = ("E17", "E19")


def answer_of(exchange: Exchange, payload: Payload, lang: str = "en") -> str:
    """Return the text for the user: what was composed, else the results and what failed.

    It says which defaults were taken where the user did not choose in time.

    Args:
        exchange: A context whose tasks are over.
        payload: Returns the text of a stored payload by its id, "" when it is gone.
        lang: `en` or `fr`.

    Source: PR-556, PR-557, OP-007.
    """
    french = lang == "fr"
    tasks = [one for one in exchange.tasks.values() if not one.told]
    text = _plain(exchange.answer) if exchange.composed else ""
    if not text:
        told = [(one, _outcome(exchange, one, payload, french)) for one in tasks]
        text = "\n\n".join(f"{_title(one)}\n{said}".strip() for one, said in told)
        if len(told) == 1:
            text = told[0][1]
    defaults = [
        _BY_DEFAULT[french].format(one.text, one.answer)
        for task in tasks
        for one in task.questions
        if one.is_default
    ]
    return "\n\n".join((text, *defaults))


def verdict_of(tasks: Sequence[Task], names: Mapping[str, str], lang: str = "en") -> str:
    """Return in one line who did the tasks of a request, and why the others were not done.

    Args:
        tasks: Tasks that are over.
        names: The agents of the workspace by their protocol ids.
        lang: `en` or `fr`.

    Source: OP-004.
    """
    french = lang == "fr"
    done = [one for one in tasks if one.state is TaskState.D]
    lasts = [hop.attempt for one in done for hop in one.hops if hop.attempt]
    workers = [one.worker for one in lasts if one.state is TaskState.D]
    who = ", ".join(dict.fromkeys(names.get(one, one) for one in workers))
    parts = []
    if done:
        count = "" if len(done) == len(tasks) else _SO_MANY[french].format(len(done), len(tasks))
        parts.append(count + _DONE_BY[french].format(who))
    ends = [(one.id, _end_of(one, french)) for one in tasks]
    parts += [f"{name}: {end}".rstrip(".") for name, end in ends if end]
    return " ".join("; ".join(parts).split())


def _title(task: Task) -> str:
    text = _plain(task.text)
    return f"{inline(text, _TITLE_CHARS)}:" if text else ""


def _outcome(exchange: Exchange, task: Task, payload: Payload, french: bool) -> str:
    if end := _end_of(task, french):
        return end
    results = [hop.result for hop in task.hops if hop.source == COORDINATOR and hop.result] or [
        task.result
    ]
    texts = [readable(exchange, one, payload) for one in results]
    text = "\n\n".join(one for one in texts if one)
    if text:
        return text
    refers = any("#" in value for one in results for value in _for_users(one).values())
    return (_GONE if refers else _NOTHING)[french]


def _end_of(task: Task, french: bool) -> str:
    """Return how a task ended that was not done, with the reason as the worker wrote it; else "".

    Our own reasons are English and speak of the protocol.
    """
    if task.state is TaskState.X:
        return _CANCELLED[french]
    if task.state is not TaskState.F:
        return ""
    said, reason = _failure(task, french)
    return _NOT_DONE[french].format(f"{said} ({reason})" if reason else said)


def _failure(task: Task, french: bool) -> tuple[str, str]:
    """Return what went wrong, and the reason."""
    lasts = [hop.attempt for hop in task.hops if hop.source == COORDINATOR and hop.attempt]
    failed = [one for one in lasts if one.state is TaskState.F]
    if failed and task.code == "E30":
        return _WITHOUT_ANSWER[french], ""
    own_words = bool(failed) and failed[-1].own_words
    known = _WORDS if own_words else {**_WORDS, **_REFUSED}
    said = known.get(task.code, _OTHER)[french]
    if own_words:
        is_told = task.code not in _WORDS or task.code in _WITH_REASON
        return said, _plain(task.reason) if is_told else ""
    if not failed and task.code == "E19" and task.caps:
        return said, _NOBODY_FOR[french].format(", ".join(task.caps))
    return said, ""


def _for_users(data: str) -> dict[str, str]:
    """Return the pairs of a result that are for people; plain text is its result."""
    pairs = flags_and_pairs(data)[1] or {RESULT: data}
    return {
        name: value
        for name, value in pairs.items()
        if name not in _NOT_FOR_USERS and (name == RESULT or not value.startswith("#MSG:"))
    }


def readable(exchange: Exchange, data: str, payload: Payload) -> str:
    """Return a result as people read it: references replaced by what they mean, no marks."""
    flags, pairs = flags_and_pairs(data)
    if not pairs:
        return _plain(_resolved(exchange, data, payload))
    values = {
        name: _plain(_resolved(exchange, value.strip().strip('"'), payload))
        for name, value in _for_users(data).items()
    }
    values = {name: value for name, value in values.items() if value}
    if list(values) == [RESULT] and not flags:
        return values[RESULT]
    lines = [one.replace("_", " ") for one in flags]
    first = values.pop(RESULT, "")
    lines += [f"{name.replace('_', ' ')}: {value}" for name, value in values.items()]
    return "\n".join([first, *lines] if first else lines)


def _resolved(exchange: Exchange, text: str, payload: Payload) -> str:
    """Return a text with each reference in it replaced by what it names, "" for what is gone."""
    if "#" not in text:
        return text
    words = []
    for word in text.split(" "):
        kind, name = word[:5], word[5:].rstrip(".,")
        if kind == "#CTX:":
            words.append(exchange.values.get(name, ""))
        elif kind == "#REF:":
            task, colon, field = name.partition(":")
            known = exchange.tasks.get(task)
            found = known.fields.get(field, "") if colon and known else ""
            words.append(found if colon else payload(name))
        elif kind == "#MSG:":
            words.append(_result_in(exchange, name))
        else:
            words.append(word)
    return " ".join(words).strip()


def _result_in(exchange: Exchange, name: str) -> str:
    """Return the result that an earlier message gave, "" where it refers to another one."""
    number = name.removeprefix("M").lstrip("0")
    posted = exchange.posted_as(int(number)) if number.isdecimal() and len(number) < 5 else None
    told = posted.message.pair(RESULT) if posted is not None else ""
    return "" if "#" in told else told


def _plain(text: str) -> str:
    """Return a text without lines of the protocol: of such a line what it says is kept."""
    return without_lines(text).strip()


def composed(tx: Transaction, text: str, *, run: str = "") -> ExchangeStep:
    """Take the answer that the orchestrator's agent composed; "" leaves it to the results."""
    new = tx.exchange
    tx.end_run(run)
    if new.composed or not new.is_open:
        return tx.step()
    new.composed, new.answer = True, text.strip()
    tx.tell("answer.composed", agent=new.orchestrator, chars=len(text.strip()))
    return tx.step("composed")


def answered(tx: Transaction, *, text: str = "") -> ExchangeStep:
    """Note that the user got `text`, and close the context (PR-556).

    One that is kept open goes on.
    """
    new = tx.exchange
    untold = [one for one in new.tasks.values() if not one.told]
    if not untold or not new.is_open:
        return tx.step()
    if new.next_message <= LAST_MESSAGE:
        pairs = {RESULT: inline(text, _SUMMARY_CHARS)}
        tx.say(untold[0], USER, "S", pairs=pairs, state=TaskState.D)
    for one in untold:
        one.told = True
    new.answered_at, new.composed = tx.now, False
    tx.tell("context.answered", tids=[one.id for one in untold], chars=len(text))
    if not new.kept_open:
        tx.close("complete")
    return tx.step("answered")
