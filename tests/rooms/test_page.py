"""The page of a room: what people type on it, and what stale or changed copies do."""

import pytest

from council.kernel.errors import Refusal
from council.kernel.page import Taken
from council.kernel.record import Any
from council.rooms import page as kind
from tests.rooms.play import Play, discussion
from tests.vectors.rows import tables_of

DRAFT, ROWS = "<!--council:draft message-->\n\n", tables_of("rooms")


def made(**more: Any) -> Play:
    play = Play("a b x", **more)
    play.post("x", "Which kettle?\n\n# Think!")
    play.say("a", "The *quiet* one; <b>see</b> [x]: there.")
    return play


def taken(play: Play, page: str, base: Any = None) -> Any:
    return kind.edits(base or play.state, play.state, page, play.now, True)


def test_the_form() -> None:
    page = kind.render(made().state)
    assert page.startswith("# Room: den\n\n## Metadata\n\n- Room ID: den\n- Mode: chat\n")
    assert "- Current speaker: B (agent:b)\n- Order: A, B\n- Cycle: 1\n- Asleep: no\n" in page
    assert "**X** 2026-11-28 09:00 UTC\n\n<!--council:message 1-x " in page
    assert "> Which kettle?\n>\n> ### Think!\n" in page
    assert "> The *quiet* one; \\<b>see\\</b> [x]: there.\n" in page
    assert '"messages": [\n  {"id": 1, "at"' in page
    play = made()
    play.state.members["a"].emoji = "🦎"  # an old encoding has no emoji
    old = kind.render(play.state).encode("cp1252", "replace").decode("cp1252")
    assert taken(play, old) == Taken()
    french = kind.render(made(lang="fr").state)
    assert "# Salon : den\n" in french
    assert "## Parole\n\n- Parole à: B (agent:b)\n" in french


@pytest.mark.parametrize("lang", ["en", "fr"])
@pytest.mark.parametrize(("typed", "author", "text"), ROWS["typed"])
def test_a_message_that_is_typed(lang: str, typed: str, author: str, text: str) -> None:
    play = made(lang=lang)
    person, agent = {"en": "person", "fr": "personne"}[lang], "a" if author == "a" else None
    elsewhere = ("\n## Notes", f"\n{typed}\n\n## Notes")
    for place in ((DRAFT, f"{DRAFT}{typed}\n\n"), elsewhere):
        found = taken(play, kind.render(play.state).replace(*place))
        said = {"author": author or person, "agentId": agent, "content": text}
        (event,) = found.events
        assert (event, found.refused) == (event | said | {"type": "said", "origin": "edited"}, [])


def test_half_a_sentence_that_was_saved_is_completed() -> None:
    play, base = made(), made().state
    half = kind.render(base).replace(DRAFT, f"{DRAFT}Anna: I like\n\n")
    for page in (half, half.replace("I like", "I like the red one")):
        play.do(lambda s, page=page: taken(play, page, base).events)
    assert [one.content for one in play.state.messages][2:] == ["I like the red one"]
    assert taken(play, page + "\n", base).events == []  # saved once more
    play.check()


def test_a_stale_page_with_a_message_loses_nothing() -> None:
    play, base = made(), made().state
    play.say("b", "I heard that.")
    found = taken(play, kind.render(base).replace(DRAFT, f"{DRAFT}Anna: Late.\n\n"), base)
    assert ([one["content"] for one in found.events], found.refused) == (["Late."], [])


def test_notes() -> None:
    play = made()
    page = kind.render(play.state)
    base = play.state
    page = page.replace("<!--council:notes-->\n\n", "<!--council:notes-->\n\nBuy tea.\n\nSoon.\n\n")
    play.do(lambda s: taken(play, page).events)
    assert play.state.notes == ["Buy tea.", "", "Soon."]
    play.check()
    stale = page.replace("Buy tea.\n\nSoon.", "Buy milk.")
    play.do(lambda s: taken(play, stale, base).events)
    assert play.state.notes == ["Buy tea.", "", "Soon.", "", "Buy milk."]
    shorter = kind.render(play.state).replace("Buy tea.\n\n", "")
    play.do(lambda s: taken(play, shorter).events)
    assert play.state.notes == ["Soon.", "", "Buy milk."]
    elsewhere = kind.render(play.state).replace("## Floor", "Floor it!\n\n## Floor")
    play.do(lambda s: taken(play, elsewhere).events)
    assert play.state.notes[-1] == "Floor it!"
    play.check()


@pytest.mark.parametrize(("old", "new", "refused"), ROWS["changed"])
def test_changed_messages(old: str, new: str, refused: list[str]) -> None:
    play = made()
    page, (begin, _, end) = kind.render(play.state), old.partition("…")
    before, found, after = page.partition(begin)
    assert found
    taken_in = taken(play, before + new + after[after.index(end) + len(end) :])
    assert (taken_in.events, taken_in.refused) == ([], refused)


def test_a_page_without_a_journal_is_adopted() -> None:
    play = discussion("a b x")
    play.say("a", "Green.")
    state = kind.adopt(kind.render(play.state))[0]["state"]
    found = kind.new().from_json(state)
    assert (found.current_speaker, found.cycle, found.members) == ("b", 1, play.state.members)
    assert kind.adopt("# A list\n\n- of things\n") == []


@pytest.mark.parametrize(("block", "adopted"), ROWS["blocks"])
def test_a_page_of_another_clone_adds_its_messages(block: list[str], adopted: str) -> None:
    mine, other = made(lang="fr"), made(lang="fr")
    mine.say("b", "Ours.")
    other.say("b", "Theirs <b>too</b>.")
    page = kind.render(other.state).replace("notes-->", "notes-->\n\nBuy tea.", 1)
    page = page.replace(*block)
    mine.do(lambda s: kind.added(s, page + page, mine.now).events)
    said = [(one.author, one.content) for one in mine.state.messages[2:]]
    assert said == [("b", "Ours."), ("b", "Theirs <b>too</b>.")]
    assert mine.state.notes == (["Buy tea."] if "damaged" not in adopted else [])
    assert kind.added(mine.state, page.replace("den", "lab"), mine.now).events == []
    try:
        assert kind.adopt(page)[0]["state"]["messages"][-1]["content"] == adopted
    except Refusal as refusal:
        assert refusal.message.endswith(adopted)
