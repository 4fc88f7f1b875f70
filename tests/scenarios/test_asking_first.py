"""The first question: what is checked before anything is opened, and what a council is called."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.ids import CONVERSATION_NAME_MAX_BYTES, is_conversation_name, topic_name
from tests.cli.commands import tree
from tests.scenarios.test_ask import SAYS, SHORT, on_path, on_terminal, read_until, settle

ABLE = """[agents.owl]
argv = ["/bin/sh", "-c", "cat >/dev/null; echo Yes."]
[agents.gecko]
argv = ["/bin/sh", "-c", "cat >/dev/null; echo Yes."]
"""
# What doctor can know without asking a model: the table that keeps an agent from being started,
# what is said of it, the way out, and the exit code.
MISSING = {
    "program": ('preset = "claude"', "the program of newt is not there: claude", "install it", 5),
    "argv": ('argv = ["no-such-program"]', "not there: no-such-program", "correct argv", 5),
    "right": ('argv = ["./plain"]', "may not be executed: ", "chmod +x", 5),
    "model": ('base_url = "http://127.0.0.1:9/v1"', "no model is named", "--model MODEL", 5),
    "key": (
        'base_url = "http://127.0.0.1:9/v1"\nmodel = "m"\napi_key_env = "NO_SUCH_KEY"',
        "the variable NO_SUCH_KEY",
        "export NO_SUCH_KEY",
        5,
    ),
    "driver": ('driver = "magic"', "no driver 'magic'", "set driver to one of", 5),
    "command": ('driver = "command"', "has no argv", "set argv", 5),
}


def with_agents(council, table: str) -> None:
    text = f"{ABLE}[agents.newt]\n{table}\n"
    (council.root / "council.toml").write_text(text, encoding="utf-8")
    (council.root / "plain").write_text("text")


def opened_nothing(council) -> bool:
    """Return true if nothing is open, and nothing was minuted."""
    minutes = council.root / "conseils"
    return council("list", "--json").json() == [] and not list(minutes.glob("*"))


@pytest.mark.req("FW-005.1")
@pytest.mark.parametrize(("table", "said", "way", "code"), MISSING.values(), ids=MISSING)
def test_what_doctor_knows_ask_says_before_it_opens_anything(council, table, said, way, code):
    with_agents(council, table)

    done = council("ask", "Tea?", "--agents", "owl,gecko,newt")

    assert done.code == code
    assert said in done.err
    assert way in done.err
    assert "or leave newt out: --agents owl,gecko" in done.err
    assert opened_nothing(council)
    told = json.dumps(council("doctor", "--json").json(), ensure_ascii=False)
    assert done.err.partition("council: ")[2].partition(" (")[0] in told
    assert council("ask", "Tea?", "--agents", "owl,gecko", *SHORT[:2]).code == 0


@pytest.mark.req("FW-005.1")
def test_each_thing_that_is_missing_has_a_line_of_its_own(council):
    with_agents(council, 'argv = ["none-of-newt"]\n[agents.fox]\nargv = ["none-of-fox"]')

    done = council("ask", "Tea?", "--json")

    assert done.code == 5
    lines = done.err.splitlines()
    assert len(lines) == 2
    assert "none-of-fox" in lines[0] and "none-of-newt" in lines[1]
    told = done.json()["error"]
    assert told["code"] == "not-ready"
    assert "none-of-fox" in told["message"]
    assert "none-of-newt" in told["also"][0]["message"]
    assert opened_nothing(council)


@pytest.mark.req("FW-005.1")
def test_a_halt_is_said_before_anything_is_opened_and_its_way_out_works(council):
    settle(council, owl=SAYS, gecko=SAYS)
    assert council("pause", "--all", "--reason", "holidays").code == 0

    done = council("ask", "Tea?", "--agents", "owl,gecko", *SHORT)

    assert done.code == 6
    assert "the workspace is halted" in done.err and "holidays" in done.err
    assert "council resume --all" in done.err
    assert opened_nothing(council)
    assert council("resume", "--all").code == 0
    assert council("ask", "Tea?", "--agents", "owl,gecko", *SHORT).code == 0


@pytest.mark.req("FW-005.1")
@pytest.mark.parametrize("limit", ["max_runs_per_day = 1", "max_usd_per_day = 0.1"])
def test_a_cap_that_is_reached_is_said_before_anything_is_opened(council, limit: str):
    reports = 'echo "usage tokens=100 usd=0.20" >> "$COUNCIL_REPORT"'
    settle(council, owl=f"{reports}; {SAYS}", gecko=f"{reports}; {SAYS}")
    with (council.root / "council.toml").open("a") as file:
        file.write(f"[limits]\n{limit}\n")
    council("ask", "Tea?", "--agents", "owl,gecko", *SHORT, "--timeout", "3s")
    minuted = len(list((council.root / "conseils").iterdir()))

    piped = council("ask", "Coffee?", "--agents", "owl,gecko")
    process, terminal = on_terminal(council, "ask", "Coffee?", "--agents", "owl,gecko")
    shown = read_until(terminal)

    assert piped.code == process.wait(60) == 6
    for said in (piped.err, " ".join(shown.split())):
        assert f"the cap {limit} is reached" in said
        assert "raise it under [limits]" in said
    assert len(list((council.root / "conseils").iterdir())) == minuted
    people = council("ask", "Coffee?", "--agents", "ann,bob", "--people", "ann,bob", "--detach")
    assert people.code == 0, "a cap keeps no people from answering"


@pytest.mark.req("FW-005.1")
def test_a_paused_council_is_checked_before_it_goes_on(council):
    settle(council, owl=SAYS, gecko=SAYS)
    assert council("ask", "Tea?", "--agents", "owl,gecko", *SHORT, "--detach").code == 0
    council("pause", "tea")
    with_agents(council, 'argv = ["x"]')
    text = (council.root / "council.toml").read_text().replace("/bin/sh", "/bin/none", 1)
    (council.root / "council.toml").write_text(text)
    left = council("list", "--json").json()

    done = council("ask", "--resume", "tea")

    assert done.code == (5 if left else 0)
    if left:
        assert "/bin/none" in done.err
        assert council("status", "--json").json()["conversations"][0]["paused"]


@pytest.mark.req("FW-005.1")
def test_a_dry_run_shows_the_plan_and_what_is_missing(council):
    with_agents(council, 'argv = ["none-of-newt"]')

    done = council("ask", "Tea?", "--dry-run")

    assert done.code == 0
    assert "would open tea" in done.out
    assert "none-of-newt" in done.err


@pytest.mark.req("FW-005.1", "FW-006.1")
def test_a_well_known_program_that_is_named_is_said_not_to_be_on_path(council, tmp_path):
    env = on_path(council, tmp_path, "codex")
    council.declares = False
    empty = tmp_path / "empty"
    empty.mkdir()

    outside = council("ask", "Tea?", "--agents", "claude,codex", cwd=empty, env=env)
    inside = council("ask", "Tea?", "--agents", "claude,codex", env=env)

    assert outside.code == inside.code == 5
    assert (
        "council: claude is not on PATH (install it; then: council agent add claude" in outside.err
    )
    assert list(empty.iterdir()) == []
    assert "claude is not on PATH" in inside.err
    assert "codex is no agent of this workspace yet" in inside.err
    assert council("agent", "add", "codex", "--preset", "codex", env=env).code == 0


@pytest.mark.req("FW-006.1")
def test_without_any_agent_program_the_first_command_leads_on(council, tmp_path):
    council.declares = False
    empty = tmp_path / "empty"
    empty.mkdir()

    outside = council("ask", "Tea?", cwd=empty)
    inside = council("ask", "Tea?")

    for done in (outside, inside):
        assert done.code == 5
        for wanted in (
            "claude, codex, gemini, opencode, llm",
            "install an agent program",
            "council agent add NAME --model M --base-url URL",
            "council demo",
            'council ask --rehearse "…"',
            'council ask "…" --people ann,bob',
        ):
            assert wanted in done.err
    assert list(empty.iterdir()) == []
    assert tree(council.root) == {} or opened_nothing(council)


@pytest.mark.req("FW-006.1")
def test_with_one_agent_program_the_others_and_people_are_named(council, tmp_path):
    env = on_path(council, tmp_path, "codex")
    empty = tmp_path / "empty"
    empty.mkdir()

    done = council("ask", "Tea?", cwd=empty, env=env)

    assert done.code == 5
    assert "only codex is on PATH" in done.err
    assert "claude, gemini, opencode, llm" in done.err
    people = council("ask", "Tea?", "--people", "ann", "--yes", "--detach", cwd=empty, env=env)
    assert people.code == 0, people.err


@pytest.mark.req("FW-007.1")
def test_a_second_question_runs_beside_the_first_under_a_name_of_its_own(council):
    settle(council, owl=SAYS, gecko=SAYS)
    who = ("--agents", "ann,bob", "--people", "ann,bob", "--detach", "--json")

    first = council("ask", "Which database for orders?", *who)
    second = council("ask", "Où aller manger ?", *who)
    third = council("ask", "Which database, for orders?", *who)

    assert first.json()["name"] == "which-database-for-orders"
    assert second.json()["name"] == "où-aller-manger"
    assert third.json()["name"] == "which-database-for-orders-2"
    assert len(council("list", "--json").json()) == 3


@pytest.mark.req("FW-007.1")
def test_a_name_that_is_given_counts_and_one_of_another_thing_is_not_drawn(council):
    who = ("--agents", "ann,bob", "--people", "ann,bob", "--detach", "--json")
    council("channel", "create", "chat", "weather", "--participants", "ann,bob", "--as", "ann")

    option = council("ask", "Tea?", "--name", "kettle", *who).json()["name"]
    variable = council("ask", "Tea?", *who, env={"COUNCIL_NAME": "pot"}).json()["name"]
    channel = council("ask", "Weather?", *who).json()["name"]
    agent = council("ask", "Ann?", *who).json()["name"]

    assert (option, variable) == ("kettle", "pot")
    assert (channel, agent) == ("weather-2", "ann-2")


@pytest.mark.req("FW-007.1", "C0-002")
def test_convene_keeps_active_while_none_of_that_name_is_open(council):
    who = ("--agents", "ann,bob", "--people", "ann,bob", "--json")

    names = [council("convene", "Tea or coffee?", *who).json()["name"] for _ in range(3)]
    council("cancel", "active")
    names.append(council("convene", "Milk?", *who).json()["name"])

    assert names == ["active", "tea-or-coffee", "tea-or-coffee-2", "active"]


@pytest.mark.req("FW-007.1")
def test_the_same_question_asked_again_after_its_process_was_killed_is_the_same_council(council):
    settle(council, owl="sleep 600", gecko="sleep 600")
    words = ("ask", "Tea or coffee?", "--agents", "owl,gecko")
    asked = council.start(*words)
    while b"COLLECT  round" not in asked.stderr.readline():
        pass
    asked.kill()
    asked.communicate()

    again = council.start(*words)
    while b"COLLECT  round" not in again.stderr.readline():
        pass

    assert [one["name"] for one in council("list", "--json").json()] == ["tea-or-coffee"]
    again.terminate()
    again.communicate()
    council("cancel", "tea-or-coffee")


@pytest.mark.req("FW-007.1")
@given(topic=st.text(max_size=300))
def test_whatever_the_topic_its_name_is_legal_and_short(topic: str):
    name = topic_name(topic)

    assert is_conversation_name(name)
    assert len(name) <= 40
    assert is_conversation_name(f"{name}-9999")
    assert len(name.encode()) < CONVERSATION_NAME_MAX_BYTES


@pytest.mark.req("FW-007.1")
@pytest.mark.parametrize(
    ("topic", "name"),
    [
        ("Which database for orders?", "which-database-for-orders"),
        ("Should we move the billing services to Go?", "move-billing-services-go"),
        ("İstanbul'a mı?", "i̇stanbul-a-mı"),
        ("我们用哪个数据库？", "我们用哪个数据库"),
        ("C++ or Rust?", "c-or-rust"),
        ("…", "question"),
        ("--help", "help"),
    ],
)
def test_a_name_says_what_it_is_about(topic: str, name: str):
    assert topic_name(topic) == name


@pytest.mark.parametrize("where", ["terminal", "file"])
def test_the_verdict_comes_last_on_a_terminal_and_a_file_is_a_document(council, tmp_path, where):
    settle(council, owl=SAYS, gecko=SAYS)
    words = ("ask", "Tea?", "--agents", "owl,gecko", *SHORT)
    if where == "file":
        with (tmp_path / "d.md").open("w") as file:
            subprocess.run(
                council.argv(*words),
                stdout=file,
                cwd=council.root,
                env=council.env(),
                check=True,
            )
        heads = [one for one in (tmp_path / "d.md").read_text().splitlines() if one.startswith("#")]
        assert heads[0] == "# No agreement: Tea?"
        assert heads[-1].startswith("## ")
    else:
        process, terminal = on_terminal(council, *words)
        shown = read_until(terminal)
        assert process.wait(60) == 0
        assert shown.index("No agreement: Tea?") > shown.index("In short")


def in_new_folder(council, tmp_path: Path) -> Path:
    council.declares = False
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


@pytest.mark.req("FW-006.1")
@pytest.mark.parametrize(
    ("lang", "says", "mark", "verdict"),
    [
        ("en", "I am no model", "Rehearsal: Which database?", "Nothing was decided"),
        ("fr", "ne suis pas un modèle", "Répétition : Which database?", "Rien n'a été décidé"),
    ],
)
def test_a_rehearsal_plays_ones_own_question_and_says_all_over_what_it_was(
    council, tmp_path, lang, says, mark, verdict
):
    folder = in_new_folder(council, tmp_path)

    done = council("ask", "--rehearse", "Which database?", "--lang", lang, cwd=folder)

    assert done.code == 0, done.err
    assert str(folder) in done.err.splitlines()[0], "it says where it made files"
    assert verdict in done.out
    path = Path(done.out.splitlines()[-1].split(" · ")[-1])
    assert path.parent == folder / "conseils"
    assert mark in next(one for one in path.read_text().splitlines() if "title: " in one)
    (minuted,) = council("list", "--archived", "--json", cwd=folder).json()
    assert mark in minuted["title"]
    shown = council("show", "--json", cwd=folder).json()
    texts = [one["text"] for one in shown["contributions"]]
    assert len(texts) == 7
    assert all(says in one or verdict in one for one in texts)
    assert "tokens" not in done.out and "jetons" not in done.out, "no model was asked"


@pytest.mark.req("FW-006.1")
def test_a_rehearsal_leaves_a_workspace_in_which_real_agents_are_asked(council, tmp_path):
    folder = in_new_folder(council, tmp_path)
    asked = council("ask", "--rehearse", "Tea?", "--json", cwd=folder)
    assert asked.code == 0, asked.err

    assert not [one for one in (folder / "memory" / "agents").iterdir() if one.is_dir()]
    assert council("agent", "list", "--json", cwd=folder).json() == []
    assert council("metrics", "--json", cwd=folder).json()["skipped"]
    settle_in(folder)
    done = council("ask", "Tea?", *SHORT[:2], "--json", cwd=folder)
    assert done.json()["verdict"]["participants"] == ["gecko", "owl"]
    name = asked.json()["name"]
    assert name == "rehearsal-tea"
    assert council("purge", name, "--yes", cwd=folder).code == 0
    assert len(council("list", "--archived", "--json", cwd=folder).json()) == 1


def settle_in(folder: Path) -> None:
    with (folder / "council.toml").open("a") as file:
        file.write(ABLE)


@pytest.mark.req("FW-006.1")
def test_a_rehearsal_goes_on_after_it_was_left_and_takes_no_other_members(council):
    settle(council, owl=SAYS, gecko=SAYS)

    done = council("ask", "--rehearse", "Tea?", "--detach", "--name", "tea")
    assert done.code == 0, done.err
    council("pause", "tea")
    again = council("ask", "--resume", "tea")
    mixed = council("ask", "--rehearse", "Tea?", "--agents", "owl,gecko")

    assert again.code == 0, again.err
    assert "Nothing was decided" in again.out
    assert mixed.code == 2


@pytest.mark.req("FW-006.1")
def test_a_deliberation_can_be_rehearsed(council, tmp_path):
    folder = in_new_folder(council, tmp_path)

    words = ("--procedure", "deliberation", "--max-rounds", "2")
    done = council("ask", "--rehearse", "Tea?", *words, cwd=folder)

    assert done.code == 0, done.err
    assert "No consensus" in done.out
    assert "I am no model" in done.err


@pytest.mark.req("FW-006.1")
def test_the_next_line_of_init_works_as_printed(council, tmp_path):
    council.declares = False
    one = on_path(council, tmp_path, "claude")
    cases = {
        "none": ((), {}, 'ask --rehearse "…"'),
        "named": (("--agents", "henry,sage"), {}, 'convene "…" --agents henry,sage'),
        "person": (("--agents", "henry"), {}, 'ask "…" --people ann'),
        "one program": ((), one, 'ask "…" --people ann'),
    }
    for where, (words, env, wanted) in cases.items():
        said = council("init", where, *words, cwd=tmp_path, env=env).out.splitlines()[-1]
        folder = f"'{where}'" if " " in where else where
        assert said == f"next: cd {folder} && council {wanted}"
        stays = wanted.startswith("ask") and "--rehearse" not in wanted
        typed = [*shlex.split(wanted), *(["--detach"] if stays else [])]
        done = council(*typed, cwd=tmp_path / where, env=env)
        assert done.code == 0, (where, done.err)
    (tmp_path / "here").mkdir()
    assert "next: council " in council("init", cwd=tmp_path / "here").out


@pytest.mark.req("FW-005.1")
def test_a_full_disk_keeps_a_council_from_being_opened(council, monkeypatch):
    from council.core.errors import NotReadyError
    from council.operations.examining.readiness import refuse_unready
    from council.operations.place import Place

    settle(council, owl=SAYS, gecko=SAYS)
    place = Place(str(council.root), council.env(), None)
    refuse_unready(place, ["owl", "gecko"], "en")
    free = shutil.disk_usage(council.root)._replace(free=2**20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)

    with pytest.raises(NotReadyError) as refused:
        refuse_unready(place, ["owl", "gecko"], "en")

    assert "the disk is full, or nearly: 1 MiB" in refused.value.message
    assert "council gc" in refused.value.hint


@pytest.mark.req("FW-005.1")
def test_what_is_left_running_without_a_clock_says_so(council):
    who = ("--agents", "ann,bob", "--people", "ann,bob", "--detach")

    without = council("ask", "Tea?", *who)

    assert without.code == 0
    assert "no cron, systemd or OpenClaw clock runs the heartbeat here" in without.err
    assert "council schedule --install" in without.err


def test_a_line_for_people_breaks_no_word_on_a_terminal(council):
    council("convene", "Tea?", "--agents", "ann,bob", "--people", "ann,bob")
    council("respond", "--as", "ann", "Yes.")
    process, terminal = on_terminal(council, "respond", "--as", "bob", "Yes.", columns=40)
    shown = read_until(terminal)
    assert process.wait(60) == 0
    lines = [one.rstrip() for one in shown.splitlines()]
    assert max(map(len, lines)) <= 40
    assert " ".join(" ".join(lines).split()) == (
        "bob: recorded for COLLECT (round 1) as RESPONDED; COLLECT is over, CHALLENGE begins"
    )
    process, terminal = on_terminal(council, "ask", "Tea?", "--agents", "nobody", columns=40)
    refused = read_until(terminal).splitlines()
    assert process.wait(60) == 2
    assert max(map(len, refused)) <= 40
