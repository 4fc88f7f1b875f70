"""One contract for stores: two machines of a council, on the same files or on one PostgreSQL."""

import os
import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from council.archive import artifacts, minutes
from council.kernel import files, shared
from council.kernel.document import Document
from council.kernel.errors import Conflict, NotFound, Refusal, Refused
from council.kernel.ids import digest
from tests.kernel import toy
from tests.kernel.toy import AT, note

PLACE = "conversations/d"


class Machines:
    """The workspaces of two machines; on files alone they are the same one."""

    def __init__(self, folder, url=""):
        self.roots = [f"{folder}/{n if url else 0}" for n in (0, 1)]
        self.states = [f"{root}/memory/shared/.council" for root in self.roots]
        for at, state in enumerate(self.states if url else []):
            shared.driver().join(state, url, at == 0, shared.FOLDERS)
        for state in self.states:
            os.makedirs(state, exist_ok=True)

    def document(self, at, place=PLACE):
        page = f"{self.roots[at]}/memory/shared/d.md" if place == PLACE else None
        return Document(f"{self.states[at]}/{place}", page, toy, now=AT)

    def change(self, at, decide, **more):
        return self.document(at).change(decide, by="x", at=AT, **more)

    def opened(self, *people, ident="id1", at=0):
        self.change(at, toy.opened(ident, *people), create=True)

    def page(self, at):
        return open(f"{self.roots[at]}/memory/shared/d.md").read()

    def both(self, place=PLACE):
        """Return the state that both have; their journals and pages are the same bytes."""
        states = [self.document(at, place).read() for at in (0, 1)]
        assert states[0] == states[1] == self.document(1, place).peek()
        if place == PLACE:
            assert self.page(0) == self.page(1) == toy.render(states[0])
        journals = [self.journals(at, place) for at in (0, 1)]
        assert journals[0] == journals[1]
        return states[0]

    def journals(self, at, place=PLACE):
        folder = f"{self.states[at]}/{place}"
        names = sorted(name for name in os.listdir(folder) if name.startswith("journal"))
        return {name: open(f"{folder}/{name}", "rb").read() for name in names}


@pytest.fixture(params=["files", pytest.param("postgresql", marks=pytest.mark.slow)])
def machines(request, tmp_path):
    if request.param == "files":
        return Machines(tmp_path)
    server = request.getfixturevalue("server")
    return Machines(tmp_path, server.url(server.database()))


def draft(text):
    return lambda state: [{"type": "draft.set", "agent": "ann", "text": text}]


def test_what_is_decided_and_due_is_one_revision_everywhere(machines):
    machines.opened("ann", "bob")
    assert machines.change(1, toy.answer("ann", "yes")).state.rev == 2
    assert machines.change(0, toy.answer("ann", "yes")).events == []
    with pytest.raises(Refused):
        machines.change(1, toy.answer("ann", "no"))
    change = machines.change(0, toy.answer("bob", "no"), op="key", via="http")
    assert [event["type"] for event in change.events] == ["answered", "closed"]
    assert (change.state.rev, machines.both().tour) == (3, 2)
    lines = machines.document(1).history()
    last = lines[-1]
    assert [line.rev for line in lines] == [1, 2, 3]
    assert (last.op, last.by, last.via, last.at) == ("key", "x", "http", "2026-11-28T09:00:00Z")
    assert last.page == digest(machines.page(1)) and last.mark == change.state.mark
    assert len(last.mark) == 32 and machines.document(1).peek(2).tour == 1
    with pytest.raises(NotFound):
        machines.document(1).peek(4)


def test_a_decision_that_was_overtaken_is_made_again(machines):
    machines.opened("ann", "bob")
    asked = []

    def decide(state):
        asked.append(state.rev)
        if len(asked) == 1 and machines.roots[0] != machines.roots[1]:
            machines.change(1, toy.answer("ann", "quick"))
        return toy.answer("bob", "slow")(state)

    machines.change(0, decide)
    assert asked in ([1], [1, 2])
    assert "slow" in [entry["text"] for entry in machines.both().entries]
    with pytest.raises(Conflict):
        machines.opened("eve", ident="id2", at=1)


def test_what_is_typed_on_any_machine_is_taken_in_once(machines):
    machines.opened("ann", "bob")
    machines.document(1).read()
    stale = machines.page(1)
    machines.change(0, toy.answer("ann", "yes"))
    for more in ("\nmine\n", "\nmine\n", ""):  # a copy of an old page says nothing new
        Path(f"{machines.roots[1]}/memory/shared/d.md").write_text(stale + more)
        assert machines.document(1).read().notes == ["mine"]
    assert [entry["text"] for entry in machines.both().entries] == ["yes"]
    last = machines.document(0).history()[2:]
    facts = ("external", "edit", "edit:" + digest(stale + "\nmine\n"))
    assert [(line.by, line.via, line.op) for line in last] == [facts]


def test_segments_are_the_same_everywhere_and_a_key_counts_once(machines, monkeypatch):
    monkeypatch.setattr(Document, "segment", 1500)
    machines.opened("ann")
    first = machines.change(1, note("once"), op='key "1"')
    states = [machines.change(n % 2, draft(f"{n}")).state for n in range(40)]
    assert machines.both() == states[-1]
    assert len(machines.journals(1)) > 2
    one = machines.document(1)
    assert [line.rev for line in one.history()] == list(range(1, 43))
    assert one._folded(one.history())[0] == states[-1]
    assert [one.peek(rev) for rev in range(3, 43)] == states
    again = machines.change(0, note("twice"), op='key "1"')
    assert (again.state, again.events) == (states[-1], first.events)
    assert machines.both().notes == ["once"]


@pytest.mark.slow
def test_a_copy_that_was_damaged_is_made_anew(server, tmp_path):
    machines = Machines(tmp_path, server.url(server.database()))
    machines.opened("ann")
    for n, harm in enumerate((shutil.rmtree, cut, cut)):
        machines.document(1).read()
        harm(f"{machines.states[1]}/{PLACE}")
        machines.change(n % 2, note(f"after {n}"))
        if n < 2:
            machines.change(0, note(f"and {n}"))
        shared.fetch(machines.states[1])
    assert len(machines.both().notes) == 5
    other = "conversations/e"  # the database does not know it
    shutil.copytree(f"{machines.states[1]}/{PLACE}", f"{machines.states[1]}/{other}")
    with pytest.raises(NotFound):
        machines.document(1, other).change(note("x"), by="x", at=AT)
    assert len(os.listdir(f"{machines.states[1]}/conflicts")) == 1


def cut(folder):
    """Damage a line in the middle of a journal."""
    path = f"{folder}/journal.jsonl"
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[:50] + data[60:])


def test_words_that_are_taken_out_are_gone_everywhere(machines, monkeypatch):
    monkeypatch.setattr(Document, "segment", 300)
    machines.opened("ann", "bob")
    for n in range(5):
        machines.change(n % 2, note(f"secret {n}"))
    machines.change(0, toy.answer("ann", "yes"))
    machines.both()
    stale = machines.page(1)

    def select(event):
        if event["type"] == "noted":
            return {**event, "lines": ["(removed)"]}
        if event["type"] == "adopted":
            notes = ["(removed)" for _ in event["state"]["notes"]]
            return {**event, "state": {**event["state"], "notes": notes}}
        return None

    assert machines.document(1).redact(select) > 5
    assert machines.change(0, toy.answer("bob", "no")).state.notes == ["(removed)"] * 5
    machines.both()
    for root in machines.roots:
        for path in Path(root).rglob("*"):
            assert path.is_dir() or b"secret" not in path.read_bytes(), path
    Path(f"{machines.roots[1]}/memory/shared/d.md").write_text(stale)
    assert machines.document(1).read().notes == ["(removed)"] * 5
    assert machines.document(0).redact(select) == 0


def test_files_reach_all_machines(machines):
    of = ("text/plain", "ann", "", "2026-11-28T09:00:00Z")
    ident = artifacts.publish(machines.roots[0], b"\0bytes\xff", *of).artifact_id
    assert artifacts.publish(machines.roots[1], b"\0bytes\xff", *of).artifact_id == ident
    shared.fetch(machines.states[1])
    assert artifacts.fetch(machines.roots[1], ident) == b"\0bytes\xff"
    assert artifacts.about(machines.roots[1], ident).publisher == "ann"
    front = {"title": "T", "topic": "t", "conversation": "c1", "outcome": "consensus"}
    paths = [minutes.write(root, front, "body", "2026-11-28") for root in machines.roots]
    assert len({os.path.basename(path) for path in paths}) == 1
    minutes.rate(paths[1], 4, "ann")
    shared.fetch(machines.states[0])
    assert b"ratings: ann 4" in (files.content(paths[0]) or b"")
    assert not artifacts.put(paths[0], b"other")


@pytest.mark.parametrize("seed", range(3))
def test_random_histories_agree(machines, seed, monkeypatch):
    """Whatever two machines do, lose and type, they agree, and no answer is lost or doubled."""
    monkeypatch.setattr(Document, "segment", 3000)
    rng, said, count = random.Random(seed), list[str](), 0
    machines.opened("ann", "bob")
    for step in range(60):
        at, what = rng.randrange(2), rng.randrange(10)
        name, text = rng.choice(["ann", "bob"]), f"word{step}x"
        if what < 6:
            with suppress(Refusal):
                events = machines.change(at, toy.answer(name, text)).events
                said += [text] if events else []
        elif what == 6:
            machines.document(at).read()
            page = machines.page(at).replace("council:notes-->", f"council:notes-->\n\nhand{step}x")
            Path(f"{machines.roots[at]}/memory/shared/d.md").write_text(page)
            count += 1
        elif what == 7:  # as after a power cut: what was received is received again
            with suppress(FileNotFoundError):
                os.unlink(f"{machines.states[at]}/engine.at")
        elif what == 8:
            for n in range(9):
                machines.change((at + n) % 2, draft(f"draft{step}"))
        elif rng.random() < 0.5 and machines.roots[0] != machines.roots[1]:
            state = machines.document(0).read()
            machines.document(1).read()
            machines.document(at).close(state.conversation_id)
            texts = [entry["text"] for entry in state.entries]
            assert sorted(texts) == sorted(said)
            with pytest.raises(NotFound):
                machines.change(1 - at, note("late"))
            machines.opened("ann", "bob", ident=f"id{step}", at=1 - at)
            assert machines.both(f"closed/{state.conversation_id}").entries == state.entries
            said, count = [], 0
    for at in (0, 1, 0):
        machines.document(at).read()
    state = machines.both()
    assert sorted(entry["text"] for entry in state.entries) == sorted(said)
    assert sum("hand" in line for line in state.notes) == count
