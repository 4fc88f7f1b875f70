"""Lines of workers: read, repaired where one reading is possible, explained otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.reading_answers.protocol_lines import find_line, without_lines
from council.wire.carried import message_of
from council.wire.messages import parse
from council.wire.worker_lines import refusal_text
from council.wire.working import Said, read_output

CORPUS = Path(__file__).parent.parent / "corpus" / "worker-lines.jsonl"
CASES = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
REQUEST = message_of("M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=plan")
LINE = "M2|W1>O1|S|T1|P1|D|-|0|S1|B300|results=5"


def read(text: str, **options: str) -> Said:
    return read_output(text, REQUEST, **options)


@pytest.mark.req("HR-015")
@pytest.mark.parametrize("case", [pytest.param(one, id=one["id"]) for one in CASES])
def test_a_line_of_the_corpus_is_read_or_explained_as_it_wants(case: dict[str, Any]) -> None:
    said = read(case["text"])
    if case["want"] == "read":
        assert (said.faulty, bool(said.messages)) == ([], True)
        assert said.messages[-1].message.kind == "S"
        return
    (faulty,) = said.faulty
    assert said.messages == []
    assert faulty.said.strip() == " ".join(case["text"].split("\n")).strip()
    assert parse(faulty.right, "V5").valid
    assert faulty.right.startswith(("M2|W1>O1|S|T1|P1|D|-|0|S1|B", "M2|W1>O1|E|T1|P1|F|E33|0|S1|B"))


@pytest.mark.req("HR-015")
@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("|D|-|0", "|D|0", "it has 10 segments, and V5 has 11, ERR is missing"),
        ("|D|", "|Done|", "STATE is Done, and must be N, R, D, F, X or -"),
        ("|P1|", "|1|", "PRI is 1, and must be P0, P1, P2 or -"),
        ("=5", "=a|b", "DATA may hold no bar and no sign for greater than"),
        ("=5", "=5 > 3", "DATA may hold no bar and no sign for greater than"),
        ("|", "\t", "its segments are not parted by bars"),
    ],
)
def test_a_refusal_names_the_segment_at_fault_in_words(old: str, new: str, fault: str) -> None:
    (faulty,) = read(LINE.replace(old, new)).faulty
    assert faulty.fault == fault
    told = refusal_text(faulty.said, faulty.fault, faulty.right, "en")
    assert faulty.said in told
    assert faulty.right in told
    french = read(LINE.replace(old, new), lang="fr").faulty[0].fault
    assert french != fault


@pytest.mark.req("HR-015")
def test_each_repair_is_named_and_a_line_as_it_should_be_has_none() -> None:
    assert read(LINE).messages[0].repaired == ()
    for text, what in (
        (LINE.replace("|", " | "), "blanks around the bars"),
        (LINE.replace("|", "｜"), "other bars"),
        (LINE.replace(">", "->"), "the arrow of ROUTE"),
        (LINE.replace("S1", "s1"), "letter case"),
        (LINE.replace("|-|", "|—|"), "a dash"),
        (LINE.replace("|-|", "||"), "ERR left empty"),
        (f"- {LINE}", "marks around it"),
    ):
        (told,) = read(text).messages
        assert (told.message.data, told.repaired) == ("results=5", (what,))


@pytest.mark.req("HR-015")
def test_the_commands_that_read_lines_repair_nothing() -> None:
    for case in CASES:
        if parse(case["text"]).valid:
            assert parse(case["text"]).text == case["text"]
    assert not parse(LINE.replace("|", " | ")).valid
    assert not parse(f"**{LINE}**").valid


_WRAPS = ("{}", "`{}`", "**{}**", "- {}", "> {}", "1. {}", "| {} |", "```\n{}\n```", "Here:\n{}")
_BARS = ("|", " | ", "｜", "¦", "\u00a0|\u00a0", "\\|")
_ARROWS = (">", "->", " > ", "→", "&gt;", "⇒")


@pytest.mark.req("HR-015")
@given(
    st.sampled_from(_WRAPS),
    st.sampled_from(_BARS),
    st.sampled_from(_ARROWS),
    st.sampled_from(("-", "—", "–", "")),
    st.booleans(),
)
def test_any_mixture_of_slips_is_read_as_the_one_line_that_it_means(
    wrap: str, bar: str, arrow: str, dash: str, small: bool
) -> None:
    *head, data = LINE.replace("|-|", f"|{dash}|").replace(">", arrow).split("|")
    if small:
        head = [one if "&" in one else one.lower() for one in head]
    said = read(wrap.format(bar.join([*head, data])))
    (told,) = said.messages
    assert told.message == read(LINE).messages[0].message


@pytest.mark.req("HR-015")
@given(st.integers(0, 9), st.sampled_from(("Done", "x y", "ok!", "E999", "(none)")))
def test_a_word_in_the_place_of_a_segment_is_never_guessed(place: int, word: str) -> None:
    segments = LINE.split("|")
    segments[place] = word
    said = read("|".join(segments))
    assert said.messages == []
    assert len(said.faulty) == 1


@pytest.mark.req("HR-016")
@pytest.mark.parametrize(
    ("text", "kind", "data"),
    [
        ("S results=5", "S", "results=5"),
        ("**C question=Which?;options=a,b**", "C", "question=Which?;options=a,b"),
        ("Sorry.\n\n- E33 desc=no such file", "E", "desc=no such file"),
        ("U: progress=50%", "U", "progress=50%"),
        ("s results=5", "S", "results=5"),
        ("S All five of them.", "S", "All five of them."),
        ("E33 file not found", "E", "file not found"),
        ("C Which one?", "C", "Which one?"),
    ],
)
def test_the_short_form_is_read_from_every_worker(text: str, kind: str, data: str) -> None:
    told = read(text).messages[-1].message
    assert (told.kind, told.data, told.task, told.context) == (kind, data, "T1", "S1")


@pytest.mark.req("HR-016")
@pytest.mark.parametrize(
    "words",
    [
        "C is a language.",
        "A result follows.\nS is the first letter.",
        "X marks the spot",
        "U turns are forbidden",
        "See you.",
        "| M2 | 8 cores | 10 GPU | 24 GB | 100 GB/s |",
    ],
)
def test_sentences_that_begin_with_a_letter_are_mere_words(words: str) -> None:
    assert read(words) == Said(words=words)


@pytest.mark.req("HR-016")
def test_lines_behind_a_result_belong_to_it_until_a_blank_line_or_a_fence() -> None:
    for first in (LINE.replace("results=5", "result=Three:"), "S result=Three:"):
        said = read(f"{first}\n- one\n- a | b > c\n\nBye")
        assert (said.messages[0].whole, said.words) == ("Three:\n- one\n- a | b > c", "Bye")
        fenced = read(f"Look:\n```\n{first}\n- one\n```\nBye")
        assert fenced.messages[0].whole == "Three:\n- one"
    marks = read("S result=a|b > c").messages[0]
    assert marks.whole == "a|b > c"


@pytest.mark.req("HR-017")
@pytest.mark.parametrize("case", [pytest.param(one, id=one["id"]) for one in CASES])
def test_no_text_for_people_holds_a_line_of_the_protocol(case: dict[str, Any]) -> None:
    for text in (case["text"], f"See:\n{case['text']}", f"It said {case['text']}"):
        shown = without_lines(text)
        assert not [line for line in shown.split("\n") if find_line(line)], shown


@given(st.text(alphabet="M1W>O|`*-S \nB=", max_size=200))
def test_any_text_is_read_and_what_is_shown_of_it_holds_no_line(text: str) -> None:
    read(text)
    assert not [one for one in without_lines(text).split("\n") if find_line(one)]


def test_hostile_lines_are_read_in_linear_time() -> None:
    for piece in ("M1|", "W1>O1|", "**", "> - ", "`M1|O1>W1|", "|" * 9, "M2|W1>O1|S|"):
        read(piece * (19_000 // len(piece)))
        without_lines(f"{piece * 500}\n" * 20)
