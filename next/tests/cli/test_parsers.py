"""The quick parser and Typer read the same table alike."""

from __future__ import annotations

import inspect
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from council.cli import carry, quick, typer_app
from council.cli.quick import COMMANDS, Command, command, name_of

NAMES = list(COMMANDS)


def by_typer(argv: list[str], monkeypatch: pytest.MonkeyPatch) -> object:
    """Return what Typer makes of a command line: its command and values, or its exit code."""
    seen: list[object] = []

    def noted(found: Command, values: dict[str, object]) -> int:
        seen.append((found.name, values))
        return 0

    monkeypatch.setattr(typer_app, "carry_out", noted)
    code = typer_app.run(argv)
    return seen[0] if seen else code


@pytest.mark.parametrize(
    "line",
    [
        ["respond", "Yes.", "--as", "ada", "--name=k", "--json"],
        ["respond", "--as", "ada", "--stance", "bea=agree", "--stance", "c=partial:if", "-"],
        ["respond", "--confidence", "4", "--amend", "--check", "--", "--text"],
        ["vote", "--choice", "A", "--position", "Tabs."],
        ["synthesize", "--file", "x.md", "--root", "/tmp"],
        ["context", "--as", "ada", "--kind", "vote", "--now", "2026-11-28T09:00:00Z"],
        ["wait", "--timeout", "10m"],
        ["heartbeat", "--dry-run", "--reply-token", "HEARTBEAT_OK"],
        ["status", "k", "--problems"],
        ["show", "k", "--at", "3", "--format", "json", "--consensus", "--last", "2"],
        ["list", "minutes", "--search", "kettle", "--stats"],
        ["explain", "E13"],
    ],
)
def test_both_parsers_read_a_line_alike(line: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    usual = quick.read(line)
    assert usual is not None
    assert by_typer(line, monkeypatch) == (usual[0].name, usual[1])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_both_parsers_read_random_lines_alike(data: st.DataObject) -> None:
    """Options in any order and form, before the command too; what only quick reads is left out."""
    found = command(data.draw(st.sampled_from(NAMES)))
    assert found is not None
    values = st.sampled_from(
        ["ada", "3", "0", "", "1h", "a=b", "md", "fr", "-", "yes", "é ü", "x\ny"]
    )
    first: list[str] = []
    rest: list[str] = []
    options = st.lists(st.sampled_from(found.options), max_size=5, unique_by=lambda one: one.name)
    for one in data.draw(options):
        value, line = data.draw(values), rest
        if one.flags and one.flags[0] in quick.FIRST and data.draw(st.booleans()):
            line = first
        if one.kind == "flag":
            line.append(data.draw(st.sampled_from(one.flags)))
        elif not one.flags:
            line.append(value)
        elif data.draw(st.booleans()) and one.flags[0] != "-f":
            line.append(f"{one.flags[-1]}={value}")
        else:
            line += [data.draw(st.sampled_from(one.flags)), value]
    if data.draw(st.booleans()):
        rest += ["--", *data.draw(st.lists(st.sampled_from(["--as", "-x", "text"]), max_size=1))]
    argv = quick.moved([*first, *found.name.split(), *rest])
    usual = quick.read(argv)
    with pytest.MonkeyPatch.context() as patch:
        seen = by_typer(argv, patch)
    if usual is None:
        assert seen == 2 or any(one.kind[:5] == "bare=" for one in found.options)
    else:
        assert seen == (usual[0].name, usual[1])


@pytest.mark.parametrize(
    "line",
    [
        ["respond", "--help"],
        ["respond", "--nope"],
        ["respond", "one", "two"],
        ["respond", "--as"],
        ["respond", "--confidence", "four"],
        ["respond", "--json=yes"],
        ["show", "--format", "pdf"],
        ["convene"],
        ["nonsense"],
        [],
    ],
)
def test_what_is_unusual_is_left_to_typer(line: list[str]) -> None:
    assert quick.read(line) is None


def test_a_text_may_begin_with_a_dash() -> None:
    usual = quick.read(["respond", "- one\n- two", "--as", "ada"])
    assert usual is not None
    assert usual[1]["text"] == "- one\n- two"


def test_a_bare_option_takes_its_own_value() -> None:
    for line in (["heartbeat", "--wait"], ["heartbeat", "--wait", "--json"]):
        usual = quick.read(line)
        assert usual is not None
        assert usual[1]["wait"] == "3650d"


@pytest.mark.parametrize(
    ("line", "moved"),
    [
        ("--root /x --json agent remove ada", "agent remove --root /x --json ada"),
        ("--now 2026-11-28T09:00:00Z stop --now", "stop --clock 2026-11-28T09:00:00Z --now"),
        ("stop --now k", "stop --now k"),
        ("stop --now=2026-11-28", "stop --clock=2026-11-28"),
        ("--as ada", "--as ada"),
        ("", ""),
    ],
)
def test_options_before_the_command_are_moved(line: str, moved: str) -> None:
    assert " ".join(quick.moved(line.split())) == moved


def test_stop_takes_an_instant_and_its_own_flag() -> None:
    usual = quick.read(quick.moved(["--now", "2026-11-28", "stop", "--now", "k"]))
    assert usual is not None
    assert (usual[1]["clock"], usual[1]["now_"], usual[1]["which"]) == ("2026-11-28", True, "k")


@pytest.mark.parametrize("name", NAMES)
def test_each_command_has_a_function_and_help(name: str) -> None:
    found = command(name)
    assert found is not None
    taken = list(inspect.signature(carry.function_of(found)).parameters)
    assert taken[:2] == ["app", "given"]
    assert found.summary.endswith(".")
    assert len(found.summary) < 62
    names = [one.name for one in found.options]
    assert len(set(names)) == len(names)
    assert name_of(shlex.split(found.example)) == name
