"""Whatever is named and is not there: every command says so alike."""

from __future__ import annotations

import json

import pytest

from council import __main__
from tests.cli.commands import all_commands

ART = f"art_{'0' * 64}"

# By command, words that name what there is not; everything else they name is there.
UNKNOWN: dict[str, tuple[str, ...]] = {
    "adopt": ("--name nope", "nope"),
    "agent call": ("--as owl --trace t1 --to nope hello",),
    "agent caps": ("nope", "W9"),
    "agent edit": ("nope --emoji x",),
    "agent group add": ("G1 W9",),
    "agent group remove": ("G9", "G1 W9"),
    "agent leave": ("nope", "W9"),
    "agent liveness": ("nope", "W9", "W9 --load 5"),
    "agent message": ("--as owl --trace t1 --to nope hello",),
    "agent query": ("nope", "W9", "G9"),
    "agent remove": ("nope",),
    "agent select": ("nope",),
    "agent show": ("nope",),
    "archive": ("--name nope", "nope"),
    "artifact fetch": (ART,),
    "artifact publish": ("nope.txt",),
    "artifact verify": (ART,),
    "brief show": ("nope",),
    "cancel": ("--name nope", "nope"),
    "channel tie": ("nope", "nope --discord 123"),
    "check": ("--name nope", "nope"),
    "context": ("--name nope --as owl", "nope --as owl"),
    "ctx close": ("S9", "nope"),
    "ctx set": ("S9 a=b", "nope a=b"),
    "ctx show": ("S9", "nope"),
    "diff": ("1 2 --name nope", "88 99"),
    "discussion complete": ("nope --as owl --summary council.toml",),
    "discussion create": ("talk --as owl --guide council.toml --callback nope",),
    "edit": ("--name nope", "nope"),
    "events export": ("--format otlp-json --about nope",),
    "events story": ("nope", "S9", "S9/T1"),
    "explain": ("nope", "S9", "S9/T1", "S1/T9"),
    "extend": ("--name nope 1h",),
    "heartbeat": ("--name nope", "nope"),
    "history": ("--name nope", "nope"),
    "inject": ("--name nope hello",),
    "msg answer": ("S9/T1 hello", "S9 hello", "S1/T9 hello"),
    "msg inbox": ("--as nope", "--as W9"),
    "msg log": ("--ctx S9",),
    "msg resolve": ("#CTX:a --ctx S9",),
    "msg send": ("--user hello --ctx S9", "M1|O1>W1|R|T1|P1|N|-|0|S9|B1|q=x"),
    "pause": ("--name nope", "nope"),
    "prompt": ("turn --name nope", "turn nope"),
    "purge": ("nope", "nope.md", "S9"),
    "rate": ("nope 5",),
    "relay get-identity": ("nope",),
    "respond": ("--name nope --as owl hello",),
    "restore": ("--name nope 1", "99"),
    "resume": ("--name nope",),
    "say": ("--to nope hello", "--to S9/T1 hello", "--name nope --to owl hello"),
    "show": ("nope",),
    "status": ("--name nope", "nope"),
    "stop": ("--name nope",),
    "synthesize": ("--name nope --as owl hello",),
    "task cancel": ("S9/T1", "S9", "nope", "S1/T9"),
    "task show": ("S9/T1", "S9", "nope", "S1/T9"),
    "turn wake": ("nope",),
    "vote": ("--name nope --as owl agree",),
    "wait": ("nope --as owl", "--name nope --as owl"),
    "what-if": ("nope",),
}
# They name nothing that has to be there, or make what they name.
NAME_NOTHING = frozenset(
    {
        *("agent add", "agent group list", "agent join", "agent list", "agent register"),
        *("agent scan", "artifact gc", "artifact list", "ask", "channel create", "channel list"),
        *("channel post", "convene", "ctx open", "demo", "doctor", "engine init"),
        *("engine join", "engine status", "engine pull", "engine leave", "engine rebuild"),
        "engine migrate",
        *(
            "events schema",
            "events tail",
            "gc",
            "halt",
            "init",
            "integrate",
            "link",
            "list",
            "mcp",
            "metrics",
            "migrate",
            "serve",
        ),
        *("msg build", "msg convert", "msg diff", "msg lint", "msg parse", "msg sign"),
        *("msg validate", "msg verify", "route check", "route explain", "schedule"),
        *("task list", "turn begin", "turn end", "watch", "msg explain"),
        *("relay check-turn", "relay turn-complete"),
    }
)
# A channel that was never used is one all the same: its mode is `none` (DG-031).
SHOWS_ALL_THE_SAME = frozenset(
    {"channel members", "channel mode", "channel show", "relay get-channel-state", "turn status"}
)


def test_every_command_says_whether_it_names_anything():
    assert set(all_commands()) == set(UNKNOWN) | NAME_NOTHING | SHOWS_ALL_THE_SAME
    assert set(UNKNOWN).isdisjoint(NAME_NOTHING)


@pytest.fixture
def ran(council, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a command in this process, in a workspace where one of each kind is there."""
    (council.root / "council.toml").write_text("schemaVersion = 1\n[agents.owl]\n[agents.gecko]\n")
    for words in (
        "convene Tea? --agents owl,gecko",
        "channel create chat den --participants owl,gecko --as owl",
        "agent join owl",
        "agent group add G1 W1",
        "ctx open",
    ):
        done = council(*words.split())
        assert done.code == 0, done.err
    monkeypatch.chdir(council.root)
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.setenv("COUNCIL_ROOT", str(council.root))

    def run(*argv: str) -> tuple[int, str, str]:
        code = __main__.run(list(argv))
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.mark.req("XC-005", "XC-006")
def test_a_name_that_does_not_exist_gets_one_line_with_a_hint_and_the_same_code(ran):
    wrong = []
    for command, calls in UNKNOWN.items():
        for words in calls:
            argv = [*command.split(), *words.split()]
            code, out, err = ran(*argv)
            is_one_line = (
                err.startswith("council: ") and err.endswith(")\n") and err.count("\n") == 1
            )
            if code != 5 or not is_one_line or out:
                wrong.append((" ".join(argv), code, out, err))
            code, out, err = ran(*argv, "--json")
            document = json.loads(out)
            told = document.get("error", {}).get("message")
            if code != 5 or not told:
                wrong.append((" ".join(argv) + " --json", code, out, err))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.req("DG-031")
@pytest.mark.parametrize("command", sorted(SHOWS_ALL_THE_SAME))
def test_a_channel_that_nobody_has_used_is_shown_in_mode_none(ran, command: str):
    code, out, err = ran(*command.split(), "nope")

    assert (code, err) == (0, "")
    assert ("moderator" if command == "channel members" else "none") in out
