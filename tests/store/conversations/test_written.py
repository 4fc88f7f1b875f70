"""What is remembered of how a conversation is written: only ever a shortcut."""

from __future__ import annotations

from datetime import timedelta, timezone

from hypothesis import given, settings
from hypothesis import strategies as st

from council.core.conversations import answers, machine, steering, tasks
from council.core.conversations.conversation import Conversation, EntryKind, Participant, Step
from council.core.conversations.due import Wake, pending
from council.core.conversations.records import to_record
from council.core.errors import CouncilError
from council.core.ids import text_digest
from council.core.reasons import read_reason
from council.store.statefile import marks, statefile
from tests.examples import examples
from tests.store import councils, debates
from tests.store.conversations.remembering import nothing_remembered
from tests.store.councils import NOW

AGENTS = ("henry", "sage", "nova", "claude", "gpt", "glm")
WORDS = st.sampled_from(
    ("Yes.", "No.", "", "<!--council:end-->", "é 👩‍💻 -- <b>", "a\nb", "X", "X (sage)", "h:late")
)
SAME = st.sampled_from((1, True, 1.0, 0, False, 0.0, "1", [1], [True], {"a": 1}, {"a": 1.0}))
TIMES = st.builds(
    lambda seconds, micros, zone: (
        NOW + timedelta(seconds=seconds, microseconds=micros)
    ).astimezone(timezone(timedelta(hours=zone))),
    st.integers(-2, 5000),
    st.sampled_from((0, 1, 999_999)),
    st.sampled_from((0, 2, -7)),
)


def said(draw: st.DrawFn, state: Conversation) -> Step:
    agent, now = draw(st.sampled_from(AGENTS)), draw(TIMES)
    text = draw(WORDS) or debates.turn("claude=agree", position=draw(WORDS))
    status = draw(st.sampled_from(("responded", "responded", "agreed", "done")))
    step = answers.respond(state, agent, text, now=now, nonce="n" * 32, status=status)
    return step.then(machine.advance(step.state, now, ours=True))


def passed(draw: st.DrawFn, state: Conversation) -> Step:
    return machine.advance(state, draw(TIMES))


def guided(draw: st.DrawFn, state: Conversation) -> Step:
    return answers.inject(state, draw(WORDS) or "Go on.", author="eve", now=draw(TIMES))


def run(draw: st.DrawFn, state: Conversation) -> Step:
    for action in pending(state, NOW):
        if isinstance(action, Wake):
            now = draw(TIMES)
            if draw(st.booleans()):
                return tasks.task_queued(state, action, driver="command", now=now)
            ends_at = draw(st.none() | TIMES)
            return tasks.task_started(state, action, driver="command", now=now, ends_at=ends_at)
    for one in state.tasks.values():
        return tasks.task_failed(state, one.id, read_reason(draw(WORDS)), now=draw(TIMES))
    return Step(state=state)


def steered(draw: st.DrawFn, state: Conversation) -> Step:
    act = draw(st.sampled_from((steering.pause, steering.resume, steering.stop)))
    return act(state, draw(TIMES))


def people_changed(draw: st.DrawFn, state: Conversation) -> Step:
    new = state.copy()
    agent = draw(st.sampled_from(AGENTS))
    if agent in new.participants and draw(st.booleans()):
        del new.participants[agent]
        return Step(state=new)
    one = new.participants.setdefault(agent, Participant(id=agent))
    one.name, one.emoji, one.role = draw(WORDS), draw(st.sampled_from(("", "🦉"))), draw(WORDS)
    one.last_action = draw(st.none() | TIMES)
    one.extra = draw(st.dictionaries(st.sampled_from(("x", "y")), SAME, max_size=2))
    return Step(state=new)


def words_changed(draw: st.DrawFn, state: Conversation) -> Step:
    places = st.sampled_from(("title", "h:brief", "h:phase:COLLECT", "h:phase:DELIBERATE/1"))
    return Step(
        state=state.copy(
            lang=draw(st.sampled_from(("en", "fr", "xx"))),
            topic=marks.line_of(draw(WORDS)),
            titles=draw(st.dictionaries(places, WORDS, max_size=2)),
            extra=draw(st.dictionaries(st.sampled_from(("x", "y")), SAME, max_size=2)),
            created_at=draw(TIMES),
            order=draw(st.sampled_from(("", "fixed", "rotate"))),
        )
    )


def tasks_changed(draw: st.DrawFn, state: Conversation) -> Step:
    new = state.copy()
    for one in new.tasks.values():
        one.extra = draw(st.dictionaries(st.sampled_from(("x", "y")), SAME, max_size=2))
        one.final, one.at = draw(st.booleans()), draw(TIMES)
    return Step(state=new)


def entry_replaced(draw: st.DrawFn, state: Conversation) -> Step:
    if not state.entries:
        return Step(state=state)
    new = state.copy()
    at = draw(st.integers(0, len(new.entries) - 1))
    text = draw(WORDS)
    new.entries[at] = new.entries[at].copy(
        kind=draw(st.sampled_from(tuple(EntryKind))),
        at=draw(TIMES),
        status=draw(st.sampled_from(("", "AGREED"))),
        extra=draw(st.dictionaries(st.sampled_from(("x", "y")), SAME, max_size=2)),
        text=text,
        digest=text_digest(text),
        nonce="",
    )
    return Step(state=new)


def entry_taken_out(draw: st.DrawFn, state: Conversation) -> Step:
    return Step(state=state.copy(entries=state.entries[draw(st.integers(0, 1)) :]))


ACTS = (
    *(said, said, said, said, passed, guided, run, steered),
    *(people_changed, words_changed, tasks_changed, entry_replaced, entry_taken_out),
)


@settings(max_examples=examples(150))
@given(st.data())
def test_what_is_remembered_of_two_conversations_never_shows(data: st.DataObject):
    draw = data.draw
    sealed = draw(st.booleans())
    states = [
        councils.opened(sealed_phases=sealed),
        debates.debate(conversation_id="second", sealed_phases=sealed)
        if draw(st.booleans())
        else councils.opened(conversation_id="second"),
    ]
    for _ in range(draw(st.integers(1, 12))):
        which = draw(st.integers(0, 1))
        act = draw(st.sampled_from(ACTS))
        before = states[which]
        unchanged = before.copy()
        try:
            states[which] = act(draw, before).state
        except CouncilError:
            continue
        assert before == unchanged, "the argument was changed"
        text = statefile.render(states[which])
        with nothing_remembered():
            plain = statefile.render(states[which])
            block = marks.block_text(to_record(states[which]))
        assert text == plain
        assert block in plain
        if draw(st.booleans()):
            states[which], page = statefile.load(text, "file")
            assert statefile.render(states[which], page) == text


def test_agents_that_are_told_apart_otherwise_than_before_are_written_anew():
    state = councils.said(councils.opened(), "sage", "Yes.")
    state.entries[0] = state.entries[0].copy(kind=EntryKind.DRAFT)
    for agent in ("sage", "nova"):
        state.participants[agent] = Participant(id=agent, name="X")
    before = statefile.render(state)

    for agent in ("sage", "nova"):
        state.participants[agent] = Participant(id=agent, name=f"X ({agent})")

    again = statefile.render(state)
    with nothing_remembered():
        assert again == statefile.render(state) != before
