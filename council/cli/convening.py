"""`convene` and `ask`: one list of options, two commands.

Source: `cli.md` section 2, C0-064, DL-003 to DL-005, DL-022, DL-042, DL-095 to DL-100,
XC-104.
"""

from __future__ import annotations

import os

from council.cli.edge import Output, read_text
from council.cli.parameters import JSON, LANG, argument, command, flag, listed, option, whole_number
from council.core.conversations.procedures import MODES, ORDERS, PROCEDURES
from council.core.errors import InvalidInputError, UsageError
from council.core.times import parse_duration
from council.operations.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.conversations.convene import Convened, Invitation


def invitation(
    place: Place,
    topic: str = argument("TOPIC", "What is to be decided, in a line."),
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
    lang: str = LANG,
    cwd: str = option("--cwd", "DIR", "Where runs work; else the current directory."),
) -> Invitation:
    """Make an invitation of the options of `convene` and `ask`."""
    from council.operations.conversations.convene import Invitation

    if brief_file:
        if brief:
            raise UsageError("the brief was given twice", "use --brief or --brief-file")
        brief = read_text("", brief_file, place.settings.max_text_bytes)
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
    lines = []
    if made.report is None:
        order = " → ".join(state.phases)
        lines.append(f"would open {state.name}: {order}")
        lines.append(f"at most {made.runs} runs without retries; first prompts:")
        lines += [f"  {agent}: {chars} characters" for agent, chars in made.prompt_chars.items()]
        return "\n".join(lines)
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


@command(
    "ask",
    'council ask "Which database should we use?" --agents claude,codex',
    takes=invitation,
    last="Exits with 0 where anybody was heard in time, agreed or not; 7 where the time ran out on "
    "all; 1 where all failed, or a person ended it.",
)
def ask(place: Place, invited: Invitation, json: bool = JSON) -> Output:
    """Convene, wait, and print the verdict: the one command for an answer."""
    from council.cli.following import watch_to_the_end
    from council.operations.conversations.convene import convene as open_conversation

    made = open_conversation(place, invited)
    output = watch_to_the_end(place, made.state, quiet=json)
    output.notes = [f"council: {warning}" for warning in made.warnings]
    return output
