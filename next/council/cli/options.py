"""The table of commands and their options, from which both parsers are made.

`quick.py` reads the usual command lines with it, `typer_app.py` makes Typer's functions of it, so
the two cannot drift apart. A command's function takes the `App` and, by keyword, one value for
each of its options.
"""

from __future__ import annotations

from council.kernel.record import Any, Record

# Options: key -> (flags, metavar, kind, help). A key is the name of the value; `key:which` has the
# same name and another meaning. No flags is an argument, no metavar a flag without a value. Kinds:
# `text`, `many` (may be repeated), `whole` (a number), `bare=VALUE` (its value may be left out),
# `a|b|c` (one of them); an argument marked `!` is required. No help is not shown.
OPTIONS: dict[str, tuple[str, str, str, str]] = {
    "root": ("--root", "DIR", "text", "The workspace (default: found upwards from here)."),
    "clock": ("--now", "INSTANT", "text", "Use this time instead of the clock's."),
    "json": ("--json", "", "flag", "Print one JSON document."),
    "name": ("--name", "NAME", "text", "The conversation: its name, id or part of its title."),
    "which": ("", "NAME", "text", "The conversation, like --name."),
    "as_": ("--as", "ID", "text", "Who you are (default: COUNCIL_AGENT, or the agent's folder)."),
    "lang": ("--lang", "LANG", "en|fr", "Language: en or fr."),
    "file": ("--file", "FILE", "text", "Read the text from a file."),
    "key": ("--key", "KEY", "text", "Your own key: repeating it does nothing."),
    # a workspace
    "dir": ("", "DIR", "text", "The directory (default: the current one)."),
    "agents:init": ("--agents", "A,B", "many", "The agents' ids."),
    "repair": ("--repair", "", "flag", "Fix what can be fixed."),
    "probe": ("--probe", "", "flag", "Also start each agent's program once."),
    "systemd": ("--systemd", "", "flag", "Use a systemd timer."),
    "cron": ("--cron", "", "flag", "Use the crontab."),
    "every": ("--every", "D", "text", "The interval (default: 5m)."),
    "install": ("--install", "", "flag", "Install it instead of printing it."),
    "remove": ("--remove", "", "flag", "Remove what was installed."),
    "what:forget": ("", "WHICH", "text", "The conversation, by name, id or title."),
    "entry": ("--entry", "ID", "text", "Remove only this entry, such as 2-henry."),
    "older_than": ("--older-than", "D", "text", "Remove run logs older than this."),
    "dry_run": ("--dry-run", "", "flag", "Say what would happen; change nothing."),
    "yes": ("--yes", "", "flag", "Do not ask for confirmation."),
    "agent": ("", "ID", "text!", "The agent's id."),
    "name:agent": ("--name", "TEXT", "text", "Its display name."),
    "role:agent": ("--role", "TEXT", "text", "Its role."),
    "model": ("--model", "MODEL", "text", "The model it uses."),
    "preset": ("--preset", "PROGRAM", "text", "A known agent program, such as claude."),
    "capability": ("--capability", "WORD", "many", "What it can do."),
    "discord": ("--discord", "USERID", "text", "Its Discord user id."),
    "base_url": ("--base-url", "URL", "text", "An OpenAI-compatible server."),
    "api_key_env": ("--api-key-env", "VAR", "text", "The variable that holds the API key."),
    "from_": ("--from", "FILE", "text", "Read identities from an ego.json."),
    # the clock
    "wait:beat": ("--wait", "D", "bare=3650d", "Wait until nothing is running, at most this long."),
    "reply_token": ("--reply-token", "WORD", "text", "Print this word where nothing was due."),
    # a conversation begins
    "topic": ("", "TOPIC", "text!", "The question."),
    "topic:ask": ("", "TOPIC", "text", "The question."),
    "brief": ("--brief", "TEXT", "text", "The brief: background and constraints."),
    "brief_file": ("--brief-file", "FILE", "text", "Read the brief from a file, or - for stdin."),
    "name:new": ("--name", "NAME", "text", "A name for the conversation (default: active)."),
    "procedure": ("--procedure", "P", "council|deliberation", "council or deliberation."),
    "mode": ("--mode", "MODE", "text", "debate, prd, analysis, review or synthesis."),
    "agents": ("--agents", "A,B", "many", "Who takes part (default: all agents)."),
    "people": ("--people", "A,B", "many", "Participants who answer by hand."),
    "role": ("--role", "ID=ROLE", "many", "The role of a participant; may be repeated."),
    "order": ("--order", "ORDER", "text", "rotate, fixed, shuffle or parallel."),
    "phases": ("--phases", "A,B", "many", "The phases to go through."),
    "timeout": ("--timeout", "D", "text", "Time for each phase, such as 30m (default: 1h)."),
    "max_rounds": ("--max-rounds", "N", "whole", "Rounds of a deliberation (default: 5)."),
    "threshold": ("--threshold", "N", "whole", "Approvals needed (default: two thirds)."),
    "options": ("--options", "A,B", "many", "Options to choose from, separated by commas."),
    "coordinator": ("--coordinator", "ID", "text", "Who coordinates."),
    "synthesizer": ("--synthesizer", "ID", "text", "Who writes the synthesis."),
    "open_": ("--open", "", "flag", "Show first answers as they arrive."),
    "sealed": ("--sealed", "", "flag", "Hide first answers until all are there."),
    "anonymous": ("--anonymous", "", "flag", "Show participants pseudonyms of each other."),
    "advocate": ("--advocate", "ID", "text", "The devil's advocate; its stances do not count."),
    "sign_off": ("--sign-off", "ID", "text", "The person who has the last word."),
    "max_runs": ("--max-runs", "N", "whole", "Most runs of the conversation."),
    "max_tokens": ("--max-tokens", "N", "whole", "Most tokens."),
    "max_cost": ("--max-cost", "USD", "text", "Most US dollars."),
    "resume": ("--resume", "", "flag", "Watch a conversation that is already open."),
    "rehearse": ("--rehearse", "", "flag", "Use scripted agents instead of models."),
    "seed": ("--seed", "N", "whole", "Vary the rehearsal."),
    "gate": ("--gate", "", "flag", "Exit 0 if the first option wins, 8 if another, 9 if none."),
    # an answer
    "text": ("", "TEXT", "text", "The answer, or - for standard input."),
    "task": ("--task", "ID", "text", "The task that this answers (default: COUNCIL_TASK_ID)."),
    "round_": ("--round", "MARK", "text", "The round that this answers, as `context` prints it."),
    "amend": ("--amend", "", "flag", "Replace your answer of this round."),
    "check": ("--check", "", "flag", "Only say what is understood; record nothing."),
    "status": ("--status", "WORD", "text", "responded, agreed, or done to leave."),
    "position": ("--position", "TEXT", "text", "Your position."),
    "choice": ("--choice", "LETTER", "text", "An option's letter, new or abstain."),
    "stance": ("--stance", "PEER=WORD[:WHY]", "many", "agree, partial or disagree with a peer."),
    "confidence": ("--confidence", "N", "whole", "1 (unsure) to 5 (sure)."),
    "kind": ("--kind", "KIND", "text", "turn, vote or synthesis (default: what is asked now)."),
    "timeout:wait": ("--timeout", "D", "text", "Wait at most this long."),
    # steering
    "message": ("", "MESSAGE", "text", "What to say, or - for standard input."),
    "to": ("--to", "ID", "text", "Only to this participant, or to a conversation."),
    "stars": ("--stars", "N", "whole", "Rate minutes from 1 to 5 stars."),
    "now_": ("--now", "", "flag", "Write the minutes at once."),
    "why": ("", "WHY", "text!", "The reason."),
    "all_": ("--all", "", "flag", "Every conversation: start no runs at all."),
    "for_": ("--for", "D", "text", "Move the deadline to this long from now."),
    "duration": ("", "D", "text!", "How long from now."),
    "reason": ("--reason", "TEXT", "text", "Why; it is kept in the minutes."),
    # looking
    "problems": ("--problems", "", "flag", "Only what is wrong, with the cure."),
    "watch": ("--watch", "", "flag", "Keep showing it until interrupted."),
    "advance": ("--advance", "", "flag", "With --watch: also run the heartbeat."),
    "what": ("", "NAME", "text", "A name, id, part of a title, minutes or an agent."),
    "what:explain": ("", "WHAT", "text", "A name, a code such as E13, or a word."),
    "format": ("--format", "FORMAT", "md|json|debate-session", "md, json or debate-session."),
    "format:log": ("--format", "FORMAT", "text", "text, json, protocol or otlp."),
    "consensus": ("--consensus", "", "flag", "Who approves what, and the verdict."),
    "section": ("--section", "WORD", "text", ""),
    "at": ("--at", "REV", "whole", "As it was at this revision."),
    "last": ("--last", "N", "whole", "Only the last N contributions."),
    "kinds": ("", "KIND", "text", "minutes, agents, rooms, tasks or artifacts."),
    "archived": ("--archived", "", "flag", ""),
    "search": ("--search", "WORDS", "text", "Only what contains these words."),
    "since": ("--since", "DAY", "text", "Only since this day or instant."),
    "stats": ("--stats", "", "flag", "Success measures of all minutes."),
    "follow": ("-f --follow", "", "flag", "Keep printing new lines."),
    "number": ("-n", "N", "whole", "Only the last N."),
}
_EVERYWHERE = " root clock json"
_CONVENE = (
    "brief brief_file name:new procedure mode agents people role order phases timeout max_rounds "
    "threshold options coordinator synthesizer open_ sealed anonymous advocate sign_off max_runs "
    "max_tokens max_cost lang"
)
_RESPOND = (
    "text file as_ name task round_ amend key check status position choice stance confidence"
)

EVERYDAY, MORE, WORKSPACE = "Everyday", "Conversations", "Workspace"
# Commands in the order of the help: name -> (panel, module, marks, summary, example, options).
# Marks: `quick` is read without Typer, `run` works inside a run, `=NAME` is a second name of a
# command, which is not shown. The function has the command's name.
COMMANDS: dict[str, tuple[str, str, str, str, str, str]] = {
    "init": (EVERYDAY, "workspace", "", "Set up a workspace and its agents.",
             "init --agents ada,bea", "dir agents:init lang"),
    "ask": (EVERYDAY, "asking", "", "Ask a council, watch it, and print the decision.",
            'ask "Tabs or spaces?"', f"topic:ask {_CONVENE} resume rehearse seed gate yes"),
    "convene": (EVERYDAY, "steering", "", "Open a conversation and wake its first speakers.",
                'convene "Tabs or spaces?" --agents ada,bea', f"topic {_CONVENE} dry_run"),
    "respond": (EVERYDAY, "answering", "quick run", "Give your answer in this round.",
                'respond --as ada "Tabs."', _RESPOND),
    "say": (EVERYDAY, "steering", "", "Tell the participants something, as a person.",
            'say "The budget is 400 EUR."', "message to key stars name as_ file"),
    "status": (EVERYDAY, "looking", "quick", "Show what is open, who owes an answer, what failed.",
               "status --problems", "which name problems watch advance"),
    "show": (EVERYDAY, "looking", "quick run", "Print a conversation, minutes or an agent.",
             "show active", "what name format consensus at last section archived"),
    "list": (EVERYDAY, "looking", "quick", "List conversations, minutes or agents.",
             "list minutes --search kettle", "kinds search since stats archived"),
    "stop": (EVERYDAY, "steering", "", "End the rounds; the vote or synthesis comes next.",
             "stop --now", "which name now_"),
    "heartbeat": (EVERYDAY, "answering", "quick", "Advance what is due and wake agents.",
                  "heartbeat", "name wait:beat dry_run reply_token"),
    "doctor": (EVERYDAY, "workspace", "", "Check everything and name each cure.",
               "doctor --repair", "repair probe"),
    "context": (MORE, "answering", "quick run", "Print what an agent may see now, as its prompt.",
                "context --as ada", "as_ name kind lang"),
    "wait": (MORE, "answering", "quick run", "Wait until it is your turn (0), or all is over (8).",
             "wait --as ada --timeout 10m", "as_ name timeout:wait"),
    "explain": (MORE, "looking", "quick run", "Say what something waits for, and the cure.",
                "explain active", "what:explain name"),
    "log": (MORE, "looking", "", "Print what happened: revisions and events.",
            "log active -n 20", "which name follow number format:log since"),
    "check": (MORE, "workspace", "", "Check the file of a conversation.",
              "check", "which name"),
    "approve": (MORE, "steering", "", "Approve the synthesis, if you have the last word.",
                "approve --as anna", "as_ name"),
    "reject": (MORE, "steering", "", "Send the synthesis back, with a reason.",
               'reject "Too expensive."', "why as_ name"),
    "pause": (MORE, "steering", "", "Start nothing more in a conversation, or in all.",
              "pause --all", "which name all_"),
    "resume": (MORE, "steering", "", "Continue, or move the deadline.",
               "resume --for 30m", "which name all_ for_"),
    "cancel": (MORE, "steering", "", "End a conversation without a decision.",
               'cancel --reason "Asked twice."', "which name reason"),
    "schedule": (WORKSPACE, "workspace", "", "Print or install what runs the heartbeat.",
                 "schedule --install", "systemd cron every install remove"),
    "agent add": (WORKSPACE, "workspace", "", "Add an agent, or change one.",
                  "agent add ada --preset claude", "agent name:agent role:agent model preset "
                  "capability discord base_url api_key_env from_"),
    "agent remove": (WORKSPACE, "workspace", "", "Remove an agent.", "agent remove ada", "agent"),
    "forget": (WORKSPACE, "workspace", "", "Remove one conversation or entry everywhere.",
               "forget active --yes", "what:forget entry older_than dry_run yes"),
    "demo": (WORKSPACE, "workspace", "", "Play a council with scripted agents.", "demo", "lang"),
    "vote": (MORE, "answering", "quick run =respond", "Give your vote.",
             "vote --as ada --choice A", _RESPOND),
    "synthesize": (MORE, "answering", "quick run =respond", "Write the synthesis.",
                   "synthesize --as ada -", _RESPOND),
    "inject": (EVERYDAY, "steering", "=say", "Tell the participants something, as a person.",
               'inject "The budget is 400 EUR."', "message to key stars name as_ file"),
    "watch": (EVERYDAY, "looking", "=status", "Keep showing the status.",
              "watch", "which name problems advance"),
    "history": (MORE, "looking", "=log", "Print the revisions of a conversation.",
                "history active", "which name follow number format:log since"),
    "archive": (EVERYDAY, "steering", "=stop", "Write the minutes at once.",
                "archive active", "which name"),
    "extend": (MORE, "steering", "=resume", "Move the deadline.", "extend 30m", "duration name"),
}  # fmt: skip


class Option(Record, settled=True):
    """One option or argument of a command; `kind` and the rest as in `OPTIONS`."""

    name: str
    flags: list[str]
    metavar: str
    kind: str
    help: str
    required: bool = False

    def unset(self) -> Any:
        """Return the value where it is not given."""
        if self.kind == "many":
            return []
        return False if self.kind == "flag" else None if self.kind == "whole" else ""


class Command(Record, settled=True):
    """One command, as `COMMANDS` describes it; `shown_as` is the command of a second name."""

    name: str
    panel: str
    module: str
    summary: str
    example: str
    options: list[Option]
    quick: bool
    in_run: bool
    shown_as: str = ""


def command(name: str) -> Command | None:
    """Return a command of the table, None where it has none of that name."""
    row = COMMANDS.get(name)
    if row is None:
        return None
    panel, module, marks, summary, example, keys = row
    words = marks.split()
    return Command(
        name=name,
        panel=panel,
        module=module,
        summary=summary,
        example=example,
        options=[_option(key) for key in (keys + _EVERYWHERE).split()],
        quick="quick" in words,
        in_run="run" in words,
        shown_as=next((word[1:] for word in words if word[0] == "="), ""),
    )


def _option(key: str) -> Option:
    flags, metavar, kind, text = OPTIONS[key]
    return Option(
        name=key.partition(":")[0],
        flags=flags.split(),
        metavar=metavar,
        kind=kind.rstrip("!"),
        help=text,
        required=kind.endswith("!"),
    )


def name_of(words: list[str]) -> str:
    """Return the name of the command that a command line begins with, "" where it has none."""
    two = " ".join(words[:2])
    return two if two in COMMANDS else words[0] if words and words[0] in COMMANDS else ""
