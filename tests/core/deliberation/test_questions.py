"""What waits for words: questions to participants and to people, and guidance."""

from __future__ import annotations

import pytest

from council.core.conversations.answers import inject
from council.core.conversations.conversation import Conversation
from council.core.conversations.machine import advance
from council.core.deliberation.questions import asked_questions, guidance, open_to_people
from tests.core.conversations.samples import HOUR, MINUTE, NOW, convened
from tests.core.deliberation.test_deliberation import debate, form, say, types_of


def asked_by_claude(question: str = "@glm, can you pay?") -> Conversation:
    """Return a deliberation in which claude asked, and gpt has spoken: glm has the floor."""
    state = debate(rules={"max_rounds": 5})
    state = say(state, "claude", form(position=f"Ship it. {question}")).state
    return say(state, "gpt", form({"claude": "agree"})).state


def spoken(*lines: str) -> str:
    said = "\n".join(lines)
    return (
        f"## Position\nWait.\n\n## Responses to Others\n{said}\n\n"
        "## Reasoning\nOne reason.\n\n## Confidence\n4\n"
    )


@pytest.mark.req("DL-016", "HR-024")
@pytest.mark.parametrize(
    ("lines", "is_answered"),
    [
        (["- @claude: partial — up to 5000 euros"], True),
        (["- @claude: agree\n  We can pay half of it."], True),
        (["- @claude: we can pay half of it"], True),
        (["- @gpt: agree — so @claude gets its money"], False),
        (["- @gpt: agree"], False),
        (["- @claude: partial"], False),
        (["- @claude: disagree — disagree."], False),
        (["- @claude: No."], False),
        (["- @claude: agree — yes"], False),
        (["- @claude: agree", "- @claude: agree — half of it, in May"], True),
    ],
)
def test_a_question_is_answered_by_words_to_its_asker_and_by_no_stance_alone(lines, is_answered):
    state = asked_by_claude()
    (question,) = asked_questions(state)
    assert (question.asker, question.asked, question.tour) == ("claude", "glm", 1)
    assert question.text.endswith("@glm, can you pay?")
    assert question.answered == 0

    state = say(state, "glm", spoken(*lines)).state

    assert asked_questions(state)[0].answered == int(is_answered)


@pytest.mark.req("DL-016", "HR-024")
def test_words_in_the_reasoning_that_speak_to_the_asker_answer_it():
    said = form({"claude": "partial"}, reasoning="First a reason.\n\n@claude: half of it, in May.")
    state = say(asked_by_claude(), "glm", said).state
    assert asked_questions(state)[0].answered == 1


@pytest.mark.req("HR-024")
def test_what_was_said_in_the_same_round_without_hearing_the_question_is_no_answer():
    state = debate(sealed_phases=True, rules={"max_rounds": 5})
    state = say(state, "claude", form(position="Ship. @glm, can you pay?")).state
    state = say(state, "glm", spoken("- @claude: agree — I like what you say")).state
    state = say(state, "gpt", form()).state
    assert state.tour == 2
    assert [one.answered for one in asked_questions(state)] == [0]


@pytest.mark.req("HR-024")
def test_a_question_to_people_waits_until_they_answer_its_asker():
    state = debate(rules={"max_rounds": 5})
    step = say(state, "claude", form(position="Ship it. @human, what is the budget?"))
    assert "person.asked" in types_of(step)
    (told,) = [one for one in step.events if one.type == "person.asked"]
    assert (told.agent, told.data["entry"]) == ("claude", "1-claude")
    assert told.data["text"].endswith("@human, what is the budget?")

    (question,) = open_to_people(step.state)
    assert (question.asker, question.asked) == ("claude", "human")
    other = inject(step.state, "Faster.", author="ann", now=NOW + MINUTE, target="gpt").state
    assert open_to_people(other) == [question], "that was said to another one"
    for target in ("", "claude"):
        answered = inject(other, "5000.", author="ann", now=NOW + MINUTE, target=target).state
        assert open_to_people(answered) == []
        assert asked_questions(answered)[0].answered == 1


@pytest.mark.req("HR-024")
def test_a_question_to_people_in_a_council_waits_and_shows_only_when_the_seal_is_open():
    state = convened("claude", "gpt", "glm", sealed_phases=True)
    asking = say(state, "claude", "I would ship.\n\n@human, what is the budget?")
    assert "person.asked" not in types_of(asking)
    assert open_to_people(asking.state) == []

    later = NOW + 10 * HOUR
    opened = advance(asking.state, later)
    assert "person.asked" in types_of(opened)
    assert [one.asker for one in open_to_people(opened.state)] == ["claude"]

    said = inject(opened.state, "5000.", author="", now=later).state
    assert open_to_people(said) == []


@pytest.mark.req("HR-024")
@pytest.mark.parametrize(
    "text",
    [
        "> @human, what is the budget?\n\nThat is what gpt asks.",
        "The log says:\n\n```\n@human, what is the budget?\n```\n\nNothing else.",
        "I asked @human about the budget.",
        "Who is human? Write to @humanity.",
    ],
)
def test_what_asks_nobody_waits_for_no_person(text):
    step = say(convened("claude", "gpt", sealed_phases=False), "claude", text)
    assert "person.asked" not in types_of(step)
    assert open_to_people(step.state) == []


@pytest.mark.req("HR-024")
def test_a_participant_that_is_called_like_the_people_is_asked_itself():
    state = debate("claude", "human", rules={"max_rounds": 3})
    step = say(state, "claude", form(position="Ship it. @human, what is the budget?"))
    assert "person.asked" not in types_of(step)
    assert open_to_people(step.state) == []
    assert [one.asked for one in asked_questions(step.state)] == ["human"]


@pytest.mark.req("DL-085", "HR-025")
def test_guidance_in_mid_round_is_acknowledged_by_each_and_answered_by_the_one_it_is_for():
    state = say(debate(rules={"max_rounds": 2}), "claude", form()).state
    state = inject(state, "Mind the budget.", author="ann", now=NOW + MINUTE).state
    state = inject(state, "You pay?", author="ann", now=NOW + MINUTE, target="glm").state

    everybody = ("claude", "gpt", "glm")
    assert [one.missing for one in guidance(state)] == [everybody, everybody]
    state = say(state, "gpt", form({"claude": "agree", "human": "acknowledged"})).state
    state = say(state, "glm", form({"claude": "agree", "gpt": "agree"})).state
    assert state.tour == 2, "an acknowledgement that is missing holds up nobody"
    assert [str(one.kind) for one in state.entries] == [
        "contribution", "injection", "injection", "contribution", "contribution",
    ]  # fmt: skip
    for one in guidance(state):
        assert (one.acknowledged, one.missing) == ({"gpt": 1}, ("claude", "glm"))

    state = say(state, "gpt", form({"claude": "agree", "glm": "agree"})).state
    answer = spoken("- @claude: agree", "- @gpt: agree", "- @ann: acknowledged")
    state = say(state, "glm", answer).state
    state = advance(state, state.timeout_at).state  # what was said at once is open now
    for_all, for_glm = guidance(state)
    assert (for_all.missing, for_glm.missing) == (("claude",), ("claude",))
    assert for_glm.answered == 0, "an acknowledgement alone is no answer"
    assert for_glm.waits_for("glm")
    assert not for_all.waits_for("glm")


@pytest.mark.req("HR-025", "DL-085")
def test_the_one_whom_guidance_is_for_answers_it_in_words():
    state = say(debate(rules={"max_rounds": 2}), "claude", form()).state
    state = inject(state, "You pay?", author="ann", now=NOW + MINUTE, target="gpt").state
    said = spoken("- @claude: agree", "- @human: acknowledged — we pay half of it")
    state = say(state, "gpt", said).state
    (one,) = guidance(state)
    assert (one.answered, one.acknowledged, one.missing) == (1, {"gpt": 1}, ("claude", "glm"))
    assert not one.waits_for("gpt")
    assert one.waits_for("glm"), "all acknowledge it"
