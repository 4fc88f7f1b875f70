"""What each tool does: parse its arguments, call one operation, answer its JSON.

The arguments have the form that `schemas/mcp.json` says; that is checked before. No argument says
who acts or where: that is the environment's, fixed when the server was started.

Source: IO-004, HR-010, CL-007.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from io import BytesIO
from typing import Any

from council.core.agents import MCP
from council.core.bounds import Ceiling
from council.core.delegation.delegation import OK
from council.core.deliberation.fault_words import fault_in_words
from council.core.errors import ConflictError, CouncilError, InvalidInputError, UsageError
from council.core.reading_answers.turns import Response
from council.core.record import Record
from council.core.times import parse_duration
from council.operations.conversations import (
    answer,
    context,
    convene,
    judging,
    recalling,
    sections,
    steer,
    waiting,
)
from council.operations.conversations.stating import Stated
from council.operations.delegation import artifacts, delegating
from council.operations.delegation.handing_over import Answered, Request
from council.operations.heartbeat.beat import beat
from council.operations.place import Place, conversation_name, speaker
from council.operations.reporting.explaining import explain as explained
from council.operations.reporting.explaining import find_problems
from council.operations.view import shown
from council.operations.view import status as look
from council.store.settings import language
from council.wire import messages
from council.wire.conversion import convert

Given = dict[str, Any]
WAIT_S = 30


class Told(Record):
    """What a tool answers: its JSON, and a text for those who read no JSON ("": the JSON itself).

    `failed` says that it came to nothing, in the words of an error; the JSON stands all the same.
    """

    record: Any
    text: str = ""
    failed: CouncilError | None = None


class Tool(Record):
    """One tool: what carries it out, and the command that it is to `core.trust`.

    `reads`: it writes nothing that lasts. `acts`: it is done by an agent, so a server without one
    does not offer it.
    """

    do: Callable[[Place, Given], Told]
    verb: str
    reads: bool = False
    acts: bool = False


def _name(place: Place, given: Given) -> str:
    return conversation_name(place, given.get("conversation", ""))


def _context(place: Place, given: Given) -> Told:
    wanted, parts = _name(place, given), given.get("parts", False)
    agent = speaker(place, "")
    # Inside a run the prompt offers what the run was started with, and nothing beside it.
    way = "" if place.is_in_run else MCP
    seen = context.context(place, wanted, agent, given.get("lang", ""), parts=parts, way=way)
    return Told(record=seen.parts if parts else {"prompt": seen.prompt}, text=seen.prompt)


def _respond(place: Place, given: Given, only: str = "") -> Told:
    agent, text = speaker(place, ""), given.get("text", "")
    stated = _stated(given)
    if not text.strip() and stated is None:
        raise UsageError("no text was given", "give it as `text`")
    wanted = given.get("conversation", "")
    try:
        done = answer.respond(
            place,
            conversation_name(place, wanted),
            agent,
            text,
            task=given.get("task") or place.environ.get("COUNCIL_TASK_ID", ""),
            status=given.get("status", "responded"),
            token=place.environ.get("COUNCIL_TOKEN", ""),
            only=only,
            stated=stated,
            check=given.get("check", False),
        )
    except CouncilError as error:
        raise answer.refused(place, wanted, agent, text, error) from None
    notes = [
        "in the answer: "
        + fault_in_words(one["code"], "en", agent=one["agent"], found=one["found"])
        for one in done.faults or []
    ]
    if done.asked_again:
        notes.append(_AGAIN if notes else _IN_DOUBT)
    told = Told(record={**done.to_record(), **({"notes": notes} if notes else {})})
    if done.outcome == "late":
        where = f"{done.phase} (round {done.tour}) is closed"
        told.failed = ConflictError(where, "the text is kept among the late contributions")
    return told


_AGAIN = "it is kept; send what is missing, the rest stays"
_IN_DOUBT = (
    "it raises a blocker, which stays open, so it counts as RESPONDED and not as AGREED; answer"
    " once more: without a blocker to agree, without the status agreed to keep it"
)


def _stated(given: Given) -> Stated | None:
    """Return what was stated by arguments, None when nothing was."""
    if not given.keys() & {"position", "stances", "confidence"}:
        return None
    return Stated(
        position=given.get("position", "").strip(),
        stances=[
            Response(
                agent=one["agent"].strip().lstrip("@"),
                stance=one["stance"],
                comment=one.get("comment", "").strip(),
            )
            for one in given.get("stances", [])
        ],
        confidence=given.get("confidence", 0),
    )


def _wait(place: Place, given: Given) -> Told:
    named = bool(given.get("conversation") or place.environ.get("COUNCIL_NAME"))
    longest = timedelta(seconds=given.get("timeout_s", WAIT_S))
    wanted, agent = _name(place, given), speaker(place, "")
    return Told(record=waiting.wait(place, wanted, agent, longest, named=named))


_SAME = (
    "topic brief procedure mode order max_rounds threshold coordinator synthesizer sealed"
    " anonymous advocate roles models lang"
)


def _convene(place: Place, given: Given) -> Told:
    bounds = [given.get(name, 0) for name in ("max_runs", "max_tokens", "max_cost")]
    same: Given = {name: given[name] for name in _SAME.split() if name in given}
    timeout = given.get("timeout", "")
    invited = convene.Invitation(
        **same,
        name=given.get("conversation", ""),
        agents=tuple(given["agents"]) if "agents" in given else None,
        people=tuple(given.get("people", ())),
        phases=tuple(given.get("phases", ())),
        timeout=parse_duration(timeout) if timeout else None,
        cwd=os.getcwd(),
        ceiling=Ceiling(runs=bounds[0], tokens=bounds[1], usd=bounds[2]) if any(bounds) else None,
    )
    made = convene.convene(place, invited, dry_run=given.get("dry_run", False))
    return Told(record={**made.to_record(), **made.state.as_json("created_at")})


def _status(place: Place, given: Given) -> Told:
    del given
    overview = look(place)
    problems = find_problems(place, overview).to_record()["problems"]
    return Told(record={**overview.to_record(), "problems": problems})


def _show(place: Place, given: Given) -> Told:
    found = recalling.recall(place, given.get("conversation", ""))
    part = given.get("part", "text")
    if part == "consensus":
        return Told(record=judging.standing(found.state))
    if part == "open-questions":
        return Told(record=judging.questions_record(found.state))
    if part == "record":
        return Told(record=shown(found.state))
    text = sections.text_of(found)
    return Told(record={"text": text}, text=text)


def _explain(place: Place, given: Given) -> Told:
    spoken = language(place.settings, given.get("lang", ""), place.environ)
    return Told(record=explained(place, given.get("what", "")).to_record(spoken))


def _inject(place: Place, given: Given) -> Told:
    author = place.environ.get("COUNCIL_AGENT", "")
    step = steer.inject(
        place, _name(place, given), given["text"], author=author, target=given.get("to", "")
    )
    return Told(record=step)


def _heartbeat(place: Place, given: Given) -> Told:
    dry_run = given.get("dry_run", False)
    if not dry_run:
        place.begin_writing()
    report = beat(place, given.get("conversation", ""), dry_run=dry_run)
    failed = [error for _, error in report.errors]
    return Told(record=report, failed=failed[0] if failed else None)


def _request(given: Given) -> Request:
    return Request(
        receiver=given["to"],
        trace=given.get("trace", ""),
        session=given.get("session", ""),
        message=given["message"],
        refs=given.get("refs", []),
        priority=given.get("priority", "P1"),
        limits=given.get("limits", {}),
        schema=given.get("expected_schema"),
    )


def _call(place: Place, given: Given) -> Told:
    return _came_of(delegating.call(place, _request(given)))


def _message(place: Place, given: Given) -> Told:
    done = delegating.message(place, _request(given))
    if done.status != OK:
        return _came_of(done)
    done.told.pop("stood", "")
    return Told(record={"status": done.status, **done.told, "artifacts": done.artifacts})


def _came_of(done: Answered) -> Told:
    """Return what the caller gets; that it came to nothing bears the code of why, such as E16."""
    told = Told(record=done)
    if done.error:
        told.failed = CouncilError(f"{done.status}: {' '.join(str(done.error['message']).split())}")
        told.failed.code = str(done.error["code"])
    return told


def _artifact_publish(place: Place, given: Given) -> Told:
    if ("text" in given) == ("file" in given):
        raise UsageError("what is to be published?", "give either `text` or `file`")
    data = BytesIO(given["text"].encode("utf-8", "replace")) if "text" in given else None
    kind = given.get("type", "text/plain" if data else "")
    return Told(
        record=artifacts.publish(place, given.get("file", ""), content_type=kind, data=data)
    )


def _artifact_fetch(place: Place, given: Given) -> Told:
    if out := given.get("out"):
        return Told(record=artifacts.fetch(place, given["artifact"], out))
    done, text = artifacts.text_of(place, given["artifact"])
    return Told(record={**done.to_record(), "text": text})


def _msg_parse(place: Place, given: Given) -> Told:
    del place
    found = messages.parse(given["message"], given.get("version"))
    found = messages.validate(found, strict=given.get("strict", False))
    told = Told(record=found.to_record())
    if found.errors:
        told.failed = InvalidInputError("the message has faults; each stands in `errors`")
        told.failed.code = found.errors[0].code
    return told


def _msg_convert(place: Place, given: Given) -> Told:
    del place
    found = messages.parse(given["message"], given.get("version"))
    how = {name: given.get(name, False) for name in ("lossy", "structural")}
    return Told(record=convert(found, given["to"], **how))


TOOLS: dict[str, Tool] = {
    "context": Tool(do=_context, verb="context", reads=True, acts=True),
    "respond": Tool(do=_respond, verb="respond", acts=True),
    "vote": Tool(do=partial(_respond, only="vote"), verb="vote", acts=True),
    "synthesize": Tool(do=partial(_respond, only="synthesis"), verb="synthesize", acts=True),
    "wait": Tool(do=_wait, verb="wait", reads=True, acts=True),
    "convene": Tool(do=_convene, verb="convene"),
    "status": Tool(do=_status, verb="status", reads=True),
    "show": Tool(do=_show, verb="show", reads=True),
    "explain": Tool(do=_explain, verb="explain", reads=True),
    "inject": Tool(do=_inject, verb="inject"),
    "heartbeat": Tool(do=_heartbeat, verb="heartbeat", reads=True),
    "call": Tool(do=_call, verb="agent call", acts=True),
    "message": Tool(do=_message, verb="agent message", acts=True),
    "artifact_publish": Tool(do=_artifact_publish, verb="artifact publish"),
    "artifact_fetch": Tool(do=_artifact_fetch, verb="artifact fetch", reads=True),
    "msg_parse": Tool(do=_msg_parse, verb="msg parse", reads=True),
    "msg_convert": Tool(do=_msg_convert, verb="msg convert", reads=True),
}
