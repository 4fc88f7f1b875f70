"""`convene` and `ask`: one list of options, two commands.

Source: `cli.md` section 2, C0-064, DL-003 to DL-005, DL-022, DL-042, DL-095 to DL-100,
XC-104.
"""

from __future__ import annotations

import os
import sys

from council.cli.edge import Output, read_text
from council.cli.parameters import (
    JSON,
    LANG,
    NOW,
    argument,
    command,
    flag,
    listed,
    option,
    whole_number,
)
from council.core.bounds import Ceiling
from council.core.conversations.procedures import MODES, ORDERS, PROCEDURES
from council.core.errors import InvalidInputError, NotFoundError, UsageError
from council.core.times import parse_duration
from council.operations.place import Place, open_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.conversations.convene import Convened, Invitation


TOPIC = argument("TOPIC", "What is to be decided, in a line.")
# What `ask` may use up at most where neither option nor settings say (OP-018).
_USUAL = Ceiling(runs=40, tokens=1_000_000, usd=5.0)
_MOST_RUNS, _MOST_TOKENS, _MOST_USD = 10_000, 10**9, 10_000.0


def invitation(
    place: Place | None,
    topic: str = TOPIC,
    brief: str = option("--brief", "TEXT", "The brief; else the topic."),
    brief_file: str = option(
        "--brief-file", "PATH|-", "Read the brief from a file, or - for stdin."
    ),
    name: str = option("--name", "NAME", "The conversation's name; else `active`."),
    procedure: str = option(
        "--procedure",
        "|".join(PROCEDURES),
        "How to decide: by phases (council, default) or by stances, rounds and a vote.",
    ),
    mode: str = option(
        "--mode",
        "MODE",
        f"Of a council: {MODES[0]} (default), {', '.join(MODES[1:-1])} or {MODES[-1]}.",
    ),
    agents: str = option("--agents", "a,b,c", "Who takes part; else all known agents."),
    people: str = option("--people", "a,b", "People who take part and answer by hand."),
    role: list[str] = option("--role", "ID=ROLE", "Give a role.", []),
    model: list[str] = option("--model", "ID=MODEL", "Declare a model.", []),
    order: str = option(
        "--order",
        "|".join(ORDERS),
        "Who speaks when; else all at once (council), rotate (deliberation).",
        choices=ORDERS,
    ),
    phases: str = option(
        "--phases", "a,b", "Take only these phases, such as collect,synthesize; else all."
    ),
    timeout: str = option(
        "--timeout",
        "DURATION",
        "How long each phase, or each turn, may take; else phase_timeout (1h).",
    ),
    max_rounds: str = option(
        "--max-rounds", "N", "Deliberation: most rounds before the vote; else 5."
    ),
    threshold: str = option(
        "--threshold", "N", "Deliberation: how many must agree; else two thirds."
    ),
    coordinator: str = option(
        "--coordinator", "ID", "Is told what happens, and writes the synthesis."
    ),
    synthesizer: str = option(
        "--synthesizer", "ID", "Writes the synthesis; may be nobody who takes part."
    ),
    sealed: bool = flag(
        "--sealed", "Keep first answers sealed until their round closes (council: default)."
    ),
    open: bool = flag("--open", "Show first answers at once (deliberation: default)."),
    anonymous: bool = flag("--anonymous", "Deliberation: peers stand under pseudonyms in prompts."),
    advocate: str = option(
        "--advocate", "ID", "Deliberation: always contradicts, counts for no consensus."
    ),
    max_runs: str = option("--max-runs", "N", "Most runs of programs; ask: 40."),
    max_tokens: str = option(
        "--max-tokens", "N", "Most tokens, as reported, else estimated; ask: 1000000."
    ),
    max_cost: str = option("--max-cost", "USD", "Most dollars, as far as reported; ask: 5."),
    lang: str = LANG,
    cwd: str = option("--cwd", "DIR", "Where runs work; else the current directory."),
) -> Invitation:
    """Make an invitation of the options of `convene` and `ask`."""
    from council.operations.conversations.convene import Invitation
    from council.operations.protocol.messages import most_bytes

    if brief_file:
        if brief:
            raise UsageError("the brief was given twice", "use --brief or --brief-file")
        brief = read_text("", brief_file, most_bytes(place))
        if not brief.strip():
            raise InvalidInputError(f"the brief in {brief_file} is empty", "write it first")
    if sealed and open:
        raise UsageError("--sealed and --open exclude each other", "leave one of them out")
    return Invitation(
        topic=topic,
        brief=brief,
        name=name,
        procedure=procedure or "council",
        mode=mode or MODES[0],
        agents=tuple(listed(agents)),
        people=tuple(listed(people)),
        roles=_pairs(role, "--role"),
        models=_pairs(model, "--model"),
        order=order,
        phases=tuple(listed(phases)),
        timeout=parse_duration(timeout) if timeout else None,
        max_rounds=whole_number(max_rounds, "--max-rounds"),
        threshold=whole_number(threshold, "--threshold"),
        coordinator=coordinator,
        synthesizer=synthesizer,
        sealed=True if sealed else False if open else None,
        anonymous=anonymous,
        advocate=advocate,
        lang=lang,
        cwd=os.path.abspath(cwd or os.getcwd()),
        ceiling=_ceiling(max_runs, max_tokens, max_cost),
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


@command(
    "convene",
    'council convene "Should we build a weather bot?" --agents henry,sage',
    takes=invitation,
)
def convene(
    place: Place,
    invited: Invitation,
    dry_run: bool = flag("--dry-run", "Show runs and prompt sizes; open nothing."),
    run: bool = flag("--run", "Stay and work until the minutes are written."),
    json: bool = JSON,
) -> Output:
    """Open a conversation and wake its agents at once."""
    from council.cli.following import watch_to_the_end
    from council.operations.conversations.convene import convene as open_conversation

    made = open_conversation(place, invited, dry_run=dry_run)
    notes = [f"council: {warning}" for warning in made.warnings]
    if run and not dry_run:
        ended = watch_to_the_end(place, made.state, quiet=json)
        ended.notes = notes + ended.notes
        return ended
    return Output(record=made.to_record(), text=_convened_text(made), notes=notes)


def _convened_text(made: Convened) -> str:
    state = made.state
    if made.report is None:
        return _plan_text(made)
    lines = []
    woken = [agent for seen in made.report.conversations for agent in seen.woken]
    lines.append(f"{state.name}: {state.phase} (round {state.tour}) of {len(state.phases)} phases")
    lines.append(f"file: {made.path}")
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


_PLAN = {
    "en": "{who}: {phases}; at most {runs} runs without retries, ceiling {ceiling}",
    "fr": "{who} : {phases} ; {runs} exécutions au plus sans reprise, plafond {ceiling}",
}


@command(
    "ask",
    'council ask "Which database should we use?" --agents claude,codex',
    "council ask --resume",
    takes=invitation,
    last="Exits with 0 where anybody was heard in time, agreed or not; 7 where the time ran out on "
    "all; 1 where all failed, or a person ended it; 130 after Ctrl-C, which leaves it open.",
)
def ask(
    place: Place | None = None,
    invited: Invitation | None = None,
    topic: str = argument(
        "[TOPIC]", "What is to be decided, in a line; with --resume a conversation."
    ),
    resume: bool = flag("--resume", "Go on with the last one of this folder, or the one named."),
    dry_run: bool = flag("--dry-run", "Show the plan and the ceiling; make nothing."),
    yes: bool = flag("--yes", "Make a workspace here with the agents found, where none is."),
    now: str = NOW,
    json: bool = JSON,
) -> Output:
    """Convene, wait, and print the verdict: the one command for an answer."""
    from council.cli.following import watch_to_the_end
    from council.operations.conversations.convene import convene as open_conversation
    from council.operations.conversations.follow import ceiling_words, resumed

    assert invited is not None
    if resume:
        if place is None:
            raise NotFoundError("no council workspace here or above", 'ask first: council ask "…"')
        state = resumed(place, topic or invited.name, invited.cwd)
        return watch_to_the_end(place, state, quiet=json)
    if not topic:
        raise UsageError("nothing was asked", 'say it: council ask "…"')
    if place is None:
        place, invited = _place_for(invited, now, yes=yes, dry_run=dry_run)
    given = invited.ceiling or Ceiling()
    bounds = Ceiling(
        runs=given.runs or place.settings.limits.get("max_runs_per_council") or _USUAL.runs,
        tokens=given.tokens or place.settings.limits.get("max_tokens_per_council") or _USUAL.tokens,
        usd=given.usd or _USUAL.usd,
    )
    made = open_conversation(place, invited.copy(ceiling=bounds), dry_run=dry_run)
    notes = [f"council: {warning}" for warning in made.warnings]
    if dry_run:
        return Output(record=made.to_record(), text=_plan_text(made), notes=notes)
    plan = _PLAN.get(made.state.lang, _PLAN["en"]).format(
        who=", ".join(made.state.participants),
        phases=" → ".join(made.state.phases),
        runs=made.runs,
        ceiling=ceiling_words(bounds, made.state.lang),
    )
    output = watch_to_the_end(place, made.state, quiet=json, first=plan)
    output.notes = notes + output.notes
    return output


def _place_for(
    invited: Invitation, now: str, *, yes: bool, dry_run: bool
) -> tuple[Place, Invitation]:
    """Make a workspace in the current folder with the agent programs that are there.

    Raises:
        NotFoundError: There are too few, or the user does not want it.

    Source: OP-003.
    """
    from council.core.agents import AgentSettings
    from council.operations.conversations.convene import convene as open_conversation
    from council.operations.setup import found_programs, set_up

    here, found = os.getcwd(), found_programs(os.environ)
    named = tuple(one for one in invited.agents if one not in invited.people)
    wanted = invited.copy(agents=named or tuple(found))
    who = ", ".join((*wanted.agents, *wanted.people))
    none = "no council workspace here or above"
    if len(wanted.agents) + len(wanted.people) < 2:
        raise NotFoundError(
            f"{none}, and of the agent programs on PATH {', '.join(found) or 'none'}; "
            "a council needs two",
            "name people: --people ann,bob",
        )
    place = open_place(here, now, os.environ)
    place.settings = place.settings.copy(agents={one: AgentSettings(preset=one) for one in found})
    open_conversation(place, wanted, dry_run=True)  # what it refuses leaves no workspace behind
    if dry_run:
        return place, wanted
    if not (named or yes):
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise NotFoundError(
                f"{none}; ask would make one in {here} with {who}",
                f"add --yes, or name them: --agents {','.join(wanted.agents)}",
            )
        sys.stderr.write(f"No council workspace here or above. Make one in {here}\n")
        sys.stderr.write(f"with {who}? [Y/n] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("", "y", "yes", "o", "oui"):
            raise NotFoundError("nothing was made", "name who is to take part: --agents a,b")
    set_up(here, (), invited.lang, os.environ, wanted.agents)
    return open_place(here, now, os.environ), wanted
