"""The benchmark of answers: what counts as right, wrong and lost, and its bounds."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmarks import answers
from benchmarks.answer_readers import Heard
from benchmarks.answers import KINDS, LOST, RIGHT, WRONG, Case, judge, missed_bounds, read_corpus

CASE = Case(
    "turn-1",
    "turn",
    "…",
    {"position": "Build it in May.", "@ann": "agree", "@bob": None, "confidence": 4},
)
READ = {"position": "Build it in May.", "@ann": "agree", "confidence": 4}


def without(name: str) -> dict[str, object]:
    return {part: value for part, value in READ.items() if part != name}


@pytest.mark.req("HR-031")
@pytest.mark.parametrize(
    ("parts", "outcome", "named"),
    [
        (READ, RIGHT, []),
        (without("@ann"), LOST, ["@ann lost"]),
        (without("confidence"), LOST, ["confidence lost"]),
        (without("position"), LOST, ["position lost"]),
        ({**READ, "@ann": "partial"}, WRONG, ["@ann wrong"]),
        ({**READ, "@bob": "agree"}, WRONG, ["@bob wrong"]),
        ({**READ, "@cid": "agree"}, WRONG, ["@cid wrong"]),
        ({**READ, "confidence": 5}, WRONG, ["confidence wrong"]),
        ({**without("@ann"), "confidence": 5}, WRONG, ["@ann lost", "confidence wrong"]),
        ({**READ, "position": "Sell it."}, WRONG, ["position wrong"]),
    ],
)
def test_an_answer_is_right_only_with_all_its_parts_and_nothing_else(parts, outcome, named):
    found = judge(CASE, Heard(parts, is_asked=True))

    assert (found.outcome, found.parts) == (outcome, named)


@pytest.mark.req("HR-031")
@pytest.mark.parametrize(
    "before, after",
    [
        ("Here is my turn for round one. ", ""),
        ("My position: ", ""),
        ("I think ", ""),
        ("**", "**"),
        ("[", "]"),
        ("", " The figures of last year are good."),
        ("", "\n\n---"),
        ("", "\nThe figures are good"),
        ("", " </think>"),
    ],
)
def test_a_position_with_any_other_text_is_wrong(before: str, after: str):
    position = f"{before}{READ['position']}{after}"
    assert judge(CASE, Heard({**READ, "position": position})).outcome == WRONG


@pytest.mark.req("HR-031")
def test_a_line_that_is_refused_is_lost_and_one_that_is_made_up_is_wrong():
    read = Case("line-1", "worker line", "…", {"read as": "read"})
    explained = replace(read, expected={"read as": "explain"})

    assert judge(read, Heard({"read as": "explain"})).outcome == LOST
    assert judge(explained, Heard({"read as": "read"})).outcome == WRONG
    assert judge(explained, Heard({"read as": "explain"})).outcome == RIGHT


@pytest.mark.req("HR-031")
def test_each_bound_is_missed_by_what_it_forbids():
    clear = replace(CASE, expected={"confidence": 4})
    right, lost = (judge(clear, Heard(parts)) for parts in ({"confidence": 4}, {}))
    wrong = judge(clear, Heard({"confidence": 5}))
    asked, unasked = (judge(CASE, Heard(READ, is_asked=is_asked)) for is_asked in (True, False))

    assert missed_bounds([right] * 97 + [lost] * 3 + [asked]) == []
    assert missed_bounds([right] * 96 + [lost] * 4) == [
        "96.0 % of the clear ones right, 97 % have to be"
    ]
    assert missed_bounds([right] * 99 + [wrong]) == ["1 read wrong, none may be"]
    assert missed_bounds([right, unasked]) == ["1 unclear ones are not asked about: turn-1"]


def test_without_a_reader_every_answer_is_lost():
    found = judge(replace(CASE, expected={"position": None}), None)

    assert (found.outcome, found.is_unasked) == (LOST, True)


def test_the_whole_corpus_is_read_and_each_kind_has_its_row():
    cases = read_corpus()

    assert {one.kind for one in cases} == set(KINDS)
    rows = answers.table([judge(one, answers.hear(one)) for one in cases])
    assert [row[0] for row in rows] == ["kind", *KINDS, "all"]
    assert int(rows[-1][1]) == len(cases) == sum(int(row[1]) for row in rows[1:-1])


@pytest.mark.req("HR-031")
def test_figures_are_printed_and_kept_and_a_missed_bound_is_a_failure(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(answers, "KEPT", tmp_path / "ANSWERS.md")
    text = "## Position\nYes.\n\n## Responses to Others\n- @claude: agree\n- @gpt: agree\n\n"
    (tmp_path / "worker-lines.jsonl").write_text("")
    for stated, code in (("4", 0), ("5", 1)):
        (tmp_path / "answers.jsonl").write_text(
            json.dumps(
                {
                    "id": "turn-1",
                    "kind": "turn",
                    "text": f"{text}## Confidence\n{stated}\n",
                    "expected": {
                        "position": "Yes.",
                        "stances": {"claude": "agree", "gpt": "agree"},
                        "confidence": 4,
                    },
                }
            )
        )
        assert answers.main(tmp_path) == code

        said = capsys.readouterr()
        kept = (tmp_path / "ANSWERS.md").read_text()
        if code:
            assert "MISSED: 1 read wrong, none may be" in said.err
            assert "- turn-1: confidence wrong" in kept
        else:
            assert "| turn | 1 | 1 | 0 | 0 | 0 | 0 |" in kept
            assert "All kept" in kept
