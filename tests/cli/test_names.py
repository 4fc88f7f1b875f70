"""How conversations are named: as an argument or by --name, in any script."""

from __future__ import annotations

import pytest

from council.core.errors import InvalidInputError
from council.core.ids import checked_conversation_name
from tests.cli.commands import all_commands

# What an argument says there is not which conversation is meant.
BESIDE_A_TEXT = {"inject", "say", "extend", "respond", "vote", "synthesize"}
GIVES_THE_NAME = {"ask", "convene", "agent add", "agent edit", "agent register"}


@pytest.mark.req("OP-017")
def test_every_command_on_a_conversation_takes_its_name_as_an_argument_too():
    by_option, by_argument = set(), set()
    for name, one in all_commands().items():
        if any("--name" in param.opts for param in one.params):
            by_option.add(name)
        if any(param.name == "conversation" for param in one.params):
            by_argument.add(name)

    assert by_option - by_argument == BESIDE_A_TEXT | GIVES_THE_NAME
    assert by_argument <= by_option


@pytest.mark.req("OP-017")
def test_a_name_given_twice_must_be_the_same(opened, now):
    assert opened("check", "active", "--name", "active", now=now).code == 0
    for words in (("check",), ("context", "--as", "owl")):
        refused = opened(*words, "elsewhere", "--name", "active", now=now)
        assert refused.code == 2
        assert "two conversations are named (give NAME or --name, not both" in refused.err


@pytest.mark.req("OP-017")
def test_a_name_of_any_script_is_one_name_however_it_is_written(council, now):
    assert council("init", "--agents", "owl,gecko").code == 0
    opened = council("convene", "Café?", "--name", "CAFE\N{COMBINING ACUTE ACCENT}", now=now)
    assert opened.code == 0, opened.err
    assert (council.root / "memory/shared/council-café-conversation.md").is_file()
    council("convene", "予算は?", "--name", "予算_2026", now=now)

    assert council("respond", "--name", "Café", "--as", "owl", "Yes.", now=now).code == 0
    assert "Café?" in council("show", "CAFÉ", now=now).out
    assert council("cancel", "予算_2026", now=now).code == 0
    assert council("list", "--json", now=now).json()[0]["name"] == "café"
    assert council("purge", "予算_2026", "--yes", now=now).code == 0


@pytest.mark.req("OP-017")
@pytest.mark.parametrize(
    "name", ["", "-a", "a b", "a/b", "..", "a\0b", "é" * 91, "a\u202eb", "\ud800"]
)
def test_what_is_no_name_of_a_conversation_is_refused(name: str):
    with pytest.raises(InvalidInputError, match="not a legal conversation name"):
        checked_conversation_name(name)
