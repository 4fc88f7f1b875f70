"""What a text quotes, and whether it was said."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from council.core.conversations.quotations import MAX_QUOTATIONS, Heard, Quotation
from council.core.reading_answers.cleaning import may_quote
from tests.examples import examples, one_in
from tests.timing import assert_cheap

HENRY = "We should build it.\nThe data is free, and — as I said — “nobody” else does it."
SAGE = "Wait one season before anything is decided."
SAID = [("", "The brief gives us one week."), ("henry", HENRY), ("sage", SAGE)]

WORD = st.text(alphabet="abcdefgh", min_size=3, max_size=8)
SENTENCE = st.lists(WORD, min_size=4, max_size=12).map(" ".join)


def check_quotations(text: str, said: list[tuple[str, str]], **options) -> list[Quotation]:
    return Heard(said).check(text, len(said), **options)


def found(text: str, **options: dict[str, str]) -> list[tuple[str, str, str]]:
    return [(one.text, one.of, one.found) for one in check_quotations(text, SAID, **options)]


@pytest.mark.req("DL-103", "C0-049")
def test_exact_words_under_the_name_of_their_author_are_found():
    assert found("@henry\n> The data is free\n\nIt is not.") == [
        ("The data is free", "henry", "found")
    ]


@pytest.mark.req("DL-103")
def test_invented_words_are_missing():
    assert found("@henry\n> The data costs a fortune") == [
        ("The data costs a fortune", "henry", "missing")
    ]


@pytest.mark.req("DL-103")
def test_words_of_another_agent_are_missing_under_the_wrong_name():
    assert found("@sage\n> The data is free") == [("The data is free", "sage", "missing")]


@pytest.mark.req("DL-103")
@pytest.mark.parametrize(
    "quoted",
    [
        "the  DATA is\n> free",
        'The data is free, and - as I said - "nobody" else does it.',
        "The **data** is free.",
        "We should build it. […] as I said — “nobody” else",
        "We should build it. The data is free",
    ],
)
def test_other_white_space_case_marks_or_marked_elisions_are_near(quoted: str):
    assert [one[1:] for one in found(f"@henry\n> {quoted}")] == [("henry", "near")]


@pytest.mark.req("DL-103")
def test_part_of_a_word_is_not_what_was_said():
    said = [("ann", "I disagree with all of this."), ("bo", "我们应该建立天气机器人")]
    text = "@ann\n> agree with all of this\n\n@ann\n> I disagree with all\n\n@bo\n> 应该建立天气"
    assert [one.found for one in check_quotations(text, said)] == ["missing", "found", "found"]


def test_an_unattributed_block_is_looked_for_in_everybody_and_in_the_brief():
    assert found("> Wait one season\n\n> one week\n\n> never said") == [
        ("Wait one season", "sage", "found"),
        ("one week", "", "found"),
        ("never said", "", "missing"),
    ]


def test_a_block_may_be_signed_below_or_in_its_last_line():
    assert found("> Wait one season\n— @sage\n\n> Wait one season\n> — @henry") == [
        ("Wait one season", "sage", "found"),
        ("Wait one season", "henry", "missing"),
    ]


@pytest.mark.parametrize("opening, closing", [('"', '"'), ("“", "”"), ("« ", " »"), ("„", "“")])
def test_words_between_quotation_marks_belong_to_the_agent_named_before(opening, closing):
    text = f"“Not a quotation of anybody” but @sage: {opening}Wait one season{closing}, hm."
    assert found(text) == [("Wait one season", "sage", "found")]


def test_a_name_inside_a_quotation_does_not_take_over_what_follows():
    said = [("henry", "I asked @sage about all of it."), ("sage", "x")]
    text = '@henry: "I asked @sage about all of it" and "this was never said"'
    assert [(one.of, one.found) for one in check_quotations(text, said)] == [
        ("henry", "found"),
        ("henry", "missing"),
    ]


def test_scare_quotes_and_unknown_names_are_no_quotations():
    assert found('@sage: a "so called" bot. @nobody: "these are many words here"') == []
    assert found('@nobody: "these are many words here" and an e-mail me@sage "a b c d e f g"') == []


@pytest.mark.req("HR-022", "DL-103")
@pytest.mark.parametrize(
    "text",
    [
        '@henry, would you accept "functions in the package" as the wording?',
        '@henry: would you accept "functions in the package" as the wording?',
        '@henry: agree — I would say "functions in the package" here.',
        '@henry, I propose "functions in the package" as the wording.',
        '@henry said it well. Mine is "functions in the package" then.',
        '@henry, "functions in the package" is what I would write.',
        '@henry: partial — but "functions in the package" reads better.',
        'I propose "functions in the package". @henry, do you agree?',
        'I propose "functions in the package" — @henry, do you agree?',
        "@henry, accepterais-tu « functions in the package » comme formule ?",
        "@henry, würdest du „functions in the package“ als Satz annehmen?",
        ">5 ms is slow, @henry",
        ">= 5 ms is slow, @henry",
    ],
)
def test_an_own_proposal_in_marks_is_no_quotation(text: str):
    assert found(text) == []


@pytest.mark.req("HR-022", "DL-103")
@pytest.mark.parametrize(
    "text",
    [
        '@henry: "the data is a gift"',
        '@henry "the data is a gift"',
        '**@henry** — "the data is a gift"',
        '@henry\'s "the data is a gift" is wrong.',
        'As @henry said, "the data is a gift".',
        '@henry wrote that "the data is a gift", and I doubt it.',
        '"The data is a gift" (@henry) is wrong.',
        '"The data is a gift", as @henry wrote.',
        '"The data is a gift" — @henry',
        "Comme @henry dit : « the data is a gift ».",
        "@henry schrieb: „the data is a gift“.",
        "@Jean Luc: “the data is a gift”",
        "@henry\n> the data is a gift",
        "@henry\n>\n> the data is a gift",
    ],
)
def test_words_in_marks_beside_the_name_credited_with_them_are_a_quotation(text: str):
    names = {"Jean Luc": "henry"}
    assert [(one.casefold(), *rest) for one, *rest in found(text, names=names)] == [
        ("the data is a gift", "henry", "missing")
    ]


def test_display_names_stand_for_their_agents():
    names = {"Jean Luc": "henry"}
    assert found("@Jean Luc, you say\n> The data is free", names=names)[0][1:] == (
        "henry",
        "found",
    )


def test_code_quotes_nobody():
    assert found("```\n> npm install\n```") == []


@given(before=SENTENCE, words=SENTENCE, after=SENTENCE)
@settings(max_examples=examples(60), deadline=None)
def test_every_literal_passage_is_found(before: str, words: str, after: str):
    said = [("ann", f"{before} {words}. {after}")]
    for text in (f"@ann\n> {words}", f"@ann: “{words}”", f"> {words}"):
        quotation = check_quotations(text, said)[-1]
        assert (quotation.text, quotation.of, quotation.found) == (words, "ann", "found")


@given(said=SENTENCE, words=SENTENCE)
@settings(max_examples=examples(60), deadline=None)
def test_words_with_one_that_was_not_said_are_missing(said: str, words: str):
    quotation = check_quotations(f"@ann\n> {words} zzz", [("ann", said)])[0]
    assert quotation.found == "missing"


@given(text=st.text(alphabet='@an >"“”„«»\n-—`~#1.é[…]', max_size=200))
@settings(max_examples=examples(150), deadline=None)
def test_any_text_is_taken_and_every_passage_stands_in_it(text: str):
    for quotation in check_quotations(text, [("a", "an"), ("an", text)]):
        for line in quotation.text.split("\n"):
            assert line.strip() in text


@pytest.mark.parametrize(
    "piece",
    one_in(
        3,
        [">", ">\n", "«", '"', "„a“", "„a”", "@a ", "@", "@a: “b ", "```\n", "> b c\n\n", "1. x\n"],
    ),
)
def test_half_a_mebibyte_of_marks_takes_no_longer_than_it_is_long(piece: str):
    text = "@a " + piece * (2**19 // len(piece))

    def check() -> None:
        assert len(check_quotations(text, [("a", text)])) <= MAX_QUOTATIONS

    assert_cheap(check, within_s=8)


@given(text=st.text(alphabet='ab @henry">“”„«»\n.', max_size=60))
@settings(max_examples=examples(150))
def test_a_text_without_a_mark_of_quotation_quotes_nobody(text: str):
    assert may_quote(text) or check_quotations(text, SAID) == []
