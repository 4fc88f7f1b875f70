"""Hooks: commands of the user that learn what happened.

What to report follows from the event log alone: a mark says up to where it has
been read. So the next heartbeat reports what a process that died did not, each
event once; only an event whose report was cut short is reported again. It begins
with the first conversation or heartbeat that finds hooks in the settings;
what lies before is not reported.

The commands run one after the other in a detached process, without a shell.
What goes wrong in them is an event and hurts nothing else.

Source: EN-006, `cli.md` section 5 (hooks).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress

from council.core.errors import CouncilError, UnreachableError
from council.core.events import Event
from council.core.record import Any, Record
from council.core.times import render_instant
from council.operations.detach import detach
from council.operations.place import Place
from council.store import files
from council.store.events import (
    Mark,
    append,
    end_of_events,
    loose_records,
    news,
    read_mark,
    write_mark,
)
from council.store.lock import try_lock

TIME_LIMIT_S = 30.0
HOOKS = ("phase_changed", "consensus", "closed", "failed", "waiting_for_person")
_ENVIRONMENT = "env"
_TITLE_CHARS, _LINE_CHARS = 200, 1000
_LEASE_S = 2 * TIME_LIMIT_S  # renewed before each command


class Plan(Record):
    """What `[hooks]` says: commands by hook, variables they may see, what is wrong."""

    commands: dict[str, list[list[str]]] = {}
    env: list[str] = []
    faults: list[str] = []


def plan_of(table: dict[str, Any]) -> Plan:
    """Read `[hooks]`: each key an argv, or a list of them; `env` names further variables."""
    plan = Plan()
    for key, value in table.items():
        several = value if _is_argvs(value) else [value]
        if key == _ENVIRONMENT and (value == [] or _is_argv(value)):
            plan.env = list(value)
        elif key not in HOOKS:
            plan.faults.append(f"hooks: no hook is called {key}; there are {', '.join(HOOKS)}")
        elif all(_is_argv(one) for one in several):
            plan.commands[key] = [list(one) for one in several]
        else:
            plan.faults.append(f'hooks.{key} is not an argv such as ["notify-send", "council"]')
    return plan


def _is_argv(value: object) -> bool:
    if not isinstance(value, list) or not value or not value[0]:
        return False
    return all(isinstance(one, str) and "\0" not in one for one in value)


def _is_argvs(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, list) for one in value)


_HOOK_OF = {
    "phase.changed": "phase_changed",
    "conversation.archived": "closed",
    **dict.fromkeys(("task.failed", "task.lost", "task.refused"), "failed"),
    **dict.fromkeys(("person.asked", "question.asked"), "waiting_for_person"),
}


def hook_of(event: dict[str, Any]) -> str:
    """Return the hook that an event is for, "" for none."""
    kind, data = event["type"], event.get("data") or {}
    if kind == "conversation.finished" and data.get("closedReason") == "consensus":
        return "consensus"
    if kind == "task.started" and data.get("driver") == "manual":
        return "waiting_for_person"
    return _HOOK_OF.get(kind, "")


def begin_telling(place: Place) -> Mark | None:
    """Begin with what happens from now on; return the mark of one that has begun already."""
    mark = read_mark(place.paths.hook_mark) if place.settings.hooks else None
    if place.settings.hooks and mark is None:
        # A workspace that cannot be written has no news either.
        with suppress(CouncilError):
            write_mark(place.paths.hook_mark, Mark(offsets=end_of_events(place.paths)))
    return mark


def tell_hooks(place: Place) -> None:
    """Report to the hooks what happened, by a process of its own and without waiting for it."""
    mark = begin_telling(place)
    if mark is not None and mark.offsets != end_of_events(place.paths):
        detach(lambda: tell_all(place), log_file=place.paths.failure_log)


def tell_all(place: Place) -> None:
    """Report to the hooks everything not yet reported; one process does so at a time."""
    files.make_folder(place.paths.control)
    while True:
        lock = try_lock(f"{place.paths.hook_mark}.lock")
        if lock is None:
            return  # who has it reads again after letting go
        seen = end_of_events(place.paths)
        try:
            mark = read_mark(place.paths.hook_mark) or Mark(offsets=seen)
            _tell_news(place, mark)
        except UnreachableError:
            return
        finally:
            os.close(lock)
        if end_of_events(place.paths) == seen:
            return


def _tell_news(place: Place, mark: Mark) -> None:
    fresh, offsets = news(place.paths, mark)
    for event in fresh:
        place.renew()
        plan, hook = plan_of(place.settings.hooks), hook_of(event)
        if hook not in plan.commands:
            continue
        if not _tell(place, plan, hook, event, mark):
            return
        mark.ids.append(event["eventId"])
        write_mark(place.paths.hook_mark, mark)
    mark.offsets = offsets
    write_mark(place.paths.hook_mark, mark)


def _tell(place: Place, plan: Plan, hook: str, event: dict[str, Any], mark: Mark) -> bool:
    """Report one event and note which commands failed; return false while another machine does.

    Raises:
        UnreachableError: The engine is not reached; the event may have been reported.
    """
    told = f"told/{event['eventId']}"
    if not _has_lease(place, event):
        return False
    # What was noted is read under the lease: no machine is about to note it.
    if place.engine is None or told not in place.engine.session.names(told):
        for argv in plan.commands[hook]:
            if not _has_lease(place, event):
                return False
            mark.failed.pop(_key(hook, argv), None)
            if reason := _run(place, plan, hook, argv, event):
                mark.failed[_key(hook, argv)] = [reason, render_instant(place.now())]
                _report(place, hook, argv, event, reason)
    if place.engine is not None:
        place.engine.session.claim(told, place.engine.machine)
        _has_lease(place, event, 0)
    return True


def _has_lease(place: Place, event: dict[str, Any], seconds: float = _LEASE_S) -> bool:
    """Take or renew the right to report an event; 0 s gives it back."""
    if place.engine is None:
        return True
    from council.operations.engine.living import holder_of

    lease = f"hook/{event['eventId']}"
    return place.engine.session.lease(lease, holder_of(place.engine), seconds)


def _run(place: Place, plan: Plan, hook: str, argv: list[str], event: dict[str, Any]) -> str:
    """Run one hook for one event; return why it failed, "" if it did not."""
    from council.drivers.command import filled
    from council.drivers.environment import masked, secrets_of, seen_by
    from council.drivers.processes import run_process

    name, title, line = _words_of(place, event)
    environment = seen_by(place.environ, plan.env)
    environment.update(COUNCIL_ROOT=place.root, COUNCIL_HOOK=hook)
    environment.update(COUNCIL_TITLE=title, COUNCIL_LINE=line)
    if name:
        environment["COUNCIL_NAME"] = name
    if place.fixed_now is not None:
        environment["COUNCIL_NOW"] = render_instant(place.fixed_now)
    program, *arguments = argv
    arguments = [filled(one, {"title": title, "line": line}) for one in arguments]
    program = _located(place, program)
    told = {**event, "hook": hook, "name": name or None, "root": place.root}
    told.update(title=title, line=line)
    try:
        ended = run_process(
            [program, *arguments],
            cwd=place.root,
            environment=environment,
            stdin=json.dumps(told, ensure_ascii=False).encode("utf-8", "replace") + b"\n",
            timeout_s=TIME_LIMIT_S,
            max_stdout_bytes=None,
        )
    except (OSError, ValueError) as error:
        return str(getattr(error, "strerror", None) or error)
    if ended.timed_out:
        return f"took longer than {TIME_LIMIT_S:g} s"
    if ended.exit_code == 0:
        return ""
    how = ended.ended_by if ended.exit_code is None else f"exit {ended.exit_code}"
    said = ended.stderr.decode("utf-8", "replace").strip().splitlines()
    last = masked(said[-1], secrets_of(environment, plan.env))[:200] if said else ""
    return f"{how}: {last}" if last else how


def _key(hook: str, argv: list[str]) -> str:
    return json.dumps([hook, *argv])


def _located(place: Place, program: str) -> str:
    """Return the program of a hook: a path starts from the root of the workspace."""
    is_path = os.sep in program
    return os.path.join(place.root, os.path.expanduser(program)) if is_path else program


def troubles(place: Place) -> Iterator[tuple[str, dict[str, str]]]:
    """Return why hooks fail: a code of `texts/causes.txt` and its values, each command once.

    It is said of a program that cannot be run, and of one that failed with its last event.
    """
    from council.drivers.environment import seen_by
    from council.drivers.executables import MISSING, fault_of

    plan, mark = plan_of(place.settings.hooks), read_mark(place.paths.hook_mark) or Mark()
    path = seen_by(place.environ, plan.env).get("PATH", os.defpath)
    for hook, commands in plan.commands.items():
        for argv in commands:
            kind, program = fault_of(_located(place, argv[0]), place.root, path)
            if kind:
                code = "hook-no-program" if kind == MISSING else "hook-no-right"
                yield code, {"hook": hook, "program": program}
            elif failed := mark.failed.get(_key(hook, argv)):
                reason, at = failed
                yield "hook-failed", {"hook": hook, "program": argv[0], "reason": reason, "at": at}


def _words_of(place: Place, event: dict[str, Any]) -> tuple[str, str, str]:
    """Return the name of the conversation, and what happened in plain words: a title and a line.

    Neither begins with a dash, whatever agents write: a program takes them for no option.
    """
    from council.core.plain_text import plain_line
    from council.operations.conversations.follow import minutes_of
    from council.operations.reporting.event_words import sentence
    from council.store.documents.journal import FILE, last_text
    from council.store.settings import language
    from council.store.statefile.statefile import parse

    conversation, name, topic = str(event.get("conversationId") or ""), "", ""
    lang = language(place.settings, "", place.environ)
    # A conversation may be purged since, and what happened may belong to none.
    with suppress(CouncilError, OSError, ValueError, TypeError, LookupError):
        if found := last_text(f"{place.paths.conversation_folder(conversation)}/{FILE}"):
            name = str(found[0].head.get("name", ""))
            page = parse(found[1].decode("utf-8", "replace"))
            topic, lang = page.topic, page.lang or lang
    line = sentence(event, lang)
    with suppress(CouncilError):
        if event["type"] == "conversation.archived":
            line = minutes_of(place, conversation).line or line
    who = event.get("agentId")
    title, line = f"council: {topic or name}".rstrip(": "), f"{who}: {line}" if who else line
    return name, plain_line(title)[:_TITLE_CHARS], plain_line(line)[:_LINE_CHARS]


def _report(place: Place, hook: str, argv: list[str], event: dict[str, Any], reason: str) -> None:
    data = {"hook": hook, "program": argv[0], "eventId": event["eventId"], "reason": reason}
    failed = Event(type="hook.failed", data=data)
    conversation = str(event.get("conversationId") or "")
    append(place.paths, loose_records([failed], conversation, place.now()))
