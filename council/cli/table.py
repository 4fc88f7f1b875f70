"""All commands and groups of commands, as one literal table that costs nothing to read.

`council --help` is drawn from this table alone, and a command that is named
loads its own module and no other. To add one:

- A command: a row in its panel of `PANELS`, with the module below
  `council.cli` that holds it and the summary that the front page shows. There
  stands its function, below `@command` of `parameters` with its whole name (such
  as `status` or `agent add`) and an example; the first paragraph of the
  function's docstring is that summary, word for word, and a test holds the two equal.
- A command of a group: its word in `GROUPS`, beside its module. The
  subcommands of one group may come from several modules; each is loaded when
  one of its own is named, all of them for `council GROUP --help`, which shows
  them in the order of this table.
- A group: a row in its panel of `PANELS` with `GROUP` for its module, and its
  line in `GROUPS`. A group inside a group (`agent group`) has only its line in
  `GROUPS`, by its whole name, and its summary in `INNER`.
- A command that programs call all day: its options in `options.HOT`; its
  module has a dictionary `RUN` from the whole name to what it does, and must
  load nothing heavy.

A command that writes nothing that lasts says so: `reads=True`. One that a run
may use stands in `core.trust`, too.

Source: `cli.md` section 2.
"""

from __future__ import annotations

ABOUT = "Let agents and people deliberate through files. Start with: council init"

GROUP = ""  # stands for the module of a group, which has none of its own

PANELS: dict[str, dict[str, tuple[str, str]]] = {
    "Workspace": {
        "init": ("workspace", "Make a workspace here; never overwrites anything."),
        "ask": (
            "convening",
            "Convene, wait, and print the verdict: the one command for an answer.",
        ),
        "doctor": (
            "workspace",
            "Check the workspace, its agents and its conversations; say how to fix each fault.",
        ),
        "status": ("running", "Show everything that is open, who owes an answer, and what failed."),
        "heartbeat": (
            "hot_commands",
            "Advance everything that is due and wake the next agents; for cron.",
        ),
        "watch": ("workspace", "Show everything that is open, live, until you press Ctrl-C."),
        "schedule": (
            "running",
            "Print, or install, what runs the heartbeat: systemd, cron or OpenClaw.",
        ),
        "halt": (
            "running",
            "Start no more runs anywhere; deadlines of who is due wait. See: resume --all.",
        ),
        "demo": (
            "workspace",
            "Play a whole council with four scripted agents, through the real commands.",
        ),
        "gc": (
            "forgetting",
            "Prune old history and run logs of what is over; minutes, answers and journals stay.",
        ),
        "purge": (
            "forgetting",
            "Remove a conversation, channel or context from everywhere in the workspace, for good.",
        ),
        "migrate": (
            "forgetting",
            "Bring files of older versions forward; say which files need what.",
        ),
    },
    "Conversations": {
        "convene": ("convening", "Open a conversation and wake its agents at once."),
        "context": ("hot_commands", "Print exactly what an agent may see now, as its prompt."),
        "wait": (
            "hot_commands",
            "Wait until it is an agent's turn, or the conversation is over.",
        ),
        "respond": ("hot_commands", "Answer the round under way as an agent."),
        "vote": (
            "hot_commands",
            "Vote as an agent; only in the voting phase of a deliberation.",
        ),
        "synthesize": ("hot_commands", "Write the synthesis; only in the synthesis phase."),
        "inject": ("conversations", "Add guidance that the agents read in their next prompt."),
        "say": (
            "conversations",
            "Say something as a person: to a conversation, a channel, an agent, or a task.",
        ),
        "stop": ("conversations", "End the rounds now; the vote or the synthesis is next."),
        "pause": (
            "conversations",
            "Let a conversation stand still: nobody is woken, no deadline passes.",
        ),
        "resume": (
            "conversations",
            "Let a paused conversation go on; its deadline moves by the pause.",
        ),
        "cancel": (
            "conversations",
            "End a conversation without a synthesis; what was said goes to the minutes.",
        ),
        "extend": ("conversations", "Move the deadline of the phase under way."),
        "show": (
            "conversations",
            "Print a conversation: for people, or as JSON with all its texts.",
        ),
        "list": ("conversations", "List open conversations, or with --archived the minutes."),
        "history": (
            "conversations",
            "List the revisions of a conversation: who changed what, when.",
        ),
        "restore": (
            "conversations",
            "Put a conversation back as it was at a revision, as a new revision.",
        ),
        "adopt": (
            "conversations",
            "Take the file as it stands, changed contributions included, as a new revision.",
        ),
        "check": (
            "conversations",
            "Say whether the file is well formed, was edited, and agents set their status.",
        ),
        "archive": ("conversations", "End a conversation now and write its minutes."),
        "prompt": ("conversations", "Print the prompt an agent would get now."),
        "diff": (
            "editing",
            "Show what differs between two revisions, or a revision and the file as it is.",
        ),
        "edit": ("editing", "Open the file in your editor, then take in at once what you saved."),
        "what-if": (
            "judging",
            "Judge a deliberation again with something changed; say what its verdict hangs on.",
        ),
        "rate": (
            "judging",
            "Say how useful the synthesis of a conversation was; kept with its minutes.",
        ),
        "metrics": ("judging", "Tell how conversations went: over all minutes, and by procedure."),
    },
    "Agents and channels": {
        "agent": (GROUP, "Who takes part: agents and their accounts."),
        "channel": (GROUP, "Rooms in which agents speak in turn."),
        "turn": (GROUP, "Who has the floor of a channel; for hooks."),
        "discussion": (GROUP, "Talks with a guide, an end and a summary."),
    },
    "Messages and tasks": {
        "msg": (
            GROUP,
            "Messages between agents, versions V1 to V5: read, write, convert, sign, send.",
        ),
        "task": (GROUP, "What is being done for requests: by whom, since when, what is next."),
        "ctx": (GROUP, "Contexts, in which the messages of one request belong together."),
    },
    "Delegation": {
        "artifact": (GROUP, "Files of any size for all, named by their content."),
        "brief": (GROUP, "What one agent handed another to work with."),
        "route": (GROUP, "Which agent something goes to, and why."),
        "events": (GROUP, "What happened, as events."),
        "explain": (
            "explaining",
            "Say what something waits for, why, what was tried, and what happens next and when.",
        ),
    },
}

# Which words follow the name of a group, by the module that holds those commands.
GROUPS: dict[str, tuple[tuple[str, str], ...]] = {
    "agent": (
        ("agents", "add register list show edit remove scan"),
        ("delegation", "message call"),
        ("protocol_agents", "join leave caps query liveness select"),
    ),
    "agent group": (("protocol_agents", "add remove list"),),
    "channel": (("rooms", "create mode show list post members"),),
    "turn": (("turns", "begin end"), ("rooms", "status wake")),
    "discussion": (("rooms", "create complete"),),
    "msg": (
        ("messages", "parse validate"),
        ("message_writing", "build convert sign verify"),
        ("messages", "lint diff explain"),
        ("message_sending", "send answer inbox log resolve"),
    ),
    "task": (("tasks", "list show cancel"),),
    "ctx": (("contexts", "open close set show"),),
    "route": (("routes", "explain check"),),
    "artifact": (("artifacts", "publish fetch list verify gc"),),
    "brief": (("artifacts", "show"),),
    "events": (("events", "tail story export schema"),),
}

# The summaries of groups inside groups, by their whole names.
INNER: dict[str, str] = {
    "agent group": "Groups of workers: a message to one reaches each member.",
}


def words_of_name(argv: list[str]) -> int:
    """Return how many words at the beginning of a command line name the command."""
    if not argv or argv[0] not in GROUPS:
        return 1
    return 3 if " ".join(argv[:2]) in GROUPS else 2


def names(group: str) -> list[str]:
    """Return the words that may follow a group, or `council` itself for ""."""
    if not group:
        return [name for rows in PANELS.values() for name in rows]
    inner = [name.rpartition(" ")[2] for name in INNER if name.rpartition(" ")[0] == group]
    return [word for _, words in GROUPS[group] for word in words.split()] + inner


def summary(name: str) -> str:
    """Return what the front page says of a command or a group, "" for one of a group."""
    shown = next((rows[name][1] for rows in PANELS.values() if name in rows), "")
    return shown or INNER.get(name, "")


def panel(name: str) -> str:
    """Return the panel in which a command or a group stands."""
    return next((title for title, rows in PANELS.items() if name in rows), "Commands")


def module_of(name: str) -> str:
    """Return the module below `council.cli` that holds a command, "" for none such."""
    group, _, word = name.rpartition(" ")
    if not group:
        return next((rows[name][0] for rows in PANELS.values() if name in rows), "")
    held = GROUPS.get(group, ())
    return next((module for module, words in held if word in words.split()), "")
