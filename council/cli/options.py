"""The options of the commands that programs call all day, in one literal table.

From this table both the small parser of the hot path and the parameters of
the Typer commands are made, so the two cannot drift apart.

Source: `cli.md` sections 1 and 2, `architecture.md` section 4.
"""

from __future__ import annotations

from council.cli.table import words_of_name
from council.core.record import Record


class Option(Record):
    """One option or argument of a command.

    `flags` is empty for a positional argument. A `flag` takes no value; a
    `optional` value may be left out (`--wait` or `--wait 5m`). `many` may be
    given again and again. Only a `required` argument must be given.
    """

    name: str
    flags: tuple[str, ...] = ()
    help: str = ""
    metavar: str = "TEXT"
    flag: bool = False
    many: bool = False
    required: bool = False
    optional_value: str = ""
    choices: tuple[str, ...] = ()


class Command(Record):
    """One command: its summary, its options, one example, and what help says last."""

    name: str
    panel: str
    summary: str
    example: str
    options: tuple[Option, ...]
    last: str = ""


ROOT = Option(
    name="root",
    flags=("--root",),
    metavar="DIR",
    help="The workspace; else COUNCIL_ROOT or upwards.",
)
NOW = Option(
    name="now", flags=("--now",), metavar="ISO8601", help="Take this instant for the present time."
)
JSON = Option(
    name="json", flags=("--json",), flag=True, help="Print one JSON document and nothing else."
)
NAME = Option(
    name="name",
    flags=("--name",),
    metavar="NAME",
    help="Which conversation; else COUNCIL_NAME, the only open one, or `active`.",
)
AS = Option(
    name="as_",
    flags=("--as",),
    metavar="AGENT",
    help="Who is speaking; else COUNCIL_AGENT or the agent's folder.",
)
LANG = Option(
    name="lang",
    flags=("--lang",),
    metavar="en|fr",
    help="Language of the texts; else the workspace's, or that of your locale.",
)
EVERYWHERE = (ROOT, NOW, JSON)
# What a word too many may have been meant for.
QUOTES = "a text of several words needs quotes"
BY_NAME = "a conversation is named by --name"
CHANNEL = Option(name="channel", metavar="CHANNEL", help="The id of the channel.")
RUN_ID = Option(
    name="run_id",
    flags=("--run-id",),
    metavar="ID",
    help="The run; the same one counts once. Else COUNCIL_TASK_ID.",
)

_ANSWER = (
    Option(name="text", metavar="[TEXT|-]", help="The text, or - to read standard input."),
    Option(
        name="file", flags=("--file",), metavar="PATH", help="Read the text from a file (UTF-8)."
    ),
    AS,
    NAME,
    Option(
        name="task",
        flags=("--task",),
        metavar="TASK",
        help="The task this answers; else COUNCIL_TASK_ID.",
    ),
)

_CHECK = Option(
    name="check",
    flags=("--check",),
    flag=True,
    help="Say what would be understood and what is missing; record nothing.",
)

# The parts of a structured turn or vote, for who does not write its form by hand (DL-011).
_STATED = (
    Option(
        name="position",
        flags=("--position",),
        metavar="TEXT",
        help="Deliberation: your position; the text is then your reasoning.",
    ),
    Option(
        name="stance",
        flags=("--stance",),
        metavar="PEER=agree|partial|disagree[:COMMENT]",
        many=True,
        help="Deliberation: your stance towards a peer; once for each.",
    ),
    Option(
        name="confidence",
        flags=("--confidence",),
        metavar="1-5",
        choices=("1", "2", "3", "4", "5"),
        help="Deliberation: how sure you are, 1 very uncertain to 5 highly confident.",
    ),
)

# What one agent hands another (P8-011, P8-021).
_HANDED = (
    Option(name="text", metavar="[TEXT|-]", help="The message, or - to read standard input."),
    Option(
        name="file", flags=("--file",), metavar="PATH", help="Read the message from a file (UTF-8)."
    ),
    Option(
        name="message",
        flags=("--message",),
        metavar="TEXT",
        help="The message, instead of the argument.",
    ),
    Option(
        name="to",
        flags=("--to",),
        metavar="AGENT|cap:WORD",
        help="Whom it is for; or whoever can do that.",
    ),
    Option(
        name="as_",
        flags=("--as", "--from"),
        metavar="AGENT",
        help="Who asks; else COUNCIL_AGENT or the agent's folder.",
    ),
    Option(
        name="trace",
        flags=("--trace",),
        metavar="ID",
        help="What it belongs to; inside a run it is known.",
    ),
    Option(
        name="session",
        flags=("--session",),
        metavar="KEY",
        help="The transcript; else the usual one of the agent.",
    ),
    Option(
        name="ref",
        flags=("--ref",),
        metavar="ARTIFACT",
        many=True,
        help="An artifact that goes with it; once for each.",
    ),
    Option(
        name="input",
        flags=("--input",),
        metavar="FILE|-",
        help="The whole request as one JSON document; options count before it.",
    ),
)

# The commands that write nothing that lasts: they work whatever version the settings are of.
READING = frozenset(
    (
        "agent group list",
        "agent list",
        "agent query",
        "agent select",
        "agent show",
        "artifact list",
        "brief show",
        "channel list",
        "channel show",
        "check",
        "context",
        "ctx show",
        "diff",
        "doctor",
        "events export",
        "events schema",
        "events story",
        "events tail",
        "explain",
        "history",
        "list",
        "metrics",
        "migrate",
        "msg build",
        "msg convert",
        "msg diff",
        "msg explain",
        "msg inbox",
        "msg lint",
        "msg log",
        "msg parse",
        "msg resolve",
        "msg validate",
        "prompt",
        "route check",
        "route explain",
        "show",
        "status",
        "task list",
        "task show",
        "turn status",
        "wait",
        "watch",
        "what-if",
    )
)

HOT: dict[str, Command] = {
    "agent message": Command(
        name="agent message",
        panel="Delegation",
        summary="Leave an agent a message; nothing is run.",
        example='council agent message --to sage --as owl --trace t1 "The brief changed."',
        options=(
            *_HANDED,
            Option(
                name="priority",
                flags=("--priority",),
                metavar="P0|P1|P2",
                choices=("P0", "P1", "P2"),
                help="P0 comes first in the inbox; else P1.",
            ),
            *EVERYWHERE,
        ),
    ),
    "agent call": Command(
        name="agent call",
        panel="Delegation",
        summary="Have an agent do one thing, under guard, and wait for its answer.",
        example='council agent call --to sage --as owl --trace t1 "Is this right?"',
        options=(
            *_HANDED,
            Option(
                name="limit",
                flags=("--limit",),
                metavar="NAME=NUMBER",
                many=True,
                help="A tighter limit, once for each: timeoutMs, maxDepth, maxCallsPerTrace, "
                "maxToolCalls (only calls that the run reports), dedupeWindowMs, "
                "pairRateLimitPerMinute.",
            ),
            Option(
                name="schema",
                flags=("--schema",),
                metavar="FILE",
                help="The JSON Schema that the answer must have.",
            ),
            *EVERYWHERE,
        ),
        last="Exit: 0 ok, 1 error (the agent failed), 2 wrong usage, 3 invalid (the answer is not "
        "of the form of --schema, or the request cannot be read), 5 no such agent or artifact, "
        "6 rejected (a guard refused), 7 timeout.",
    ),
    "respond": Command(
        name="respond",
        panel="Conversations",
        summary="Answer the round under way as an agent.",
        example='council respond --as henry "We should build it, and here is why."',
        options=(
            *_ANSWER,
            _CHECK,
            Option(
                name="status",
                flags=("--status",),
                metavar="responded|agreed|done",
                choices=("responded", "agreed", "done"),
                help="responded (default), agreed (nothing left to argue), done (leaves for good).",
            ),
            *_STATED,
            *EVERYWHERE,
        ),
    ),
    "vote": Command(
        name="vote",
        panel="Conversations",
        summary="Vote as an agent; only in the voting phase of a deliberation.",
        example='council vote --as glm --position "Build it." --stance gpt=agree',
        options=(*_ANSWER, _CHECK, *_STATED, *EVERYWHERE),
    ),
    "synthesize": Command(
        name="synthesize",
        panel="Conversations",
        summary="Write the synthesis; only in the synthesis phase.",
        example="council synthesize --as henry --file synthesis.md",
        options=(*_ANSWER, *EVERYWHERE),
    ),
    "context": Command(
        name="context",
        panel="Conversations",
        summary="Print exactly what an agent may see now, as its prompt.",
        example="council context --as henry",
        options=(AS, NAME, LANG, *EVERYWHERE),
    ),
    "wait": Command(
        name="wait",
        panel="Conversations",
        summary="Wait until it is an agent's turn, or the conversation is over.",
        example="council wait --as henry --timeout 10m",
        options=(
            Option(
                name="conversation",
                metavar="[NAME]",
                help="Which conversation; the same as --name.",
            ),
            AS,
            NAME,
            Option(
                name="timeout",
                flags=("--timeout",),
                metavar="DURATION",
                help="Wait no longer than this, such as 10m; else as long as it takes.",
            ),
            *EVERYWHERE,
        ),
        last="Exit: 0 it is your turn, 5 no such conversation, 7 the timeout has passed, "
        "8 the conversation is over.",
    ),
    "heartbeat": Command(
        name="heartbeat",
        panel="Workspace",
        summary="Advance everything that is due and wake the next agents; for cron.",
        example="council heartbeat --json",
        options=(
            Option(
                name="name",
                flags=("--name",),
                metavar="NAME",
                help="Serve this conversation only; else all.",
            ),
            Option(
                name="wait",
                flags=("--wait",),
                metavar="[DURATION]",
                optional_value="3650d",
                help="Stay until nothing is open, or for a duration such as 10m (then exit 7).",
            ),
            Option(
                name="dry_run", flags=("--dry-run",), flag=True, help="Say what is due, do nothing."
            ),
            Option(
                name="reply_token",
                flags=("--reply-token",),
                metavar="WORD",
                help="Print exactly this word when nothing changed.",
            ),
            *EVERYWHERE,
        ),
    ),
    "turn begin": Command(
        name="turn begin",
        panel="Agents and channels",
        summary="Ask whether an agent may speak in a channel now; for hooks.",
        example="council turn begin weather --as owl --run-id r1 --json",
        options=(CHANNEL, AS, RUN_ID, *EVERYWHERE),
    ),
    "turn end": Command(
        name="turn end",
        panel="Agents and channels",
        summary="Say that the turn of an agent in a channel has ended; for hooks.",
        example="council turn end weather --as owl --run-id r1 --messages run.json",
        options=(
            CHANNEL,
            AS,
            RUN_ID,
            Option(
                name="messages",
                flags=("--messages",),
                metavar="FILE|-",
                help="The messages of the run as JSON; the last of the assistant counts.",
            ),
            Option(
                name="text",
                flags=("--text",),
                metavar="TEXT|-",
                help="The final text itself, instead of --messages.",
            ),
            Option(
                name="post",
                flags=("--post",),
                flag=True,
                help="Post the text in the channel unless it lies there already.",
            ),
            *EVERYWHERE,
        ),
    ),
}


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
