"""Two users of one group work in one workspace, whatever their umask."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import at_rest
from tests.members import ANNA, BERT, GROUP, STRANGER, Member, interpreter, members, missing

if missing():
    pytest.skip(missing(), allow_module_level=True)

_SETTINGS = """schemaVersion = 1
[agents.worker]
argv = ["/bin/echo", "It is fine."]
[agents.helper]
argv = ["/bin/echo", "It is good."]
"""
CONTROL = "memory/shared/.council"


@pytest.fixture
def two() -> Iterator[tuple[Member, Member]]:
    """Anna and Bert, and a workspace that Anna made for both."""
    with members(0o755) as (anna, bert):
        made = anna("init", "--shared", "--agents", "owl,gecko")
        assert made.code == 0, made.err
        (anna.root / "council.toml").write_text(_SETTINGS)
        yield anna, bert


def _well(*done: object) -> None:
    assert all(one.code == 0 for one in done), done


def _everything(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if "outbox" not in path.parts]


@pytest.mark.long
@pytest.mark.req("OP-009")
def test_every_command_works_for_each_of_two_users(two: tuple[Member, Member]):
    anna, bert = two
    _well(
        anna("convene", "Tea?", "--agents", "owl,worker", "--name", "tea"),
        bert("heartbeat"),
        bert("respond", "--name", "tea", "--as", "owl", "Yes."),
        anna("heartbeat"),
        bert("show", "--name", "tea"),
        bert("convene", "Soup?", "--agents", "owl,gecko", "--name", "soup", "--open"),
        anna("context", "--name", "soup", "--as", "owl"),
        bert("context", "--name", "soup", "--as", "owl"),
        anna("respond", "--name", "soup", "--as", "owl", "No."),
        bert("inject", "--name", "soup", "Hurry."),
        anna("pause", "--name", "soup"),
        bert("resume", "--name", "soup"),
        anna("cancel", "--name", "soup"),
        bert("purge", "soup", "--yes"),
        anna("channel", "create", "chat", "den", "--participants", "owl,worker", "--as", "owl"),
        bert("channel", "post", "den", "Hear!", "--as", "zoe"),
        anna("channel", "post", "den", "I do.", "--as", "owl"),
        bert("heartbeat"),
        anna("agent", "join", "W1", "--caps", "plan"),
        bert("msg", "send", "--user", "Where?", "--caps", "plan"),
        anna("heartbeat"),
        bert("ctx", "close", "S1"),
        anna("purge", "S1", "--yes"),
        bert("artifact", "publish", "council.toml"),
        anna("artifact", "publish", "council.toml"),
        bert("ask", "What?", "--agents", "worker,helper"),
        anna("ask", "What?", "--agents", "worker,helper"),
        bert("cancel", "--name", "tea"),
        anna("migrate"),
        bert("gc"),
        anna("agent", "add", "newt"),
        bert("purge", "tea", "--yes"),
    )
    wrong = [
        f"{path}: {stat.filemode(facts.st_mode)} {facts.st_gid}"
        for path in _everything(anna.root)
        for facts in [path.stat()]
        if facts.st_gid != GROUP
        or (facts.st_mode & 0o070) << 3 != facts.st_mode & 0o700
        or (path.is_dir() and not facts.st_mode & stat.S_ISGID)
    ]
    assert wrong == []
    assert {path.stat().st_uid for path in _everything(anna.root)} >= {ANNA, BERT}
    assert not (anna.root / CONTROL / "failures.log").exists()
    told = [one for one in bert("doctor", "--json").json()["findings"] if one["what"] == "sharing"]
    assert [one["ok"] for one in told] == [True]


@pytest.mark.req("OP-009", "XC-001")
def test_answers_of_two_users_who_write_in_turn_and_at_once_all_stand(
    two: tuple[Member, Member],
):
    anna, bert = two
    agents = [f"a{number}" for number in range(12)]
    _well(anna("convene", "Tea?", "--people", ",".join([*agents, "late"]), "--open"))
    live = anna.root / "memory/shared/council-active-conversation.md"
    with live.open("r+") as held:  # one who still writes in a file that gave way
        for agent, who in zip(agents[:4], (anna, bert, anna, bert), strict=True):
            _well(who("respond", "--as", agent, f"It is {agent}."))
        held.seek(0, os.SEEK_END)
        held.write("\nA late note.\n")
    running = [
        who.start("respond", "--as", agent, f"It is {agent}.")
        for agent, who in zip(agents[4:], (anna, bert) * 4, strict=True)
    ]
    assert [one.communicate(timeout=120)[1] for one in running] == [b""] * len(running)
    shown = bert("show", "--json").json()
    said = {one["agent"]: one["text"] for one in shown["contributions"]}
    assert {agent: said.get(agent) for agent in agents} == {one: f"It is {one}." for one in agents}
    _well(bert("check"), anna("check"))
    kept = [path for path in _everything(anna.root) if path.is_file()]
    assert any(b"A late note." in path.read_bytes() for path in kept), "a late write was lost"


@pytest.mark.req("OP-009")
def test_a_set_gid_folder_alone_makes_a_shared_workspace():
    with members(0o2775) as (anna, bert):
        _well(
            anna("init", "--agents", "owl,gecko"),
            bert("convene", "Tea?", "--agents", "owl,gecko", "--open"),
            anna("respond", "--as", "owl", "Yes."),
            bert("respond", "--as", "gecko", "No."),
        )


@pytest.mark.req("OP-009")
def test_a_workspace_that_is_not_shared_keeps_others_out():
    with members(0o755) as (anna, _):
        anna.umask = 0o022
        _well(
            anna("init", "--agents", "owl,gecko"), anna("convene", "Tea?", "--agents", "owl,gecko")
        )
        key = anna.root / CONTROL / "heartbeat.lock"
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        assert not any(path.stat().st_mode & 0o020 for path in _everything(anna.root))


@pytest.mark.req("OP-009")
def test_a_user_of_no_such_group_reads_nothing_that_the_umask_hides(two: tuple[Member, Member]):
    anna, _ = two
    _well(anna("convene", "Tea?", "--agents", "owl,gecko"))
    stranger = Member(anna.root, anna.home, STRANGER, STRANGER)
    assert stranger.run("cat", str(anna.root / "memory/shared/BOARD.md")).returncode != 0


_NEEDED = (
    *("", "/events", "/events/*", "/.council", "/.council/open", "/.council/heartbeat.lock"),
    *("/.council/runs/places/place-1", "/.council/runs/places/agent-worker"),
)


def _conversations(root: Path) -> set[Path]:
    folders = (root / "memory/shared", root / CONTROL, root / CONTROL / "open")
    found = {path for one in folders for path in one.iterdir()}
    return {path for path in found if not path.name.startswith("heartbeat.lock")}


@pytest.mark.req("OP-009")
def test_convening_without_the_right_to_write_makes_nothing_and_says_whose_file_it_is(
    two: tuple[Member, Member],
):
    anna, bert = two
    _well(anna("convene", "Tea?", "--agents", "owl,worker", "--name", "tea"))
    at_rest(anna.root)
    words = ("convene", "Soup?", "--agents", "owl,worker", "--name", "soup")
    for place in _NEEDED:
        (found,) = (anna.root / "memory").glob(f"shared{place}")
        os.chown(found, ANNA, GROUP)
        found.chmod(0o2750 if found.is_dir() else 0o640)
        before = _conversations(anna.root)
        done = bert(*words)
        assert (done.code, done.err.count("\n")) == (6, 1), place
        for said in (str(found), f"belongs to user {ANNA}", "council init --shared"):
            assert said in done.err
        assert _conversations(anna.root) == before, place
        found.chmod(0o2770 if found.is_dir() else 0o660)
    found.chmod(0o600)
    _well(anna("init", "--shared"), bert(*words))


@pytest.mark.req("OP-009")
def test_doctor_finds_what_does_not_fit_and_its_fix_mends_it(two: tuple[Member, Member]):
    anna, bert = two
    _well(anna("convene", "Tea?", "--agents", "owl,gecko", "--name", "tea"))
    shared = anna.root / "memory/shared"
    faults = {
        "does not let its group": lambda: (shared / ".council/key").chmod(0o600),
        "is not set-gid": lambda: (anna.root / "conseils").chmod(0o775),
        "is of another group": lambda: os.chown(shared / "BOARD.md", ANNA, ANNA),
    }
    (shared / ".council/key").touch()
    os.chown(shared / ".council/key", ANNA, GROUP)
    for said, harm in faults.items():
        harm()
        told = bert("doctor", "--json").json()["findings"]
        (fault,) = [one for one in told if one["what"] == "sharing"]
        assert (fault["ok"], said in fault["found"]) == (False, True), fault
        assert fault["fix"] == f"user {ANNA} (or root) runs: council init --shared"
        assert anna("init", "--shared").code == 0
        told = bert("doctor", "--json").json()["findings"]
        assert [one["ok"] for one in told if one["what"] == "sharing"] == [True]


@pytest.mark.req("OP-009")
def test_init_shared_opens_an_old_workspace_and_names_what_it_may_not_change():
    with members(0o755) as (anna, bert):
        anna.umask = 0o077
        _well(
            anna("init", "--agents", "owl,gecko"),
            anna("convene", "Tea?", "--agents", "owl,gecko", "--open"),
        )
        refused = bert("respond", "--as", "owl", "Yes.")
        assert refused.code != 0
        private = anna.root / "memory/agents/owl/notes/mine"
        private.write_text("Mine.")
        private.chmod(0o600)
        _well(anna("init", "--shared"), bert("respond", "--as", "owl", "Yes."))
        assert stat.S_IMODE(private.stat().st_mode) == 0o600, "what an agent keeps is its own"

        alien = anna.root / "conseils" / "alien.md"
        alien.write_text("Alien.")
        os.chown(alien, BERT, GROUP)
        alien.chmod(0o600)
        done = anna("init", "--shared")
        assert done.code == 6
        assert f"{alien} does not let its group do what its owner may" in done.err
        assert f"user {BERT}" in done.err
        _well(bert("init", "--shared"), anna("init", "--shared"))


@pytest.mark.req("OP-009")
def test_doctor_tells_a_member_that_a_workspace_is_not_shared():
    with members(0o755) as (anna, bert):
        anna.umask = 0o022
        _well(anna("init"))
        told = bert("doctor", "--json").json()["findings"]
        (fault,) = [one for one in told if one["what"] == "sharing"]
        assert fault["found"] == f"this workspace belongs to user {ANNA} and is not shared"
        assert fault["fix"] == f"user {ANNA} runs: council init --shared"
        assert not any(
            one["what"] == "sharing" for one in anna("doctor", "--json").json()["findings"]
        )


@pytest.mark.req("OP-009")
def test_a_heartbeat_of_each_user_marks_that_it_ran(two: tuple[Member, Member]):
    anna, bert = two
    _well(anna("heartbeat"))
    mark = anna.root / CONTROL / "last-heartbeat"
    os.utime(mark, (0, 0))
    _well(bert("heartbeat"))
    assert mark.stat().st_mtime > 1, "only the owner of a file may set its time"


@pytest.mark.req("OP-009", "XC-014")
@pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv stands for sudo")
def test_a_driver_may_run_its_program_as_another_user(two: tuple[Member, Member]):
    """It answers by the tool as a member; as a stranger by its output, out of reach of the key."""
    anna, bert = two
    become = anna.root.parent / "become"  # does what sudo would
    shutil.copy(shutil.which("setpriv") or "", become)
    os.chown(become, 0, GROUP)
    become.chmod(0o4750)

    def of(group: int, script: str) -> str:
        words = ("--reuid", str(STRANGER), "--regid", str(group), "--clear-groups")
        return json.dumps([str(become), *words, "/bin/sh", "-c", script])

    key = anna.root / CONTROL / "key"
    respond = f"cat >/dev/null; echo By the tool. | {interpreter()} -m council respond -"
    (anna.root / "council.toml").write_text(
        "schemaVersion = 1\n"
        f'[agents.tool]\nanswer = "tool"\nargv = {of(GROUP, respond)}\n'
        'env = ["PYTHONPATH", "PYTHONDONTWRITEBYTECODE"]\n'
        f"[agents.says]\nargv = {of(STRANGER, f'id -u; cat {key} 2>&1; head -c 9')}\n"
    )
    _well(anna("convene", "Tea?", "--agents", "tool,says,owl", "--open"))
    at_rest(anna.root)
    said = {one["agent"]: one for one in bert("show", "--json").json()["contributions"]}
    assert {one["origin"] for one in said.values()} == {"verified"}
    assert said["tool"]["text"].strip() == "By the tool."
    assert said["says"]["text"].split("\n") == [
        str(STRANGER),
        f"cat: {key}: Permission denied",
        "# Council",
    ]
