"""Commands at random, called inside a run: nothing changes but what is the agent's own.

Every call is drawn from the table of commands, so a new command is tried by itself. One number
makes the whole series: `INSIDE_SEED=7 INSIDE_CALLS=5000`; a failure names it and the call.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import pkgutil
import random
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import council as product
from council.core.trust import CLAIM, RUN_VERBS
from council.operations.place import RUN_VARIABLES
from council.store.keys import run_key
from council.store.paths import Workspace
from tests.cli.commands import all_commands, at_rest
from tests.conftest import Council
from tests.scenarios.own_changes import Run, Tree, look, put_back, strange
from tests.scenarios.test_inside_a_run import FAR, HOLDS, say, variables_of

SEED = int(os.environ.get("INSIDE_SEED") or "1")
QUICK_CALLS = 300
CALLS = int(os.environ.get("INSIDE_CALLS") or "5000")
_LONGEST_CALL_S = 60
# Options with which a command stays until a process ends it.
_STAYS = frozenset({"watch", "wait", "follow"})
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_TRACEBACK = 99


class Scene(NamedTuple):
    """A workspace with a run of owl under way, what may be named in it, and how it was."""

    council: Council
    outside: Path
    variables: dict[str, str]
    pools: dict[str, list[str]]


class Call(NamedTuple):
    """One command as it was given: words, environment, working directory, standard input."""

    argv: list[str]
    environ: dict[str, str]
    cwd: Path
    stdin: str

    def __str__(self) -> str:
        said = {k: v for k, v in self.environ.items() if k.startswith("COUNCIL_")}
        return f"council {self.argv!r}\n  in {self.cwd}\n  with {said}\n  reading {self.stdin!r}"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Owl at work in `weather`; gecko, fox and a moderator with business of their own."""
    top = tmp_path_factory.mktemp("fuzzed")
    root, outside = top / "workspace", top / "outside"
    for one in (root / "memory/shared", root / "work", outside, top / "home"):
        one.mkdir(parents=True)
    council = Council(root, top / "home")
    settings = ['trust = "open"', 'run_timeout = "20d"']
    settings += ["[agents.owl]", f"argv = {json.dumps(['/bin/sh', '-c', HOLDS])}"]
    settings += ['[agents.gecko]\ndriver = "manual"', '[agents.fox]\ndriver = "manual"']

    def do(*words: str | Path, **how: Any) -> str:
        done = council(*words, **how)
        assert done.code == 0, (words, done.out, done.err)
        return done.out

    do("init", "--agents", "owl,gecko,fox")
    (root / "council.toml").write_text("\n".join(settings) + "\n")
    long = ("--timeout", "20d")
    do("convene", "Old?", "--agents", "gecko,fox", "--name", "old", *long)
    do("cancel", "--name", "old")
    do("convene", "Bikes?", "--agents", "gecko,fox", "--name", "bikes", *long)
    do("respond", "Bikes are fine.", "--as", "gecko", "--name", "bikes")
    do(
        "convene",
        "Rain?",
        "--agents",
        "owl,gecko",
        "--name",
        "weather",
        "--cwd",
        root / "work",
        *long,
    )
    variables = variables_of(root / "work", "owl")
    do("convene", "Wind?", "--agents", "owl,gecko,fox", "--name", "wind", *long)
    do("respond", "Much wind.", "--as", "gecko", "--name", "wind")
    do("respond", "No wind.", "--as", "fox", "--name", "wind")
    do("channel", "create", "chat", "room", "--participants", "owl,gecko,fox")
    do("channel", "create", "chat", "den", "--participants", "gecko,fox")
    do("channel", "post", "den", "Between us.", "--as", "gecko")
    for agent in ("gecko", "owl", "fox"):
        do("agent", "join", "--as", agent, "--caps", "plan")
    context = json.loads(do("msg", "send", "--user", "What is new?", "--caps", "plan", "--json"))
    made = do("artifact", "publish", "--as", "gecko", stdin="Of gecko.\n").split()[0]
    old = root / f"memory/shared/artifacts/{made}.json"
    for part in (old, old.with_suffix(".meta.json")):
        if part.exists():
            os.utime(part, (1_600_000_000, 1_600_000_000))
    do("agent", "message", "--to", "owl", "--as", "gecko", "--trace", "t1", "The brief changed.")
    do("agent", "message", "--to", "fox", "--as", "gecko", "--trace", "t1", "Come along.")
    (root / "work/notes.txt").write_text("Somebody's notes.\n")
    (root / "work/link").symlink_to(root / "memory/shared")
    (outside / "plain.txt").write_text("Nothing of yours.\n")
    for other in ("other", "fresh"):
        (outside / other / "memory/shared").mkdir(parents=True)
        (outside / other / "memory/agents/owl").mkdir(parents=True)
    run_key(Workspace(str(outside / "other")))
    (outside / "tmp").mkdir()
    yield Scene(council, outside, variables, pools(root, outside, variables, made, context))
    for folder in (root, root / "work"):  # once it has answered here, it is asked about the wind
        say(folder, "owl", "It will rain.")
    at_rest(root)


def pools(
    root: Path, outside: Path, variables: dict[str, str], made: str, sent: dict[str, Any]
) -> dict[str, list[str]]:
    """Return values of each kind that might hurt."""
    task = variables["COUNCIL_TASK_ID"]
    states = {}
    for name in ("weather", "bikes", "wind"):
        text = (root / f"memory/shared/council-{name}-conversation.md").read_text()
        states[name] = json.loads(text.rpartition("<!--council-state\n")[2].partition("\n-->")[0])
    tasks = [one for state in states.values() for one in state["tasks"]]
    ids = [str(state["conversationId"]) for state in states.values()]
    context = str(sent["context"])
    inside = [
        *("memory/shared/council-weather-conversation.md", "memory/shared/.council/key"),
        *("memory/shared/council-x-conversation.md", "memory/shared/.council/halted"),
        *("memory/shared/identities.json", "memory/shared/events/2026-01-01.jsonl"),
        *(
            "council.toml",
            "skills/council/SKILL.md",
            "conseils/2026-01-01-x.md",
            "prompts/turn.md.j2",
        ),
        *("memory/agents/gecko/SOUL.md", "memory/agents/gecko/x.txt", "memory/agents/owl/x.txt"),
        *("memory/agents/owl/SOUL.md", "memory/agents/owl/policy.json", "memory/shared/x.json"),
        *("work/notes.txt", "work/made.txt", "work/link/x.md", "work", "memory"),
        *(f"memory/shared/artifacts/{made}.json", "memory/shared/channels/room.md"),
    ]
    paths = [str(root / one) for one in inside]
    paths += [f"../{one}" for one in inside] + ["made.txt", "notes.txt", "../../outside/plain.txt"]
    paths += [str(outside / one) for one in ("plain.txt", "new.txt", "other/council.toml")]
    agents = ["owl", "owl", "gecko", "fox", "moderator", "W1", "W2", "O1", "User", "*", "nobody"]
    names = ["weather", "weather", "wind", "wind", "bikes", "old", "active", *ids]
    rooms = ["room", "room", "den", "den", "none"]
    lines = [
        f"M{n}|{who}>{to}|{kind}|T1|P1|{state}|-|0|{context}|B500|{data}"
        for n, (who, to, kind, state, data) in enumerate(
            [
                ("W2", "O1", "S", "D", "result=done"),
                ("W1", "O1", "S", "D", "result=done"),
                ("O1", "W1", "R", "N", "call=plan"),
                ("W2", "W1", "R", "N", "call=plan"),
                ("W2", "O1", "A", "-", "leave;reason=bye"),
                ("W1", "O1", "A", "-", "leave;reason=bye"),
                ("O1", "W1", "U", "X", "cancel;reason=enough"),
                ("W2", "*", "B", "-", "maintenance 5min"),
                ("W2", "W3", "U", "-", "hello"),
            ],
            start=1,
        )
    ]
    texts = ["It will rain.", "STATUS: DONE", "@gecko, go.", "-", "[[pass]]", "BLOCKING: x", made]
    documents = [
        json.dumps({"to": "gecko", "from": "gecko", "message": "x", "trace": "t1"}),
        json.dumps({"toAgentId": "fox", "fromAgentId": "gecko", "text": "x", "traceId": "t1"}),
        json.dumps([{"role": "assistant", "content": "Said."}]),
        "{",
        "",
    ]
    return {
        "agent": agents,
        "name": names,
        "room": rooms,
        "path": paths,
        "task": [*tasks, task, f"{context}/T1", "T1", context, "made.up.1.owl.1"],
        "text": [*texts, *lines, *documents, FAR],
        "line": lines,
        "time": [FAR, "2026-01-01", "5m", "0s", "1", "9999d"],
        "trace": ["t1", "t2", ids[0].replace("-", ""), "new"],
        "artifact": [made, made[:12], "art_" + "0" * 64],
        "word": [
            "owl",
            "agreed",
            "done",
            "P0",
            "V4",
            "en",
            "1",
            "0",
            "gecko=agree",
            "cap:plan",
            "all",
        ],
        "token": [variables["COUNCIL_TOKEN"], "0" * 64, "", variables[CLAIM]],
    }


_KINDS = {
    "as_": "agent", "to": "agent", "who": "agent", "agent": "agent", "account": "agent",
    "name": "name", "conversation": "name", "channel": "room", "file": "path", "out": "path",
    "input": "path", "messages": "path", "schema": "path", "sidecar": "path", "key_file": "path",
    "root": "path", "guide": "path", "text": "text", "message": "text", "topic": "text",
    "user": "text", "fields": "text", "before": "line", "after": "line", "position": "text",
    "task": "task", "where": "task", "run_id": "task", "ctx": "task", "now": "time",
    "timeout": "time", "older_than": "time", "since": "time", "trace": "trace", "ref": "artifact",
    "artifact": "artifact", "session": "trace", "choice": "word", "what": "task",
}  # fmt: skip
_TRUST = {name for name in all_commands() if name in RUN_VERBS or name.split()[0] in RUN_VERBS}


def drawn(scene: Scene, dice: random.Random) -> Call:
    """Return a call at random."""
    commands = all_commands_once()
    some = sorted(_TRUST) if dice.random() < 0.85 else sorted(commands)
    verb = dice.choice(some)
    words: list[str] = []
    for one in commands[verb].params:
        is_option = one.opts[0].startswith("-")
        common = one.name in ("root", "now", "json")
        wanted = 0.97 if one.required else 0.04 if common else 0.2 if is_option else 0.7
        if is_option and not common and _KINDS.get(one.name) == "path":
            wanted = 0.5  # files are where a run does most harm
        if dice.random() > wanted or one.name in _STAYS:
            continue
        if getattr(one, "is_flag", False):
            words.append(dice.choice(one.opts))
            continue
        many = dice.choice((1, 1, 2)) if one.nargs == -1 else 1
        for _ in range(many):
            value = value_for(scene, dice, one.name, one.opts[0])
            words += [dice.choice(one.opts), value] if is_option else [value]
    if dice.random() < 0.03:
        words.append(value_for(scene, dice, "", ""))
    stdin = dice.choice(scene.pools["text"])
    cwd = dice.choice(
        [scene.council.root / "work"] * 4
        + [scene.council.root, scene.council.root / "memory/agents/owl"]
        + [scene.council.root / "memory/agents/gecko", scene.outside, scene.outside / "other"]
    )
    return Call([*verb.split(), *words], environment(scene, dice), cwd, stdin)


def value_for(scene: Scene, dice: random.Random, name: str, flag: str) -> str:
    kind = _KINDS.get(name, "word")
    if dice.random() < 0.1:
        kind = dice.choice(sorted(scene.pools))
    if kind == "text" and dice.random() < 0.3 and flag.startswith("-"):
        kind = "path"
    if dice.random() < 0.05:
        return "-"
    return dice.choice(scene.pools[kind])


def environment(scene: Scene, dice: random.Random) -> dict[str, str]:
    """Return the variables of the run, some of them gone or forged; one of them stays at least."""
    given = scene.council.env()
    given["TMPDIR"] = str(scene.outside / "tmp")
    given |= scene.variables
    if dice.random() < 0.4:
        return given
    pools = scene.pools
    for name in (*RUN_VARIABLES, CLAIM):
        if dice.random() < 0.3:
            del given[name]
        elif dice.random() < 0.2:
            given[name] = dice.choice(pools["task" if name == "COUNCIL_TASK_ID" else "token"])
    for name, kind in (
        ("COUNCIL_AGENT", "agent"),
        ("COUNCIL_NAME", "name"),
        ("COUNCIL_NOW", "time"),
        ("COUNCIL_CWD", "path"),
        ("COUNCIL_ROOT", "path"),
        ("COUNCIL_CONTEXT", "task"),
        ("COUNCIL_AGENT_DIR", "path"),
    ):
        how = dice.random()
        if how < 0.15:
            given.pop(name, None)
        elif how < 0.3:
            given[name] = dice.choice(pools[kind])
    if dice.random() < 0.1:
        given["COUNCIL_ROOT"] = str(scene.outside / dice.choice(("other", "fresh")))
    if dice.random() < 0.1:
        given["OPENCLAW_SHELL"] = "exec"
    if not any(name in given for name in RUN_VARIABLES):
        left = dice.choice(RUN_VARIABLES)
        given[left] = scene.variables[left]
    return given


_COMMANDS: dict[str, Any] = {}


def all_commands_once() -> dict[str, Any]:
    """Return all commands, and have everything imported that one of them may need."""
    if not _COMMANDS:
        _COMMANDS.update(all_commands())
        for one in pkgutil.walk_packages(product.__path__, "council."):
            if not one.name.endswith("__main__"):
                importlib.import_module(one.name)
    return _COMMANDS


def carried_out(call: Call, folder: Path) -> tuple[int, str]:
    """Carry out a call in a forked process; return how it ended, when no process works any more."""
    said, read = folder / "said", folder / "read"
    read.write_text(call.stdin)
    stays = _children()  # the run that the scene keeps under way, where it is ours by now
    child = os.fork()
    if not child:
        _be(call, said, read)
    code = None
    while _children() - stays:  # what it has detached is handed to us, and waited for as well
        ended, status = os.waitpid(-1, 0)
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
    assert code is not None
    return code, said.read_text(errors="replace")


def _children() -> set[str]:
    """Return the ids of the processes that are ours, those that have ended included."""
    lists = Path("/proc/self/task").glob("*/children")
    return {one for path in lists for one in path.read_text().split()}


def _be(call: Call, said: Path, read: Path) -> None:
    """Become the command; never come back."""
    code = _TRACEBACK
    try:
        signal.alarm(_LONGEST_CALL_S)
        for number, path, flags in (
            (0, read, os.O_RDONLY),
            (1, said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        ):
            os.dup2(os.open(path, flags, 0o600), number)
        os.dup2(1, 2)
        sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        os.environ.clear()
        os.environ.update(call.environ)
        os.chdir(call.cwd)
        sys.argv = ["council", *call.argv]
        from council.__main__ import run
        from council.commands.options import hoisted

        code = run(hoisted(sys.argv[1:]))
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


@pytest.fixture
def heir() -> Iterator[None]:
    """Have whatever a call detaches handed to this process, so that it can be waited for."""
    libc = ctypes.CDLL(None)
    assert libc.prctl(_SUBREAPER, 1, 0, 0, 0) == 0
    yield
    libc.prctl(_SUBREAPER, 0, 0, 0, 0)


def play(scene: Scene, calls: int, seed: int, folder: Path) -> dict[str, int]:
    """Give so many calls; fail at the first that changes what is not owl's. Return what it did."""
    all_commands_once()
    top = scene.council.root.parent
    first: Tree = look(top)
    before, since, done = first, list[Call](), {"calls": 0, "changes": 0, "refused": 0}
    for number in range(calls):
        dice = random.Random(f"{seed}/{number}")
        call = drawn(scene, dice)
        code, said = carried_out(call, folder)
        after = look(top, before)
        since.append(call)
        wrong = judged(scene, call, before, after)
        if code < 0 or code == _TRACEBACK or "unexpected failure" in said:
            wrong.append(f"it ended with {code}")
        assert not wrong, report(seed, number, wrong, since, said)
        done["calls"] += 1
        done["changes"] += before != after
        done["refused"] += code == 6
        if dice.random() < 0.5 or len(since) > 8:
            put_back(top, first, after)
            after, since = look(top, after), []
        before = after
    put_back(top, first, before)
    return done


def judged(scene: Scene, call: Call, before: Tree, after: Tree) -> list[str]:
    """Return what a call changed that is not owl's, in the workspace and outside."""
    own = {
        "COUNCIL_TOKEN": scene.variables["COUNCIL_TOKEN"],
        "COUNCIL_TASK_ID": scene.variables["COUNCIL_TASK_ID"],
    }
    run = Run(
        agent="owl",
        worker="W2",
        folder="work",
        member=frozenset({"room"}),
        takes_part=frozenset({"weather", "wind"}),
        knows_token=all(call.environ.get(name) == value for name, value in own.items()),
    )

    def below(tree: Tree) -> Tree:
        cut = "workspace/"
        return {path.removeprefix(cut): one for path, one in tree.items() if path.startswith(cut)}

    def others(tree: Tree) -> dict[str, bytes]:
        return {p: one.data for p, one in tree.items() if not p.startswith("workspace/")}

    was, now = others(before), others(after)
    # That an agent was refused is written down where it happened, with the name it gave itself.
    outside = [
        one
        for one in was.keys() | now.keys()
        if was.get(one) != now.get(one) and not is_report(one, was.get(one, b""), now.get(one, b""))
    ]
    return [*(f"{one}: outside" for one in outside), *strange(run, below(before), below(after))]


def is_report(path: str, old: bytes, new: bytes) -> bool:
    """Return true if a file is a log of events to which refusals alone were added."""
    if path.endswith((".council/README", ".council/events.lock")):
        return not old
    if "/memory/shared/events/" not in path or not new.startswith(old):
        return False
    added = new[len(old) :].splitlines()
    return all(json.loads(one)["type"] == "guard.rejected" for one in added)


def report(seed: int, number: int, wrong: list[str], since: list[Call], said: str) -> str:
    told = "\n".join(str(one) for one in since)
    found = "\n".join(wrong)
    return f"INSIDE_SEED={seed}, call {number}:\n{found}\n\n{told}\n\nIt said: {said}"


@pytest.mark.long
@pytest.mark.req("SC-002")
@pytest.mark.parametrize(
    "calls", [QUICK_CALLS, pytest.param(CALLS, marks=pytest.mark.slow)], ids=("quick", "long")
)
def test_no_call_inside_a_run_changes_what_is_not_its_agents(scene, heir, tmp_path, calls):
    done = play(scene, calls, SEED, tmp_path)

    # A fuzzer that only ever meets refusals would find nothing.
    assert done["calls"] == calls
    assert done["changes"] > calls // 20
