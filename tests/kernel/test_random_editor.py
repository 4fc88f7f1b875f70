"""Random commands, and an editor that types anywhere and saves stale buffers in several ways.

After each step nothing that was said or typed is lost, and page, state and journal agree.
"""

import json
import os
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from council.councils import decisions, kind
from council.councils.hearing import Stated, Understood
from council.councils.model import Config, Heard, Participant, State
from council.kernel.document import Document
from council.kernel.errors import Refusal
from council.kernel.ids import digest
from tests.kernel.editor import Editor, typed_in
from tests.kernel.toy import AT

MARKS = [("): WAITING", "): RESPONDED"), ("): WAITING", "): DONE")]


def opening(rng):
    """Return a decision that opens a conversation of any procedure, language and order."""
    names = ["ann", "bob", "eve"][: rng.randrange(2, 4)]
    order, blind = rng.choice(("parallel", "rotate")), rng.random() < 0.5
    new = State(
        conversation_id=f"id-{rng.randrange(10**6)}",
        name="d",
        topic="A topic",
        brief="The brief",
        procedure=rng.choice(("council", "deliberation")),
        lang=rng.choice(("en", "fr")),
        config=Config(blind=blind, timeout=10**6, order=order),
        participants={one: Participant(name=one.title(), emoji="🦉") for one in names},
    )
    return lambda state: decisions.opened(state, new, at=AT)


def answering(rng, word, state):
    """Return a decision that records an answer with a word of anybody, asked or not."""
    agent = rng.choice(list(state.participants))
    end = rng.choice(("", "\n\n- cost\n", " <!--council:end-->\n# x", "\n\n```\ncode"))
    said = Understood(text=f"I say {word}{end}", heard=Heard())
    stated = Stated(task=f"{state.conversation_id}.{state.tour}")
    return lambda now: decisions.respond(now, agent, said, stated, at=AT)


def check(document, answers, words, copied):
    state, history = document.read(), document.history()
    shown, folded = Path(document.page).read_bytes(), document.peek()
    assert shown.decode() == kind.render(folded), "page and fold differ"
    assert state == folded
    assert digest(shown) == history[-1].page
    assert [line.rev for line in history] == list(range(history[0].rev, history[-1].rev + 1))
    assert document._folded(history)[0] == folded, "newest segment and all segments differ"
    texts = "\n".join(entry.text for entry in folded.entries)
    for word in answers:
        count = texts.count(word)  # a line that the editor put elsewhere may be a correction
        assert count == 1 or (count and word in copied), f"answer {word}: {count} times"
    kept = [one.read_text(errors="replace") for one in Path(document.folder).glob("conflicts/*")]
    lost = words - typed_in("".join([shown.decode(), json.dumps(folded.to_json()), *kept]))
    assert not lost, f"typed words were lost: {lost}"


@pytest.mark.parametrize(
    "seed", [*range(20), *(pytest.param(n, marks=pytest.mark.slow) for n in range(20, 400))]
)
def test_random_edits_lose_nothing(tmp_path, seed):
    rng = Random(seed)
    where, page = f"{tmp_path}/.council/conversations/d", f"{tmp_path}/d.md"
    answers, words, at = {}, set(), AT

    def document():
        made = Document(where, page, kind, now=at)
        made.segment = 1 << 20 if seed % 2 else 1500
        return made

    document().change(opening(rng), by="x", at=at, create=True)
    editor = Editor(rng, page, MARKS)

    def command():
        word = f"said{len(answers)}x"
        decide = answering(rng, word, document().peek())
        with suppress(Refusal):
            change = document().change(decide, op=rng.choice(("", word)), by="x", at=at)
            if any(word in json.dumps(event) for event in change.events):
                answers[word] = decide

    editor.load()
    for _ in range(30):
        at += timedelta(seconds=rng.randrange(100))
        what = rng.randrange(8)
        if what < 2:
            command()
        elif what == 2 and answers:
            repeated = rng.choice(list(answers.values()))
            with suppress(Refusal):  # its author was removed on the page
                assert document().change(repeated, by="x", at=at).events == []
        elif what == 3:
            editor.load()
        elif what < 6:
            editor.change()
        else:
            words -= editor.there - typed_in(editor.buffer)  # deleted on purpose
            words |= editor.save(command)
            check(document(), answers, words, editor.copied)
    check(document(), answers, words, editor.copied)
    editor.close()
    check(document(), answers, words, editor.copied)
    document().change(lambda state: [], by="x", at=at)
    assert not [n for n in os.listdir(where) if n.startswith("old-")], os.listdir(where)
