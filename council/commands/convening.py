"""`convene` and `ask`: one list of options, two commands.

Source: `cli.md` section 2, C0-064, DL-003 to DL-005, DL-022, DL-042, DL-095 to DL-100,
XC-104.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from council.commands.options import listed, whole_number
from council.commands.output import Output, read_text
from council.core.agents import is_rehearser
from council.core.bounds import Ceiling
from council.core.conversations.procedures import MODES
from council.core.errors import InvalidInputError, NotFoundError, UsageError
from council.core.times import parse_duration
from council.operations.conversations.convene import Convened, Invitation, usual_ceiling
from council.operations.conversations.convene import convene as open_conversation
from council.operations.place import Place, open_place
from council.operations.schedule import clocks
from council.store.agents import is_woken
from council.store.texts import words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.commands.leaving import Leaving
    from council.core.conversations.conversation import Conversation

_MOST_RUNS, _MOST_TOKENS, _MOST_USD = 10_000, 10**9, 10_000.0


def _invitation(place: Place | None, values: dict[str, Any]) -> Invitation:
    """Return what the options of `convene` and `ask` say."""
    from council.operations.protocol.messages import most_bytes

    brief, sealed, timeout = values["brief"], values["sealed"], values["timeout"]
    if values["brief_file"]:
        if brief:
            raise UsageError("the brief was given twice", "use --brief or --brief-file")
        brief = read_text("", values["brief_file"], most_bytes(place))
        if not brief.strip():
            raise InvalidInputError(
                f"the brief in {values['brief_file']} is empty", "write it first"
            )
    if sealed and values["open"]:
        raise UsageError("--sealed and --open exclude each other", "leave one of them out")
    same = "topic name order coordinator synthesizer anonymous advocate lang"
    return Invitation(
        **{name: values[name] for name in same.split()},
        brief=brief,
        procedure=values["procedure"] or "council",
        mode=values["mode"] or MODES[0],
        agents=None if values["agents"] is None else tuple(listed(values["agents"])),
        people=tuple(listed(values["people"])),
        roles=_pairs(values["role"], "--role"),
        models=_pairs(values["model"], "--model"),
        phases=tuple(listed(values["phases"])),
        timeout=parse_duration(timeout) if timeout else None,
        max_rounds=whole_number(values["max_rounds"], "--max-rounds"),
        threshold=whole_number(values["threshold"], "--threshold"),
        sealed=True if sealed else False if values["open"] else None,
        cwd=os.path.abspath(values["cwd"] or os.getcwd()),
        ceiling=_ceiling(values["max_runs"], values["max_tokens"], values["max_cost"]),
    )


def _ceiling(runs: str, tokens: str, usd: str) -> Ceiling | None:
    """Return what was given of a ceiling, None where nothing was."""
    if not (runs or tokens or usd):
        return None
    try:
        most = float(usd or 0)
    except ValueError:
        most = -1.0
    if not (0 < most <= _MOST_USD or not usd):
        raise UsageError(f"--max-cost {usd!r} is no amount in dollars", "give one such as 2.50")
    return Ceiling(
        runs=whole_number(runs, "--max-runs", _MOST_RUNS),
        tokens=whole_number(tokens, "--max-tokens", _MOST_TOKENS),
        usd=most,
    )


def _pairs(given: list[str], option: str) -> dict[str, str]:
    pairs = {}
    for pair in given:
        agent, equals, value = pair.partition("=")
        if not equals or not agent or not value:
            raise UsageError(f"{option} {pair!r} is not ID=VALUE")
        pairs[agent.strip()] = value.strip()
    return pairs


def convene(place: Place, values: dict[str, Any], dry_run: bool, run: bool, json: bool) -> Output:
    """Open a conversation and wake its agents at once."""
    invited = _invitation(place, values)
    if run and not dry_run:
        return _opened_and_watched(place, invited, json=json)
    made = open_conversation(place, invited, dry_run=dry_run)
    return Output(record=made, text=_convened_text(made), notes=made.warnings)


def _opened_and_watched(
    place: Place,
    invited: Invitation,
    *,
    json: bool,
    page: bool = False,
    asks: bool = False,
    first: str = "",
) -> Output:
    """Open a conversation and stay to its end.

    One that `asks` is opened if all its agents can be started; the plan is what it shows after
    the lines of `first`.
    """
    from council.commands.leaving import Leaving

    with Leaving() as leaving:
        made = open_conversation(
            place, invited, wakes=False, check=_checks(place) if asks else None
        )
        plan = f"{first}\n{_plan_line(place, made)}".strip() if asks else ""
        output = _watched(place, made.state, leaving, page=page, json=json, first=plan)
    output.notes = made.warnings
    return output


def _watched(
    place: Place,
    state: Conversation,
    leaving: Leaving,
    *,
    json: bool,
    page: bool = False,
    first: str = "",
) -> Output:
    """Stay until the minutes are written; with `page`, it is shown there as well."""
    from council.commands.stage import watch_to_the_end

    shown: AbstractContextManager[None] = nullcontext()
    if page:
        from council.commands.page import page_of

        shown = page_of(place, state, opens=not json)
    with shown:
        return watch_to_the_end(place, state, leaving, quiet=json, first=first)


def _convened_text(made: Convened) -> str:
    state = made.state
    if made.report is None:
        return _plan_text(made)
    woken = [agent for seen in made.report.conversations for agent in seen.woken]
    stands = f"{state.phase} (round {state.tour}) of {len(state.phases)} phases"
    lines = [f"{state.name}: {stands}", f"file: {made.path}"]
    if woken:
        lines.append(f"woke: {', '.join(woken)}")
    queued = [one.agent for one in state.tasks.values() if one.state == "N"]
    if queued:
        lines.append(f"waiting for a place: {', '.join(queued)}")
    lines.append("next: council status; council heartbeat (or let cron run it)")
    return "\n".join(lines)


def _plan_text(made: Convened) -> str:
    """Say what would happen: the phases, the runs, the prompts and the ceiling."""
    from council.operations.conversations.follow import ceiling_words

    state = made.state
    lines = [f"would open {state.name}: {' → '.join(state.phases)}"]
    lines.append(f"at most {made.runs} runs without retries; first prompts:")
    lines += [f"  {agent}: {chars} characters" for agent, chars in made.prompt_chars.items()]
    if state.ceiling is not None:
        lines.append(f"ceiling: {ceiling_words(state.ceiling, state.lang)}")
    return "\n".join(lines)


def ask(
    place: Place | None,
    values: dict[str, Any],
    topic: str,
    resume: bool,
    detach: bool,
    rehearse: bool,
    dry_run: bool,
    page: bool,
    json: bool,
) -> Output:
    """Convene, wait, and print the verdict: the one command for an answer."""
    if detach and (page or resume):
        other = "--page" if page else "--resume"
        raise UsageError(f"--detach and {other} contradict each other", "choose one")
    if page:
        from council.commands.integrating import require

        require("web", "the page")
    invited = _invitation(place, values).copy(usual_name="")
    if resume:
        if place is None:
            raise NotFoundError("no council workspace here or above", 'ask first: council ask "…"')
        return _resumed_and_watched(
            place,
            topic or invited.name or place.environ.get("COUNCIL_NAME", ""),
            invited.cwd,
            page=page,
            json=json,
        )
    if not topic:
        raise UsageError("nothing was asked", 'say it: council ask "…"')
    notes: list[str] = []
    if rehearse:
        if invited.agents:
            raise UsageError("a rehearsal has members of its own", "leave --agents out")
        place, invited = _rehearsal(place, invited, values, notes)
    elif place is None:
        place, invited = _place_for(invited, values)
    invited = invited.copy(ceiling=usual_ceiling(place, invited.ceiling or Ceiling()))
    if dry_run or detach:
        made = open_conversation(place, invited, dry_run=dry_run, check=_checks(place))
        text = _plan_text(made) if dry_run else _detached_text(made)
        if detach and not clocks(place):
            notes.append(words_of(made.state.lang, "ask")["no-clock"])
        notes += [*made.warnings, *(_in_the_way(place, made.state) if dry_run else ())]
        return Output(record=made, text=text, notes=notes)
    first = "\n".join(notes)
    return _opened_and_watched(place, invited, page=page, json=json, asks=True, first=first)


def _resumed_and_watched(place: Place, name: str, cwd: str, *, page: bool, json: bool) -> Output:
    """Let a conversation that was asked go on, if it is paused, and stay to its end."""
    from council.commands.leaving import Leaving
    from council.operations.conversations.follow import resumed
    from council.operations.conversations.steer import resume

    state = resumed(place, name, cwd)
    if state.paused_at is not None:
        _checks(place)(state)
    with Leaving() as leaving:
        if state.paused_at is not None:
            state = resume(place, state.name).state
        return _watched(place, state, leaving, page=page, json=json)


def _checks(place: Place) -> Callable[[Conversation], None]:
    """Return what refuses a conversation whose agents cannot all be started."""
    from council.operations.examining.readiness import refuse_unready

    return lambda state: refuse_unready(place, _named(state), state.lang)


def _in_the_way(place: Place, state: Conversation) -> list[str]:
    """Return what would be refused, a line for each thing."""
    from council.operations.examining.readiness import missing

    causes = missing(place, _named(state))
    return [f"{one.said(state.lang)} ({one.fix(state.lang)})" for one in causes]


def _named(state: Conversation) -> list[str]:
    """Return the agents that may have to be started for a conversation."""
    named = (*state.participants, state.synthesizer, state.coordinator)
    return list(dict.fromkeys(filter(None, named)))


def _plan_line(place: Place, made: Convened) -> str:
    """Say in a line who takes part, in which phases, and what it may use up."""
    from council.operations.conversations.follow import ceiling_words

    state = made.state
    woken = any(is_woken(place.root, place.settings, one) for one in _named(state))
    key = "plan" if woken else "plan-people"
    if any(map(is_rehearser, state.participants)):
        key = "plan-rehearsal"
    return words_of(state.lang, "ask")[key].format(
        who=", ".join(state.participants),
        phases=" → ".join(state.phases),
        runs=made.runs,
        ceiling=ceiling_words(state.ceiling or Ceiling(), state.lang),
    )


def _detached_text(made: Convened) -> str:
    """Say what `convene` says, and how to watch it and to stop it."""
    name = made.state.name
    watch = f"watch: council ask --resume {name} (or: council status --watch {name})"
    return (
        f"{_convened_text(made)}\n{watch}\nstop: council pause {name}; end: council cancel {name}"
    )


def _rehearsal(
    place: Place | None, invited: Invitation, values: dict[str, Any], notes: list[str]
) -> tuple[Place, Invitation]:
    """Return a workspace, made here where none is, and who rehearses in it.

    The minutes of a rehearsal lie where those of a real council will lie: what it leaves is what
    it shows. Its topic says what it was.

    Source: FW-006.
    """
    from council.core.agents import REHEARSERS
    from council.operations.setup import set_up
    from council.store.settings import language

    here, is_new = os.getcwd(), place is None
    place = place or open_place(here, values["now"], os.environ)
    lang = language(place.settings, invited.lang, place.environ)
    wanted = invited.copy(agents=REHEARSERS[lang], lang=lang)
    if is_new and not values["dry_run"]:
        open_conversation(place, wanted, dry_run=True)  # what it refuses leaves no workspace behind
        set_up(here, (), invited.lang, os.environ)
        place = open_place(here, values["now"], os.environ)
        notes.append(words_of(lang, "ask")["made-here"].format(here))
    return place, wanted


def _place_for(invited: Invitation, values: dict[str, Any]) -> tuple[Place, Invitation]:
    """Make a workspace in the current folder with the agent programs that are there.

    Raises:
        NotFoundError: There are too few, or the user does not want it.

    Source: OP-003.
    """
    from council.core.agents import AgentSettings
    from council.operations.setup import found_programs, set_up

    here, now, found = os.getcwd(), values["now"], found_programs(os.environ)
    named = invited.agents is not None
    agents = tuple(found) if invited.agents is None else invited.agents
    agents = tuple(one for one in agents if one not in invited.people)
    wanted = invited.copy(agents=agents)
    who = ", ".join((*agents, *wanted.people))
    none = "no council workspace here or above"
    place = open_place(here, now, os.environ)
    if len(agents) + len(wanted.people) < 2:
        from council.operations.examining.readiness import too_few

        found_here = f", and only {found[0]} is on PATH" if found else ""
        raise too_few(place, [*agents, *wanted.people], none + found_here)
    place.settings = place.settings.copy(agents={one: AgentSettings(preset=one) for one in found})
    open_conversation(place, wanted, dry_run=True)  # what it refuses leaves no workspace behind
    if values["dry_run"]:
        return place, wanted
    if not (named or values["yes"]):
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise NotFoundError(
                f"{none}; ask would make one in {here} with {who}",
                f"add --yes, or name them: --agents {','.join(agents)}",
            )
        sys.stderr.write(f"No council workspace here or above. Make one in {here}\n")
        sys.stderr.write(f"with {who}? [Y/n] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("", "y", "yes", "o", "oui"):
            raise NotFoundError("nothing was made", "name who is to take part: --agents a,b")
    set_up(here, (), invited.lang, os.environ, agents)
    return open_place(here, now, os.environ), wanted
