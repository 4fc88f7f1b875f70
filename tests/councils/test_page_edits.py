"""What people and tools do to a page, and what becomes of it."""

import json
import re
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from council.councils import decisions, hearing, kind, page_reading
from council.councils import page as pages
from council.councils.hearing import Stated
from council.councils.model import Config, Heard, Participant, State
from council.kernel.errors import Refusal
from council.kernel.page import Taken, revision
from council.kernel.reading import letters
from tests.councils import pages_made as made
from tests.vectors.rows import tables_of

NOW = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
MADE = tables_of("page-edits")


class Council:
    """A conversation in memory: commands, pages by revision, and saves of edited pages."""

    def __init__(self, lang: str = "en", blind: bool = False, **config: Any) -> None:
        self.state, self.at, self.old = kind.new(), NOW, {}
        self.pages: list[str] = []
        people = {a: Participant(name=n, emoji=e) for a, (n, e) in made.FAMILY.items()}
        procedure = config.pop("procedure", "council")
        new = State(
            conversation_id="3f2b8f2e-5d1c-4c58-9f0e-0d6a3c1f2b11", name="active",
            topic="Should we build a weather bot?", brief="The family asks every morning.",
            procedure=procedure, lang=lang, config=Config(blind=blind, timeout=32400, **config),
            participants=people,
        )  # fmt: skip
        self.take(decisions.opened(self.state, new, at=self.at))

    def take(self, events: list[dict[str, Any]]) -> None:
        state = self.state.copy()
        for event in events:
            kind.evolve(state, event)
        while due := kind.due(state, self.at):
            for event in due:
                kind.evolve(state, event)
        state.rev, state.mark = self.state.rev + 1, f"{self.state.rev + 1:032x}"
        self.state, self.old[state.rev] = state, state
        self.pages.append(self.page)

    @property
    def page(self) -> str:
        return kind.render(self.state)

    def say(self, agent: str, text: str, **more: Any) -> None:
        self.at += timedelta(seconds=1)
        said = hearing.Understood(text=text, heard=Heard())
        how = {key: more.pop(key) for key in ("origin", "cut_off") if key in more}
        self.take(decisions.respond(self.state, agent, said, Stated(**more), at=self.at, **how))

    def save(self, page: str, ours: bool = True) -> Taken:
        """Take in a page as the document does; doing it again changes nothing."""
        self.at += timedelta(seconds=1)
        rev, mark = revision(page) or (0, "")
        base = self.old.get(rev)
        if base is None or base.mark != mark:
            return Taken(refused=["the page names no revision that is known here"])
        taken = kind.edits(base, self.state, page, self.at, ours)
        if taken.events:
            self.take(taken.events)
            again = kind.edits(base, self.state, page, self.at, ours)
            assert again.events == []
        return taken

    def change(self, *pairs: Sequence[str]) -> Taken:
        page = self.page
        for old, new in pairs:
            assert old in page, old
            page = page.replace(old, new, 1)
        return self.save(page)

    def texts(self, agent: str) -> list[str]:
        return [entry.text for entry in self.state.entries if entry.agent == agent]


def weather(**more: Any) -> Council:
    """Return a council in which two have answered and nova is to write."""
    council = Council(**more)
    council.say("henry", "Yes, it is cheap.")
    council.say("sage", "No, nobody keeps it.")
    return council


SMALL = "I am for it, if it stays small."
NOVA = "### 🌟 Nova\n"
WAITS, DID = "(agent:nova): WAITING", "(agent:nova): RESPONDED"


def answered(page: str) -> str:
    return page.replace(NOVA, f"{NOVA}\n{SMALL}\n", 1).replace(WAITS, DID)


def mapped(pattern: str, put: str) -> Callable[[str], str]:
    return lambda page: re.sub(pattern, put, page, flags=re.M)


def wrapped(page: str) -> str:
    head, mark, tail = page.partition("<!--council-state")
    lines = [
        textwrap.fill(ln, 60) if ln[:1] not in "<>#-" and len(ln) > 60 else ln
        for ln in head.split("\n")
    ]
    return "\n".join(lines) + mark + tail


TOOLS = {tool: mapped(*how) for tool, how in MADE["tools"].items()}
TOOLS |= {"wrapped": wrapped, "accents apart": partial(unicodedata.normalize, "NFD")}


@cache
def noted() -> list[Council]:
    """Return councils in which all have answered, and somebody has typed a note."""
    made = [weather(), weather(lang="fr"), weather(blind=True)]
    for council in made:
        text = f"# Position\n\n{SMALL}\n\n- one\n- two & [three][1]\n\n[1]: https://x.y"
        council.say("nova", text)
        council.change(("<!--council:notes-->\n", "<!--council:notes-->\n\nA note.\n"))
    return made


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_changes_nothing(tool: str) -> None:
    for council in noted():
        taken = council.save(TOOLS[tool](council.page))
        assert (taken.events, taken.refused) == ([], [])
    for state in (made.deliberation(), made.deliberation("fr")):
        page = TOOLS[tool](kind.render(state))
        assert kind.edits(state, state, page, NOW, True) == Taken()
        assert tool == "wrapped" or kind.added(state, page, NOW) == Taken()


@pytest.mark.parametrize("tool", TOOLS)
def test_an_answer_is_taken_in_although_a_tool_was_there(tool: str) -> None:
    council = weather()
    taken = council.save(TOOLS[tool](answered(council.page)))
    assert taken.refused == []
    assert council.texts("nova") == [SMALL]
    assert council.state.phase == "CHALLENGE" and council.state.notes == []
    assert council.texts("henry") == ["Yes, it is cheap."]


@pytest.mark.parametrize(("word", "status"), MADE["statuses"].items())
def test_a_status_is_set_by_hand(word: str, status: str) -> None:
    council = Council()
    taken = council.change((WAITS, f"(agent:nova): {word}"))
    nova = council.state.participants["nova"]
    if status:
        assert (nova.status, nova.origin, taken.refused) == (status, "edited", [])
        if nova.status == "AGREED":  # it can be taken back
            council.change(("(agent:nova): AGREED", "(agent:nova): RESPONDED"))
            assert council.state.participants["nova"].status == "RESPONDED"
    else:
        assert (nova.status, nova.origin) == ("WAITING", "")
        assert bool(taken.refused) is bool(word)


@pytest.mark.parametrize("edit", MADE["edits"].values(), ids=MADE["edits"])
def test_an_edit_is_taken_in(edit: dict[str, Any]) -> None:
    council = weather()
    assert council.change(edit["words"]).refused == []
    state = council.state
    known = vars(state) | {
        "blockers": [f"{one.agent}: {one.text}" for one in state.blockers],
        "texts": [entry.text for entry in state.entries],
        "people": [*pages.labels(state).values()],
        "statuses": [one.status for one in state.participants.values()],
    }
    assert {name: known[name] for name in edit["known"]} == edit["known"]


@pytest.mark.parametrize("edit", MADE["answers"].values(), ids=MADE["answers"])
def test_an_answer_is_taken_in_wherever_it_was_typed(edit: dict[str, Any]) -> None:
    council = weather()
    assert council.change(edit["words"], (WAITS, DID)).refused == []
    assert council.texts("nova") == [edit["text"]]


@pytest.mark.parametrize("edit", MADE["refused"].values(), ids=MADE["refused"])
def test_an_edit_is_refused_and_said(edit: dict[str, Any]) -> None:
    council = weather()
    council.say("nova", SMALL)
    before = council.page
    taken = council.change(edit["words"])
    assert edit["why"] in " ".join(taken.refused)
    assert taken.events == [] and council.page == before


def test_an_answer_is_not_taken_back_by_its_status() -> None:
    taken = weather().change(("(agent:henry): RESPONDED", "(agent:henry): WAITING"))
    assert taken.refused == ["henry has answered, and cannot be set to WAITING"]
    assert taken.events == []


@pytest.mark.parametrize("line", ["- ", "", "– ", "a) ", "> - ", "| "])
@pytest.mark.parametrize("head", [True, False])
def test_an_answer_below_lines_in_another_form(line: str, head: bool) -> None:
    """It is taken in; without a heading it is nobody's, and the status does not count."""
    council = weather()
    page = answered(council.page).replace(NOVA, NOVA if head else "", 1)
    taken = council.save(page.replace("- 🌟 Nova (agent:nova)", f"{line}🌟 Nova（agent:nova）"))
    assert council.texts("nova") == [SMALL][:head] and council.state.notes == [SMALL][head:]
    assert council.state.phase == ("CHALLENGE" if head else "COLLECT") and head is not bool(
        taken.refused
    )


def test_who_is_asked_for_a_status_may_write_the_text_again() -> None:
    council = weather()
    council.say("nova", SMALL)
    said = hearing.heard(council.state, "nova", "I AGREED in May.")
    council.take(decisions.respond(council.state, "nova", said, Stated(), at=council.at))
    page = council.page.replace(WAITS, DID)
    at = page.rindex("<!--council:draft 2-nova-->") + len("<!--council:draft 2-nova-->")
    council.save(f"{page[:at]}\n\nI AGREED in May.\n\nSTATUS: AGREED\n{page[at:]}")
    told = "I AGREED in May.\n\n(Asked about what was unclear above:)\n\nSTATUS: AGREED"
    assert council.texts("nova") == [SMALL, told]
    assert council.state.participants["nova"].status == "AGREED"


def test_the_page_names_all_parts_that_are_asked_for() -> None:
    council = Council(procedure="deliberation")
    for asked in ("Position", "Position, Confidence"):
        points = "\n".join(f"- {part}: I found none." for part in asked.split(", "))
        council.state.round().asked["nova"] = f"One point.\n{points}\n\nPlease:\n\n- @sage: …"
        whole = f"{asked}: I found none." if "," not in asked else asked
        assert f"Asked again: {whole}\n" in council.page


def test_an_answer_in_two_saves() -> None:
    """The text first and then the status, or the other way round."""
    council = weather(blind=True)
    council.save(council.page.replace(NOVA, f"{NOVA}\n{SMALL}\n"))
    assert (council.state.drafts, council.texts("nova")) == ({"nova": SMALL}, [])
    council.change((WAITS, DID))
    assert council.texts("nova") == [SMALL] and council.state.drafts == {}
    council = weather()
    council.change((WAITS, DID))
    assert council.state.phase == "CHALLENGE"
    council.save(council.page.replace(NOVA, f"{NOVA}\n{SMALL}\n", 1))
    assert council.texts("nova") == [SMALL]


def test_a_draft_grows_and_stale_copies_of_it_are_joined() -> None:
    council = weather()
    council.save(council.page.replace(NOVA, f"{NOVA}\nHalf of it\n"))
    stale = council.page
    council.change(("Half of it", "Half of it, and the rest"))
    assert council.state.drafts == {"nova": "Half of it, and the rest"}
    council.save(stale.replace("Half of it", "Another half"))
    assert council.state.drafts == {"nova": "Half of it, and the rest\n\nAnother half"}
    council.save(stale)
    council.change((WAITS, DID))
    assert council.texts("nova") == ["Half of it, and the rest\n\nAnother half"]
    council.save(stale)
    assert len(council.texts("nova")) == 1


def test_a_stale_page_loses_and_doubles_nothing() -> None:
    council = Council()
    stale = council.page
    council.say("henry", "Yes, it is cheap.")
    council.say("sage", "No, nobody keeps it.")
    council.save(answered(stale))
    assert council.state.phase == "CHALLENGE" and len(council.state.entries) == 3
    council.save(answered(stale) + "\nA note\n")
    council.save(answered(stale) + "\nA note\nthat grew\n")
    assert [line for line in council.state.notes if line] == ["A note", "that grew"]
    council.save(stale.replace(NOVA, f"{NOVA}\nSomething else\n").replace(WAITS, DID))
    assert council.texts("nova") == [SMALL, "Something else"]
    assert [e.late for e in council.state.entries if e.agent == "nova"] == [False, True]
    assert council.texts("henry") == ["Yes, it is cheap."]


def test_a_note_that_grows_is_not_doubled() -> None:
    council = weather()
    place = "<!--council:notes-->\n"
    council.change((place, f"{place}\nfirst\n\nsecond\n"))
    stale = council.page
    council.change(("second", "second, longer"))
    council.save(stale.replace("first", "first\n\nbetween"))
    assert council.state.notes == ["first", "", "second, longer", "", "between"]
    council.save(stale.replace("first", "first\n\nbetween us"))
    assert council.state.notes == ["first", "", "second, longer", "", "between us"]
    council.change(("first\n", ""))
    assert "first" not in council.state.notes


def test_a_page_in_the_words_of_another_version() -> None:
    """Sentences that were ever printed are ours; all that was typed is still taken in."""
    council = weather()
    page = re.sub(
        "^No answer yet.*", "Asked again: nothing that we print", council.page, flags=re.M
    )
    page = page.replace("## Next Phase\n", "")
    taken = council.save(page, ours=False)
    assert (taken.events, taken.refused) == ([], [])
    council.save(answered(page), ours=False)
    assert council.texts("nova") == [SMALL] and council.state.notes == []


def test_marks_that_vanish_cost_nothing() -> None:
    council = weather()
    bare = re.sub(r"<!--council:(?!eof).*-->\n", "", council.page)
    taken = council.save(bare)
    assert (taken.events, taken.refused) == ([], [])
    council.save(answered(bare) + "\n<<<<<<< HEAD\n=======\n>>>>>>> side\n")
    assert council.texts("nova") == [SMALL] and council.state.notes == []


DOCUMENT = (Path(__file__).parent / "pages" / "document-000.md").read_text(encoding="utf-8")


def test_a_page_in_the_form_of_document_000_is_adopted() -> None:
    state = made.adopted(DOCUMENT)
    assert [(e.id, e.text, e.origin) for e in state.entries] == [
        ("1-henry", "Oui.\n\nUn script.", "claimed"),
        ("1-sage", "Non.", "claimed"),
        ("2-henry", "Sage a tort.", "claimed"),
    ]
    assert (state.lang, state.topic, state.brief) == ("fr", "Un bot ?", "La famille demande.")
    assert (state.phase, state.tour, state.drafts) == ("CHALLENGE", 2, {"sage": "Je commence"})
    assert [(b.agent, b.text) for b in state.blockers] == [("sage", "qui paie ?")]
    assert [p.status for p in state.participants.values()] == ["RESPONDED", "WAITING"]
    taken = kind.edits(state, state, DOCUMENT, NOW, True)
    assert (taken.events, taken.refused) == ([], [])


def test_a_copied_page_is_a_conversation_of_its_own() -> None:
    for page in (weather().page, DOCUMENT):
        state = State.from_json(kind.adopt(page, "tea")[0]["state"])
        assert state.name == "tea" and state.conversation_id not in page
        assert kind.edits(state, state, page, NOW, True).refused == []


def test_an_answer_on_a_page_that_was_put_twice_counts_once() -> None:
    council = weather()
    council.save(f"{answered(council.page)}\n{answered(council.page)}")
    assert council.texts("nova") == [SMALL] and council.state.notes == []


def test_a_clone_that_was_put_twice_or_made_bold() -> None:
    page = weather().page
    bold = mapped(r"^(#+) (.*)$", r"\1 **\2**")(page)
    for text in (f"{page}\n{page}", bold):
        got = made.adopted(text)
        assert [e.id for e in got.entries] == ["1-henry", "1-sage"]
        assert got.topic == "Should we build a weather bot?"


def test_a_changed_or_merged_clone() -> None:
    council = weather()
    other = Council()
    other.say("nova", "Words of nova.")
    mine, theirs = council.page, other.page
    start = mine.index("### 🌟 Nova")
    put = theirs[theirs.index("### 🌟 Nova") : theirs.index("## Convergence")]
    merged = mine[:start] + put + mine[mine.index("## Convergence") :]
    got = made.adopted(merged)
    assert [e.id for e in got.entries] == ["1-henry", "1-sage", "1-nova"]
    assert got.participants["nova"].status == "RESPONDED"
    council.save(merged)
    assert council.texts("nova") == ["Words of nova."]
    verified = Council()
    verified.say("henry", "Yes, it is cheap.", origin="verified")
    for text, origin in (("Yes, it is cheap.", "verified"), ("Yes, it is dear.", "claimed")):
        page = verified.page.replace("Yes, it is cheap.", text)
        assert made.adopted(page).entries[0].origin == origin


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_a_page_of_another_clone_adds_its_texts(lang: str) -> None:
    mine, other = weather(lang=lang), Council(lang=lang)
    mine.save(mine.page.replace("<!--council:notes-->", "<!--council:notes-->\n\nOurs."))
    other.say("nova", "Words of nova.\n\nBLOCKING: who pays?", status="AGREED")
    other.save(other.page.replace("<!--council:notes-->", "<!--council:notes-->\n\nTheirs."))
    page, nova = other.page, "🌟 Nova (agent:nova): AGREED"
    mine.take((taken := kind.added(mine.state, page, NOW)).events)
    assert (taken.refused, [e.status for e in mine.state.entries][2:]) == ([], ["AGREED"])
    said = [mine.state.blockers[0].text, *mine.state.notes]
    assert said == ["who pays?", "Ours.", "", "Theirs."]
    assert kind.added(mine.state, page, NOW) == Taken()
    for old, new, why in (
        ("Words of nova", "Other words", "nova: the text of round 1 was changed"),
        (nova, f"{nova}\n- 🐝 Bea (agent:bea): WAITING", "another clone has 🐝 Bea, which is"),
        ("3f2b8f2e", "00000000", "the page is that of another conversation"),
    ):
        assert why in kind.added(mine.state, page.replace(old, new), NOW).refused[0]


def test_a_clone_with_both_sides_of_a_merge_or_a_new_participant() -> None:
    line = "🌟 Nova (agent:nova): WAITING"
    both = weather().page.replace(line, f"{line}\n- {line.replace('WAITING', 'DONE')}\n- {line}")
    got = made.adopted(both.replace('"tour"', "tour"))
    assert [e.id for e in got.entries] == ["1-henry", "1-sage"] and not got.sealed()
    assert (got.participants["nova"].status, got.notes) == ("DONE", [])
    bea = weather().page.replace(line, f"{line}\n- 🐝 Bea (agent:bea): WAITING")
    assert [*made.adopted(bea).participants][-1] == "bea"


def test_other_files_are_not_adopted() -> None:
    others = ("# Title\n\nWords.", "# Active conversation: x", "<!--council-state [] -->", "{}")
    assert [page_reading.adopt(text) for text in ("", *others)] == [[]] * 5


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 9) | st.text(max_size=4) | st.just("DONE"),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=4), one, max_size=3),
    max_leaves=6,
)  # fmt: skip
KEYS = tuple(pages.block(made.challenge()))


@pytest.mark.slow
@given(st.sampled_from(KEYS), JSON, st.sampled_from((None, "stances", "at", "status", "text")))
@example("participants", {"": None}, None)
def test_a_block_of_any_shape_breaks_nothing(key: str, value: Any, inner: str | None) -> None:
    block = pages.block(made.challenge())
    if inner and isinstance(block[key], list) and block[key]:
        block[key][0] = {"id": "1-henry", inner: value}
    else:
        block[key] = value
    page = made.challenge_page()
    head, tail = page.partition("<!--council-state")[0], "-->\n\n<!--council:eof"
    text = f"{head}<!--council-state\n{json.dumps(block)}\n{tail}{page.partition(tail)[2]}"
    state = made.adopted(text)
    assert [e.id for e in state.entries] == ["1-henry", "1-sage", "2-henry"]
    taken = kind.edits(made.challenge(), made.challenge(), text, NOW, True)
    assert all(event["type"] in kind.EVENTS for event in taken.events)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["<!--council-state\n{}\n-->", "<!--council:end-->\n```\n\n-->"])
def test_a_line_that_is_deleted_or_moved_takes_no_word_of_an_answer(text: str) -> None:
    said = f"{text} first\n\nlast"
    for at in range(2, 80):
        for to in (None, at - 9, at + 1):
            council = Council()
            council.say("nova", said)
            lines = council.page.split("\n")
            line = lines.pop(at)
            if to is not None:
                lines.insert(to, line)
            council.save("\n".join(lines))
            (text_now,) = council.texts("nova")
            assert "first" in text_now and "last" in text_now, (line, to)


# Random histories with random edits

STEPS = st.lists(
    st.tuples(
        st.sampled_from(("say", "type", "type", "type", "status", "tool", "delete", "say")),
        st.integers(0, 10_000), st.integers(0, 3), made.TEXTS,
    ),
    min_size=1, max_size=8,
)  # fmt: skip


@settings(deadline=None, max_examples=25)
@given(STEPS, st.booleans(), st.sampled_from(("en", "fr")))
def test_random_edits_lose_nothing(steps: Any, blind: bool, lang: str) -> None:
    """Every typed word is in an answer, a draft, a note, or reported; no answer is lost."""
    council = Council(lang=lang, blind=blind)
    said: list[tuple[str, str]] = []
    for number, (what, place, age, text) in enumerate(steps):
        page = council.pages[max(0, len(council.pages) - 1 - age)]
        lines = page.split("\n")
        at = place % len(lines)
        word = f"zq{number}w"
        agent = list(made.FAMILY)[place % 3]
        taken = Taken()
        if what == "say":
            try:
                council.say(agent, f"{text} {word}")
                said.append((agent, word))
            except Refusal:
                word = ""
        elif what == "type":
            taken = council.save("\n".join([*lines[:at], f"{text.strip()} {word}", *lines[at:]]))
        elif what == "status":
            taken = council.save(
                page.replace(f"(agent:{agent}): WAITING", f"(agent:{agent}): DONE")
            )
        elif what == "tool":
            noted = letters("".join(council.state.notes))
            taken = council.save(list(TOOLS.values())[place % len(TOOLS)](page))
            if taken.events and not age:  # a long line of the notes was wrapped
                assert {event["type"] for event in taken.events} == {"noted"}
                assert letters("".join(council.state.notes)) == noted
        else:
            taken = council.save("\n".join([*lines[:at], *lines[at + 1 :]]))
        state = council.state
        for who, word_ in said:
            assert sum(word_ in entry.text for entry in state.entries if entry.agent == who) == 1
        last = text.strip().rpartition("\n")[2].lstrip("> ")
        if what == "type" and "<!--" not in text and last[:3] not in ("```", "~~~", "[1]"):
            kept = [e.text for e in state.entries] + list(state.drafts.values()) + state.notes
            kept += [state.topic, *(b.text for b in state.blockers)]
            assert any(word in one for one in kept) or taken.refused, (lines[at], text)
        again = kind.edits(state, state, council.page, council.at, True)
        assert (again.events, again.refused) == ([], [])
        adopted = State.from_json(kind.adopt(council.page)[0]["state"])
        assert [e.id for e in adopted.entries] == [
            e.id for e in state.entries if not state.is_sealed(e) and pages.shown(e.text, 4)
        ]
        assert letters("".join(made.adopted(council.page).notes)) == letters("".join(state.notes))
