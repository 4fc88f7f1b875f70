"""What `respond`, `vote`, `synthesize`, `context`, `wait` and `heartbeat` do.

Source: `cli.md` sections 2 and 3.
"""

from __future__ import annotations

import os
import sys

from council.commands.output import Output, read_text, shown
from council.core.errors import ConflictError, CouncilError, NotFoundError
from council.core.record import Any
from council.core.times import parse_duration
from council.operations.place import Place, conversation_name, speaker
from council.store.paths import is_ghost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.conversations.answer import Answered
    from council.operations.conversations.stating import Stated

OVER_CODE = 8
TIMEOUT_CODE = 7
_AS_LONG_AS_IT_TAKES = "3650d"
NOTHING_OPEN = "nothing is open; start with: council convene"


def respond(place: Place, values: dict[str, Any], *, only: str = "") -> Output:
    """Record an answer and say what became of it; `only` refuses all other phases."""
    from council.operations.conversations.answer import refused
    from council.operations.conversations.answer import respond as record

    agent = speaker(place, values["as_"])
    # Read before anything is looked at: what is refused must not be lost with the input.
    text = ""
    if values["text"] or values["file"] or not _states(values):
        text = read_text(values["text"], values["file"], place.settings.max_text_bytes)
    try:
        answered = record(
            place,
            conversation_name(place, values["name"]),
            agent,
            text,
            task=values["task"] or place.environ.get("COUNCIL_TASK_ID", ""),
            status=values.get("status") or "responded",
            token=place.environ.get("COUNCIL_TOKEN", ""),
            only=only,
            stated=_stated(values),
            check=bool(values.get("check")),
        )
    except CouncilError as error:
        typed = "" if values["file"] not in ("", "-") else text
        raise refused(place, values["name"], agent, typed, error) from None
    where = f"{answered.phase} (round {answered.tour})"
    found = answered.understood
    as_status = f" as {found.status}" if found is not None and found.form == "text" else ""
    said = {
        "recorded": f"{agent}: recorded for {where}{as_status}",
        "already-recorded": f"{agent}: this answer for {where} stands already{_again(answered)}",
        "late": f"{agent}: {where} is closed; the text is kept among the late contributions",
        "checked": f"{agent}: nothing is recorded; this would be understood for {where}",
    }[answered.outcome]
    if values.get("check") and answered.outcome == "late":
        said = f"{agent}: {where} is closed; the text would be kept among the late contributions"
    if answered.moved_to:
        said += f"; {answered.moved_from} is over, {answered.moved_to} begins"
        if answered.moved_from == answered.moved_to:
            said = f"{agent}: recorded for {where}{as_status}; the next round begins"
    if answered.finished:
        where = f"lie in {answered.minutes}" if answered.minutes else "are on their way"
        said += f"; finished, the minutes {where}"
    if answered.outcome == "late":
        return Output(record=answered, notes=[said], code=ConflictError.exit_code)
    text = "\n".join([said, *_understood(answered)])
    return Output(record=answered, text=text, notes=_lacks(answered))


def _again(answered: Answered) -> str:
    """Return how the words of an earlier round are said once more, "" in that round itself."""
    if not answered.again:
        return ""
    return f"; to say the same once more now, name the task: --task {answered.again}"


def _states(values: dict[str, Any]) -> bool:
    return bool(values.get("position") or values.get("stance") or values.get("confidence"))


def _stated(values: dict[str, Any]) -> Stated | None:
    """Return what was stated by options, None when nothing was."""
    if not _states(values):
        return None
    from council.operations.conversations.stating import stated

    return stated(values["position"], values["stance"], values["confidence"])


def _understood(answered: Answered) -> list[str]:
    """Return what is said to people to be understood of an answer (HR-010)."""
    found = answered.understood
    if found is None:
        return []

    def short(text: str) -> str:
        from council.core.plain_text import excerpt, plain_line

        return f"“{plain_line(excerpt(text, _SHORT_CHARS))}”"

    told = []
    if found.form != "text":
        stances = ", ".join([f"@{peer} {stance}" for peer, stance in found.stances.items()])
        told += [
            f"position: {short(found.position) if found.position else 'none'}",
            f"stances: {stances or 'none'}",
            f"confidence: {found.confidence or 'none'}",
        ]
    told += [f"question to @{to}: {short(text)}" for to, text in found.questions]
    told += [
        f"quotation {_FOUND.get(state, state)}: {short(text)}" for text, state in found.quotations
    ]
    told += [f"blocker: {short(text)}" for text in found.blockers]
    return [f"  {line}" for line in told]


_SHORT_CHARS = 100
_FOUND = {"found": "found", "near": "found nearly", "missing": "not found"}
_IN_DOUBT = (
    "it raises a blocker, which stays open, so it counts as RESPONDED and not as AGREED;"
    " answer once more: without a blocker to agree, without --status agreed to keep it"
)


def _lacks(answered: Answered) -> list[str]:
    """Return what is said to people of an answer whose form lacks something."""
    if not answered.faults:
        return [_IN_DOUBT] if answered.asked_again else []
    from council.core.deliberation.fault_words import fault_in_words

    notes = [
        "in the answer: "
        + fault_in_words(one["code"], "en", agent=one["agent"], found=one["found"])
        for one in answered.faults
    ]
    if answered.asked_again:
        notes.append("it is kept; send what is missing, the rest stays")
    return notes


def synthesize(place: Place, values: dict[str, Any]) -> Output:
    """Record the synthesis."""
    return respond(place, values, only="synthesis")


def vote(place: Place, values: dict[str, Any]) -> Output:
    """Record a vote."""
    return respond(place, values, only="vote")


def context(place: Place, as_: str, name: str, lang: str, kind: str, json: bool) -> Output:
    """Show what an agent may see now."""
    if kind:
        return _prompt(place, kind, as_, name, lang)
    from council.operations.conversations.context import context as see

    name = conversation_name(place, name)
    seen = see(place, name, speaker(place, as_), lang, parts=json)
    return Output(record=seen.parts, text=seen.prompt, verbatim=True)


def _prompt(place: Place, kind: str, agent: str, name: str, lang: str) -> Output:
    """Return a prompt as an agent would get it now; no run may look at those of others."""
    from council.core.trust import permit

    permit("prompt", in_run=place.is_in_run)
    if kind in ("orchestrator", "worker", "research"):
        from council.operations.protocol.protocol_prompts import protocol_prompt_of

        text = protocol_prompt_of(place, kind, who=agent, lang=lang)
    else:
        from council.operations.conversations.prompting import prompt_of

        text = prompt_of(place, kind, name=name, agent=agent, lang=lang)
    return Output(record={"kind": kind, "prompt": text}, text=text, verbatim=True)


def wait(place: Place, as_: str, name: str, timeout: str, root: str) -> Output:
    """Wait until it is an agent's turn, or the conversation is over."""
    from council.operations.conversations import waiting

    wanted, agent = conversation_name(place, name), speaker(place, as_)
    longest = parse_duration(timeout or _AS_LONG_AS_IT_TAKES)
    named = bool(name or place.environ.get("COUNCIL_NAME"))
    found = waiting.wait(place, wanted, agent, longest, named=named)
    where = f"{found.phase} (round {found.tour}) of {found.name}"
    if found.outcome == waiting.TURN:
        text = f"{agent}: your turn in {where}; next: council context --as {agent}"
        text, code = f"{text} --name {found.name}{_root_again(root)}", 0
    elif found.outcome == waiting.OVER:
        minutes = f"the minutes: {found.minutes}" if found.minutes else "no minutes are there yet"
        text, code = f"{found.name} is over; {minutes}", OVER_CODE
    else:
        given = f" --timeout {timeout}" if timeout else ""
        text = f"{agent}: not your turn in {where}, which has time until {found.deadline}"
        text = f"{text}; to go on waiting: council wait --name {found.name} --as {agent}{given}"
        text += _root_again(root)
        code = TIMEOUT_CODE
    return Output(record=found, text=text, code=code)


def _root_again(root: str) -> str:
    """Return `--root` as it was given, for a command that is to be copied; "" without one."""
    if not root:
        return ""
    from council.core.plain_text import shell_word

    return f" --root {shell_word(os.path.abspath(root))}"


def heartbeat(place: Place, name: str, wait: str, dry_run: bool, reply_token: str) -> Output:
    """Advance what is due, wake the next agents."""
    from council.operations.heartbeat.beat import beat
    from council.operations.heartbeat.beat import wait as stay

    if is_ghost(place.root):
        raise NotFoundError(
            f"no workspace is in {place.root} any more, only what a run left there",
            f"take its clock out: council schedule --remove --root {place.root}",
        )
    if not dry_run:
        place.begin_writing()
    if wait:
        report, timed_out = stay(place, name, parse_duration(wait), _tell)
    else:
        report, timed_out = beat(place, name, dry_run=dry_run), False
    if reply_token and not report.changed and not report.errors:
        return Output(record=report, text=reply_token)
    text = report.to_text() or ("" if report.errors else NOTHING_OPEN)
    notes = [f"{one}: {error.message}" for one, error in report.errors]
    code = TIMEOUT_CODE if timed_out else 3 if report.errors else 0
    return Output(record=report, text=text, notes=notes, code=code)


def _tell(line: str) -> None:
    sys.stderr.write(shown(line) + "\n")
