"""What commands print for people, played in one workspace."""

import os
from pathlib import Path

import pytest

from council import __main__ as way_in
from council.cli import asking
from tests.vectors.rows import tables_of


def test_each_command_says_what_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = {"HOME": tmp_path, "COUNCIL_ROOT": tmp_path, "PATH": "/nonexistent", "USER": "tester"}
    for name, value in {**told, "COUNCIL_NOW": "2026-11-28T09:00:00Z"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(tmp_path)
    for line, code, words in tables_of("commands")["play"]:
        assert (way_in.run(line.split()), line) == (code, line)
        out, err = capsys.readouterr()
        printed, wide = out + err, [one for one in out.splitlines() if len(one) > 80]
        assert line.partition(" ")[0] != "list" or not [one for one in wide if "/" not in one]
        assert words in printed, f"{line}\n{printed}"
    os.mkfifo(tmp_path / "pipe")
    ident = min((tmp_path / "memory/shared/artifacts").iterdir()).stem
    assert way_in.run(["artifact", "fetch", ident, "--out", "pipe"]) == 3


def test_a_workspace_that_nobody_asked_for_or_inside_another_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("COUNCIL_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    assert way_in.run(["status"]) == 5 and "council init" in capsys.readouterr().err
    for look in ("list", "status", "doctor", "log", "explain E13"):
        way_in.run([*look.split(), "--root", str(tmp_path)])
    assert not os.listdir(tmp_path)
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
