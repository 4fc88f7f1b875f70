"""`convene` and `ask`: one table of options, two commands.

Source: `cli.md` section 2, C0-064, DL-003 to DL-005, DL-022, DL-042, DL-095 to DL-100,
XC-104.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from council.cli import options
from council.cli.edge import Output, read_text
from council.cli.options import Command, Option
from council.cli.parameters import do, listed, typer_function, whole_number
from council.core.conversations.procedures import MODES, ORDERS, PROCEDURES
from council.core.errors import InvalidInputError, UsageError
from council.core.times import parse_duration
from council.operations.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.conversations.convene import Convened, Invitation

_TOPIC = Option(
    name="topic", metavar="TOPIC", help="What is to be decided, in a line.", required=True
)
_INVITING = (
    Option(name="brief", flags=("--brief",), help="The brief; else the topic."),
    Option(
        name="brief_file",
        flags=("--brief-file",),
        metavar="PATH|-",
        help="Read the brief from a file, or - for stdin.",
    ),
    Option(
        name="name",
        flags=("--name",),
        metavar="NAME",
        help="The conversation's name; else `active`.",
    ),
    Option(
        name="procedure",
        flags=("--procedure",),
        metavar="|".join(PROCEDURES),
        help="How to decide: by phases (council, default) or by stances, rounds and a vote.",
    ),
    Option(
        name="mode",
        flags=("--mode",),
        metavar="MODE",
        help=f"Of a council: {MODES[0]} (default), {', '.join(MODES[1:-1])} or {MODES[-1]}.",
    ),
    Option(
        name="agents",
        flags=("--agents",),
        metavar="a,b,c",
        help="Who takes part; else all known agents.",
    ),
    Option(name="role", flags=("--role",), metavar="ID=ROLE", many=True, help="Give a role."),
    Option(
        name="model", flags=("--model",), metavar="ID=MODEL", many=True, help="Declare a model."
    ),
    Option(
        name="order",
        flags=("--order",),
        metavar="|".join(ORDERS),
        choices=ORDERS,
        help="Who speaks when; else all at once (council), rotate (deliberation).",
    ),
    Option(
        name="phases",
        flags=("--phases",),
        metavar="a,b",
        help="Take only these phases, such as collect,synthesize; else all.",
    ),
    Option(
        name="timeout",
        flags=("--timeout",),
        metavar="DURATION",
        help="How long each phase, or each turn, may take; else phase_timeout (1h).",
    ),
    Option(
        name="max_rounds",
        flags=("--max-rounds",),
        metavar="N",
        help="Deliberation: most rounds before the vote; else 5.",
    ),
    Option(
        name="threshold",
        flags=("--threshold",),
        metavar="N",
        help="Deliberation: how many must agree; else two thirds.",
    ),
    Option(
        name="coordinator",
        flags=("--coordinator",),
        metavar="ID",
        help="Is told what happens, and writes the synthesis.",
    ),
    Option(
        name="synthesizer",
        flags=("--synthesizer",),
        metavar="ID",
        help="Writes the synthesis; may be nobody who takes part.",
    ),
    Option(
        name="sealed",
        flags=("--sealed",),
        flag=True,
        help="Keep first answers sealed until their round closes (council: default).",
    ),
    Option(
        name="open",
        flags=("--open",),
        flag=True,
        help="Show first answers at once (deliberation: default).",
    ),
    Option(
        name="anonymous",
        flags=("--anonymous",),
        flag=True,
        help="Deliberation: peers stand under pseudonyms in prompts.",
    ),
    Option(
        name="advocate",
        flags=("--advocate",),
        metavar="ID",
        help="Deliberation: always contradicts, counts for no consensus.",
    ),
    options.LANG,
    Option(
        name="cwd",
        flags=("--cwd",),
        metavar="DIR",
        help="Where runs work; else the current directory.",
    ),
)


def invitation(place: Place, given: dict[str, Any]) -> Invitation:
    """Make an invitation of the options of `convene` and `ask`."""
    from council.operations.conversations.convene import Invitation

    brief = given["brief"]
    if given["brief_file"]:
        if brief:
            raise UsageError("the brief was given twice", "use --brief or --brief-file")
        brief = read_text("", given["brief_file"], place.settings.max_text_bytes)
        if not brief.strip():
            raise InvalidInputError(
                f"the brief in {given['brief_file']} is empty", "write it first"
            )
    if given["sealed"] and given["open"]:
        raise UsageError("--sealed and --open exclude each other", "leave one of them out")
    return Invitation(
        topic=given["topic"],
        brief=brief,
        name=given["name"],
        procedure=given["procedure"] or "council",
        mode=given["mode"] or MODES[0],
        agents=tuple(listed(given["agents"])),
        roles=_pairs(given["role"], "--role"),
        models=_pairs(given["model"], "--model"),
        order=given["order"],
        phases=tuple(listed(given["phases"])),
        timeout=parse_duration(given["timeout"]) if given["timeout"] else None,
        max_rounds=whole_number(given["max_rounds"], "--max-rounds"),
        threshold=whole_number(given["threshold"], "--threshold"),
        coordinator=given["coordinator"],
        synthesizer=given["synthesizer"],
        sealed=True if given["sealed"] else False if given["open"] else None,
        anonymous=given["anonymous"],
        advocate=given["advocate"],
        lang=given["lang"],
        cwd=os.path.abspath(given["cwd"] or os.getcwd()),
    )


def _pairs(given: list[str], option: str) -> dict[str, str]:
    pairs = {}
    for pair in given:
        agent, equals, value = pair.partition("=")
        if not equals or not agent or not value:
            raise UsageError(f"{option} {pair!r} is not ID=VALUE")
        pairs[agent.strip()] = value.strip()
    return pairs


def _convene(values: dict[str, Any]) -> None:
    def command(place: Place) -> Output:
        from council.cli.following import watch_to_the_end
        from council.operations.conversations.convene import convene as open_conversation

        made = open_conversation(place, invitation(place, values), dry_run=values["dry_run"])
        notes = [f"council: {warning}" for warning in made.warnings]
        if values["run"] and not values["dry_run"]:
            ended = watch_to_the_end(place, made.state, quiet=values["json"])
            ended.notes = notes + ended.notes
            return ended
        return Output(record=made.to_record(), text=_convened_text(made), notes=notes)

    do("convene", values["json"], values["root"], values["now"], command)


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


def _ask(values: dict[str, Any]) -> None:
    def command(place: Place) -> Output:
        from council.cli.following import watch_to_the_end
        from council.operations.conversations.convene import convene as open_conversation

        made = open_conversation(place, invitation(place, values))
        output = watch_to_the_end(place, made.state, quiet=values["json"])
        output.notes = [f"council: {warning}" for warning in made.warnings]
        return output

    do("ask", values["json"], values["root"], values["now"], command)


convene: Callable[..., None] = typer_function(
    Command(
        name="convene",
        panel="Conversations",
        summary="Open a conversation and wake its agents at once.",
        example='council convene "Should we build a weather bot?" --agents henry,sage',
        options=(
            _TOPIC,
            *_INVITING,
            Option(
                name="dry_run",
                flags=("--dry-run",),
                flag=True,
                help="Show runs and prompt sizes; open nothing.",
            ),
            Option(
                name="run",
                flags=("--run",),
                flag=True,
                help="Stay and work until the minutes are written.",
            ),
            *options.EVERYWHERE,
        ),
    ),
    _convene,
)

ask: Callable[..., None] = typer_function(
    Command(
        name="ask",
        panel="Workspace",
        summary="Convene, wait, and print the verdict: the one command for an answer.",
        last="Exits with 0 where anybody was heard in time, agreed or not; 7 where the time ran "
        "out on all; 1 where all failed, or a person ended it.",
        example='council ask "Which database should we use?" --agents claude,codex',
        options=(_TOPIC, *_INVITING, *options.EVERYWHERE),
    ),
    _ask,
)

COMMANDS: dict[str, Callable[..., None]] = {"convene": convene, "ask": ask}
