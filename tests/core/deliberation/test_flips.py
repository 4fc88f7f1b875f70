"""The flip log: who changed its mind, towards whom, whether it said why; and collapses."""

from __future__ import annotations

import pytest

from council.core.deliberation.flips import Flip, collapses, flips
from council.core.deliberation.played import Played
from tests.core.deliberations import all_say, of_stances, of_texts, played, turn

THREE = ("claude", "gpt", "glm")
FOUR = (*THREE, "nova")
NAMES = {"Maître Blaise": "gpt", "participant b": "glm"}
RUST = "Rust is the best choice for a service that must not crash."
GO = "Take Go, because everybody here already writes it well."


def changed(**said: object) -> Flip:
    """Return the one flip of an agent that went over from RUST to GO, saying `said`."""
    history = [
        played(1, {"claude": turn({}, RUST), "gpt": turn({}, GO), "glm": turn({}, GO)}),
        played(2, {"claude": turn({}, GO, **said), "gpt": turn({}, GO), "glm": turn({}, GO)}),
    ]
    (flip,) = flips(history, NAMES)
    return flip


@pytest.mark.req("DL-098")
def test_a_history_without_a_change_of_mind_has_no_flips():
    history = [
        played(1, {agent: turn({}, RUST) for agent in THREE}, blind=True),
        of_stances(2, THREE, all_say("partial", THREE)),
        played(3, {agent: turn({}, "", reasoning="Nothing new.") for agent in THREE}),
        of_stances(4, THREE, all_say("partial", THREE), vote=True),
    ]
    for number, one in enumerate(history):
        for each in one.turns.values():
            each.position = RUST.upper() if number % 2 else ""
    assert flips(history, NAMES) == []
    assert collapses(history, THREE) == []


@pytest.mark.req("DL-098")
def test_a_changed_stance_is_on_record_with_round_from_to_and_reason():
    history = [
        of_stances(1, THREE, {"gpt": {"claude": "disagree"}, "glm": {"claude": "partial"}}),
        of_stances(2, THREE, {"glm": {"claude": "partial"}}),
        played(
            3,
            {
                "gpt": turn({"claude": "agree"}, comments={"claude": "Your figures hold."}),
                "glm": turn({"claude": "disagree"}),
            },
        ),
    ]
    assert flips(history, {}) == [
        Flip(
            tour=3,
            agent="gpt",
            kind="stance",
            towards="claude",
            before="disagree",
            after="agree",
            reasoned=True,
        ),
        Flip(
            tour=3,
            agent="glm",
            kind="stance",
            towards="claude",
            before="partial",
            after="disagree",
            reasoned=False,
        ),
    ]


@pytest.mark.req("DL-098")
def test_a_stance_flip_is_reasoned_by_a_comment_or_by_naming_that_peer():
    def reasoned(others: dict[str, str] | None = None, **said: object) -> bool:
        history = [
            of_stances(1, THREE, {"gpt": {"claude": "disagree"}}),
            played(2, {"gpt": turn({"claude": "agree", **(others or {})}, **said)}),
        ]
        return flips(history, NAMES)[-1].reasoned

    assert reasoned(comments={"claude": "Your figures hold."})
    assert reasoned(reasoning="As @claude shows, it holds.")
    assert not reasoned()
    assert not reasoned(comments={"claude": "  "})
    assert not reasoned({"glm": "agree"}, comments={"glm": "Your figures hold."})
    assert not reasoned(reasoning="As participant B shows, it holds.")
    assert not reasoned(reasoning="> @claude: it holds\n\nYes.")


def moved(*rounds: Played) -> list[tuple[int, str, bool]]:
    """Return round, agent and `peer_moved` of each flip of a stance."""
    found = [one for one in flips(rounds, {}) if one.kind == "stance"]
    return [(one.tour, one.agent, one.peer_moved) for one in found]


@pytest.mark.req("DL-098")
def test_a_flip_towards_a_peer_that_has_moved_is_not_suspect():
    first = played(1, {"claude": turn({}, RUST), "gpt": turn({"claude": "disagree"}, GO)})
    agreed = turn({"claude": "agree"}, GO)
    stayed = played(2, {"claude": turn({}, RUST + " Still."), "gpt": agreed})
    changed = played(2, {"claude": turn({}, GO), "gpt": agreed})
    assert moved(first, stayed) == [(2, "gpt", False)]
    assert moved(first, changed) == [(2, "gpt", True)]
    assert [one.is_suspect for one in flips([first, stayed], {})] == [True]
    own, towards = flips([first, changed], {})
    assert (own.kind, own.peer_moved, own.is_suspect) == ("position", False, True)
    assert (towards.reasoned, towards.is_suspect) == (False, False)


@pytest.mark.req("DL-098")
def test_a_peer_counts_as_moved_only_by_what_was_to_be_seen():
    first = played(1, {"claude": turn({}, RUST), "gpt": turn({"claude": "disagree"}, GO)})
    agreed = {"gpt": turn({"claude": "agree"}, GO)}
    claude = {"claude": turn({}, GO)}
    assert moved(first, played(2, {**agreed, **claude})) == [(2, "gpt", False)]
    assert moved(first, played(2, {**claude, **agreed}, vote=True)) == [(2, "gpt", False)]
    assert moved(first, played(2, claude, blind=True), played(3, agreed)) == [(3, "gpt", True)]


@pytest.mark.req("DL-098")
def test_a_peer_that_moved_before_the_stance_was_confirmed_explains_nothing():
    rounds = [
        played(1, {"claude": turn({}, RUST), "gpt": turn({"claude": "disagree"}, GO)}),
        played(2, {"claude": turn({}, GO), "gpt": turn({"claude": "disagree"}, GO)}),
        played(3, {"claude": turn({}, ""), "gpt": turn({"claude": "agree"}, GO)}),
    ]
    assert moved(*rounds) == [(3, "gpt", False)]
    silent = [rounds[0], played(2, {"claude": turn({}, GO)}), rounds[2]]
    assert moved(*silent) == [(3, "gpt", True)]


@pytest.mark.req("DL-098")
def test_a_new_position_is_on_record_with_whom_it_cites():
    flip = changed(reasoning="I take the point of @glm, and claude before was wrong.")
    assert (flip.tour, flip.agent, flip.kind, flip.towards) == (2, "claude", "position", "")
    assert (flip.before, flip.after) == (RUST, GO)
    assert (flip.cites, flip.reasoned) == (("glm",), True)
    assert not changed(reasoning="On second thought.").reasoned


@pytest.mark.req("DL-098")
@pytest.mark.parametrize(
    ("reasoning", "cites"),
    [
        ("@gpt, yes.", ("gpt",)),
        ("(@GPT)", ("gpt",)),
        ("**gpt** is right", ("gpt",)),
        ("Maître Blaise is right", ("gpt",)),
        ("@maître blaise is right, and Participant B too", ("gpt", "glm")),
        ("gpt-4 said so", ()),
        ("chatgpt said so", ()),
        ("a non-gpt, pre_gpt view", ()),
        ("mail gpt_old", ()),
        ("write to me@gpt", ("gpt",)),
        ("> @gpt: wait\n\nOn second thought.", ()),
        ("```\n@gpt\n```\nOn second thought.", ()),
        ("~~~~\n@gpt\n~~~\n@glm\n~~~~\nOn second thought.", ()),
        ("```\ncode\n```\n@glm convinced me.", ("glm",)),
    ],
)
def test_a_citation_is_a_name_of_its_own_outside_quotations(reasoning: str, cites: tuple[str, ...]):
    assert changed(reasoning=reasoning).cites == cites


@pytest.mark.req("HR-021", "DL-098")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("We should ship on Friday.", "We should not ship on Friday."),
        ("Il faut livrer vendredi.", "Il ne faut pas livrer vendredi."),
    ],
)
def test_a_negation_is_a_change_of_position(before: str, after: str):
    history = [of_texts(1, {"claude": before}), of_texts(2, {"claude": after})]
    assert [(one.kind, one.after) for one in flips(history, {})] == [("position", after)]


@pytest.mark.req("HR-021", "DL-098")
@pytest.mark.parametrize(
    ("reasoning", "cites", "is_moved"),
    [
        ("I was moved by @glm here.", ("glm",), True),
        ("Thanks to @glm, I see the cost.", ("glm",), True),
        ("Thanks to @glm: why should we wait?", ("glm",), True),
        ("@glm convinced me.", ("glm",), True),
        ("Convaincu par @glm, je change d'avis.", ("glm",), True),
        ("@glm m'a convaincu.", ("glm",), True),
        ("Moved by the figures that @glm gave.", ("glm",), True),
        ("I am not moved by @glm.", ("glm",), False),
        ("@glm did not convince me, but time did.", ("glm",), False),
        ("@glm is right.", ("glm",), False),
        ("@glm, what does it cost?", (), False),
        ("@glm, would you\naccept that?", (), False),
        ("Go is known here.\n\n- @glm: is that so?\n- It is cheap.", (), False),
        ("Is it so, @glm? As @gpt says, it is.", ("gpt",), False),
    ],
)
def test_credit_is_given_in_words_and_a_question_gives_none(
    reasoning: str, cites: tuple[str, ...], is_moved: bool
):
    flip = changed(reasoning=reasoning)
    assert (flip.cites, flip.reasoned, flip.peer_moved) == (cites, bool(cites), is_moved)


@pytest.mark.req("HR-021", "DL-098")
def test_a_position_that_says_who_moved_it_names_that_peer():
    after = GO + " I was moved by @glm, moved by @glm alone."
    history = [of_texts(1, {"claude": RUST, "glm": GO}), of_texts(2, {"claude": after})]
    (flip,) = flips(history, {})
    assert (flip.cites, flip.peer_moved, flip.is_suspect) == (("glm",), True, False)


@pytest.mark.req("HR-021")
def test_a_stance_is_moved_by_the_peer_that_is_credited_and_by_no_other():
    def is_moved(reasoning: str) -> bool:
        history = [
            of_stances(1, THREE, {"gpt": {"claude": "disagree"}}),
            played(2, {"gpt": turn({"claude": "agree"}, reasoning=reasoning)}),
        ]
        return flips(history, NAMES)[-1].peer_moved

    assert is_moved("Moved by @claude.")
    assert not is_moved("Moved by @glm.")


@pytest.mark.req("DL-098")
def test_a_comment_may_cite_too():
    history = [
        played(1, {"claude": turn({}, RUST), "gpt": turn({}, GO), "glm": turn({}, GO)}),
        played(
            2,
            {
                "claude": turn(
                    {"gpt": "agree", "glm": "agree"}, GO, comments={"gpt": "You and @glm say it."}
                )
            },
        ),
    ]
    assert flips(history, {})[0].cites == ("glm",)


def test_a_name_of_one_or_two_letters_is_cited_by_its_mark_alone():
    def cites(text: str) -> tuple[str, ...]:
        history = [
            played(1, {"a": turn({}, RUST), "bb": turn({}, GO)}),
            played(2, {"bb": turn({}, RUST, reasoning=text), "a": turn()}),
        ]
        return flips(history, {})[0].cites

    assert cites("This is a reason.") == ()
    assert cites("This is a reason of @a.") == ("a",)


@pytest.mark.req("DL-098")
def test_positions_are_compared_with_the_last_one_that_was_given():
    texts = [RUST, "", GO, GO + " Really.", RUST]
    history = [of_texts(number, {"claude": text}) for number, text in enumerate(texts, start=1)]
    assert [(one.tour, one.before) for one in flips(history, {})] == [
        (3, RUST),
        (5, GO + " Really."),
    ]


@pytest.mark.req("DL-098")
def test_a_position_that_keeps_half_of_its_words_is_the_same_one():
    def kinds(before: str, after: str) -> list[str]:
        history = [of_texts(1, {"claude": before}), of_texts(2, {"claude": after})]
        return [one.kind for one in flips(history, {})]

    assert kinds("one two three four", "one two five six") == []
    assert kinds("one two three four five", "one two six seven eight") == ["position"]


@pytest.mark.req("DL-098")
def test_what_was_stated_behind_the_seal_cannot_be_flipped():
    history = [
        of_stances(1, THREE, all_say("agree", THREE), blind=True),
        of_stances(2, THREE, all_say("disagree", THREE)),
    ]
    assert flips(history, {}) == []


@pytest.mark.req("DL-098")
def test_all_who_stood_apart_agreeing_at_once_is_a_collapse():
    support = {"claude": {"gpt": "agree"}}
    apart = {**support, "glm": {"gpt": "disagree"}, "nova": {"gpt": "partial"}}
    joined = {**support, "glm": {"gpt": "agree"}, "nova": {"gpt": "agree"}}
    history = [
        of_stances(1, FOUR, apart),
        of_stances(2, FOUR, apart),
        of_stances(3, FOUR, joined),
        of_stances(4, FOUR, joined, vote=True),
    ]
    assert collapses(history, FOUR) == [3]
    assert [flip.agent for flip in flips(history, {})] == ["glm", "nova"]


@pytest.mark.req("DL-098")
def test_one_mover_one_left_apart_or_two_rounds_are_no_collapse():
    support = {"claude": {"gpt": "agree"}}
    apart = {**support, "glm": {"gpt": "disagree"}, "nova": {"gpt": "partial"}}
    one_left = {**support, "glm": {"gpt": "agree"}, "nova": {"gpt": "partial"}}
    joined = {**support, "glm": {"gpt": "agree"}, "nova": {"gpt": "agree"}}
    first, half, last = (
        of_stances(tour, FOUR, matrix) for tour, matrix in enumerate((apart, one_left, joined), 1)
    )
    assert collapses([first, half], FOUR) == []
    assert collapses([first, half, last], FOUR) == []
    assert collapses([first, last], THREE) == []


@pytest.mark.req("DL-098")
def test_a_first_word_after_silence_is_no_collapse():
    history = [of_stances(1, THREE, {}), of_stances(2, THREE, all_say("agree", THREE))]
    assert collapses(history, THREE) == []


@pytest.mark.req("DL-098")
def test_who_is_missing_and_disagreed_still_stands_apart():
    apart = all_say("disagree", FOUR) | {"claude": {"gpt": "agree"}}
    history = [
        of_stances(1, FOUR, apart),
        of_stances(2, THREE, {"claude": {"gpt": "agree"}, "glm": {"gpt": "agree"}}),
    ]
    assert collapses(history, FOUR) == []
    with_nova = of_stances(2, FOUR, {"glm": {"gpt": "agree"}, "nova": {"gpt": "agree"}})
    assert collapses([history[0], with_nova], FOUR) == [2]


@pytest.mark.req("DL-098")
def test_the_reference_of_a_collapse_is_the_one_above_the_floor():
    views = {"a": {"c": "disagree"}, "b": {"a": "agree", "c": "disagree"}, "d": {"c": "agree"}}
    sure = {"a": 1, "b": 3, "c": 3, "d": 3}
    before = {one: turn(views.get(one), confidence=sure[one]) for one in sure}
    after = {one: turn({"c": "agree"}, confidence=3) for one in ("a", "b", "d")}
    history = [played(1, before), played(2, after)]
    assert collapses(history, "abcd") == []
    assert collapses(history, "abcd", floor=2) == [2]


@pytest.mark.req("DL-098")
def test_all_taking_the_position_of_the_blind_majority_at_once_is_a_collapse():
    agents = ("a", "b", "c", "d", "e")
    sealed = {"a": "Yes.", "b": "yes", "c": "YES!", "d": "No.", "e": "Only in spring."}
    blind = of_texts(1, sealed, blind=True)
    talk = of_texts(2, {"a": "Yes.", "d": "No.", "e": "Rather in autumn."})
    assert collapses([blind, talk, of_texts(3, dict.fromkeys(agents, "Yes"))], agents) == [3]
    one_by_one = [of_texts(2, {"d": "Yes."}), of_texts(3, {"e": "Yes."})]
    assert collapses([blind, *one_by_one], agents) == []
    assert collapses([blind, of_texts(2, {"d": "Yes.", "e": "No."})], agents) == []
    swapped = of_texts(2, {"a": "No.", "d": "Yes.", "e": "Yes."})
    assert collapses([blind, swapped], agents) == []


@pytest.mark.req("DL-098")
def test_without_a_blind_round_or_a_largest_group_positions_do_not_collapse():
    agents = ("a", "b", "c", "d")
    split = {"a": "Yes.", "b": "Yes.", "c": "No.", "d": "No."}
    after = of_texts(2, dict.fromkeys(agents, "Yes."))
    assert collapses([of_texts(1, split, blind=True), after], agents) == []
    most = {**split, "e": "Yes."}
    assert collapses([of_texts(1, most), after], (*agents, "e")) == []
    assert collapses([of_texts(1, most, blind=True), after], (*agents, "e")) == [2]
    assert collapses([], agents) == []
