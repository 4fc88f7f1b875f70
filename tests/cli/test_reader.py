"""Command lines are read by the table of commands, which Typer shows as help."""

import inspect
import shlex
from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from council.cli import help as shown
from council.cli import printing, quick
from council.cli.quick import COMMANDS, Command
from council.kernel import words
from council.kernel.errors import Usage
from tests.vectors.rows import tables_of

NAMES, TABLES = list(COMMANDS), tables_of("commands")


def values(line: list[str] | str) -> dict[str, object]:
    """Return what is given on a command line, without what is not."""
    read = quick.read(line.split() if isinstance(line, str) else line)
    assert read is not None
    unset = {one.name: one.unset() for one in read[0].options}
    return {name: one for name, one in read[1].items() if one != unset[name]}


@pytest.mark.parametrize(("line", "given"), TABLES["read"])
def test_a_line_is_read(line: str, given: str) -> None:
    read = {name: str(one).replace(" ", "") for name, one in values(line).items()}
    assert read == dict(one.split("=", 1) for one in given.split())


def test_a_text_may_begin_with_a_dash() -> None:
    line = ["respond", "- one\n- two", "--as", "ada"]
    assert values(line) == {"text": "- one\n- two", "agent": "ada"}


@pytest.mark.parametrize(("line", "told"), TABLES["refused"])
def test_what_is_wrong_is_said_with_the_way_on(line: str, told: str) -> None:
    with pytest.raises(Usage) as refused:
        quick.read(line.split())
    assert f"{refused.value.message}; {refused.value.hint}".startswith(told)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_options_mean_the_same_in_any_order_and_form(data: st.DataObject) -> None:
    found = Command(data.draw(st.sampled_from(NAMES)))
    samples = {"whole": "3", "count": "3", "text": "é ü", "said": "x\ny"}
    samples |= dict.fromkeys(("many", "pairs"), "a=b")
    told: dict[str, object] = {}
    first: list[str] = []
    rest: list[list[str]] = []
    flagged = [one for one in found.options if one.flags]
    options = st.lists(st.sampled_from(flagged), max_size=5, unique_by=lambda one: one.name)
    needed = [one for one in flagged if one.required]
    texts = [one for one in found.options if not one.flags]
    for one in dict.fromkeys([*texts, *data.draw(options), *needed]):
        value = samples.get(one.kind, one.kind.split("/")[0].removeprefix("bare="))
        if one.kind == "flag":
            flag = data.draw(st.sampled_from(one.flags))
            line, told[one.name] = [flag], True
        else:
            flag = data.draw(st.sampled_from(one.flags or [""]))
            value = "2026-11-28" if flag == "--now" else value
            line = [f"{flag}={value}"] if data.draw(st.booleans()) else [flag, value]
            line = line if flag else [value]
            told[one.name] = one.read(value)
        if flag in quick.FIRST and one.name != "now_" and data.draw(st.booleans()):
            first += line
        else:
            rest.append(line)
    tail = [word for line in rest for word in line]
    assert values([*first, *found.name.split(), *tail]) == told


@pytest.mark.parametrize("line", ["", "--help", "respond --help", "agent --help", "-h"])
def test_help_is_left_to_typer(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert quick.read(line.split()) is None
    assert shown.show(line.split()) == 0
    assert "Usage" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_each_command_has_a_function_a_reply_and_help(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Command(name)
    module = import_module(f"council.{'' if '.' in found.module else 'cli.'}{found.module}")
    parameters = inspect.signature(getattr(module, found.function)).parameters
    taken = list(parameters)
    assert taken[0] == "app"
    assert taken[1:2] == ["given"] or f"\n== {found.reply}\n" in words.template("texts/replies.txt")
    if taken[1:2] != ["given"]:  # it is a service, which gets what the table names
        given = quick.Given(dict.fromkeys([one.name for one in found.options], "") | found.fixed)
        own = vars(given).keys() - {"root", "clock", "json", "file"}
        assert own <= {*taken} or [*parameters.values()][-1].kind == inspect.Parameter.VAR_KEYWORD
    assert found.summary.endswith(".")
    assert len(found.summary) < 62
    names = [one.name for one in found.options]
    assert len(set(names)) == len(names)
    assert quick.parted(shlex.split(found.example))[0] == name
    assert shown.show([*name.split(), "--help"]) == 0
    assert all(one.flags[-1] in capsys.readouterr().out for one in found.options[-1:])


def test_a_reply_has_texts_on_one_line_lists_with_commas_and_rows() -> None:
    done = {"name": "k\nx", "phase": "COLLECT", "tour": 1, "minutes": None, "woken": ["a", "b"]}
    said = printing.Said(data={**done, "waiting": {"c": "no-place"}}, reply="steer")
    said.more = {"word": "stopped"}
    assert printing.text(said).splitlines() == [
        *("k x: stopped", "  now in COLLECT, round 1"),
        *("  asked: a, b", "  c waits: no-place"),
    ]
