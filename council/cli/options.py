"""The options of the commands that programs call all day, in one literal table.

From this table both the small parser of the hot path and the parameters of
the Typer commands are made, so the two cannot drift apart.

Source: `cli.md` sections 1 and 2, `architecture.md` section 4.
"""

from __future__ import annotations

from council.cli.table import words_of_name
from council.core.errors import UsageError
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Option(Record):
    """One option or argument of a command.

    `flags` is empty for a positional argument. A `flag` takes no value; a
    `optional` value may be left out (`--wait` or `--wait 5m`). `many` may be
    given again and again.
    """

    name: str
    flags: tuple[str, ...] = ()
    help: str = ""
    metavar: str = "TEXT"
    flag: bool = False
    many: bool = False
    optional_value: str = ""
    choices: tuple[str, ...] = ()


class Command(Record):
    """One command: its summary, its options, one example, and what help says last."""

    name: str
    summary: str
    example: str
    options: tuple[Option, ...]
    last: str = ""


def _option(
    flags: str,
    metavar: str,
    help: str,
    *,
    many: bool = False,
    optional_value: str = "",
    choices: tuple[str, ...] = (),
) -> Option:
    """Return an option with a value; its first flag names it."""
    name = flags[2:].partition(" ")[0].replace("-", "_")
    return Option(
        name="as_" if name == "as" else name,
        flags=tuple(flags.split()),
        help=help,
        metavar=metavar,
        many=many,
        optional_value=optional_value,
        choices=choices,
    )


def _flag(name: str, help: str) -> Option:
    return Option(name=name[2:].replace("-", "_"), flags=(name,), help=help, flag=True)


ROOT = _option("--root", "DIR", "The workspace; else COUNCIL_ROOT or upwards.")
NOW = _option("--now", "ISO8601", "Take this instant for the present time.")
JSON = _flag("--json", "Print one JSON document and nothing else.")
NAME = _option(
    "--name", "NAME", "Which conversation; else COUNCIL_NAME, the only open one, or `active`."
)
# The same as an argument, in every command that takes no text (OP-017).
CONVERSATION = Option(
    name="conversation", metavar="[NAME]", help="Which conversation; the same as --name."
)
AS = _option("--as", "AGENT", "Who is speaking; else COUNCIL_AGENT or the agent's folder.")
LANG = _option(
    "--lang", "en|fr", "Language of the texts; else the workspace's, or that of your locale."
)
EVERYWHERE = (ROOT, NOW, JSON)
# What a word too many may have been meant for.
QUOTES = "a text of several words needs quotes"
BY_NAME = "a conversation is named by --name"
CHANNEL = Option(name="channel", metavar="CHANNEL", help="The id of the channel.")
RUN_ID = _option("--run-id", "ID", "The run; the same one counts once. Else COUNCIL_TASK_ID.")

_ANSWER = (
    Option(name="text", metavar="[TEXT|-]", help="The text, or - to read standard input."),
    _option("--file", "PATH", "Read the text from a file (UTF-8)."),
    AS,
    NAME,
    _option("--task", "TASK", "The task this answers; else COUNCIL_TASK_ID."),
)

_CHECK = _flag("--check", "Say what would be understood and what is missing; record nothing.")

# The parts of a structured turn or vote, for who does not write its form by hand (DL-011).
_STATED = (
    _option("--position", "TEXT", "Deliberation: your position; the text is then your reasoning."),
    _option(
        "--stance",
        "PEER=agree|partial|disagree[:COMMENT]",
        "Deliberation: your stance towards a peer; once for each.",
        many=True,
    ),
    _option(
        "--confidence",
        "1-5",
        "Deliberation: how sure you are, 1 very uncertain to 5 highly confident.",
        choices=("1", "2", "3", "4", "5"),
    ),
)

# What one agent hands another (P8-011, P8-021).
_HANDED = (
    Option(name="text", metavar="[TEXT|-]", help="The message, or - to read standard input."),
    _option("--file", "PATH", "Read the message from a file (UTF-8)."),
    _option("--message", "TEXT", "The message, instead of the argument."),
    _option("--to", "AGENT|cap:WORD", "Whom it is for; or whoever can do that."),
    _option("--as --from", "AGENT", "Who asks; else COUNCIL_AGENT or the agent's folder."),
    _option("--trace", "ID", "What it belongs to; inside a run it is known."),
    _option("--session", "KEY", "The transcript; else the usual one of the agent."),
    _option("--ref", "ARTIFACT", "An artifact that goes with it; once for each.", many=True),
    _option(
        "--input", "FILE|-", "The whole request as one JSON document; options count before it."
    ),
)

HOT: dict[str, Command] = {
    "agent message": Command(
        name="agent message",
        summary="Leave an agent a message; nothing is run.",
        example='council agent message --to sage --as owl --trace t1 "The brief changed."',
        options=(
            *_HANDED,
            _option(
                "--priority",
                "P0|P1|P2",
                "P0 comes first in the inbox; else P1.",
                choices=("P0", "P1", "P2"),
            ),
            *EVERYWHERE,
        ),
    ),
    "agent call": Command(
        name="agent call",
        summary="Have an agent do one thing, under guard, and wait for its answer.",
        example='council agent call --to sage --as owl --trace t1 "Is this right?"',
        options=(
            *_HANDED,
            _option(
                "--limit",
                "NAME=NUMBER",
                "A tighter limit, once for each: timeoutMs, maxDepth, maxCallsPerTrace, "
                "maxToolCalls (only calls that the run reports), dedupeWindowMs, "
                "pairRateLimitPerMinute.",
                many=True,
            ),
            _option("--schema", "FILE", "The JSON Schema that the answer must have."),
            *EVERYWHERE,
        ),
        last="Exit: 0 ok, 1 error (the agent failed), 2 wrong usage, 3 invalid (the answer is not "
        "of the form of --schema, or the request cannot be read), 5 no such agent or artifact, "
        "6 rejected (a guard refused), 7 timeout.",
    ),
    "respond": Command(
        name="respond",
        summary="Answer the round under way as an agent.",
        example='council respond --as henry "We should build it, and here is why."',
        options=(
            *_ANSWER,
            _CHECK,
            _option(
                "--status",
                "responded|agreed|done",
                "responded (default), agreed (nothing left to argue), done (leaves for good).",
                choices=("responded", "agreed", "done"),
            ),
            *_STATED,
            *EVERYWHERE,
        ),
    ),
    "vote": Command(
        name="vote",
        summary="Vote as an agent; only in the voting phase of a deliberation.",
        example='council vote --as glm --position "Build it." --stance gpt=agree',
        options=(*_ANSWER, _CHECK, *_STATED, *EVERYWHERE),
    ),
    "synthesize": Command(
        name="synthesize",
        summary="Write the synthesis; only in the synthesis phase.",
        example="council synthesize --as henry --file synthesis.md",
        options=(*_ANSWER, *EVERYWHERE),
    ),
    "context": Command(
        name="context",
        summary="Print exactly what an agent may see now, as its prompt.",
        example="council context --as henry",
        options=(CONVERSATION, AS, NAME, LANG, *EVERYWHERE),
    ),
    "wait": Command(
        name="wait",
        summary="Wait until it is an agent's turn, or the conversation is over.",
        example="council wait --as henry --timeout 10m",
        options=(
            CONVERSATION,
            AS,
            NAME,
            _option(
                "--timeout",
                "DURATION",
                "Wait no longer than this, such as 10m; else as long as it takes.",
            ),
            *EVERYWHERE,
        ),
        last="Exit: 0 it is your turn, 5 no such conversation, 7 the timeout has passed, "
        "8 the conversation is over.",
    ),
    "heartbeat": Command(
        name="heartbeat",
        summary="Advance everything that is due and wake the next agents; for cron.",
        example="council heartbeat --json",
        options=(
            Option(
                name="conversation",
                metavar="[NAME]",
                help="Serve this conversation only; the same as --name.",
            ),
            _option("--name", "NAME", "Serve this conversation only; else all."),
            _option(
                "--wait",
                "[DURATION]",
                "Stay until nothing is open, or for a duration such as 10m (then exit 7).",
                optional_value="3650d",
            ),
            _flag("--dry-run", "Say what is due, do nothing."),
            _option("--reply-token", "WORD", "Print exactly this word when nothing changed."),
            *EVERYWHERE,
        ),
    ),
    "turn begin": Command(
        name="turn begin",
        summary="Ask whether an agent may speak in a channel now; for hooks.",
        example="council turn begin weather --as owl --run-id r1 --json",
        options=(CHANNEL, AS, RUN_ID, *EVERYWHERE),
    ),
    "turn end": Command(
        name="turn end",
        summary="Say that the turn of an agent in a channel has ended; for hooks.",
        example="council turn end weather --as owl --run-id r1 --messages run.json",
        options=(
            CHANNEL,
            AS,
            RUN_ID,
            _option(
                "--messages",
                "FILE|-",
                "The messages of the run as JSON; the last of the assistant counts.",
            ),
            _option("--text", "TEXT|-", "The final text itself, instead of --messages."),
            _flag("--post", "Post the text in the channel unless it lies there already."),
            *EVERYWHERE,
        ),
    ),
}


def named_once(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a command, the conversation named in one way.

    Raises:
        UsageError: An argument and --name name two.
    """
    named = values.pop("conversation", "")
    if named and values["name"] not in ("", named):
        raise UsageError("two conversations are named", "give NAME or --name, not both")
    return values | {"name": named} if named else values


def hot_name(argv: list[str]) -> str:
    """Return the name of the hot command that a command line begins with, "" for none."""
    name = " ".join(argv[: words_of_name(argv)])
    return name if name in HOT else ""


def hoisted(argv: list[str]) -> list[str]:
    """Move options that every command has from before the command to behind it.

    So `council --root X status` means what users of git expect. A bare
    `--wait` gets its default value here, as no value may follow it.
    """
    moved: list[str] = []
    rest = list(argv)
    while rest and rest[0].startswith("--"):
        word, _, value = rest[0].partition("=")
        if word == "--json":
            moved.append(rest.pop(0))
        elif word in _GLOBAL_WITH_VALUE and (value or len(rest) > 1):
            moved += [rest.pop(0)] if value else [rest.pop(0), rest.pop(0)]
        else:
            break
    verb, name = words_of_name(rest), hot_name(rest)
    if name:
        rest = rest[:verb] + _with_optional_values(HOT[name], rest[verb:])
    return rest[:verb] + moved + rest[verb:] if rest else moved


_GLOBAL_WITH_VALUE = frozenset(("--root", "--now", "--name", "--as", "--lang"))


def is_for_every_command(word: str) -> bool:
    """Tell whether a word is an option that belongs to commands, not to `council` itself."""
    return word == "--json" or word.partition("=")[0] in _GLOBAL_WITH_VALUE


def _with_optional_values(command: Command, words: list[str]) -> list[str]:
    optional = {
        flag: option.optional_value
        for option in command.options
        for flag in option.flags
        if option.optional_value
    }
    filled: list[str] = []
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else "-"
        if word in optional and following.startswith("-"):
            filled.append(f"{word}={optional[word]}")
        else:
            filled.append(word)
    return filled
