"""Words that are no commands lead to the command that does what is meant."""

from __future__ import annotations

import shlex

import pytest

from council.cli.other_words import OTHER_WORDS
from council.commands import options

ROWS = dict(row.split(maxsplit=1) for row in OTHER_WORDS.strip().splitlines())
PLACEHOLDERS = {"WORDS", "TOPIC", "NAME", "ID", "REV"}


@pytest.mark.req("FW-006.2")
@pytest.mark.parametrize(("word", "meant"), ROWS.items())
def test_each_other_word_leads_to_a_command_that_there_is(word: str, meant: str):
    assert word not in options.names("", hidden=True)
    if meant == "--version":
        return
    words = shlex.split(meant)
    name = " ".join(words[: options.words_of_name(words)])
    assert name in options.ROWS and not options.is_group(name), meant
    given = ["1" if one in PLACEHOLDERS else one for one in words[len(name.split()) :]]
    options.parse(options.command(name), given)


@pytest.mark.req("FW-006.2")
@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("search", "council list --archived --search WORDS"),
        ("minutes", "council list --archived"),
        ("agents", "council agent list"),
        ("rooms", "council channel list"),
        ("Minuts", "council list --archived"),
        ("statuss", "council status"),
    ],
)
def test_a_word_that_is_no_command_leads_to_the_nearest_one(council, typed: str, meant: str):
    done = council(typed, "database")

    assert done.code == 2
    assert done.err == f"council: no command is called '{typed}' (for that: {meant})\n"
    assert council(typed, "--json").json()["error"]["hint"] == f"for that: {meant}"


@pytest.mark.req("FW-006.2")
def test_council_alone_shows_the_demo_the_pages_and_the_rehearsal(council):
    shown = council().out

    assert "\n  demo " in shown
    assert "\n  serve " in shown
    assert 'council ask --rehearse "…"' in " ".join(shown.split())
