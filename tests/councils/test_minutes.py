"""The minutes: the decision first, dissent in its own words, all that was said, nothing made up."""

import json
import re
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from council.archive import minutes as archive
from council.councils import decisions, minutes
from council.councils.model import Heard, Quote, Stance, State
from council.kernel import times
from council.runs.work import Runs
from tests.councils.play import Play

AT = "2026-11-28T18:00:00Z"
HEADINGS = {
    "Decision", "Why", "Dissent", "Open blockers", "Questions left unanswered", "Statuses",
    "Not heard", "Sign-off", "Brief", "Notes", "Not taken in", "Use",
}  # fmt: skip


def written(state: State) -> tuple[dict[str, Any], str]:
    return minutes.minutes(state.copy(ended_at=state.ended_at or AT))


def council(*statuses: str, **more: Any) -> Play:
    """A council whose participants end with these statuses; "" never answers."""
    play = Play("council", "a,b,c", **more)
    play.all_say()
    while play.state.phase != "SYNTHESIZE":
        tour = play.state.tour
        for agent, status in zip("abc", statuses, strict=True):
            if status and play.state.phase != "SYNTHESIZE":
                blocks = status.startswith("!")
                text = f"{agent} says no{play.state.tour}."
                heard = Heard(blockers=["who pays?"]) if blocks else Heard()
                play.says(agent, text, heard=heard, status=status.strip("!"))
        play.later(70 if play.state.tour == tour else 1)
    return play


def ended(play: Play, text: str = "## Decision\n\nTake tiles.", **heard: str) -> State:
    if play.state.phase == "SYNTHESIZE" and text:
        said = Heard(recommendation="Take tiles.", **heard)
        play.says("a", text, heard=said)
    play.later(300)
    return play.state


def deliberated(votes: dict[str, tuple[str, dict[str, str]]], **more: Any) -> Play:
    play = Play("deliberation", ",".join(votes), order="parallel", max_rounds=1, **more)
    for _ in range(2):
        for agent, (position, stances) in votes.items():
            words = {p: Stance(word=w, comment=f"{w} indeed") for p, w in stances.items()}
            vote, why = play.state.phase == "VOTE", f"The beams hold, says {agent}."
            heard = Heard(position=position, confidence=4, stances=words, unchanged=vote,
                          reasoning="They held in May." if vote else why)  # fmt: skip
            play.says(agent, f"{position} ({agent}, {play.state.phase})", heard=heard)
    return play


ELSE = "The winning option is the decision."
SOFT = {
    "a": ("Tiles.", {"b": "agree", "c": "disagree"}),
    "b": ("Tiles. They outlast three roofs of tin.", {"a": "agree", "c": "disagree"}),
    "c": ("Tin.", {"a": "disagree", "b": "disagree"}),
}


def agreed() -> State:
    state = ended(council("AGREED", "AGREED", "AGREED"), consensus="All like tiles.")
    return state.copy(brief="The roof leaks.")


def blocked(lang: str = "en") -> State:
    """A council of which there is all to tell that minutes can have."""
    play = Play("council", mode="prd", lang=lang)
    play.do(decisions.say, "The shop is closed in June.", "anna")
    asks = Heard(questions={"b": "who pays?", "human": "what is the budget?"})
    play.says("a", "Tiles?", heard=asks, origin="verified")
    false = Heard(quotations=[Quote(text="the *cloud*", of="b")])
    play.says("c", "> the *cloud*\n\nTin.", heard=false, cut_off="length")
    play.later(61)
    play.says("b", "Too late.", task="c-1.1.b.1")
    for heard in (Heard(blockers=["who pays?"]), Heard()):
        play.says("a", status="AGREED")
        play.says("b", status="AGREED")
        play.says("c", heard=heard)
    notes = ["Ask legal. <!--council:end-->"]
    return ended(play).copy(notes=notes, kept_aside=["page-3.md"])


MADE = {
    "agreed-en": agreed, "blocked-en": blocked, "blocked-fr": partial(blocked, "fr"),
    "soft-en": lambda: ended(deliberated(SOFT)),
}  # fmt: skip


def part(body: str, heading: str) -> str:
    """The text below a heading of level 2."""
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |^<!--council-state)", body, re.M | re.S)
    return found[1].strip() if found else ""


@pytest.mark.parametrize("name", MADE)
def test_minutes_have_their_form(name: str, tmp_path: Path) -> None:
    front, body = written(MADE[name]())
    path = archive.write(str(tmp_path), front, body, front["date"])
    made = Path(path).read_text(encoding="utf-8").partition("\n<!--council-state")[0]
    recorded = Path(__file__).parent / "pages" / f"minutes-{name}.md"
    assert made == recorded.read_text(encoding="utf-8")


def test_an_agreement_that_was_set_on_the_page_is_said_to_be() -> None:
    play = Play("council", "a,b,c")
    play.all_say()
    by_hand = {"agent": "c", "status": "AGREED", "origin": "edited", "at": play.state.updated_at}
    play.take([{"type": "status.set", **by_hand}])
    for agent in "ab":
        play.says(agent, status="AGREED")
    body = written(ended(play))[1]
    assert "\n- Agreed: A, B, C\n" in body and "not by their own answer: C\n" in body


def test_the_state_block_gives_the_whole_conversation_back() -> None:
    state = ended(council("AGREED", "AGREED", "!RESPONDED"))
    front, body = written(state)
    block = body[body.index("<!--council-state\n") :].removeprefix("<!--council-state\n")
    data = json.loads(block.removesuffix("\n-->\n"))
    again = State.from_json(data)
    assert set(again.extra) == {"schemaVersion", "currentPhase", "decision", "frontMatter"}
    again.extra = {}
    assert again == state
    assert data["frontMatter"] == front and data["decision"] == "Take tiles."


@pytest.mark.parametrize(
    ("advice", "is_same"),
    [("Tiles.", True), ("TILES", True), ("Tiles: order them in May.", True), ("Tin.", False),
     ("Tiles, but in May.", False), ("The roof gets tiles.", False)],
)  # fmt: skip
def test_a_synthesis_that_recommends_otherwise_is_said_to(advice: str, is_same: bool) -> None:
    play = deliberated(SOFT)
    play.says("a", f"## Recommendation\n{advice}", heard=Heard(recommendation=advice))
    made = part(written(ended(play, ""))[1], "Decision").split("\n\n")
    quoted = ["The synthesis by A recommends:", f"> {advice}", ELSE]
    assert made == ["> Tiles.", "The text of the winning option.", *quoted[: 3 * (not is_same)]]


def test_nothing_is_decided_without_a_winner() -> None:
    votes = {who: (f"{who}!", {p: "disagree" for p in "abc" if p != who}) for who in "abc"}
    front, body = written(ended(deliberated(votes)))
    assert front["title"].startswith("No consensus: ") and front["outcome"] == "no-consensus"
    assert part(body, "Decision") == "Nothing was decided."
    assert not part(body, "Dissent") and front["decision"] == ""


def test_outcomes() -> None:
    for statuses, outcome in (
        (("AGREED", "AGREED", "AGREED"), "consensus"),
        (("AGREED", "!AGREED", "AGREED"), "partial"),
        (("AGREED", "RESPONDED", "RESPONDED"), "no-consensus"),
    ):
        assert written(council(*statuses, mode="prd").state)[0]["outcome"] == outcome
    play = Play("council")
    for _ in range(6):
        play.later(70)
    front, body = written(play.state)
    assert (front["outcome"], front["title"]) == ("timeout", "Unfinished — Tiles or tin?")
    assert "no decision is recorded" in part(body, "Decision")
    for said in ("", "a"):
        play = Play("council", "a,b")
        assert not said or play.says(said) == "recorded"
        assert [bool(play.do(decisions.stop, now=True)) for _ in "ab"] == [True, False]
        front, _ = written(play.state)
        assert (front["outcome"], front["title"]) == ("no-consensus", "Stopped — Tiles or tin?")
    play = Play("council", phases=["COLLECT", "SYNTHESIZE"])
    for one in play.claim():
        play.says("a") if one.agent == "a" else play.fails(one, "refused-key")
    play.says("a", "Tiles.", heard=Heard(recommendation="Tiles."))
    front, body = written(play.state)
    assert "All phases were completed." in body and "Nobody declared" in front["title"]
    play = Play("council")
    play.do(decisions.cancel, reason="Too *early*.")
    front, body = written(play.state)
    assert (front["outcome"], front["title"]) == ("cancelled", "Cancelled — Tiles or tin?")
    assert "It was cancelled: Too \\*early\\*." in body


def test_who_all_failed_are_named_with_their_words_and_nothing_is_agreed() -> None:
    play = Play("council", "a,b")
    while not play.state.ended_at:
        for one in play.claim():
            play.fails(one, "refused-key")
        play.later(30)
    front, body = written(play.state)
    assert front["outcome"] == "nobody-left"
    assert not re.search("agreed|consensus", front["title"], re.I)
    assert part(body, "Not heard").startswith("A: NO RESPONSE (refused-key): it refused-key")


@pytest.mark.parametrize(
    ("word", "said", "outcome", "title"),
    [("approved", "anna approved it.", "consensus", "All 3 agreed"),
     ("rejected", "anna rejected it: too loud", "no-consensus", "Rejected"),
     ("", "anna gave no answer before the deadline.", "timeout", "Unfinished")],
)  # fmt: skip
def test_sign_off(word: str, said: str, outcome: str, title: str) -> None:
    play = council("AGREED", "AGREED", "AGREED", sign_off="anna")
    play.says("a", "Tiles.", heard=Heard(recommendation="Tiles."))
    play.state.signed, play.state.signed_why = word, "too loud"
    front, body = written(play.state)
    assert (part(body, "Sign-off"), front["outcome"]) == (said, outcome)
    assert front["title"].startswith(title)


@pytest.mark.parametrize(
    ("runs", "usd", "lines"),
    [(Runs(count=2, unpriced=2), None, ["Runs: 2", "Tokens: not reported", "Cost: not reported"]),
     (Runs(count=3, tokens=1200, estimated=300, usd=0.12, unpriced=1), 0.12,
      ["Runs: 3", "Tokens: 1200, of which 300 are estimated", "Cost: $0.1200",
       "Runs that reported no cost: 1"]),
     (Runs(count=1, tokens=5, usd=1.5), 1.5, ["Runs: 1", "Tokens: 5", "Cost: $1.5000"]),
     (Runs(), 0, ["Runs: 0"])],
)  # fmt: skip
def test_use_says_what_was_not_reported(runs: Runs, usd: float, lines: list[str]) -> None:
    state = ended(council("AGREED", "AGREED", "AGREED"))
    state.runs = runs
    front, body = written(state)
    assert part(body, "Use").split("\n- ")[1:] == lines
    assert (front["used"]["runs"], front["used"]["usd"]) == (runs.count, usd)


PIECES = [
    *"#>-`*_[]<>!|\\ \n\t",
    *("## Decision", "\n---\n", "<!--council:end-->", "<!--council-state\n{}\n-->", "</details>"),
    *("<script>", "[x]: y", "1. ", "a", "é", "---\noutcome: x\n", "```\n", "{x}"),
]
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@settings(max_examples=75, deadline=None)
@given(HOSTILE, HOSTILE, HOSTILE)
def test_no_text_becomes_ours(one: str, two: str, note: str) -> None:
    state = council("AGREED", "!RESPONDED", "RESPONDED", mode="prd").state
    state.entries = [entry.copy(text=one + entry.text + two) for entry in state.entries]
    state.topic, state.brief, state.blockers[0].text = one + "?", two, one
    state.participants["a"].name = two or "A"
    heard = Heard(position=one, quotations=[Quote(text=two)])
    state.entries[0] = state.entries[0].copy(heard=heard)
    state.notes = note.split("\n")
    state.entries.append(state.entries[0].copy(id="9-a", kind="synthesis", text=two))
    _, body = written(state)
    headings = re.findall(r"^#{1,2} (.*)$", body, re.M)
    assert {h for h in headings[1:] if not re.match(r"Round \d: |Synthesis$", h)} <= HEADINGS
    assert len(re.findall(r"^<!--council-state$", body, re.M)) == 1
    marks = len(re.findall(r"<!--council:(?:entry|brief)", body))
    assert body.count("<!--council:end-->") == marks
    assert not re.search(r"^outcome:", body, re.M)


def test_minutes_go_through_the_archive(tmp_path: Path) -> None:
    long = "Take tiles. " * 80
    play = council("AGREED", "AGREED", "!RESPONDED", mode="prd")
    play.says("a", long, heard=Heard(recommendation=long))
    state = ended(play, "")
    front, body = written(state)
    assert front["decision"].endswith("…")
    path = archive.write(str(tmp_path), front, body, front["date"])
    row = archive.rows(str(tmp_path), "tiles says")[0]
    assert (row["decision"], row["outcome"], row["used"]) == (long, "partial", front["used"])
    assert State.from_json(archive.block(path)).entries == state.entries
    assert archive.rows(str(tmp_path), "frontmatter") == []
    assert times.instant(row["endedAt"]) >= times.instant(state.created_at) + timedelta(minutes=1)


def test_diversity() -> None:
    said = (["a b", "a B"], ["a b", "c d"], ["a b", "b c", ""], [])
    assert [*map(minutes.diversity, said)] == [0.0, 1.0, 0.667, 0.0]
