"""Which events belong to the story of what."""

from __future__ import annotations

from council.operations.reporting.story import Subject, belongs, task_of_context, turn_of

CONVERSATION = "0f8fad5b-d9cb-469f-a165-70867728950e"
TRACE = "0f8fad5bd9cb469fa16570867728950e"


def event(owner: str = CONVERSATION, agent: str = "owl", trace: str = TRACE, **more) -> dict:
    top = {key: more.pop(key) for key in ("fromAgentId", "toAgentId", "artifactIds") if key in more}
    return {"conversationId": owner, "agentId": agent, "traceId": trace, **top, "data": more}


def test_to_a_conversation_belongs_also_what_it_has_caused():
    about = Subject(kind="conversation", id=CONVERSATION, trace=TRACE)

    assert belongs(event(), about)
    assert belongs(event(owner="", fromAgentId="owl"), about)
    assert not belongs(event(owner="other", trace="f" * 32), about)


def test_to_an_agent_belongs_what_it_did_and_what_passed_between_it_and_others():
    about = Subject(kind="agent", id="owl")

    assert belongs(event(), about)
    assert belongs(event(agent="gecko", fromAgentId="gecko", toAgentId="owl"), about)
    assert belongs(event(agent="gecko", fromAgentId="owl", toAgentId="gecko"), about)
    assert not belongs(event(agent="gecko"), about)


def test_an_agent_is_known_also_by_the_id_that_it_bears_in_messages():
    about = Subject(kind="agent", id="owl", also="W3")

    assert belongs(event(owner="S1", agent="W3"), about)
    assert not belongs(event(owner="S1", agent="W4"), about)


def test_to_a_task_belongs_what_names_it_and_what_its_agent_did_in_that_round():
    about = turn_of(f"{CONVERSATION}.2.owl.1")

    assert about.kind == "task"
    assert belongs(event(task=f"{CONVERSATION}.2.owl.1"), about)
    assert belongs(event(tour=2), about)
    assert belongs(event(), about)
    assert not belongs(event(task=f"{CONVERSATION}.2.owl.2"), about)
    assert not belongs(event(tour=1), about)
    assert not belongs(event(agent="gecko", tour=2), about)
    assert not belongs(event(owner="other", tour=2), about)


def test_to_a_turn_belong_all_its_attempts():
    about = turn_of(f"{CONVERSATION}.2.owl")

    assert about.kind == "turn"
    assert belongs(event(task=f"{CONVERSATION}.2.owl.1"), about)
    assert belongs(event(task=f"{CONVERSATION}.2.owl.2"), about)
    assert not belongs(event(task=f"{CONVERSATION}.3.owl.1"), about)
    assert not belongs(event(task=f"{CONVERSATION}.2.owly.1", agent="owly"), about)


def test_a_task_of_a_context_is_named_with_its_context():
    about = task_of_context("S1/T2")

    assert belongs(event(owner="S1", agent="", tid="T2"), about)
    assert not belongs(event(owner="S2", agent="", tid="T2"), about)
    assert not belongs(event(owner="S1", agent="", tid="T1"), about)
    assert task_of_context("S1.T2") == about
    assert task_of_context("S1") is None
    assert task_of_context("active") is None


def test_a_trace_is_known_by_its_own_id_and_by_that_of_the_w3c():
    about = Subject(kind="trace", id=TRACE)
    assert belongs(event(owner="x"), about)
    assert not belongs(event(trace="support"), about)
    from council.core.events import w3c_trace

    assert belongs(event(trace="support"), Subject(kind="trace", id=w3c_trace("support")))
    both = Subject(kind="trace", id=TRACE, also=CONVERSATION)
    assert belongs(event(), both)
    assert belongs(event(trace=CONVERSATION), both)
    assert not belongs(event(trace=""), Subject(kind="trace", id="support"))


def test_to_an_artifact_belongs_what_bears_its_id():
    about = Subject(kind="artifact", id="art_1")

    assert belongs(event(artifactIds=["art_0", "art_1"]), about)
    assert not belongs(event(artifactIds=["art_0"]), about)
    assert not belongs(event(), about)
