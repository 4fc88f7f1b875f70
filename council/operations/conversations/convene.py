"""Convening: a new conversation with its participants, woken at once.

Source: C0-002, C0-005, C0-037, C0-064, C0-071, DL-001 to DL-005, DL-101, XC-104,
`cli.md` section 2.
"""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from council.core.agents import Agent, is_rehearser
from council.core.bounds import Ceiling
from council.core.conversations import due, machine
from council.core.conversations.conversation import Conversation, Participant
from council.core.conversations.handles import HUMAN
from council.core.conversations.procedures import (
    MODES,
    ORDERS,
    PROCEDURES,
    Phase,
    Procedure,
    Rules,
    chosen_phases,
)
from council.core.delegation.routing import Facts, Route
from council.core.deliberation.casting import CAST, named_synthesizer, only_model
from council.core.errors import (
    ConflictError,
    InvalidInputError,
    NobodyNamedError,
    NotFoundError,
    NotReadyError,
    UsageError,
)
from council.core.events import trace_around
from council.core.ids import checked_conversation_name, checked_name, cuid, topic_name
from council.core.record import Record
from council.operations.conversations import prompting, recalling
from council.operations.heartbeat.beat import beat
from council.operations.place import Place
from council.operations.report import Report
from council.store.agents import default_emoji
from council.store.settings import language
from council.store.sharing import refuse_forbidden
from council.store.texts import words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.outbox import Operation

DEFAULT_NAME = "active"
TOPIC_MAX_CHARS = 300


class Invitation(Record):
    """Everything `council convene` can be given; "", 0, None and empty mean the default.

    Only `agents` can be empty: None are all known agents, an empty tuple is no agent at all.
    `usual_name` is what it is called where no name is given and none of that name is open; else,
    and where it is "", a name is drawn from the topic.
    """

    topic: str
    brief: str = ""
    name: str = ""
    usual_name: str = DEFAULT_NAME
    procedure: str = "council"
    mode: str = "debate"
    agents: tuple[str, ...] | None = None
    people: tuple[str, ...] = ()
    roles: dict[str, str] = {}
    models: dict[str, str] = {}
    order: str = ""
    phases: tuple[str, ...] = ()
    timeout: timedelta | None = None
    max_rounds: int = 0
    threshold: int = 0
    coordinator: str = ""
    synthesizer: str = ""
    sealed: bool | None = None
    anonymous: bool = False
    advocate: str = ""
    lang: str = ""
    cwd: str = ""
    ceiling: Ceiling | None = None


# What a council may use at most where neither the caller nor the settings say (OP-018).
_USUAL = Ceiling(runs=40, tokens=1_000_000, usd=5.0)


def usual_ceiling(place: Place, given: Ceiling) -> Ceiling:
    """Return the ceiling of `council ask` and of pages: as given, else as set, else the usual."""
    limits = place.settings.limits
    return Ceiling(
        runs=given.runs or limits.get("max_runs_per_council") or _USUAL.runs,
        tokens=given.tokens or limits.get("max_tokens_per_council") or _USUAL.tokens,
        usd=given.usd or limits.get("max_usd_per_council") or _USUAL.usd,
    )


class Convened(Record):
    """A conversation that was opened, or with `--dry-run` would be.

    `runs` is how many runs it takes at most without retries; `prompt_chars`,
    known for a dry run only, the size of each agent's first prompt.
    """

    state: Conversation
    path: str
    runs: int
    report: Report | None = None
    prompt_chars: dict[str, int] = {}
    warnings: list[str] = []

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `convene --json`."""
        seen = self.report.conversations if self.report is not None else []
        return {
            **self.state.as_json("name conversation_id"),
            **self.as_json("path"),
            **self.state.as_json("phase tour"),
            "participants": list(self.state.participants),
            "woken": [one for conversation in seen for one in conversation.woken],
            **self.as_json("runs prompt_chars warnings"),
            "dryRun": self.report is None,
            **({"ceiling": one.as_json("runs tokens usd")} if (one := self.state.ceiling) else {}),
        }


def convene(
    place: Place,
    invitation: Invitation,
    *,
    dry_run: bool = False,
    wakes: bool = True,
    check: Callable[[Conversation], object] | None = None,
) -> Convened:
    """Open a conversation and wake the participants of its first phase.

    Args:
        place: The workspace.
        invitation: What is to be opened.
        dry_run: Open nothing; say how large the first prompts are.
        wakes: Do the first heartbeat; without it, the caller does.
        check: Raises what stands against opening it.

    Raises:
        UsageError: A choice does not exist, or fewer than two agents take part.
        NotFoundError: An agent is nowhere declared.
        InvalidInputError: The topic or the brief cannot be kept.
        ConflictError: A conversation of that name is open.
        RefusedError: This user may not write what it takes; nothing was made.
    """
    state = _conversation(place, invitation)
    routed = _routed_synthesizer(place, state)
    warnings = _warnings(place, state)
    planned = machine.begin(state, place.now())
    path = place.paths.conversation_file(state.name)
    convened = Convened(state=planned.state, path=path, runs=_most_runs(state), warnings=warnings)
    if dry_run:
        convened.prompt_chars = {
            agent: len(prompting.turn_prompt(place, planned.state, agent, keep=False))
            for agent in due.due_agents(planned.state)
        }
        return convened
    if check is not None:
        check(state)
    refuse_forbidden(place.paths, state.participants, place.now())
    if place.settings.hooks:
        from council.operations.reporting.hooks import begin_telling

        begin_telling(place)
    given = invitation.name or place.environ.get("COUNCIL_NAME", "")
    operation = place.operation(given, state.topic, state.brief)
    made = _made_before(place, state, given, operation)
    if made is not None:
        convened.state, convened.path = made, place.paths.conversation_file(made.name)
        convened.report = beat(place, only=made.name) if wakes else None
        convened.warnings.insert(0, f"{made.name}: {place.stood(operation)}")
        return convened
    if place.engine is not None:  # no other machine is to take who is run here for one by hand
        from council.operations.engine.living import tell_runs

        tell_runs(place, place.engine)
    while True:
        try:
            convened.state = place.conversations.create(
                planned.state,
                now=place.now(),
                events=planned.events,
                actor="person",
                op_id=operation.id,
            ).state
            break
        except ConflictError:  # another process took the name that was drawn
            name = _name(place, invitation, planned.state.topic)
            if name == planned.state.name:
                raise
            planned.state.name, convened.path = name, place.paths.conversation_file(name)
    if routed is not None:
        from council.operations.delegation.routing import write_down

        facts = Facts(mode=state.mode)
        write_down(place, facts, routed, owner=state.conversation_id, trace=state.trace)
    if wakes:
        convened.report = beat(place, only=convened.state.name)
    return convened


def _name(place: Place, invitation: Invitation, topic: str) -> str:
    """Return the name of a conversation: the given one, the usual one, else one of its topic.

    Source: C0-002, FW-007.
    """
    given = invitation.name or place.environ.get("COUNCIL_NAME", "")
    if given:
        return checked_conversation_name(given)
    is_open = place.conversations.is_open
    if invitation.usual_name and not is_open(invitation.usual_name):
        return invitation.usual_name
    from council.store.rooms.channel_places import channel_ids

    # What is said to a name must reach nothing else.
    others = {*channel_ids(place.paths), *place.agents(), *invitation.people}
    drawn = topic_name(topic)
    names = itertools.chain((drawn,), (f"{drawn}-{number}" for number in itertools.count(2)))
    return next(one for one in names if one not in others and not is_open(one))


def _made_before(
    place: Place, state: Conversation, given: str, operation: Operation
) -> Conversation | None:
    """Return the conversation that an earlier attempt at the same has opened, else None."""
    if not operation.is_repeat:
        return None
    topic = topic_name(state.topic)
    drawn = [one for one in place.conversations.names() if one.startswith(topic)]
    names = dict.fromkeys([state.name] if given else [state.name, DEFAULT_NAME, topic, *drawn])
    found = (recalling.done_before(place, one, operation) for one in names)
    return next((one for one in found if one is not None), None)


def _routed_synthesizer(place: Place, state: Conversation) -> Route | None:
    """Let a rule for its mode name who sums up, where none was named; changes `state`."""
    if state.synthesizer or state.coordinator or not place.settings.bindings:
        return None
    from council.operations.delegation.routing import by_rule

    found = by_rule(place, Facts(mode=state.mode))
    if found is not None:
        state.synthesizer = found.agent
    return found


def _most_runs(state: Conversation) -> int:
    """Return how many runs a conversation takes at most, retries aside."""
    phases = [PROCEDURES[state.procedure].phase(name) for name in state.phases]
    return len(state.participants) * most_rounds(phases, state.rules) + 1


def most_rounds(phases: Iterable[Phase], rules: Rules | None) -> int:
    """Return how many rounds of all participants some phases have at most: a run each for each."""
    most = rules.max_rounds if rules is not None else 1
    return sum(
        most if one.max_rounds > 1 else 1 for one in phases if one.speakers == "participants"
    )


def _conversation(place: Place, invitation: Invitation) -> Conversation:
    procedure = PROCEDURES.get(invitation.procedure)
    if procedure is None:
        raise UsageError(
            f"no procedure {invitation.procedure!r}", f"choose one of: {', '.join(PROCEDURES)}"
        )
    if invitation.mode not in MODES:
        raise UsageError(f"no mode {invitation.mode!r}", f"choose one of: {', '.join(MODES)}")
    if invitation.order and invitation.order not in ORDERS:
        raise UsageError(f"no order {invitation.order!r}", f"choose one of: {', '.join(ORDERS)}")
    now = place.now()
    phases = chosen_phases(procedure, invitation.phases)
    timeout = invitation.timeout or place.settings.phase_timeout
    topic = _checked_topic(invitation.topic)
    lang = language(place.settings, invitation.lang, place.environ)
    if any(map(is_rehearser, invitation.agents or ())):
        topic = words_of(lang, "ask")["rehearsal"].format(topic=topic)
    participants = _participants(place, invitation, procedure, lang)
    conversation_id = str(uuid.uuid4())
    judged = procedure.verdict == "stances"
    return Conversation(
        conversation_id=conversation_id,
        name=_name(place, invitation, topic),
        topic=topic,
        brief=_checked_text(invitation.brief, "brief") or topic,
        mode=invitation.mode,
        procedure=procedure.name,
        phases=phases,
        phase=phases[0],
        created_at=now,
        updated_at=now,
        timeout_at=now + timeout,
        phase_timeout=timeout,
        participants=participants,
        sealed_phases=procedure.sealed if invitation.sealed is None else invitation.sealed,
        order=invitation.order,
        rules=_rules(place, invitation, procedure, list(participants)),
        session_id=cuid(conversation_id, now) if judged else "",
        trace_id=trace_around(place.environ),
        lang=lang,
        coordinator=_optional_agent(invitation.coordinator or place.settings.coordinator),
        synthesizer=_optional_agent(
            invitation.synthesizer or (named_synthesizer(participants) if judged else "")
        ),
        cwd=checked_cwd(place, invitation.cwd),
        ceiling=invitation.ceiling,
    )


def _rules(
    place: Place, invitation: Invitation, procedure: Procedure, agents: list[str]
) -> Rules | None:
    """Return what was chosen of the rules, None where a procedure has none.

    Raises:
        UsageError: A choice fits neither the procedure nor the agents.
    """
    if procedure.verdict != "stances":
        for option in ("max_rounds", "threshold", "anonymous", "advocate"):
            if getattr(invitation, option):
                raise UsageError(
                    f"--{option.replace('_', '-')} is for deliberations",
                    "say also: --procedure deliberation",
                )
        return None
    usual = place.settings.deliberation
    advocate = _optional_agent(invitation.advocate)
    if advocate and advocate not in agents:
        raise UsageError(f"--advocate names {advocate}, who does not take part")
    counted = len(agents) - bool(advocate)
    if counted < 2:
        raise UsageError(
            "besides the devil's advocate at least two agents must take part", "name more: --agents"
        )
    if invitation.threshold and not 2 <= invitation.threshold <= counted:
        raise UsageError(
            f"--threshold {invitation.threshold} is not from 2 to {counted}",
            f"{counted} agents count for the consensus",
        )
    return usual.copy(
        max_rounds=invitation.max_rounds or usual.max_rounds,
        threshold=invitation.threshold or min(usual.threshold, counted),
        anonymous=invitation.anonymous or usual.anonymous,
        advocate=advocate,
    )


def _participants(
    place: Place, invitation: Invitation, procedure: Procedure, lang: str
) -> dict[str, Participant]:
    judged = procedure.verdict == "stances"
    known = place.agents()
    ids = invitation.agents
    if ids is None:
        coordinator = invitation.coordinator or place.settings.coordinator
        ids = tuple(agent for agent in known if agent != coordinator)
        if judged and not ids and not invitation.people:
            ids = tuple(CAST)
    ids += tuple(one for one in invitation.people if one not in ids)
    if len(set(ids)) != len(ids):
        raise UsageError(f"an agent is named twice: {', '.join(ids)}")
    if judged and HUMAN in ids:
        raise UsageError(
            f"in a deliberation {HUMAN!r} stands for the people who steer", "name it otherwise"
        )
    if not ids and invitation.agents is not None:
        raise NobodyNamedError
    if len(ids) < 2 and invitation.agents is None:
        from council.operations.examining.readiness import too_few

        known_here = f"this workspace has no other agent than {ids[0]}" if ids else ""
        raise too_few(place, list(ids), known_here or "this workspace has no agents")
    if len(ids) < 2:
        raise UsageError(
            "a council needs at least two agents",
            "name them: --agents a,b,c, or add [agents.<id>] tables to council.toml",
        )
    for table, what in ((invitation.roles, "--role"), (invitation.models, "--model")):
        for agent in table:
            if agent not in ids:
                raise UsageError(f"{what} names {agent}, who does not take part")
    named = (*(invitation.agents or ()), invitation.coordinator, invitation.synthesizer)
    declared = {*known, *invitation.people, place.settings.coordinator, *(CAST if judged else ())}
    declared.update(filter(is_rehearser, invitation.agents or ()))
    _refuse_undeclared(place, filter(None, named), declared)
    participants: dict[str, Participant] = {}
    agents = [place.agent(agent_id) for agent_id in ids]
    emoji = _distinct_emoji(agents)
    for one in agents:
        usual = CAST.get(one.id) if judged else None
        participants[one.id] = Participant(
            id=one.id,
            name=usual.name if usual and one.name.lower() == one.id else one.name,
            emoji=emoji[one.id],
            role=invitation.roles.get(one.id) or one.role or (usual.role_in(lang) if usual else ""),
            model=invitation.models.get(one.id) or one.model or (usual.model if usual else ""),
        )
    return participants


def _distinct_emoji(agents: list[Agent]) -> dict[str, str]:
    """Return the emoji of each agent: its own, or else one that no other agent here has."""
    taken = {one.emoji for one in agents if one.has_own_emoji}
    emoji: dict[str, str] = {}
    for one in agents:
        emoji[one.id] = one.emoji if one.has_own_emoji else default_emoji(one.id, taken)
        taken.add(emoji[one.id])
    return emoji


def _refuse_undeclared(place: Place, named: Iterable[str], declared: set[str]) -> None:
    """Let no one wait for an agent that a slip of the pen has made up.

    Raises:
        InvalidInputError: An id is not legal.
        NotReadyError: It is a well-known program that is no agent here.
        NotFoundError: An agent stands in no settings, has no folder and is no person.

    Source: OP-003.
    """
    unknown = [one for one in named if checked_name(one, "agent id") not in declared]
    if not unknown:
        return
    from difflib import get_close_matches

    from council.operations.examining.readiness import undeclared_programs

    if programs := undeclared_programs(place, unknown):
        raise NotReadyError(programs, NotFoundError)
    meant = dict.fromkeys(near for one in unknown for near in get_close_matches(one, declared, 2))
    raise NotFoundError(
        f"{', '.join(unknown)}: no such agent here"
        + (f"; did you mean {' or '.join(meant)}?" if meant else ""),
        f"declare people with --people {','.join(unknown)}, programs as [agents.{unknown[0]}] "
        "in council.toml",
    )


def _warnings(place: Place, state: Conversation) -> list[str]:
    warnings = []
    if place.host_guard:
        warnings.append(place.guard_note)
    model = only_model(state)
    if model:
        warnings.append(
            f"all agents run {model}: copies of one model agree more and are right less often "
            "than different ones"
        )
    return warnings


def _optional_agent(agent: str) -> str:
    return checked_name(agent, "agent id") if agent else ""


def _checked_topic(topic: str) -> str:
    line = " ".join(topic.split())
    if not line:
        raise InvalidInputError("the topic is empty", 'say it: council convene "…"')
    if len(line) > TOPIC_MAX_CHARS:
        raise InvalidInputError(
            f"the topic has {len(line)} characters; {TOPIC_MAX_CHARS} are allowed",
            "put the details into the brief: --brief-file FILE",
        )
    return _checked_text(line, "topic")


def _checked_text(text: str, what: str) -> str:
    if "\x00" in text:
        raise InvalidInputError(f"the {what} holds a NUL character", "take it out")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInputError(f"the {what} is not UTF-8", "send it as UTF-8") from None
    return text


def checked_cwd(place: Place, directory: str) -> str:
    """Return a working folder as the state keeps it: from the root, which may be moved.

    One outside the root is kept whole; "" is the root itself (OP-010).
    """
    if directory and not os.path.isdir(directory):
        raise NotFoundError(f"no such directory: {directory}", "name another one: --cwd DIR")
    within = os.path.relpath(os.path.realpath(directory or place.root), place.root)
    if within == os.curdir:
        return ""
    return directory if within.split("/")[0] == os.pardir else within
