"""The hint `.council/due` is deleted, torn, turned back or damaged: a beat still serves all."""

import os
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random

import pytest

from council.app import App
from council.councils import decisions, page
from council.councils.model import Config, Participant, State
from council.runs import heartbeat
from council.runs.heartbeat import Hint

AT = datetime(2026, 11, 28, 9, tzinfo=UTC)
NAMES = ("a", "b", "c")


def opened(app):
    people = {one: Participant(name=one, person=True) for one in ("ann", "ben")}
    for number, name in enumerate(NAMES, 1):
        more = {"config": Config(timeout=600 * number), "participants": people}
        new = State(conversation_id=f"id-{name}", name=name, topic="Tea?", **more)
        opens = partial(decisions.opened, new=new, at=AT)
        app.conversation(name).change(opens, by="x", at=AT, create=True)


def damaged(path, rng, older):
    """Do something to the hint."""
    if not os.path.exists(path):
        return
    text = Path(path).read_bytes()
    older.append(text)
    at = rng.randrange(len(text))
    what = rng.randrange(6)
    os.unlink(path)
    if what:
        with open(path, "wb") as file:
            turned = text[:at] + bytes([text[at] ^ 1 << rng.randrange(8)]) + text[at + 1 :]
            file.write((b"", text[:at], turned, rng.choice(older), text)[what - 1])


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(9, marks=pytest.mark.slow),)])
def test_a_hint_costs_time_never_truth(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(Hint, "quiet_ns", 0)
    rng, words, older, skipped = Random(seed), {name: [] for name in NAMES}, [], 0
    at, path = AT, f"{tmp_path}/memory/shared/.council/due"
    os.makedirs(os.path.dirname(path))
    opened(App(str(tmp_path), AT, env={}))
    for number in range(300 if seed == 9 else 25):
        app = App(str(tmp_path), at, env={})
        if not app.conversations():
            break
        name, what = rng.choice(app.conversations()), rng.randrange(5)
        if what == 0:
            words[name].append(f"typed{number}x")
            with open(app.page_of(name), "a") as file:
                file.write(f"\n{words[name][-1]}\n")
        elif what == 1:
            words[name].append(f"said{number}x")
            says = partial(decisions.say, text=words[name][-1], by="x", at=AT)
            app.conversation(name).change(says, by="x", at=at)
        elif what == 2:
            at += timedelta(seconds=rng.randrange(30))
        else:
            damaged(path, rng, older)
        app = App(str(tmp_path), at, env={})
        hint = Hint(app.root, at)
        skipped += sum(hint.skips(*app.kinds[0].place(one)) for one in NAMES)
        heartbeat.beat(app)
        for one in app.conversations():
            state = app.conversation(one).peek()
            shown = Path(app.page_of(one)).read_text()
            assert shown == page.render(state)
            assert all(shown.count(word) == 1 for word in words[one]), (one, words[one])
            assert state.ended_at or state.timeout_at > at.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert skipped
