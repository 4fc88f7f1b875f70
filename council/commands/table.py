"""All commands, groups of commands and options, as one table that costs nothing to read.

Both parsers, the help and the first page are made from it (`options` reads it).

- `== TITLE` begins a heading, under which `council help` lists what follows.
- `in MODULE` names the module of `council.commands` that holds the commands that follow, or
  `cli.MODULE` where they start a server. The
  function of `agent add` is `agent_add`; it takes what it needs of the options by their names,
  `place`, the open workspace (`Place | None` where none is needed), and `values`, all of them.
- `NAME  SUMMARY` is a command, or a group if the names of others begin with it. One that writes
  nothing that lasts says `, reads` and works whatever version the settings are of.
- `NAME = OTHER  SUMMARY` is an old name of a command: the same function, with what stands behind
  OTHER always given; it takes the options below it if there are any, else those of OTHER. It is
  shown nowhere, and neither is a command that says `, hidden`.
- `$ …` is an example that help shows, `council NAME` where there is none; `> …` what it says last.
  An example in the row of its command stands there without `council NAME`.
- `AS NAME` are options shared by several commands (`SHARED`).
- `--flag`, `--option VALUE` and `argument VALUE` are options: what they are called, then two
  blanks, then what help says. An argument must be given unless its VALUE stands in brackets.
  Behind VALUE: `many`, may be given again; `one-of`, one of the words in VALUE, or of those
  named; `whole`, a whole number, of that size at least; `else=…`, what stands for it where it is
  left out (`or-none`, nothing does, and a list then means all; `required`, it must be given);
  `bare=…`, what it is when given without a value; `of=…`, the names of what a shell completes it
  with. `{words}` are the statuses that an answer may have, `{meanings}` says what each means.
- All commands take `--root`, `--now` and `--json` besides, but those that name one of them.

A line that is too long goes on in the next one, further in. A command that a run may use stands
in `core.trust`, too.

Source: `cli.md` sections 1 and 2.
"""

from __future__ import annotations

from council.core.agents import DRIVERS

SHARED = {
    "ROOT": "--root DIR  The workspace; else COUNCIL_ROOT or upwards.",
    "NOW": "--now ISO8601  Take this instant for the present time.",
    "JSON": "--json  Print one JSON document and nothing else.",
    "NAMED": """
    --name NAME of=conversations  Which conversation; else COUNCIL_NAME, the only open one, or
        `active`.""",
    "NAME": """
    NAMED
    conversation [NAME] of=conversations  Which conversation; the same as --name.""",
    "AS": "--as AGENT of=agents  Who is speaking; else COUNCIL_AGENT or the agent's folder.",
    "LANG": "--lang en|fr  Language of the texts; else the workspace's, or that of your locale.",
    "VERBOSE": "--verbose -v  Show ids and traces, too.",
    "CHANNEL": "channel CHANNEL of=rooms  The id of the channel.",
    "HOOKED": """
    channel CHANNEL else= of=rooms  The id of the channel.
    AS
    --run-id ID  The run; the same one counts once. Else COUNCIL_TASK_ID.""",
    "ANSWER": """
    text [TEXT|-]  The text, or - to read standard input.
    --file PATH  Read the text from a file (UTF-8).
    AS NAMED
    --task TASK  The task this answers; else COUNCIL_TASK_ID.""",
    "CHECK": "--check  Say what would be understood and what is missing; record nothing.",
    "STATED": """
    --position TEXT  Deliberation: your position; the text is then your reasoning.
    --stance PEER=agree|partial|disagree[:COMMENT] many  Deliberation: your stance towards a peer;
        once for each.
    --confidence 1-5 one-of=1|2|3|4|5  Deliberation: how sure you are, 1 very uncertain to 5 highly
        confident.""",
    "HANDED": """
    text [TEXT|-]  The message, or - to read standard input.
    --file PATH  Read the message from a file (UTF-8).
    --message TEXT  The message, instead of the argument.
    --to AGENT|cap:WORD  Whom it is for; or an agent that can do that.
    --as --from AGENT  Who asks; else COUNCIL_AGENT or the agent's folder.
    --trace ID  What it belongs to; inside a run it is known.
    --session KEY  The transcript; else the usual one of the agent.
    --ref ARTIFACT many  An artifact that goes with it; once for each.
    --input FILE|-  The whole request as one JSON document; options count before it.""",
    "INVITED": """
    --brief TEXT  The brief; else the topic.
    --brief-file PATH|-  Read the brief from a file, or - for stdin.
    --name NAME  The conversation's name; else `active`.
    --procedure council|deliberation  How to decide: by phases (council, default) or by stances,
        rounds and a vote.
    --mode MODE  Of a council: debate (default), prd, analysis, review or synthesis.
    --agents a,b,c or-none  Who takes part; else all known agents.
    --people a,b  People who take part and answer by hand.
    --role ID=ROLE many  Give a role.
    --model ID=MODEL many  Declare a model.
    --order parallel|fixed|rotate|shuffle one-of  Who speaks when; else all at once (council),
        rotate (deliberation).
    --phases a,b  Take only these phases, such as collect,synthesize; else all.
    --timeout DURATION  How long each phase, or each turn, may take; else phase_timeout (1h).
    --max-rounds N  Deliberation: most rounds before the vote; else 5.
    --threshold N  Deliberation: how many must agree; else two thirds.
    --coordinator ID  Is told what happens, and writes the synthesis.
    --synthesizer ID  Writes the synthesis; need not take part.
    --sealed  Keep first answers sealed until their round closes (council: default).
    --open  Show first answers at once (deliberation: default).
    --anonymous  Deliberation: peers stand under pseudonyms in prompts.
    --advocate ID  Deliberation: always contradicts, counts for no consensus.
    --max-runs N  Most runs of programs; ask: 40.
    --max-tokens N  Most tokens, as reported, else estimated; ask: 1000000.
    --max-cost USD  Most dollars, as far as reported; ask: 5.
    LANG
    --cwd DIR  Where runs work; else the current directory.""",
    "SAID": """
    message [TEXT|-]  The text, or - for stdin.
    --file PATH  Read the text from a file.""",
    "REVISION": "revision REV whole  A revision; see: council history",
    "AGENT": "agent ID of=agents  The agent.",
    "TITLE": "--name NAME  The name to show.",
    "FACTS": f"""
    AGENT TITLE
    --emoji EMOJI  Stands before the name.
    --role ROLE  What it is there for.
    --model MODEL  The model it runs on.
    --driver DRIVER  How it is run: {", ".join(DRIVERS)}.
    --preset PRESET  A ready-made command, such as claude.
    --capability WORD many  What it can do; once for each.
    --handle HANDLE many  What else it is called, such as W3; each.
    --account ACCOUNT  Its account in channels.""",
    "WHO": "who [ID] of=agents  A protocol id such as W3, or an agent.",
    "WHO_AS": "--as AGENT of=agents  Who it is; else COUNCIL_AGENT or the agent's folder.",
    "CONTEXT": "context ID  The context, such as S1.",
    "GROUP": "group GROUP  A group, G1 to G9.",
    "TASK": "target TASK  S1/T1, T1 if only one is open, or a context S1.",
    "PARTICIPANTS": "--participants A,B  Agent ids or accounts, with commas.",
    "TRACE": "--trace ID  What it belongs to; else the trace around.",
    "MESSAGE": "message [MESSAGE|-] or-none  One message; without it, or with -, standard input.",
    "VERSION": "--version V1..V5  Read in this version; else each tells its own.",
    "STRICT": "--strict  Take each warning for a fault, with its code.",
    "KEY_FILE": "--key-file PATH  The shared key; else .council/message-key.",
    "TEXT_FILE": "--file PATH  Take the text from a file.",
    "ROOM_NAME": "channel NAME  Its name.",
    "HERE": "--here  Answer from this workspace, or refuse; ask no master.",
    "RELAYED": """
    --agentId --as AGENT required  The agent, by the id that the master knows.
    --runId --run-id ID  The run; the same one counts once.
    HERE""",
}

TABLE = r"""
== Workspace
in workspace
init  Make a workspace here; never overwrites anything.  $ --agents henry,sage,nova
    directory [DIR]  Where; else the current directory.
    --personal  Make the workspace of your user account.
    --agents a,b,c  Make a folder for each of these; else the agent programs on PATH take part.
    LANG
    --shared  For all users of the folder's group, as with git.
    --openclaw  Take in the agents of OpenClaw, with coordinator, skill and clock.
    ROOT JSON
doctor, reads  Check everything here, and say how to fix each fault.
    $ council doctor --repair
    --repair  Mend what can be mended without loss.
    --probe  Try each agent program with a line of prompt.
    --new-keys  Draw new keys and tokens: those of runs under way, and of servers, end.
in glance
status, reads  Show what is open, who owes an answer, and what failed.  $ --problems
    --problems  Only what is wrong, and what to do about it.
    --watch  Show it live, until you press Ctrl-C.
    --advance  With --watch: run the heartbeat, too, on changes and by the clock.
    --interval DURATION else=30m  With --advance: between heartbeats when idle.
    --active-interval DURATION else=5m  With --advance: between heartbeats while one is open.
    VERBOSE
    conversation [NAME] of=conversations,rooms  Only this conversation or room; the same as --name.
    --name NAME of=conversations,rooms  Only this conversation or room; else all.
in workspace
schedule  Print, or install, what runs the heartbeat: systemd, cron or OpenClaw.
    $ council schedule --systemd --install
    --systemd  A timer of systemd's user manager.
    --cron  A line in your crontab.
    --openclaw  A command automation of OpenClaw.
    --every DURATION else=5m  Between two heartbeats.
    --install  Put it in place.
    --remove  Take it away.
in integrating
integrate  Put council into a program that people or agents use, by that program's own command.
    $ council integrate claude --install
    $ council integrate openclaw --install
    client CLIENT  Which program: openclaw (a plugin), claude, codex or gemini (a server: see mcp).
    --install  Put it in, or bring it up to date; without, say what would be run.
    --uninstall  Take it out again.
    --untried  Without the test turn of openclaw, which asks a model.
    --as AGENT of=agents  Who claude, codex or gemini acts as; else a person.
    --scope SCOPE  Where claude or gemini keeps it, such as user (usual) or local.
in workspace
demo  Play a whole council with scripted agents; no model is asked.  $ --lang fr
    LANG
    --root DIR  Play here; else in a temporary workspace.
    --machines 1|2 one-of else=1  On how many machines: 2 are two temporary workspaces with an
        engine between them, for which a PostgreSQL server is started and ended.
    JSON
in hot_commands
heartbeat, reads  Advance what is due and wake the next agents; for cron.  $ --json
    conversation [NAME] of=conversations  Serve this conversation only; the same as --name.
    --name NAME of=conversations  Serve this conversation only; else all.
    --wait [DURATION] bare=3650d  Stay until nothing is open, or for a duration such as 10m (then
        exit 7).
    --dry-run  Say what is due, do nothing.
    --reply-token WORD  Print exactly this word when nothing changed.
in workspace
gc  Prune old history and run logs of what is over; minutes, answers and journals stay.
    $ council gc --dry-run --older-than 90d
    --dry-run  Say what would go and how much; remove nothing.
    --older-than DURATION else=30d  How long ago they must have ended, or artifacts were used.
    --artifacts  Remove instead the artifacts that nothing refers to any more.
purge  Remove a conversation, channel or context from everywhere in the workspace, for good.
    $ council purge weather --yes
    which NAME|ID|FILE of=conversations,rooms  A conversation or channel, a context such as S1, or
        the file of minutes.
    --entry ID  Take out one contribution; a named hole stays for it.
    --yes  Do not ask.
migrate, reads  Bring files of older versions forward; say which files need what.  $ --dry-run
    --dry-run  Say what would be done; write nothing.
== Conversations
in convening
ask  Ask a question, wait, and print the verdict.
    $ council ask "Which database should we use?" --agents claude,codex
    $ council ask --resume
    $ council ask --rehearse "Which database should we use?"
    topic [TOPIC]  What is to be decided, in a line; with --resume a conversation.
    INVITED
    --resume  Go on with the one that was paused or interrupted, or the one named.
    --detach  Leave it running in the background, and return at once.
    --rehearse  Play it with members that are no models: no program, no key, no network.
    --dry-run  Show the plan and the ceiling; make nothing.
    --page  Show it on a page, too: print the link, and open it if there is a display.
    --yes  Make a workspace here with the agents found, where none is.
    > Exits with 0 where an agent was heard in time, agreed or not; 7 where the time ran out on all;
        1 where all failed, or a person ended it; 130 after Ctrl-C, which pauses it (143 after
        SIGTERM, 129 when its terminal is closed).
convene  Open a conversation and wake its agents at once.
    $ council convene "Should we build a weather bot?" --agents henry,sage
    topic TOPIC  What is to be decided, in a line.
    INVITED
    --dry-run  Show runs and prompt sizes; open nothing.
    --run  Stay and work until the minutes are written.
in hot_commands
respond  Answer the round under way as an agent.
    $ council respond --as henry "We should build it, and here is why."
    ANSWER CHECK
    --status {words} one-of  {meanings}.
    STATED
context, reads  Print exactly what an agent may see now, as its prompt.  $ --as henry
    AS NAME LANG
    --kind KIND  Another prompt: turn, vote, synthesis, orchestrator, worker or research.
wait, reads  Wait until it is an agent's turn, or the conversation is over.
    $ council wait --as henry --timeout 10m
    AS NAME
    --timeout DURATION  Wait no longer than this, such as 10m; else as long as it takes.
    > Exit: 0 it is your turn, 5 no such conversation, 7 the timeout has passed, 8 the conversation
        is over.
vote  Vote as an agent; only in the voting phase of a deliberation.
    $ council vote --as glm --position "Build it." --stance gpt=agree
    ANSWER CHECK STATED
synthesize  Write the synthesis; only in the synthesis phase.  $ --as henry --file synthesis.md
    ANSWER
in conversations
say  Say something as a person: to a conversation, a channel, an agent, or a task.
    $ council say "Mind the deadline." --to active
    SAID
    --to TARGET of=conversations,rooms,agents  A conversation (else the one that is open), a
        channel, an agent, or a task S1/T1.
    AS NAMED
stop  End the rounds now; the vote or the synthesis is next.
    NAME
pause  Let a conversation stand still: no agent is woken, no deadline passes.
    --all  Halt the whole workspace: no more runs are started. See: resume --all.
    --reason TEXT  With --all: why; `status` shows it.
    NAME
resume  Let a paused conversation go on; its deadline moves by the pause.
    --all  End the halt of the whole workspace.
    NAME
cancel  End a conversation without a synthesis; what was said goes to the minutes.
    NAME
extend  Move the deadline of the phase under way.  $ 30m
    duration DURATION  Such as 30m or 1h.
    NAMED
restore  Put a conversation back as it was at a revision, as a new revision.  $ 4
    REVISION NAME
adopt  Take the file as it stands, changed contributions included, as a new revision.
    NAME
archive  End a conversation now and write its minutes.
    NAME
show, reads  Print a conversation: for people, or as JSON with all its texts.  $ --json
    --format md|json|debate-session|html else=md  How to print it; html is one file for a browser.
    --consensus  Only where the consensus stands, by round.
    --open-questions  Only what was asked and is not answered.
    --archived  The minutes of that name, even if one is open that is called so.
    --section TITLE  Only the section under that heading, such as synthesis.
    --at REV whole=1 or-none  As it was at that revision; see: council history
    --last N whole=1 or-none  With --json: only so many contributions, the newest.
    --after ID  With --json: only contributions that came after this one.
    NAME
list, reads  List open conversations, or with --archived the minutes.  $ --archived --search weather
    --archived  List the minutes instead of what is open.
    --search WORDS  Only those that have all words; of minutes it shows where.
    --outcome WORD  With --archived: only those that ended so, such as consensus.
    --agent ID of=agents  Only those in which this agent takes part.
    --since WHEN  With --archived: only those that ended from this day or instant on.
    --until WHEN  With --archived: only those that ended until then, that day included.
    --last N whole=1 or-none  With --archived: only so many, the newest first.
    --after NAME  With --archived: only those further down than this file or id.
history, reads  List the revisions of a conversation: who changed what, when.
    NAME
check, reads  Say whether the file is well formed, was edited, and agents set their status.
    NAME
what-if, reads  Judge a deliberation again with something changed; say what its verdict hangs on.
    $ council what-if --without gpt
    --without ID many  As if this agent had not taken part.
    --threshold N  As if N had to agree.
    --blind  Count only each agent's first look at the others.
    --without-flips  As if no stance had been changed.
    NAME
rate  Say how useful the synthesis of a conversation was; kept with its minutes.  $ active 4
    which NAME  Minutes by name, file, id or part of the title; `active`: the newest.
    stars 1-5  How useful they were.
    --as ID  Who rates; else your login name.
metrics, reads  Summarise all conversations: outcomes, rounds and costs, by procedure.  $ --json
diff, reads  Show what differs between two revisions, or a revision and the file as it is.  $ 3 5
    REVISION
    other [REV] whole or-none  Up to this one; else the live file.
    --whole  Compare marks and the state block, too.
    NAME
edit  Open the file in your editor, then take in at once what you saved.
    $ EDITOR=vim council edit
    NAME
in events
explain, reads  Say what something waits for, why, and what happens next.
    $ council explain active
    wanted NAME else= of=conversations,rooms  A conversation, channel, context, task or
        trace; without, the open one.
    VERBOSE LANG
== Agents and rooms
agent  Who takes part: agents and their accounts.
in agents
agent add  Add an agent: its SOUL.md, and its account if you give one; never overwrites.
    $ council agent add henry --name Henry --role Skeptic --preset claude
    $ council agent add lama --model M --base-url http://localhost:11434/v1
    FACTS
    --base-url URL  Where an OpenAI-compatible server is, such as http://127.0.0.1:11434/v1.
    --api-key-env NAME  The variable that holds the key for it; a local server needs none.
agent register  Register your own account as an agent, or change it; no agent registers another.
    $ council agent register 123456789012345678 --as henry
    account ACCOUNT  Your account in channels.
    TITLE AS
agent list, reads  List all agents with their accounts and how they are run.  $ --json
agent show, reads  Show one agent: all its ids, what is known of it, and where that stands.  $ henry
    AGENT
agent edit  Change what is known of an agent; whatever else you wrote into its SOUL.md stays.
    $ council agent edit henry --account 123456789012345678
    FACTS
agent remove  Take an agent out of the registry; its persona stays, or is moved aside.
    $ council agent remove henry --folder
    AGENT
    --account ACCOUNT  Only this one of its accounts.
    --folder  Move its folder aside, too; nothing in it is lost.
agent scan  Take over accounts from an ego.json; entries that stand are kept.
    $ council agent scan --file ~/.openclaw/ego.json
    --file PATH  The ego.json; else `[paths] ego`.
in delegation
agent message  Leave an agent a message; nothing is run.
    $ council agent message --to sage --as owl --trace t1 "The brief changed."
    HANDED
    --priority P0|P1|P2 one-of  P0 comes first in the inbox; else P1.
agent call  Have an agent do one thing, under guard, and wait for its answer.
    $ council agent call --to sage --as owl --trace t1 "Is this right?"
    HANDED
    --limit NAME=NUMBER many  A tighter limit, once for each: timeoutMs, maxDepth,
        maxCallsPerTrace, maxToolCalls (only calls that the run reports), dedupeWindowMs,
        pairRateLimitPerMinute.
    --schema FILE  The JSON Schema that the answer must have.
    > Exit: 0 ok, 1 error (the agent failed), 2 wrong usage, 3 invalid (the answer is not of the
        form of --schema, or the request cannot be read), 5 no such agent or artifact, 6 rejected
        (a guard refused), 7 timeout.
in protocol_agents
agent join  Give an agent its protocol id: the one it proposes, or the next free one.  $ --as henry
    $ council agent join W3 --caps web_search --desc "Research"
    WHO WHO_AS
    --role ROLE  Its role: worker, orchestrator, router; or W, O, R.
    --caps A,B  What it can do, such as web_search,plan.
    --desc TEXT  What it is there for, in one line.
    --max-depth 1-6  The depth of hand-offs from which on it refuses.
    --version V4|V5  What it speaks; else V5.
    --fallback V4|V5  What it speaks besides.
agent leave  Take an agent out of the protocol, and out of all its groups.  $ W3 --reason "shutdown"
    WHO
    --reason TEXT  Why it leaves.
    WHO_AS
agent caps  Declare what an agent can do, or show it; without an agent, the standard capabilities.
    $ council agent caps
    $ council agent caps W3 web_search,plan
    WHO
    capabilities [A,B]  What it can do from now on, and nothing else.
    WHO_AS
agent query, reads  List who takes part in the protocol: ids, agents, status, load, capabilities.
    $ council agent query "W*" --status active
    pattern [FILTER] else=*  Whom: *, W*, O*, R*, or one id.
    --status STATUS  Only these: active, unavailable or left.
    --filter FILTER  The same as the argument.
agent liveness  Say that an agent is alive, with load and queue; without --load, show who is.
    $ council agent liveness W3 --load 45 --queue 2
    WHO
    --load PERCENT  How busy it is, 0 to 100.
    --queue N  How many messages wait for it.
    WHO_AS
agent select, reads  Say which worker would get a task, by capabilities, load and last use.
    $ council agent select web_search,summarize --explain
    capabilities CAPS  What the task needs, such as web_search,plan.
    --explain  Show every candidate, and why it is where it is.
    --count N  How many at most; else the best one.
    --depth 0-5  The depth at which they would be called.
    --threshold 0-1  The least score; else of council.toml.
agent group  Groups of workers: a message to one reaches each member.
agent group add  Put workers into a group; a message to it reaches each of them once.  $ G1 W1 W2
    GROUP
    members W… many  Workers, such as W1 W2.
agent group remove  Take workers out of a group; without any left there is no such group.  $ G1 W2
    GROUP
    members [W…] many or-none  Whom to take out; without any, all of them.
agent group list, reads  List the groups and their members.  $ --json
channel  Rooms in which agents speak in turn.
in rooms
channel create  Make a channel; the moderator is always a member.
    $ council channel create chat weather --participants owl,gecko --as owl
    mode chat|report|work  What it is for.
    ROOM_NAME PARTICIPANTS
    --members A,B  The same as above.
    --topic TEXT  One line.
    AS
channel mode  Show or set the mode of a channel; work and discussion are locked for ever.
    $ council channel mode weather report
    CHANNEL
    mode [MODE]  The mode to set: none, chat or report.
channel show, reads  Show a channel: who is in it, who has the floor and why, what was said last.
    $ council channel show weather
    CHANNEL
    --last N whole else=10  How many of the newest messages.
channel list, reads  List the channels with their modes and who has the floor.
channel post  Post a message; it may wake the room, and never ends a turn.
    $ council channel post weather "It will rain." --as owl
    CHANNEL
    text [TEXT|-]  The text, or -.
    --file PATH  Read it from a file.
    --run-id ID  The run that says it; says it once.
    --key KEY  Stands for this message when retried.
    AS
channel members  Show the members of a channel, let some in or take some out.  $ weather add gecko
    CHANNEL
    action [add|remove]  What to do.
    names [WHO]… many  Agent ids or accounts.
channel tie  Tie a channel to one of Discord, or go on at once with one that is tied.
    $ council channel tie weather --discord 123456789012345678
    CHANNEL
    --discord ID  The channel there.
    --guild ID  A server there, in which a new channel is made.
    --token-env NAME  The variable with the token of the bot; else DISCORD_TOKEN.
    --remove  Let it be tied to none.
discussion  Talks with a guide, an end and a summary.
discussion create  Open a discussion with a guide; its initiator will complete it.
    $ council discussion create rain --as owl --guide g.md --participants fox
    ROOM_NAME
    --guide FILE  A file: topic, goals, completion criteria.
    PARTICIPANTS
    --callback CHANNEL  Where the summary is told.
    AS
discussion complete  Complete a discussion with a summary: it is sealed, told and minuted.
    $ council discussion complete rain --as owl --summary rain.md
    CHANNEL
    --summary FILE  A file in discussion-summary/ or below.
    AS
== Artifacts and events
artifact  Files of any size for all, named by their content.
in artifacts
artifact publish  Keep a file, or what comes in, as an artifact for all; print its id.
    $ council artifact publish forecast.csv --as owl
    file [FILE|-]  The file; without, or -: stdin.
    AS
    --type TYPE  What it is, such as text/markdown.
    TRACE
artifact fetch  Get an artifact, verified: to a file, whole or not at all, or to standard output.
    $ council artifact fetch art_5891b5b522d5 --out forecast.csv
    artifact ID  The artifact, or the beginning of its id.
    --out FILE  Write it there; else to stdout.
    AS TRACE
artifact list, reads  List the artifacts of the workspace, the newest first.  $ --json
artifact verify  Read artifacts through; say which are not what their ids name.  $ --all
    artifact [ID]  The artifact, or the beginning of its id.
    --all  Look at every one.
events  What happened, as events.
in events
events tail, reads  Print the newest events, one a line.  $ --follow
    --follow  Go on and print events as they happen.
    --lines N whole=0 else=20  How many of the newest events.
events story, reads  List everything that happened to something, in order: when, who, what and why.
    $ council events story active
    wanted ID of=conversations,rooms,agents  A conversation, channel, context, task, turn,
        agent, trace or artifact.
    --lines N whole=0 else=0  Only the newest; 0 for all.
    LANG
events export, reads  Print the events for other tools: as CloudEvents, or as spans of
        OpenTelemetry.
    $ council events export --format cloudevents --since 2026-02-08
    --format FORMAT required  Which: cloudevents, one a line, or otlp-json.
    --since DAY  The first day wanted, as 2026-02-08.
    --about ID  Only the story of this; see events story.
events schema, reads  Print the JSON Schema that every line of the event log keeps to.
    $ council events schema > event.json
    JSON
== Many machines
in engine
engine  One council on many machines, by a database that all reach.
engine init  Make an engine of an empty database, with what this workspace has.
    $ council engine init postgresql://council@db.example/council
    url URL  Where PostgreSQL is; the password comes from PGPASSWORD or ~/.pgpass.
    --machine NAME  What this machine is called; else its host name.
    --schema NAME else=council  The schema that the council is kept in.
    --role NAME  A role for every day, which can change and delete no revision.
engine join  Take part in an engine; in an empty folder a workspace is made for it.
    $ council engine join postgresql://council@db.example/council
    url URL  Where PostgreSQL is; the password comes from PGPASSWORD or ~/.pgpass.
    --machine NAME  What this machine is called; else its host name.
    --schema NAME else=council  The schema that the council is kept in.
engine status, reads  Show the engine, its machines, and how far behind this one is.  $ --json
engine pull  Bring what other machines committed; council link does it all the time.
engine leave  Let this workspace go on alone with what it has.
engine rebuild  Fill this workspace from the database, or an empty database from it.
    --database  Fill the database.
engine migrate  Bring the tables of the engine to what this council knows.
in link
link  Keep a workspace that joined an engine in touch with it, for all commands of this machine.
    $ council link
    ROOT NOW
== Programs
in cli.serving
serve  Serve pages and HTTP here; print a link that opens them.
    $ council serve
    --host ADDRESS else=127.0.0.1  Where it listens, an address or name of this machine.
    --port N whole=0 or-none  The port, 0 for any that is free; else 8420, or that of council.toml.
    --link  Print a fresh link of the server that runs, and end.
    --advance  Run the heartbeat, too, on changes and by the clock.
    ROOT NOW
mcp  Serve programs that speak the Model Context Protocol.
    $ council mcp --as henry
    --as AGENT of=agents  Who acts; else COUNCIL_AGENT or the agent's folder; else a person.
    --http  Serve over HTTP on this machine, with a token, instead of standard input and output.
    --port N whole=0 else=8421  With --http: the port; 0 takes any that is free.
    ROOT NOW
msg  Messages between agents, versions V1 to V5: read, write, convert, sign, send.
in messages
msg parse, reads  Read messages of any version; tell their fields, or every fault at once.
    $ council msg parse "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=plan"
    $ council msg parse --json <log
    MESSAGE VERSION STRICT
msg validate, reads  Check messages against the checklist of their version.
    $ council msg validate --reply "M1|O1>W1|R|T1|P9|N|-|0|S1|B500|call=plan"
    MESSAGE VERSION STRICT
    --reply  Answer the message that replies to the fault.
    --known  Also check that its agents, task, context and references exist here.
in message_writing
msg build, reads  Write a message of its fields; what is left out is filled in.
    $ council msg build msg=1 to=W1 type=R tid=1 data=call=plan
    $ council msg build --parts msg=4 type=S from=W1 to=O1 tid=1 data="$LONG"
    fields [FIELD=VALUE]... many  Such as msg=1 to=W1 type=R; without any, or with -, JSON
        on standard input.
    --version V1..V5  Write in this version; else V5.
    --minimal  Leave priority and state unused.
    --pid M<n>  The message that this one follows from.
    --parts  Cut what DATA has no room for into messages, part=1/3 and so on.
msg convert, reads  Write messages in another version; tell what is lost, or why it cannot be.
    $ council msg convert --to V4 "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=plan"
    MESSAGE
    --to V1..V5 required  The version to write.
    --lossy  Replace what the version has no place for.
    --structural  Keep the digits of codes, not their meaning.
    --sidecar FILE  Keep here what is lost; the way back restores it.
    --size  Tell about how many tokens it saves or costs.
    VERSION
msg sign  Sign V5 messages with the shared key and a nonce that was never used.
    $ council msg sign --as O1 "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=plan"
    MESSAGE
    --as AGENT  Who signs: W1, or an agent; the sender if left out.
    --session S<n>  The session; else the context, or S0.
    KEY_FILE
msg verify  Check signatures; each holds once, and a second time is a replay.  $ <inbox
    MESSAGE KEY_FILE
in messages
msg lint, reads  Say what messages of one cycle could save: advice, never a fault.
    $ council msg lint --version V5 <log
    MESSAGE VERSION LANG
msg diff, reads  Say what changed between two versions, or what differs between two messages.
    $ council msg diff V4 V5
    before BEFORE  A version, or a message.
    after AFTER  A later one, or a message.
    LANG
msg explain, reads  Explain a message part by part, a code, a version or a word; print the
        reference card.
    $ council msg explain E13
    $ council msg explain --card --lang fr
    what [MESSAGE|CODE|VERSION|WORD|-] or-none  A message, a code (E13), a version, a word
        (W_TYPE_Q, CTX), or - for many.
    --card  Print the quick reference card of V5.
    VERSION LANG
in message_sending
msg send  Send a line to whom it names, or a request of yours to the orchestrator.
    $ council msg send --user "Latest news on AI" --caps web_search --wait
    $ council msg send "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=plan"
    message [MESSAGE|-]  A line of V2 to V5; with -, one from standard input.
    --user TEXT  A request of yours, in plain words.
    TEXT_FILE
    --complexity simple|medium|complex|unlimited  The budget: 100, 500, 2000 tokens, or none.
    --caps A,B  The capabilities that it needs.
    --priority P0|P1|P2  How urgent it is; else P1.
    --ctx ID  An open context that it belongs to.
    --wait  Wait for the answer; what you are asked, you answer here.
    --timeout DURATION  Wait no longer; else 1h.
    LANG
msg inbox, reads  Show what was sent to somebody: P0 first, then the oldest.  $ --as W1
    $ council msg inbox --as User
    --as ID  An id such as W1, an agent, or User; else COUNCIL_AGENT.
    --ctx ID  Only what belongs to this context.
    --last N  Only so many of the newest.
msg log, reads  Print the log of messages, one line each: time, level, context, task, route, type.
    $ council msg log --ctx S1
    --since DAY  From this day on, as 2026-02-08.
    --ctx ID  Only this context.
    --task ID  Only this task.
    --level INFO|WARN|ERROR  Only these and graver ones.
msg resolve, reads  Print what the references in a line mean: values, results, messages, artifacts.
    $ council msg resolve "#CTX:request" --ctx S1
    text TEXT  A line, or a reference: #CTX:key, #REF:art_…, #MSG:M3.
    --ctx ID  The context; else that of the line or run.
task  What is being done for requests: by whom, since when, what is next.
in tasks
task list, reads  List the tasks that are open, in the order in which they are served.  $ --json
    --all  Also the tasks of contexts that are closed.
task show, reads  Show how a task goes: who works on it since when, why this worker, what failed.
    $ council task show S1/T1
    TASK
task cancel  Cancel a task, or all that are open in a context; who works on it is told.
    $ council task cancel S1/T1 --reason "not needed any more"
    TASK
    --reason TEXT  Why; its workers are told.
ctx  Contexts, in which the messages of one request belong together.
ctx open  Open a context for lines of your own; it stays open until you close it.  $ --for 2h
    context [ID]  An id from outside, such as Sabc12; else the next.
    --for DURATION  Close it after that time; else never.
    LANG
ctx close  Close a context; tasks that are open in it are cancelled.  $ S1 --reason "done by hand"
    CONTEXT
    --reason TEXT  Why.
ctx set  Let #CTX:key mean something in a context.  $ S1 style=short lang=en
    CONTEXT
    pairs KEY=VALUE... many  What #CTX:KEY means; an empty VALUE removes.
ctx show, reads  Show a context: its request, its tasks, its values, its last messages.  $ S1
    CONTEXT
turn  Who has the floor of a channel; for hooks.
in turns
turn begin  Ask whether an agent may speak in a channel now; for hooks.
    $ council turn begin weather --as owl --run-id r1 --json
    HOOKED
turn end  Say that the turn of an agent in a channel has ended; for hooks.
    $ council turn end weather --as owl --run-id r1 --messages run.json
    HOOKED
    --messages FILE|-  The messages of the run as JSON; the last of the assistant counts.
    --text TEXT|-  The final text itself, instead of --messages.
    --post  Post the text in the channel unless it lies there already.
    --anchor N  On a slave: the anchor that begin answered.
in rooms
turn status, reads  Show who has the floor of a channel and why, without changing anything.
    $ council turn status weather
    CHANNEL
turn wake  Wake a room that fell asleep.  $ weather
    CHANNEL AS
relay  Rooms that a master keeps for others: the rules by which slaves ask it, and it answers.
in relay
relay check-turn  Ask whether an agent may speak in a channel now; its turn begins with it.
    $ council relay check-turn weather --as owl --run-id r1 --json
    channelId CHANNEL  The id of the channel.
    RELAYED
relay turn-complete  Say that the turn of an agent is over: a pass, or a text that is on its way.
    $ council relay turn-complete weather --as owl --run-id r1 --tail "of it."
    channelId CHANNEL  The id of the channel.
    RELAYED
    --isEmpty --empty  It was a pass.
    --tail TEXT  The end of the text, by which the master sees that it has arrived.
    --anchor N whole=1  The anchor that check-turn answered.
    --text TEXT  The text itself, which the master posts unless it lies there already.
relay get-identity, reads  Print the entry of an account in the identity registry.
    $ council relay get-identity 123456789012345678
    discordUserId ACCOUNT  The account.
    HERE
relay get-channel-state, reads  Print the mode of a channel, its turn state, and who has the floor.
    $ council relay get-channel-state weather
    channelId CHANNEL  The id of the channel.
    HERE
route  Which agent something goes to, and why.
in agents
route explain, reads  Say which agent something that comes in would go to, and why; nothing is
        started.
    $ council route explain --channel support --capability summarize
    --session KEY  The session it belongs to.
    --peer NAME  Who wrote, where it came directly.
    --channel NAME  The channel it came by.
    --account NAME  The account it came to.
    --mode MODE  The mode of work it is for.
    --capability WORD many  What must be mastered; once for each.
route check, reads  Look for rules that are ambiguous, name no agent, or let direct messages meet.
    $ council route check --strict
    --strict  Exit 3 when there is anything to warn of.
brief  What one agent handed another to work with.
in artifacts
brief show, reads  Show the briefs of hand-offs: all, those of a trace, or one.  $ t1-owl-to-gecko
    brief [NAME|TRACE]  One brief, or all those of a trace.
== Old names
halt = pause --all  Start no more runs anywhere; deadlines of who is due wait.
    --reason TEXT  Why; `status` shows it.
watch = status --watch  Show everything that is open, live, until you press Ctrl-C.
prompt = context  Print the prompt an agent would get now.  $ turn --as henry --lang fr
    kind KIND  Which prompt: turn, vote, synthesis, orchestrator, worker or research.
    AS NAME LANG
artifact gc = gc --artifacts  Remove the artifacts that nothing refers to any more.
in conversations
inject, hidden  Add guidance that the agents read in their next prompt.
    $ council inject "The budget is fixed." --to henry
    SAID
    --to ID of=agents  This agent is to answer it; all read it.
    AS NAMED
in message_sending
msg answer, hidden  Answer a question that a task asks you.  $ S1/T1 2
    where TASK  What asks: S1/T1, T1, or the context S1.
    choice CHOICE else=  An option: its number, opt2, or its words.
    TEXT_FILE
"""
