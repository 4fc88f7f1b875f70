"""The page about troubleshooting has every cause that somebody may see, as it is shown."""

from __future__ import annotations

import re

import pytest

from council.commands.options import ROWS
from council.store.texts import texts
from tests.docs.pages import text_of

PAGE = "docs/troubleshooting.md"
# These say all that there is to say in words of the file or the program at fault.
IN_THEIR_OWN_WORDS = {
    "setting": "`council.toml`",
    "hook": "`[hooks]`",
    "routing": "`[[bindings]]`",
    "soul": "`SOUL.md`",
    "policy": "`policy.json`",
    "registry": "registry",
    "identities": "identities",
    "identity-source": "identities",
    "context": "contexts",
    "artifact": "artifacts",
    "brief": "briefs",
    "calls": "calls",
    "sharing": "shared folder",
    "probe": "`--probe`",
}


def causes() -> dict[str, tuple[str, str]]:
    """Return the English sentence and the way out of each cause, by its key."""
    return {key: (row[0], row[2]) for key, row in texts("causes").items()}


def shown(sentence: str) -> re.Pattern[str]:
    """Return what a sentence is when it is shown: its fields filled in, with or without options."""
    pattern = ""
    for part in re.split(r"(\{\w+\}|[\[\]‹›])", sentence):
        if part[:1] == "{":
            pattern += ".+"
        elif part in "[]" and part:
            pattern += "(?:" if part == "[" else ")?"
        else:
            pattern += re.escape({"‹": "[", "›": "]"}.get(part, part))
    return re.compile(pattern)


def symptoms() -> dict[str, str]:
    """Return what the page says behind each message that it shows."""
    found = re.findall(r"^\| `([^`]+)` \|(.*)\|$", text_of(PAGE), re.MULTILINE)
    return dict(found)


@pytest.mark.req("FW-013")
@pytest.mark.parametrize("key", [one for one in causes() if one not in IN_THEIR_OWN_WORDS])
def test_a_cause_is_on_the_page_as_it_is_shown_with_its_way_out(key: str):
    sentence, cure = causes()[key]
    rows = [said for message, said in symptoms().items() if shown(sentence).fullmatch(message)]
    assert rows, sentence
    wanted = {first_words(one) for one in re.findall(r"council ([a-z][^;,:()\[\]{}]*)", cure)}
    wanted -= {""}  # "a council that knows" is no command
    assert any(wanted <= {first_words(one) for one in named_in(said)} for said in rows), cure


def first_words(command: str) -> str:
    """Return the name of the command that a line begins with, by the name that help shows."""
    words = command.split()
    tried = [" ".join(words[:n]) for n in (3, 2, 1)]
    name = next((one for one in tried if one in ROWS), "")
    return {"msg answer": "say", "inject": "say"}.get(name, name)


def named_in(said: str) -> list[str]:
    return [one.removeprefix("council ") for one in re.findall(r"`(council [a-z][^`]*)`", said)]


@pytest.mark.req("FW-013")
def test_every_message_of_the_page_is_one_that_is_shown():
    patterns = [shown(sentence) for sentence, _ in causes().values() if sentence != "{message}"]
    known = [one for one in symptoms() if any(each.fullmatch(one) for each in patterns)]
    assert known == [*symptoms()]


@pytest.mark.req("FW-013")
def test_what_is_said_in_words_of_a_file_is_named_on_the_page():
    texts_of_files = {key for key, (sentence, _) in causes().items() if sentence == "{message}"}
    assert texts_of_files == IN_THEIR_OWN_WORDS.keys()
    said = text_of(PAGE).partition("## Files and settings")[2]
    assert [word for word in IN_THEIR_OWN_WORDS.values() if word not in said] == []


@pytest.mark.req("FW-013")
@pytest.mark.parametrize(
    "word",
    [
        *("phase", "round", "tour", "turn", "stance", "verdict", "heartbeat", "run", "task"),
        *("place", "wake", "conseils", "maman", "room"),
    ],
)
def test_the_glossary_explains_a_word(word: str):
    assert re.search(rf"^\|.*\b{word}\b.*\|$", text_of("docs/glossary.md"), re.MULTILINE)


@pytest.mark.req("FW-013")
@pytest.mark.parametrize(
    "heading",
    [
        *("Back up", "Upgrade", "Go back to an older version", "Move", "Use git", "Logs"),
        "Uninstall",
    ],
)
def test_a_page_says_how_to_keep_an_installation(heading: str):
    section = text_of("docs/maintaining.md").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    assert re.search(r"`[^`]+`|^\$ ", section, re.MULTILINE), heading
