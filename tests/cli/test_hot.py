"""The small parser of the commands that programs call all day, held equal to Typer's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.exceptions import TyperException

from council.cli.loading import typer_command
from council.commands.options import ROWS, command, hot_name, parse
from council.core.errors import UsageError
from tests.cli.commands import all_commands
from tests.examples import examples, one_in

HOT = {name: command(name) for name in ROWS if hot_name(name.split())}
BY_TYPER = """
import sys
from council.cli.app import run
from council.commands.options import hoisted
from tests.examples import examples, one_in
sys.exit(run(hoisted(sys.argv[1:])))
"""


@pytest.mark.parametrize("name", sorted(HOT))
def test_typer_built_the_options_of_the_table(name: str):
    built = {one.name: one for one in all_commands()[name].params if one.name != "help"}
    table = {one.name: one for one in HOT[name].options}

    assert list(built) == list(table)
    for one in table.values():
        twin = built[one.name]
        assert tuple(twin.opts) == (one.flags or (one.name,))
        assert bool(getattr(twin, "is_flag", False)) == one.is_flag
        assert twin.default == (False if one.is_flag else [] if one.many else one.default)
        assert twin.required is False
        assert twin.help == one.help


def both_ways(council, *words: str, stdin: bytes = b"", now=None) -> dict[str, tuple]:
    """Run a command by the console script and by Typer; return what each left behind."""
    ways = {"hot": council.argv(), "typer": [sys.executable, "-c", BY_TYPER]}
    left = {}
    for way, argv in ways.items():
        done = subprocess.run(
            [*argv, *words],
            input=stdin,
            capture_output=True,
            cwd=council.root,
            env=council.env(now=now),
            check=False,
        )
        left[way] = (done.returncode, done.stdout.decode(), done.stderr.decode())
    return left


# What does not change the workspace, or not the second time: both ways must agree to the byte.
SAME = [
    "respond Yes. --as owl",
    "respond Yes. --as owl --json",
    "respond --json Yes. --as=owl --status responded",
    "respond Other. --as owl --json",
    "respond Yes. --as stranger",
    "respond Yes. --as stranger --json",
    "respond Yes. --as owl --name nope --json",
    "respond Yes. --as owl --task nope --json",
    "respond - --as owl --json",
    "respond --as owl",
    "respond --as owl -- Yes.",
    "synthesize Done. --as owl --json",
    "context --as owl",
    "context --as owl --json",
    "context --as owl --lang fr",
    "context --as owl --lang de --json",
    "context --json",
    "heartbeat",
    "heartbeat --json",
    "heartbeat --dry-run --json",
    "heartbeat --reply-token NO_REPLY",
    "heartbeat --name nope --json",
    "heartbeat --wait never --json",
    "heartbeat --now never",
    "heartbeat --root /no/such/place --json",
    "status",
    "status --json --verbose",
    "status -vv active",
    "status --problems --name nope --json",
    "status active --name other",
    "status active another --json",
    "status --problem --json",
    "status --advance --interval",
    "status --watch --json",
]


@pytest.mark.parametrize("line", one_in(3, SAME))
def test_both_parsers_do_the_same(opened, now, line: str):
    assert opened("respond", "Yes.", "--as", "owl", now=now).code == 0

    left = both_ways(opened, *line.split(), stdin=b"Yes.", now=now)

    assert left["hot"] == left["typer"]


# What no parser takes: the words of the complaint are argparse's or Typer's own.
WRONG = [
    "respond Yes. --as owl --status maybe --json",
    "respond Yes. --as owl --status --json",
    "respond Yes. No. --as owl --json",
    "respond --json -- --as owl",
    "respond Yes. --as owl --sta done --json",
    "context now then --as owl --json",
    "heartbeat --nope --json",
    "heartbeat --json=yes",
    "heartbeat --json --name",
]


def test_a_word_too_many_tells_what_it_may_have_been_meant_for(opened, now):
    for words, hint in (
        (
            ("respond", "Yes,", "build", "it.", "--as", "owl"),
            "a text of several words needs quotes",
        ),
        (("inject", "The", "budget."), "a text of several words needs quotes"),
        (("convene", "Tea", "or", "coffee?"), "a text of several words needs quotes"),
        (("extend", "30m", "active"), "a conversation is named by --name"),
    ):
        refused = opened(*words, now=now)

        assert refused.code == 2
        assert f"({hint}; see: council {words[0]} --help)" in refused.err


@pytest.mark.parametrize("line", WRONG)
def test_both_parsers_refuse_the_same(opened, now, line: str):
    left = both_ways(opened, *line.split(), now=now)

    for code, out, err in left.values():
        assert code == 2
        assert err.startswith("council: ")
        assert err.endswith(f"see: council {line.split(maxsplit=1)[0]} --help)\n")
        assert err.count("\n") == 1
        if "--json=" not in line:
            assert json.loads(out)["error"]["code"] == "usage"
    assert opened("show", "--json", now=now).json()["contributions"] == []


def by_typer(name: str, words: list[str]) -> dict | str:
    """Return what Typer makes of the words behind a command, "refused" where it refuses them."""
    seen: list[dict] = []
    try:
        one = typer_command(HOT[name], lambda values: seen.append(values) or 0)
        one.main(args=words, prog_name="council", standalone_mode=False)
        return seen[0]
    except UsageError:
        return "refused"
    except TyperException as error:
        assert error.exit_code == 2
        return "refused"


def by_table(name: str, words: list[str]) -> dict | str:
    try:
        return parse(HOT[name], words)
    except UsageError:
        return "refused"


FLAGS = sorted({flag for one in HOT.values() for option in one.options for flag in option.flags})
VALUES = ["", "owl", "done", "3", "6", "a=agree", "a=b=c", "-", "--", "-5", "-x", "-xy", "=", "--="]
WORDS = st.one_of(
    st.sampled_from(FLAGS),
    st.sampled_from([flag[:-1] for flag in FLAGS]),
    st.sampled_from(VALUES),
    st.builds("{}={}".format, st.sampled_from([*FLAGS, "--nope"]), st.sampled_from(VALUES)),
    st.text(max_size=4).filter(lambda word: not word.startswith("-h") and " " not in word),
)


@settings(deadline=None, max_examples=examples(200))
@given(name=st.sampled_from(sorted(HOT)), words=st.lists(WORDS, max_size=6))
def test_both_parsers_read_any_words_alike(name: str, words: list[str]):
    assert by_table(name, words) == by_typer(name, words)


def test_a_list_is_taken_for_a_text_and_not_for_options():
    values = parse(HOT["respond"], ["- one\n- two", "--as", "owl"])

    assert (values["text"], values["as_"]) == ("- one\n- two", "owl")


def test_a_wait_without_a_duration_ends_when_nothing_is_open(council):
    left = both_ways(council, "heartbeat", "--wait", "--json")

    assert left["hot"][0] == left["typer"][0] == 0
    assert json.loads(left["hot"][1])["conversations"] == []


# What heartbeat answers


def test_an_idle_heartbeat_says_so_and_exits_0(council, now):
    idle = council("heartbeat", "--json", now=now)

    assert idle.code == 0
    assert idle.json() == {
        "now": "2026-02-08T20:00:00Z",
        "conversations": [],
        "channels": [],
        "tasks": [],
        "changed": False,
        "halted": False,
        "errors": [],
    }


def test_a_heartbeat_tells_the_transition_who_was_woken_and_who_is_awaited(opened):
    passed = "2026-02-08T21:00:01Z"

    planned = opened("heartbeat", "--dry-run", "--json", now=passed).json()
    unchanged = opened("show", "--json", now=passed).json()
    done = opened("heartbeat", "--json", now=passed).json()

    assert unchanged["currentPhase"] == "COLLECT"
    moved = {"from": "COLLECT", "to": "CHALLENGE", "reason": "timeout"}
    for said in (planned, done):
        (one,) = said["conversations"]
        assert one["transition"] == moved
        assert (one["name"], one["phase"], one["tour"]) == ("active", "CHALLENGE", 2)
        assert one["status"] == "ACTIVE"
        assert one["waiting"] == ["gecko", "owl"]
        assert sorted(one["woken"]) == ["gecko", "owl"]
        assert one["archived"] is None
        assert said["changed"] is True
    assert opened("show", "--json", now=passed).json()["currentPhase"] == "CHALLENGE"
    assert opened("heartbeat", "--json", now=passed).json()["changed"] is False


def in_synthesis(council, now) -> None:
    """Bring a council of owl and gecko to the synthesis that owl has to write by hand."""
    words = ("--agents", "owl,gecko", "--synthesizer", "owl", "--phases", "collect,synthesize")
    assert council("convene", "A bot?", *words, now=now).code == 0
    for agent in ("owl", "gecko"):
        assert council("respond", "Yes.", "--as", agent, now=now).code == 0


def test_a_heartbeat_that_finishes_a_council_names_the_minutes(council, now):
    in_synthesis(council, now)

    (one,) = council("heartbeat", "--json", now="2026-02-08T21:00:01Z").json()["conversations"]

    assert Path(one["archived"]).is_file()
    assert council("heartbeat", "--json").json()["conversations"] == []


def test_the_reply_token_is_printed_alone_when_nothing_changed(opened, now):
    quiet = opened("heartbeat", "--reply-token", "NO_REPLY", now=now)
    busy = opened("heartbeat", "--reply-token", "NO_REPLY", now="2026-02-08T21:00:01Z")

    assert (quiet.code, quiet.out, quiet.err) == (0, "NO_REPLY\n", "")
    assert "NO_REPLY" not in busy.out
    assert "CHALLENGE" in busy.out


def test_a_broken_conversation_is_reported_and_the_others_are_served(opened, now):
    made = opened("convene", "Two?", "--name", "two", "--agents", "owl,gecko", now=now)
    assert made.code == 0
    broken = opened.root / "memory" / "shared" / "council-broken-conversation.md"
    broken.write_text('# Broken\n\n<!--council-state\n{"conversationId": 7\n-->\n')
    passed = "2026-02-08T21:00:01Z"

    done = opened("heartbeat", "--json", now=passed)

    assert done.code == 3
    assert [one["name"] for one in done.json()["errors"]] == ["broken"]
    assert {one["name"]: one["phase"] for one in done.json()["conversations"]} == {
        "active": "CHALLENGE",
        "two": "CHALLENGE",
    }
    assert "broken" in done.err


def test_a_wait_works_until_nothing_is_open(council):
    settings = '[agents.{}]\nargv = ["/bin/sh", "-c", "cat > /dev/null; echo Yes."]\n'
    text = "".join(settings.format(one) for one in ("owl", "gecko"))
    (council.root / "council.toml").write_text(text)
    assert council("convene", "A bot?", "--phases", "collect,synthesize").code == 0

    done = council("heartbeat", "--wait", "4m", "--json")

    assert done.code == 0
    assert set(done.json()) >= {"now", "conversations", "changed"}
    (minutes,) = council("list", "--archived", "--json").json()
    assert Path(minutes["path"]).is_file()


# What respond answers


def test_an_answer_tells_what_it_moved(opened, now):
    first = opened("respond", "Yes.", "--as", "owl", "--json", now=now).json()
    second = opened("respond", "No.", "--as", "gecko", "--json", now=now).json()
    state = opened("show", "--json", now=now).json()

    assert first == {
        "outcome": "recorded",
        "name": "active",
        "conversationId": state["conversationId"],
        "agent": "owl",
        "phase": "COLLECT",
        "tour": 1,
        "task": None,
        "transition": None,
        "understood": {"questions": [], "quotations": [], "blockers": [], "status": "RESPONDED"},
    }
    assert second["transition"] == {"from": "COLLECT", "to": "CHALLENGE"}
    assert (second["phase"], second["tour"]) == ("COLLECT", 1)


def test_a_late_answer_exits_4_is_kept_and_never_counts_for_the_new_round(opened, now):
    passed = "2026-02-08T21:00:01Z"
    task = opened("context", "--as", "owl", "--json", now=now).json()["task"]
    assert opened("heartbeat", now=passed).code == 0

    late = opened("respond", "Too late.", "--as", "owl", "--task", task, "--json", now=passed)
    state = opened("show", "--json", now=passed).json()

    assert late.code == 4
    assert late.json()["outcome"] == "late"
    assert (late.json()["phase"], late.json()["tour"]) == ("COLLECT", 1)
    assert late.json()["task"] == task
    assert late.err.startswith("council: owl: COLLECT (round 1) is closed")
    assert [one["text"] for one in state["late"]] == ["Too late."]
    assert state["contributions"] == []
    assert state["participants"]["owl"]["status"] == "WAITING"


def test_whose_turn_it_is_not_is_refused(council, now):
    in_synthesis(council, now)

    refused = council("synthesize", "All is well.", "--as", "gecko", "--json", now=now)

    assert refused.code == 6
    assert refused.json()["error"]["code"] == "not-your-turn"
    assert "owl" in refused.err


def test_a_synthesis_outside_its_phase_is_refused(opened, now):
    refused = opened("synthesize", "All is well.", "--as", "owl", "--json", now=now)

    assert refused.code == 6
    assert "COLLECT" in refused.err
