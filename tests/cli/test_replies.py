"""What commands print for people, played in one workspace."""

from pathlib import Path

import pytest

from council import __main__ as way_in
from council.cli import asking

PLAY = [
    ("init --agents ada,bea,carl --lang en", 0, "  agent bea"), ("list", 0, "Nothing is open."),
    ("status", 0, "Nothing is open."), ("init council.toml", 3, "council.toml is not a directory"),
    ("integrate openclaw --remove", 5, "(install it; npm i -g openclaw)"),
    ("channel create discussion tea", 3, "(a guide (--guide FILE) has ## Topic"),
    ("convene Tea? --agents ada --dry-run", 0, "only ada takes part, and nobody can object: "),
    ("convene Tea? --synthesizer zoe --dry-run", 0, "zoe is no agent here: it has to write"),
    ("convene Tea? --max-rounds 0", 2, "max_rounds cannot be 0 (use 1 to 20)"),
    ("convene Tea? --agents ada,bea --name k --dry-run", 0, "would open k: COLLECT, round 1, ada"),
    ("convene Tea? --agents ada,bea --name k", 0, "  asked: ada, bea"),
    ("respond Yes. --as ada", 0, "ada: COLLECT, round 1: recorded"),
    ("respond Yes. --as ada", 0, "was recorded before"), ("respond No. --as ada", 4, "council: "),
    ("respond No. --as ada --json", 4, '{"error":{"code":"already-answered",'),
    ("respond Yes! --as ada --amend", 0, ": recorded"), ("respond --as bea", 2, "there is no text"),
    ("respond Yes. --as bea --status nonsense", 3, "no such status"),
    ("respond Yes. --as bea --name nowhere", 5, "no open conversation fits 'nowhere'"),
    ("show k --last 1", 0, "answers are sealed until all have answered."),
    ("status", 0, "  bea: WAITING, answers by hand"),
    ("status --problems", 0, "\n    council schedule --install"),
    ("explain", 0, "Waits for:\n  bea's answer by hand since 2026-11-28T09:00:00Z"),
    ("explain halted", 0, "halted:\n  no runs are started"),
    ("list", 0, "k     COLLECT  1      bea          "),
    ("list --search rum", 0, "Nothing matches."),
    ("list agents", 0, "ada   Ada "), ("show ada", 0, "agent id: ada"),
    ("log", 0, "    answered: ada, RESPONDED"), ("log --format json", 0, '"type":"answered"'),
    ("log --format protocol", 0, ""), ("check", 0, "k: well formed"),
    ("doctor", 0, "✓ agent      ada answers by hand"),
    ("heartbeat", 0, "Nothing was due."), ("context --as bea", 0, "Tea?"),
    ("wait --as bea", 0, "bea: your turn in COLLECT, round 1 of k"),
    ("wait --as ada --timeout 1s", 7, "ada: not your turn yet"),
    ("say Hurry. --as Anna", 0, "k: said"), ("log", 0, "  anna  COLLECT, round 1"),
    ("pause", 0, "k: paused\n  now in COLLECT, round 1"),
    ("resume --for 30m", 0, "k: deadline 2026-11-28T10:30"), ("resume", 0, "(nothing to change)"),
    ("extend 30m", 0, "k: deadline 2026-11-28T11:00"), ("pause --all", 0, "no agent is started"),
    ("schedule --cron", 0, " heartbeat --root "), ("schedule --systemd", 0, "\nKillMode=process"),
    ("agent add dan --role critic", 0, "dan: added\n  "),
    ("agent add eve --model m1", 0, "eve: added"), ("agent add fay --model m1", 0, "fay: added"),
    ("convene Tin? --agents eve,fay --name n --dry-run", 0, "all agents use one model (m1): "),
    ("agent remove eve", 0, "eve: "), ("agent remove fay", 0, "fay: "),
    ("agent remove dan", 0, "  its folder is now "), ("stop --now", 0, "k: stopped\n  minutes: "),
    ("list minutes", 0, "2026-11-28T09:00:00Z  "), ("list minutes --stats", 0, "minutes: 1"),
    ("explain k", 0, "k (minutes): over\n  read it: "), ("cancel k", 5, "k is over"),
    ("say k --stars 4", 0, "4 of 5 (mean 4.0)"), ("convene Two? --name two", 0, "opened two"),
    ("cancel two --reason Twice.", 0, "two: cancelled\n  minutes: "),
    (f"convene Three?{'-or-not' * 9} --name t", 0, "opened t"), ("stop --now", 0, "t: stopped"),
    ("list minutes", 0, "  Three?-or-not"),
    ("list minutes --json", 0, '"outcome":"cancelled"'),
    ("wait --as ada --name k", 8, "k is over\n  minutes: "),
    ("forget k --dry-run", 0, "remove conseils/"),
    ("forget k --yes", 0, "removed memory/shared/.council/closed/"),
    ("ask --rehearse Tabs?", 0, "\nAgainst: "),
    ("ask --rehearse Taxes? --lang fr", 0, "# COLLECT, tour 1\n"),
    ("ask --rehearse Taxis? --lang fr", 0, "\nContre : "),
    ("nonsense", 2, "council: no command is called 'nonsense' (try: council --help)"),
]  # fmt: skip


def test_each_command_says_what_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = {"HOME": tmp_path, "COUNCIL_ROOT": tmp_path, "PATH": "/nonexistent", "USER": "tester"}
    for name, value in {**told, "COUNCIL_NOW": "2026-11-28T09:00:00Z"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(tmp_path)
    for line, code, words in PLAY:
        assert (way_in.run(line.split()), line) == (code, line)
        out, err = capsys.readouterr()
        printed, wide = out + err, [one for one in out.splitlines() if len(one) > 80]
        assert line.partition(" ")[0] != "list" or not [one for one in wide if "/" not in one]
        assert words in printed, f"{line}\n{printed}"


def test_a_workspace_that_nobody_asked_for_or_inside_another_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("COUNCIL_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    assert way_in.run(["status"]) == 5 and "council init" in capsys.readouterr().err
    rehearse = ["ask", "--rehearse", "Tabs?"]
    for line, told in (
        (rehearse, f"! there was no workspace: made one in {tmp_path}\n"),
        (rehearse, ""),
        (["init", "sub"], f"! this is inside another workspace, {tmp_path}: commands in it"),
    ):
        assert way_in.run(line) == 0
        notes = [one for one in capsys.readouterr().err.splitlines(True) if one[0] == "!"]
        assert "".join(notes).startswith(told) and len(notes) == bool(told)
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert way_in.run(["status"]) == 5 and "no longer exists" in capsys.readouterr().err


def test_what_is_said_again_is_shown_in_its_round(capsys: pytest.CaptureFixture[str]) -> None:
    screen, lines = asking._Screen(), ["# 1", "Ada: Yes.", "# 2", "Ada: Yes."]
    assert [screen.show(lines[:2]), screen.show(lines), screen.show(lines)] == [True, True, False]
    assert screen.show([*lines, "# 3", *lines[1:2], "# 4", *lines[1:2]])
    told = [*lines, "# 3", "Ada: Yes.", "# 4", "Ada: Yes."]
    assert capsys.readouterr().err.splitlines() == told
