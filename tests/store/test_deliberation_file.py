"""The file of a deliberation: a section a round, who has the floor, drafts, the verdict."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from council.core.conversations import answers, machine, steering
from council.core.conversations.conversation import Conversation, Participant
from council.core.conversations.due import due_agents
from council.core.conversations.procedures import Rules
from council.core.errors import CouncilError
from council.store.statefile import statefile
from council.store.statefile.claims import findings, remarks
from council.store.statefile.marks import section_key
from tests.examples import examples
from tests.store.debates import AGENTS, HOUR, NOW, debate, passed, round_of, spoken, turn

HOSTILE = (
    "## Responses - Phase DELIBERATE, round 2",
    "### Gpt",
    "*(has the floor: write below, then set the status)*",
    "*(no answer: timeout)*",
    "- Speaker: Gpt",
    "- @gpt: disagree — no",
    "<!--council:end-->",
    "<!--council:entry id=1-gpt tour=1 sha256=0000000000000000 told=1-->",
    "[Tour 1]: not a round",
    "a\r\nb",
    "",
)
TEXTS = st.lists(
    st.sampled_from(HOSTILE) | st.text(st.characters(blacklist_categories=["Cs"]), max_size=8),
    min_size=1,
    max_size=4,
).map("\n".join)
STANCES = st.dictionaries(
    st.sampled_from(AGENTS), st.sampled_from(("agree", "partial", "disagree", "so-so"))
).map(lambda one: " ".join(f"{agent}={stance}" for agent, stance in one.items()))
DEEDS = st.tuples(
    st.sampled_from(("owed", "owed", "owed", "any", "time", "inject", "stop", "done")),
    st.sampled_from(AGENTS),
    STANCES,
    TEXTS,
    st.sampled_from((1, 4, 9, "")),
)


def headings(text: str) -> list[str]:
    return [
        line
        for line in text.split("\n")
        if line.startswith(("## Responses -", "## Réponses -", "### "))
    ]


def line(text: str, label: str) -> str:
    return next(one for one in text.split("\n") if one.startswith(f"- {label}:"))


def done(state: Conversation, deed: tuple[str, str, str, str, object], at: int) -> Conversation:
    how, agent, stances, text, confidence = deed
    now = NOW + timedelta(minutes=at)
    if how == "time":
        return passed(state, state.timeout_at)
    if how == "inject":
        return answers.inject(state, text or "!", author="eve", now=now).state
    if how == "stop":
        return steering.stop(state, now).state
    if how == "owed":
        agent, text = (
            (*due_agents(state), agent)[0],
            turn(stances, position=text, confidence=confidence),
        )
    status = "done" if how == "done" else "responded"
    step = answers.respond(state, agent, text, now=now, nonce="n" * 32, status=status)
    return machine.advance(step.state, now).state


@st.composite
def deliberations(draw: st.DrawFn) -> Conversation:
    """A deliberation of three in which anything was done, well and badly."""
    state = debate(
        sealed_phases=draw(st.booleans()),
        lang=draw(st.sampled_from(("en", "fr"))),
        order=draw(st.sampled_from(("", "fixed", "shuffle", "parallel"))),
        rules=Rules(max_rounds=draw(st.integers(1, 3)), extra={"mood": [1]}),
        coordinator=draw(st.sampled_from(("", "eve"))),
        titles=draw(st.dictionaries(st.sampled_from(("h:phase:DELIBERATE/1", "h:brief")), TEXTS)),
        participants={
            agent: Participant(id=agent, name=draw(st.sampled_from(("", "Bot", "a\nb"))))
            for agent in AGENTS
        },
    )
    for at, deed in enumerate(draw(st.lists(DEEDS, max_size=10))):
        try:
            state = done(state, deed, at)
        except CouncilError:
            continue
    return state


@settings(max_examples=examples(150))
@given(deliberations())
@pytest.mark.req("XC-010", "DL-056", "DL-053")
def test_what_is_read_is_what_was_written(state: Conversation):
    text = statefile.render(state)
    back, page = statefile.load(text, "file")
    assert back == state.copy(sealed={})
    assert statefile.render(back, page) == text
    assert page.faults == []
    assert page.gaps == {}
    if any(one.sealed for one in state.participants.values()):
        assert not {one.agent for one in back.entries if one.tour == state.tour} & {*state.sealed}
        assert state.entries or "One reason." not in text


@pytest.mark.req("DL-021", "DL-053", "DL-002")
def test_each_round_has_its_section_and_shows_who_spoke_in_that_order():
    state = round_of(debate(rules=Rules(stability=False)), "partial")
    state = spoken(state, "gpt", "claude=partial glm=partial")
    assert headings(statefile.render(state)) == [
        "## Responses - Phase DELIBERATE, round 1",
        "### Claude",
        "### Gpt",
        "### Glm",
        "## Responses - Phase DELIBERATE, round 2",
        "### Gpt",
        "### Glm",
        "### Claude",
    ]


@pytest.mark.req("DL-021")
def test_who_was_passed_over_stands_behind_those_who_spoke_and_says_why():
    state = passed(debate(), NOW + HOUR)
    text = statefile.render(state)
    assert headings(text)[1:] == ["### Gpt", "### Glm", "### Claude"]
    assert "### Claude\n*(was passed over: timeout; may answer until the round closes)*\n" in text
    state = spoken(spoken(state, "gpt"), "glm", "gpt=disagree")
    text = statefile.render(state)
    assert headings(text)[:4] == [
        "## Responses - Phase DELIBERATE, round 1",
        "### Gpt",
        "### Glm",
        "### Claude",
    ]
    assert "### Claude\n*(no answer: timeout)*\n" in text


def test_vote_and_synthesis_have_one_section_in_the_form_of_every_phase():
    state = round_of(round_of(debate()))
    text = statefile.render(state)
    assert state.phase == "SYNTHESIZE"
    assert [one for one in headings(text) if one.startswith("##")][-8:] == [
        "## Responses - Phase VOTE",
        "### Claude",
        "### Gpt",
        "### Glm",
        "## Responses - Phase SYNTHESIZE",
        "### Claude",
        "### Gpt",
        "### Glm",
    ]


@pytest.mark.req("XC-012")
@pytest.mark.parametrize(
    ("heading", "key"),
    [
        ("Responses - Phase DELIBERATE, round 2", "h:phase:DELIBERATE/2"),
        ("réponses – phase deliberate, TOUR 12", "h:phase:DELIBERATE/12"),
        ("Responses - Phase [DELIBERATE] round 2", "h:phase:DELIBERATE/2"),
        ("Responses - Phase DELIBERATE, round two", ""),
        ("Responses - Phase DELIBERATE, round 99999999999", ""),
        ("Responses - Phase VOTE", "h:phase:VOTE"),
    ],
)
def test_heading_of_a_round_is_read_in_both_languages_and_any_case(heading: str, key: str):
    assert section_key(heading) == key


@pytest.mark.req("DL-021")
@pytest.mark.parametrize(
    ("lang", "label", "until", "floor", "later"),
    [
        ("en", "Speaker", "until", "has the floor", "speaks later"),
        ("fr", "Parole à", "jusqu'au", "a la parole", "parle plus tard"),
    ],
)
def test_file_says_who_has_the_floor_until_when_and_who_comes_after(
    lang: str, label: str, until: str, floor: str, later: str
):
    state = spoken(debate(lang=lang), "claude")
    text = statefile.render(state)
    assert line(text, label) == f"- {label}: Gpt, {until} 2026-02-08T21:00:00Z"
    assert f"### Gpt\n*({floor}" in text
    assert f"### Glm\n*({later}" in text
    actions = line(text, "Required actions" if lang == "en" else "Actions requises")
    assert f"Gpt {floor}" in actions
    assert actions.endswith("Glm")
    assert statefile.parse(text).lang == lang


@pytest.mark.req("DL-021")
def test_nobody_has_the_floor_where_all_speak_at_once():
    for state in (debate(sealed_phases=True), round_of(debate()), debate(order="parallel")):
        text = statefile.render(state)
        assert "- Speaker:" not in text
        assert "has the floor" not in text


@pytest.mark.req("DL-097")
def test_sealed_first_round_shows_that_an_answer_is_there_and_not_which():
    state = spoken(debate(sealed_phases=True), "gpt", position="My secret.")
    text = statefile.render(state)
    assert "My secret." not in text
    assert headings(text)[1:] == ["### Claude", "### Gpt", "### Glm"]
    assert "### Gpt\n*(sealed until the round closes)*\n" in text
    state = spoken(spoken(state, "glm"), "claude")
    text = statefile.render(state)
    assert text.count("My secret.") == 1
    assert text.index("round 1") < text.index("My secret.") < text.index("round 2")
    assert "sealed until" not in text


@pytest.mark.req("DL-013", "DL-015")
@pytest.mark.parametrize(
    ("lang", "asked", "drafted"),
    [
        (
            "en",
            "*(asked once more (no confidence from 1 to 5; no response to claude): write the "
            "whole answer anew below)*",
            "*Gpt, round 1: first answer; asked once more, it answered anew*",
        ),
        (
            "fr",
            "*(redemandée (pas de confiance de 1 à 5; pas de réponse à claude) : récrire toute "
            "la réponse ci-dessous)*",
            "*Gpt, tour 1 : première réponse ; redemandée, elle est récrite ensuite*",
        ),
    ],
)
def test_who_is_asked_again_reads_what_is_missing_and_its_first_answer_becomes_a_draft(
    lang: str, asked: str, drafted: str
):
    state = spoken(spoken(debate(lang=lang), "claude"), "gpt", position="First.", confidence="")
    text = statefile.render(state)
    assert text.index("First.") < text.index(asked) < text.index("### Glm")
    state = spoken(state, "gpt", "claude=agree", position="Second.")
    text = statefile.render(state)
    assert asked not in text
    assert text.index(drafted) < text.index("First.") < text.index("Second.")
    back, _ = statefile.load(text, "file")
    assert [(one.kind, one.id) for one in back.entries if one.agent == "gpt"] == [
        ("draft", "1-gpt"),
        ("contribution", "1-gpt-2"),
    ]
    assert back == state


@pytest.mark.req("DL-097", "DL-013")
def test_draft_of_a_sealed_round_is_revealed_with_the_answer():
    state = spoken(debate(sealed_phases=True), "gpt", position="First.", confidence=9)
    assert "*(sealed, and asked once more: write" in statefile.render(state)
    state = spoken(state, "gpt", position="Second.")
    assert "First." not in statefile.render(state)
    text = statefile.render(spoken(spoken(state, "glm"), "claude"))
    assert text.index("first answer; asked") < text.index("First.") < text.index("Second.")


@pytest.mark.req("DL-045", "DL-047", "DL-002")
@pytest.mark.parametrize(
    ("stance", "said"),
    [
        ("agree", "strong; with Claude 3 agree, 0 partly, 0 disagree, 0 absent of 3; 2 needed"),
        ("partial", "none; with Claude 1 agree, 2 partly, 0 disagree, 0 absent of 3; 2 needed"),
        ("disagree", "none; with Claude 1 agree, 0 partly, 2 disagree, 0 absent of 3; 2 needed"),
    ],
)
def test_convergence_shows_the_last_verdict_with_its_counts(stance: str, said: str):
    state = debate()
    assert line(statefile.render(state), "Convergence detected").endswith(": not judged yet")
    state = round_of(state, stance)
    assert (
        line(statefile.render(state), "Convergence detected") == f"- Convergence detected: {said}"
    )
    french = statefile.render(state.copy(lang="fr"))
    kind = {"strong": "consensus fort", "none": "aucun"}[said.partition(";")[0]]
    assert line(french, "Convergence détectée").startswith(f"- Convergence détectée: {kind} ; avec")


@pytest.mark.req("DL-025")
def test_next_action_tells_of_the_vote_and_of_the_end_of_the_rounds():
    voting = statefile.render(round_of(debate()))
    assert line(voting, "Required actions").endswith(": votes of Claude, Gpt, Glm; then SYNTHESIZE")
    state = spoken(debate(), "claude")
    state.status = type(state.status).TIMEOUT
    said = line(statefile.render(state), "Required actions")
    assert said.endswith(": the rounds are over: council heartbeat goes on to VOTE")


def test_lines_of_a_deliberation_are_free_text_in_a_council():
    state = debate(
        procedure="council", phases=("COLLECT", "SYNTHESIZE"), phase="COLLECT", rules=None
    )
    text = statefile.render(state.copy(session_id=""))
    for mine in ("- Speaker: the chair", "*(no answer: yet)*"):
        noted = text.replace("## Brief", f"{mine}\n\n## Brief")
        back, page = statefile.load(noted, "file")
        assert f"\n{mine}\n" in statefile.render(back, page)


@pytest.mark.req("XC-104")
def test_council_that_speaks_in_order_says_who_has_the_floor():
    state = debate(
        *AGENTS,
        procedure="council",
        phases=("CHALLENGE", "SYNTHESIZE"),
        phase="CHALLENGE",
        rules=None,
        session_id="",
        order="fixed",
    )
    text = statefile.render(state)
    assert "### Claude\n*(has the floor" in text
    assert line(text, "Required actions").endswith(": Claude has the floor; then Gpt, Glm")
    back, page = statefile.load(text, "file")
    assert (back, page.gaps) == (state, {})


@pytest.mark.req("DL-013", "DL-015", "DL-016")
def test_check_tells_of_turns_that_lack_something_and_finds_nothing_wrong():
    state = spoken(spoken(debate(), "claude"), "gpt", confidence=9)
    state_file = statefile.parse(statefile.render(state))
    assert findings(state, state_file) == []
    assert remarks(state) == [
        "what gpt said in round 1 is not all that the form asks for: a confidence that is not "
        "from 1 to 5 (found: 9); no response to claude",
        "gpt is asked for its answer in DELIBERATE once more",
    ]
    state = spoken(spoken(state, "gpt", confidence=7), "gpt", confidence=8)
    state = spoken(state, "glm", "claude=agree gpt=agree")
    assert state.tour == 2
    assert remarks(state) == [
        "what gpt said in round 1 is not all that the form asks for: a confidence that is not "
        "from 1 to 5 (found: 8); no response to claude"
    ]
    assert remarks(round_of(debate())) == []
