"""How a conversation advances: document 000."""

from datetime import timedelta
from typing import Any

import pytest

from council.councils import decisions, evolution, hearing, model, rules, sight
from council.councils.hearing import Stated
from council.councils.model import Fault, Heard, State
from council.kernel import times
from council.kernel.errors import Conflict, Refusal, Refused
from council.runs import work as runs
from tests.councils.play import FAULTY, Play
from tests.vectors.rows import of


@pytest.mark.parametrize("row", of("rules", "rotation"))
def test_rotation(row: dict[str, Any]) -> None:
    given = row["input"]
    assert model.order_of(given["agents"], "rotate", given["round"], "", "") == row["expect"]


@pytest.mark.parametrize("row", of("rules", "phase"))
def test_phases(row: dict[str, Any]) -> None:
    given, expect = row["input"], row["expect"]
    statuses = given["statuses"]
    agents = [f"a{n}" for n in range(len(statuses))]
    left = [a for a, s in zip(agents, statuses, strict=True) if s == "DONE"]
    play = Play(agents=",".join(agents), mode=given.get("mode", "review"))
    while play.state.phase != given["phase"]:
        for agent in play.state.round().order:
            play.says(agent)
    for agent in left:
        play.says(agent, status="done")
    for agent, status in zip(agents, statuses, strict=True):
        if status in ("RESPONDED", "AGREED"):
            play.says(agent, status=status.lower())
    if given.get("timedOut"):
        play.later(61)
    assert play.state.phase == expect["phase"]
    assert play.state.tour == expect.get("tour", play.state.tour)
    assert play.state.status == expect.get("status", play.state.status)
    if expect.get("reset"):
        assert [one.status for one in play.state.participants.values()] == expect["reset"]
    if "noResponse" in expect:
        assert play.absent(play.state.tour - 1) == {
            agents[n]: "timeout" for n in expect["noResponse"]
        }


def test_a_whole_council() -> None:
    play = Play(agents="henry,sage,nova", coordinator="sage")
    assert play.place == ("COLLECT", 1)
    for tour in (1, 2, 3):
        play.all_say()
        assert play.state.rounds[tour - 1].reason == "all-answered"
    assert play.place == ("SYNTHESIZE", 4)
    assert evolution.speaker(play.state) == "sage"
    heard = Heard(recommendation="Tiles.")
    play.says("sage", "All in all: tiles.", heard=heard)
    assert (play.state.status, play.state.closed_reason) == ("CONVERGED", "phases_exhausted")
    assert play.state.ended_at and rules.wake(play.state)
    play.take([{"type": "archived", "minutes": "conseils/x.md", "at": play.state.ended_at}])
    assert rules.wake(play.state) is None


SHORT, TALK = {"phases": ["COLLECT", "SYNTHESIZE"]}, {"procedure": "deliberation"}
SPINE: list[tuple[str, dict[str, Any], str, str]] = [
    ("61 61 61", {}, "TIMEOUT timeout", "1 timeout abc, 2 timeout abc, 3 timeout abc"),
    ("a b c 61", {**SHORT, "coordinator": "c"}, "SYNTHESIZE 2 a", "2 timeout c"),
    ("a b c 61 61 61", SHORT, "CONVERGED phases_exhausted", "2 timeout abc"),
    ("a b c 61 a", SHORT, "CONVERGED phases_exhausted", ""),  # passed, and writes it at last
    ("a:done b:done c:done", {}, "SYNTHESIZE 2 a", ""),
    ("a:done b", {"agents": "a,b"}, "SYNTHESIZE 2 b", ""),  # one alone has nobody to talk to
    ("a:agreed b:agreed c:agreed", {}, "CHALLENGE 2", ""),  # blind: nothing to agree with yet
    ("a:agreed b:agreed c:agreed a:agreed b:agreed c:agreed", {}, "SYNTHESIZE 3 a", ""),
    ("a stop", {}, "SYNTHESIZE 2 a", "1 stopped bc"),
    ("a stop stop:now", {}, "TIMEOUT stopped", "1 stopped bc, 2 stopped abc"),
    ("30 pause 300 a resume 29", {}, "COLLECT 1", ""),
    ("30 pause 300 a resume 29 2", {}, "CHALLENGE 2", "1 timeout bc"),
    ("21", TALK, "DELIBERATE 1 b", "1 timeout a"),  # the share of its time is over
    ("21 300", TALK, "DELIBERATE 1 c", "1 timeout ab"),  # no heartbeat: c was never asked
    ("21 300 c", TALK, "VOTE 2", "1 timeout ab"),
    ("21 a", TALK, "DELIBERATE 1 b", ""),
    ("31 31", {**TALK, "agents": "a,b"}, "TIMEOUT timeout", "1 timeout ab"),
    ("a stop", TALK, "VOTE 2", "1 stopped bc"),
    ("a b c a 59", {**SHORT, "sign_off": "chief"}, "SYNTHESIZE 2", ""),
    ("a b c a 59 2", {**SHORT, "sign_off": "chief"}, "TIMEOUT timeout", ""),
    ("claim a!refused-key b", {}, "COLLECT 1", "1 refused-key a"),
    ("claim a!refused-key b c", {}, "CHALLENGE 2", "1 refused-key a"),
    ("claim a!refused-key b", {**TALK, "agents": "a,b"}, "VOTE 2", "1 refused-key a"),
]


@pytest.mark.parametrize(("steps", "how", "place", "absent"), SPINE)
def test_where_steps_lead(steps: str, how: dict[str, Any], place: str, absent: str) -> None:
    """A step is minutes that pass, a command, a failed run, or who answers with which status."""
    play = Play(**how)
    for word, _, more in (step.partition(":") for step in steps.split()):
        if word.isdigit():
            play.later(int(word))
        elif word == "claim":
            play.claim()
        elif "!" in word:
            agent, code = word.split("!")
            play.fails(rules.Work(agent=agent, task=model.kind_of(play.state.phase), tour=1), code)
        elif word in play.state.participants:
            play.says(word, status=more)
        else:
            play.do(getattr(decisions, word), **({more: True} if more else {}))
    state, speaker = play.state, evolution.speaker(play.state)
    ended = f"{state.status} {state.closed_reason}" if state.ended_at else ""
    assert (ended or f"{state.phase} {state.tour} {speaker}".strip()) == place
    found: dict[str, str] = {}
    for one in state.rounds:
        for who, why in one.absent.items():
            found[f"{one.tour} {why.code}"] = found.get(f"{one.tour} {why.code}", "") + who
    assert ", ".join(f"{key} {who}" for key, who in found.items()) == absent


def test_an_open_blocker_prevents_agreement_and_only_its_author_ends_it() -> None:
    play = Play()
    play.says("a")
    play.says("b", heard=Heard(blockers=["nobody tested the beams"]), status="done")
    assert sight.blockers(play.state) == []  # sealed, like the answer
    play.says("c")
    assert [one.text for one in sight.blockers(play.state)] == ["nobody tested the beams"]
    play.says("a", status="agreed", heard=Heard(resolved=["nobody tested the beams"]))
    play.says("c", status="agreed")
    assert play.place == ("RESOLVE", 3) and not sight.converged(play.state)
    assert sight.tally(play.state).type == "none"


def test_the_author_ends_its_blocker() -> None:
    play = Play(blind=False)
    play.says("a", heard=Heard(blockers=["who pays?"]))
    play.says("a", "Anna pays.", amend=True)
    assert play.state.blockers == []
    play.says("b", heard=Heard(blockers=["The licence."]))
    play.says("c")
    both = [hearing.heard(play.state, who, "RESOLVED: it\nSTATUS: AGREED").heard for who in "bc"]
    codes = [one.code for heard in both for one in heard.faults]
    assert codes == ["unclear-resolved", "agreed-and-blocking", "not-yours"]
    play.says("b", heard=Heard(blockers=["It rusts"], resolved=["the licence! See.", "it rusts"]))
    assert [one.open for one in play.state.blockers] == [False, False]


def test_a_deadline_is_extended_from_now_where_it_has_passed() -> None:
    play = Play()
    play.minute += 120
    done = decisions.resume(play.state, more=timedelta(minutes=30), at=play.now)
    assert done[0]["timeoutAt"] == "2026-11-28T11:30:00Z"
    play.take(done)
    assert play.place == ("COLLECT", 1)
    play.later(31)
    assert play.place == ("CHALLENGE", 2)
    play.do(decisions.resume, more=timedelta(hours=1), repeats=False)
    play.later(100)
    assert play.place == ("CHALLENGE", 2)


def test_cancelled() -> None:
    play = Play()
    play.says("a")
    play.do(decisions.cancel, reason="no budget")
    assert (play.state.status, play.state.cancel_reason) == ("CANCELLED", "no budget")
    assert decisions.cancel(play.state, at=play.now) == []
    with pytest.raises(Refused, match="over"):
        play.says("b")


def test_rejected_goes_back_once() -> None:
    play = Play(sign_off="chief", phases=["RESOLVE"])
    play.all_say()
    play.says("a", "Tiles.")
    play.do(decisions.sign, "chief", approve=False, why="Too dear.", repeats=False)
    assert play.place == ("RESOLVE", 3) and play.state.status == "ACTIVE"
    play.all_say()
    play.says("a", "Tin.")
    play.do(decisions.sign, "chief", approve=False, why="No.")
    assert play.state.ended_at and play.state.signed == "rejected"


def test_a_repeat_counts_once_and_another_text_is_refused() -> None:
    play = Play()
    assert play.says("a", "Buy: é.") == "recorded"
    assert play.says("a", "\nBuy: e\u0301.  \r\n") == "already-recorded"
    with pytest.raises(Conflict, match="answered"):
        play.says("a", "Sell.")
    with pytest.raises(Refused, match="asked for in COLLECT"):
        play.says("a", "Sell.", only="synthesis", amend=True)
    play.says("a", "Sell.", amend=True)
    assert [entry.text for entry in play.state.entries] == ["Sell."]


def test_an_answer_that_was_amended_may_be_sent_again_and_chosen_again() -> None:
    play = Play()
    play.says("a", "Buy.", key="1")
    with pytest.raises(Conflict, match="another text"):
        play.says("a", "Two.", key="1")
    play.says("a", "Sell.", amend=True, key="2")
    assert play.says("a", "Buy.", key="1") == play.says("a", "Buy.") == "already-recorded"
    play.says("a", "Buy.", amend=True)
    play.says("a", "Wait.", amend=True)
    play.says("b"), play.says("c")
    for sent in ({"key": "1"}, {"task": "c-1.1"}, {"task": "c-1.1.a.1"}, {}):
        assert play.says("a", "Buy.", **sent) == "already-recorded"
    assert play.says("a", "Sell.", amend=True, task="c-1.1") == "already-recorded"
    assert [entry.text for entry in play.state.entries if entry.agent == "a"] == ["Wait."]


def test_a_retried_answer_that_closed_the_round() -> None:
    play = Play()
    play.all_say(text="No objection.")
    assert play.place == ("CHALLENGE", 2)
    assert play.says("c", "No objection.") == "already-recorded"
    assert play.says("c", "No objection.", task="c-1.1.c.1") == "already-recorded"
    assert play.says("a", "No objection.", task="c-1.2") == "recorded"
    assert play.says("c", "No objection.") == "recorded"  # somebody else has answered
    play = Play(**SHORT)
    play.all_say(text="Yes.")
    assert play.says("c", "Yes.") == "already-recorded"
    assert play.says("a", "Yes.", only="synthesis", repeats=False) == "recorded"


def test_late_answers_are_kept_once() -> None:
    play = Play()
    play.says("a")
    play.later(61)
    for outcome in ("late", "already-recorded"):
        assert play.says("b", "Late.", task="c-1.1.b.1") == outcome
    assert play.state.participants["b"].status == "WAITING"
    assert [entry.late for entry in play.state.entries] == [False, True]
    assert play.says("b", "In time.") == "recorded"
    assert "Late." not in [entry.text for entry in sight.visible(play.state, "c")]
    play = Play(**SHORT)
    play.says("a")
    play.later(61)
    assert play.says("b", "For the last round.") == "late" and play.state.entries[-1].tour == 1


@pytest.mark.parametrize(
    ("act", "code"),
    [(lambda p: p.says("x", "I?"), "not-a-participant"),
     (lambda p: p.says("a", task="other.1.a.1"), "unknown-round"),
     (lambda p: p.says("a", only="vote"), "not-asked"),
     (lambda p: p.says("a", status="happy"), "bad-status"),
     (lambda p: p.do(decisions.say, "Hm", "u", to="x"), "not-a-participant"),
     (lambda p: p.do(decisions.say, " ", "u"), "no-text"),
     (lambda p: p.do(decisions.sign, "u", approve=True), "not-yours")],
)  # fmt: skip
def test_refusals_write_nothing(act: Any, code: str) -> None:
    play = Play()
    before = len(play.events)
    with pytest.raises(Refusal) as caught:
        act(play)
    assert caught.value.code == code and len(play.events) == before


def test_who_has_left_is_not_asked() -> None:
    play = Play()
    play.says("a", status="done")
    play.says("b")
    play.says("c")
    with pytest.raises(Refused, match="left"):
        play.says("a")
    assert play.state.round().order == ["b", "c"]


def test_asked_once_and_the_second_answer_counts() -> None:
    play = Play()
    assert play.says("a", "Hm.", heard=FAULTY, question="Which?") == "recorded"
    assert play.state.round().asked == {"a": "Which?"}
    assert play.state.participants["a"].status == "WAITING"
    assert play.state.entries[0].heard == FAULTY
    assert play.says("a", "Tiles.", heard=Heard(position="Tiles.")) == "recorded"
    assert play.says("a", "Hm.", heard=FAULTY) == "already-recorded"
    entry = play.state.entries[0]
    assert entry.text == "Hm.\n\n(Asked about what was unclear above:)\n\nTiles."
    assert entry.heard.position == "Tiles."
    assert not play.state.round().asked


@pytest.mark.parametrize(
    ("second", "text"),
    [("One is enough.\n\nSTATUS: AGREED", "One is enough.\n\nSTATUS: AGREED"),
     ("One  is enough. STATUS: AGREED", "One  is enough. STATUS: AGREED"),
     ("Two is", "One is enough.\n\n(Asked about what was unclear above:)\n\nTwo is"),
     ("One is enough", "One is enough.")],
)  # fmt: skip
def test_a_second_answer_is_taken_and_what_it_repeats_not_doubled(second: str, text: str) -> None:
    play = Play()
    play.says("a", "One is enough.", heard=FAULTY)
    play.says("a", second, heard=FAULTY)
    assert (play.state.entries[0].text, play.state.participants["a"].status) == (text, "RESPONDED")
    assert [event["type"] for event in play.events[-2:]] == ["asked", "answered"]


def test_a_status_is_asked_about_only_where_it_counts() -> None:
    play, text = Play(), "As I AGREED in May."
    for words in (text, "Fine.\n\nSTATUS: DONE", "STATUS: AGREED\n\nBLOCKING: the frost"):
        assert not hearing.heard(play.state, "a", words).question
    play.all_say()
    assert hearing.heard(play.state, "a", text).question
    assert not hearing.heard(play.state, "a", text, Stated(status="AGREED")).question
    blocks = f"{text}\n\nSTATUS: AGREED\n\nBLOCKING: the frost"
    assert hearing.heard(play.state, "a", blocks, Stated(status="AGREED")).question


def test_the_first_answer_counts_where_no_second_comes() -> None:
    play = Play()
    play.says("a", "Hm.", heard=FAULTY)
    play.says("b")
    play.later(61)
    assert play.absent(1) == {"c": "timeout"}
    assert [entry.agent for entry in evolution.said_by(play.state, 1)] == ["a", "b"]


def test_plain_words_are_a_whole_synthesis() -> None:
    lacks = [Fault(part="recommendation", code="no-recommendation")]
    for heard, ends in ((Heard(faults=lacks), True), (Heard(faults=lacks, consensus="."), False)):
        play = Play(phases=["COLLECT"])
        play.all_say()
        play.says("a", "Tiles.", heard=heard)
        assert bool(play.state.ended_at) == ends


def test_words_of_a_person_are_acknowledged_by_the_next_answer() -> None:
    play = Play()
    play.do(decisions.say, "June is closed.", "anna")
    play.do(decisions.say, "What does it cost?", "anna", to="b")
    assert [e.text for e in sight.guidance(play.state, "a")] == ["June is closed."]
    assert len(sight.guidance(play.state, "b")) == 2
    play.says("b")
    assert sight.guidance(play.state, "b") == []
    play.says("a")
    play.says("c")
    assert [*sight.acknowledged(play.state).values()] == [["a", "b", "c"], ["b"]]


def test_joining_and_leaving() -> None:
    play = Play(agents="a,b")
    play.says("a")
    one = {"name": "Cleo", "emoji": "", "role": "", "person": False, "model": ""}
    play.take([{"type": "joined", "agent": "c", **one}])
    play.says("b")
    assert play.place == ("COLLECT", 1)
    play.take([{"type": "left", "agent": "c"}])
    assert play.place == ("CHALLENGE", 2)
    play.take([{"type": "left", "agent": "b"}])
    assert [entry.agent for entry in play.state.entries] == ["a", "b"]


def test_a_repeated_convene() -> None:
    play = Play()
    new = State(conversation_id="c-2", topic="Tiles or tin?", config=play.state.config)
    new.participants = play.state.participants
    assert decisions.opened(play.state, new, at=play.now) == []
    with pytest.raises(Conflict, match="open already"):
        decisions.opened(play.state, new.copy(topic="Another?"), at=play.now)


def test_questions_are_owed_until_their_asker_is_answered() -> None:
    play = Play(blind=False)
    play.says("a", heard=Heard(questions={"b": "What does it cost?", "human": "Who pays?"}))
    assert sight.open_questions(play.state, "b") == [("a", "What does it cost?")]
    play.says("b", "No idea.")
    owed = [("a", "b", "What does it cost?"), ("a", "human", "Who pays?")]
    assert sight.unanswered(play.state) == owed
    play.says("c")
    play.says("a", heard=Heard(questions={"b": "By when?"}))
    assert [one[1] for one in sight.open_questions(play.state, "b")] == [owed[0][2], "By when?"]
    play.says("b", "@a: 40 euros.")
    assert sight.open_questions(play.state, "b") == [] and sight.unanswered(play.state) == owed[1:]
    play.do(decisions.say, "I do.", "anna")
    assert sight.unanswered(play.state) == []


def test_a_stance_may_end_with_a_question_and_an_advocates_is_not_asked_about() -> None:
    play = Play("deliberation", advocate="c")
    for agent in "ab":
        play.says(agent, heard=Heard(position=agent, confidence=4))
    stances = "- @a: partial — It is dear. Who pays?\n- @b: agree — but only in May"
    text = f"## Position\nTin.\n\n## Responses to Others\n{stances}\n\n## Confidence\n4"
    told = hearing.heard(play.state, "c", text)
    assert (told.heard.questions, told.question) == ({"a": "It is dear. Who pays?"}, "")
    assert "Not counted, as devil's advocate: c" in sight.told(
        play.state, sight.tally(play.state), {}
    )
    play.state.participants["c"].advocate = False
    assert "@b: I read" in hearing.heard(play.state, "c", text).question


def test_runs_are_due_and_tried_again() -> None:
    play = Play(people="c")
    assert [one.ident("c-1") for one in play.claim()] == ["c-1.1.a.1", "c-1.1.b.1"]
    assert play.claim() == []
    play.fails(rules.Work(agent="a", task="contribution", tour=1), "quota")
    assert play.claim() == []
    play.later(0.2)
    assert [one.attempt for one in play.claim()] == [2]


def test_nobody_could_answer() -> None:
    play = Play(agents="a,b")
    count = 0
    while not play.state.ended_at:
        for one in play.claim():
            count += 1
            play.fails(one, "quota")
        play.later(2)
    assert count == 6 and play.reasons == ["too-few"]


def test_a_ceiling_passes_whom_it_forbids_and_the_minutes_come() -> None:
    play = Play(agents="hand,a,b", max_runs=1, by_hand=["hand"])
    assert [one.agent for one in play.claim()] == ["a"]
    assert play.absent(1) == {"b": "ceiling"}
    play.says("hand", status="done")
    play.says("a")
    assert play.state.round().absent["a"].words == "max_runs = 1 is reached"
    assert play.state.ended_at and play.absent(2) == {"a": "ceiling", "b": "ceiling"}


def test_asked_again_by_a_run_of_its_own() -> None:
    play = Play(agents="a,b")
    play.claim()
    play.says("a", "Hm.", heard=FAULTY)
    second = play.claim()
    assert [one.ident("c-1") for one in second] == ["c-1.1.a.q1"]
    play.fails(second[0], "bad-model")
    assert play.state.participants["a"].status == "RESPONDED"
    assert play.absent(1) == {}


def test_a_run_that_says_the_same_again_when_asked_is_taken() -> None:
    play = Play(agents="a,b")
    play.says("a", "Hm.", heard=FAULTY, task="c-1.1.a.1")
    second = play.claim()[0]
    assert play.says("a", "Hm.", heard=FAULTY, task="c-1.1.a.q1") == "already-recorded"
    play.take([runs.answered(second.ident("c-1"), times.text(play.now), runs.Use())])
    assert play.state.entries[0].text == "Hm." and play.state.round().asked == {}
    assert play.state.participants["a"].status == "RESPONDED"


def test_an_agent_that_is_not_run_here_wakes_nobody() -> None:
    play = Play(agents="a,b", people="b")
    assert rules.wake(play.state) == play.now
    assert rules.wake(play.state, frozenset("a")) == play.now + timedelta(hours=1)


def test_by_hand_on_the_page() -> None:
    play, at = Play(), "2026-11-28T09:00:00Z"
    play.take([{"type": "draft.set", "agent": "a", "text": "I would"}])
    play.take([{"type": "noted", "splices": [[0, 0, ["zero"]], [0, 0, ["one", "two"]]]}])
    play.take([{"type": "noted", "splices": [[1, 1, []], [2, 1, ["2"]]]}])
    how = {"status": "AGREED", "origin": "edited", "at": at}
    play.take([{"type": "status.set", "agent": "a", **how}])
    assert play.state.participants["a"].status == "RESPONDED"  # nothing to agree with yet
    play.says("a", "I would.", origin="edited")
    assert (play.state.notes, play.state.drafts) == (["zero", "2"], {})
    for kind, text in (("blocker.raised", "Who pays?"), ("blocker.ended", "who pays")):
        play.take([{"type": kind, "agent": "b", "text": text, "at": at}])
    assert not play.state.blockers[0].open
