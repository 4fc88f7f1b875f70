"""Random commands, and an editor that types anywhere and saves stale buffers in several ways.

After each step nothing that was said or typed is lost, and page, state and journal agree. It is
played on the toy kind, and on conversations of both procedures and in both languages.
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
from tests.kernel import toy
from tests.kernel.editor import Editor, typed_in
from tests.kernel.toy import AT


class Toy:
    """How documents of a kind are opened and answered.

    `marks` are lines of its pages that an editor may change as a whole: (old, new).
    """

    kind = toy
    marks = (("): WAITING", "): RESPONDED"),)

    def open(self, rng):
        """Return a decision that opens a document."""
        people = ["ann", "bob", "eve"][: rng.randrange(1, 4)]
        return toy.opened(f"id{rng.randrange(10**6)}", *people)

    def command(self, rng, word, state):
        """Return a decision that records an answer with this word, or does something else."""
        text = f"I say {word}" + rng.choice(("", "\n\n- cost\n", " <!--council:end-->\n# x"))
        return toy.answer(rng.choice(list(state.people)), text)

    def answers(self, state):
        """Return the texts of all recorded answers."""
        return [entry["text"] for entry in state.entries]


class Conversations:
    kind = kind
    marks = tuple(
        (f"): {a}", f"): {b}") for a, b in (("WAITING", "RESPONDED"), ("WAITING", "DONE"))
    )

    def open(self, rng):
        names = ["ann", "bob", "eve"][: rng.randrange(2, 4)]
        order, blind = rng.choice(("parallel", "rotate")), rng.random() < 0.5
        given = {
            "conversation_id": f"id-{rng.randrange(10**6)}",
            "procedure": rng.choice(("council", "deliberation")),
            "lang": rng.choice(("en", "fr")),
            "config": Config(blind=blind, timeout=10**6, order=order),
            "participants": {one: Participant(name=one.title(), emoji="🦉") for one in names},
        }
        new = State(**given, name="d", topic="A topic", brief="The brief")
        return lambda state: decisions.opened(state, new, at=AT)

    def command(self, rng, word, state):
        agent = rng.choice(list(state.participants))
        task = f"{state.conversation_id}.{state.tour}"
        end = rng.choice(("", "\n\n- cost\n", " <!--council:end-->\n# x", "\n\n```\ncode"))
        said, stated = Understood(text=f"I say {word}{end}", heard=Heard()), Stated(task=task)
        return lambda now: decisions.respond(now, agent, said, stated, at=AT)

    def answers(self, state):
        return [entry.text for entry in state.entries]


def check(driver, document, answers, words, copied):
    state, history = document.read(), document.history()
    shown, folded = Path(document.page).read_bytes(), document.peek()
    assert shown.decode() == driver.kind.render(folded), "page and fold differ"
    assert state == folded
    assert digest(shown) == history[-1].page
    assert [line.rev for line in history] == list(range(history[0].rev, history[-1].rev + 1))
    assert document._folded(history)[0] == folded, "newest segment and all segments differ"
    texts = "\n".join(driver.answers(folded))
    for word in answers:
        count = texts.count(word)  # a line that the editor put elsewhere may be a correction
        assert count == 1 or (count and word in copied), f"answer {word}: {count} times"
    kept = [one.read_text(errors="replace") for one in Path(document.folder).glob("conflicts/*")]
    lost = words - typed_in("".join([shown.decode(), json.dumps(folded.to_json()), *kept]))
    assert not lost, f"typed words were lost: {lost}"


PLAYS = [
    *[(Toy(), seed, 25) for seed in range(30)],
    *[pytest.param(Toy(), seed, 40, marks=pytest.mark.slow) for seed in range(100, 700)],
    *[pytest.param(Conversations(), seed, 30, marks=pytest.mark.slow) for seed in range(200)],
]


@pytest.mark.parametrize(("driver", "seed", "steps"), PLAYS)
def test_random_edits_lose_nothing(tmp_path, driver, seed, steps):
    rng = Random(seed)
    where, page = f"{tmp_path}/.council/conversations/d", f"{tmp_path}/d.md"
    answers, words, at = {}, set(), AT

    def document():
        made = Document(where, page, driver.kind, now=at)
        made.segment = 1 << 20 if seed % 2 else 1500
        return made

    document().change(driver.open(rng), by="x", at=at, create=True)
    editor = Editor(rng, page, driver.marks)

    def command():
        word = f"said{len(answers)}x"
        decide = driver.command(rng, word, document().peek())
        with suppress(Refusal):
            change = document().change(decide, op=rng.choice(("", word)), by="x", at=at)
            if any(word in json.dumps(event) for event in change.events):
                answers[word] = decide

    editor.load()
    for _ in range(steps):
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
            check(driver, document(), answers, words, editor.copied)
    check(driver, document(), answers, words, editor.copied)
    editor.close()
    check(driver, document(), answers, words, editor.copied)
    document().change(lambda state: [], by="x", at=at)
    assert not [n for n in os.listdir(where) if n.startswith("old-")], os.listdir(where)
