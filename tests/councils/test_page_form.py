"""The page of a conversation: its exact form, and that no text of others changes its structure."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from council.councils import page, page_reading
from council.councils.model import State
from council.kernel import page as grammar
from tests.councils import pages_made as made

FOLDER = Path(__file__).parent / "pages"
STATES = {
    "challenge-en": made.challenge(), "challenge-fr": made.challenge("fr"),
    "blind-en": made.blind(), "deliberation-fr": made.deliberation("fr"),
}  # fmt: skip


@pytest.mark.parametrize("name", STATES)
def test_the_page_has_its_form(name: str) -> None:
    """Compare with the recorded page; a line `…` stands for lines that are free."""
    lines = page.render(STATES[name]).split("\n")
    at = 0
    for line in (FOLDER / f"{name}.md").read_text(encoding="utf-8").split("\n"):
        if line.strip() == "…":
            continue
        found = lines.index(line, at)
        assert found == at or lines[found - 1][:1] in (" ", "{"), line
        at = found + 1
    assert at == len(lines)


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_our_lines_are_narrow_and_the_block_is_json(state: State) -> None:
    text = page.render(state)
    ours = text.partition("<!--council-state")[0].split("\n")
    assert [line for line in ours if len(line) > 72 and line[:1] not in "><"] == []
    (start,) = [n for n in range(len(text)) if text.startswith("<!--council-state", n)]
    block = text[start + len("<!--council-state") : text.rindex("\n-->\n\n<!--council:eof")]
    assert json.loads(block) == page.block(state)
    assert not set(block) & set("<>&")
    assert grammar.revision(text) == (state.rev, state.mark)


def test_what_is_cut_ends_as_formatters_leave_it() -> None:
    assert page.cut("word " * 9, 20) == "word word word..."
    assert page.cut("Wait… no", 20) == "Wait... no"


def test_a_participant_without_an_emoji_is_an_item_that_formatters_leave_alone() -> None:
    state = made.challenge()
    state.participants["henry"].emoji = ""
    assert "\n- Henry (agent:henry): " in page.render(state)


def test_what_is_sealed_is_nowhere_on_the_page() -> None:
    for state in (made.blind(), made.deliberation()):
        assert "SEALED" not in page.render(state)
    blind = made.blind()
    blind.blockers = made.challenge().blockers[:]
    blind.blockers[0].tour = 1
    assert "who pays" not in page.render(blind)


@given(made.TEXTS, made.TEXTS)
def test_a_text_changes_nothing_around_it(text: str, line: str) -> None:
    """Every Markdown program sees our headings, and no HTML or image but our marks."""
    if grammar.shown(text, 4):
        harmless = made.hostile("x", "y")
        assert outline(page.render(made.hostile(text, line))) == outline(page.render(harmless))


def outline(text: str) -> list[tuple[str, str]]:
    found = []
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for token, after in zip(tokens, [*tokens[1:], tokens[0]], strict=True):
        if token.type == "heading_open" and token.level == 0:
            found.append((token.tag, "" if token.tag == "h1" else after.content))
        if token.type == "html_block":
            found.append(("mark", token.content.split()[0]))
        for part in token.children or []:
            if part.type in ("html_inline", "image"):
                found.append((part.type, part.content))
    return found


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_an_adopted_page_gives_the_state_again(state: State) -> None:
    got = made.adopted(page.render(state))
    visible = [entry for entry in state.entries if not state.is_sealed(entry)]
    assert [e.id for e in got.entries] == [e.id for e in visible]
    assert [e.origin for e in got.entries] == [e.origin for e in visible]
    shown = [[grammar.shown(e.text, 4) for e in those] for those in (got.entries, visible)]
    assert shown[0] == shown[1]
    for entry, one in zip(visible, got.entries, strict=True):
        assert (one.heard.position, one.kind) == (entry.heard.position, entry.kind)
    expected = state.copy()
    for ident in [e.agent for e in state.entries if state.is_sealed(e)]:
        one = expected.participants[ident]
        one.status, one.origin = "WAITING", ""  # what was sealed is lost: it is asked again
    names = "topic brief participants notes drafts phase tour timeout_at"
    for name in names.split():
        assert getattr(got, name) == getattr(expected, name), name
    assert [r.to_json() for r in got.rounds] == [r.to_json() for r in state.rounds]
    assert got.config == state.config


@pytest.mark.slow
@given(made.TEXTS, made.TEXTS)
def test_a_hostile_page_is_adopted(text: str, line: str) -> None:
    state = made.hostile(text, line)
    got = made.adopted(page.render(state))
    assert grammar.digest(grammar.shown(got.brief, 3)) == grammar.digest(grammar.shown(text, 3))
    seen = [grammar.digest(grammar.shown(e.text, 4)) for e in state.entries]
    assert [grammar.digest(grammar.shown(e.text, 4)) for e in got.entries] == (
        seen if grammar.shown(text, 4) else []
    )


def test_every_sentence_was_recorded_as_printed() -> None:
    """A sentence that changes has to stay in the list: pages of earlier versions have it."""
    sentences, starts = page_reading.printed()
    for lang in ("en", "fr"):
        texts = page.texts(lang)
        names = "notes.hint hint draft textless textless.over sealed vote.hint absent"
        for key in names.split():
            assert page_reading.letters(texts[key]) in sentences, texts[key]
        for key in ("absent.why", "quotation", "again"):
            assert texts[key].partition("{}")[0].strip() in starts, texts[key]
    assert page.texts("en").keys() == page.texts("fr").keys()


def test_a_large_page_is_made_quickly() -> None:
    import cProfile
    import pstats

    state = made.challenge()
    state.entries = [
        made.said("sage", 1, f"# Position\n\nIt is number {n}, see above.", id=f"1-sage{n}")
        for n in range(1000)
    ]
    profile = cProfile.Profile()
    profile.runcall(page.render, state)
    assert pstats.Stats(profile).total_calls < 400 * len(state.entries)  # type: ignore[attr-defined]
