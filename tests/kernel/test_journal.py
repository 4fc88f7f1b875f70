"""Journals that are torn, damaged or changed; locks; JSON; the hint of what is due."""

import os
import threading
import time
from contextlib import suppress
from datetime import timedelta

import filelock
import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.kernel import codec
from council.kernel.errors import Conflict, Invalid, NotFound
from council.kernel.files import Lock
from council.runs.heartbeat import Hint
from tests.kernel import toy
from tests.kernel.toy import AT, begun, document, note


def opened(tmp_path):
    """Return the journal of a document with four revisions."""
    begun(tmp_path, "note 0", "note 1", "note 2")
    return tmp_path / ".council/conversations/d/journal.jsonl"


@pytest.mark.parametrize(
    "end", [b'{"rev":5,"mark":"ab', b"\0" * 50, b"\0" * 50 + b'ents":[]}\n', b"}"]
)
def test_a_torn_end_never_was(tmp_path, end):
    journal = opened(tmp_path)
    whole = journal.read_bytes()
    journal.write_bytes(whole + end)
    assert document(tmp_path).read().rev == 4
    document(tmp_path).change(note("next"), by="x", at=AT)
    assert journal.read_bytes().startswith(whole) and journal.read_bytes().count(b"\n") == 5
    assert document(tmp_path).read().notes[-1] == "next"


def test_a_torn_first_line_never_was(tmp_path):
    journal = opened(tmp_path)
    os.unlink(tmp_path / "d.md")
    journal.write_bytes(b'{"rev":1,')
    with pytest.raises(NotFound):
        document(tmp_path).read()
    assert not document(tmp_path).exists()
    change = document(tmp_path).change(toy.opened("id2", "bob"), by="x", at=AT, create=True)
    assert change.state.rev == 1 and document(tmp_path).read().conversation_id == "id2"


@pytest.mark.parametrize(
    ("number", "damage"),
    [(2, lambda one, two, *rest: [one, two[:40] + b"\n", *rest]),
     (2, lambda one, two, *rest: [one, *rest]),
     (3, lambda one, two, *rest: [one, two.replace(b"note 0", b"note 9"), *rest]),
     (3, lambda one, two, *rest: [one, two.replace(b'"op":""', b'"op":7'), *rest]),
     (2, lambda one, *rest: [one, b"\n", *rest]), (1, lambda one, *rest: rest),
     (1, lambda one, *rest: [one[:99] + b"\0" * 9 + one[108:], *rest]),
     (2, lambda one, two, *rest: [one, b"[1]\n", *rest]),
     (4, lambda *lines: [*lines[:3], lines[3][:-20] + b"\n"])],
)  # fmt: skip
def test_a_damaged_line_is_named(tmp_path, number, damage):
    journal = opened(tmp_path)
    journal.write_bytes(b"".join(damage(*journal.read_bytes().splitlines(keepends=True))))
    before = journal.read_bytes()
    acts = (
        document(tmp_path).read,
        document(tmp_path).history,
        lambda: document(tmp_path).change(note("x"), by="x", at=AT),
    )
    for act in acts:
        with pytest.raises(Invalid) as caught:
            act()
        assert caught.value.code == "damaged-journal"
        assert f"journal.jsonl: line {number} " in caught.value.message
    assert journal.read_bytes() == before


def test_a_broken_event_is_named(tmp_path):
    opened(tmp_path)
    decide = lambda state: [{"type": "answered", "agent": "ann"}]  # noqa: E731
    with pytest.raises(KeyError):
        document(tmp_path).change(decide, by="x", at=AT)
    careless = toy.changed(evolve=lambda state, event: None)
    document(tmp_path, careless).change(decide, by="x", at=AT)
    with pytest.raises(Invalid) as caught:
        document(tmp_path).read()
    assert caught.value.code == "damaged-journal" and "revision 5" in caught.value.message


def test_unknown_keys_of_a_line_survive(tmp_path):
    journal = opened(tmp_path)
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[-1] = lines[-1].replace(b'"op":', b'"new":[1],"op":')
    journal.write_bytes(b"".join(lines))
    assert document(tmp_path).history()[-1].extra == {"new": [1]}


def test_locks_exclude_each_other(tmp_path):
    path = str(tmp_path / "lock")
    with Lock(path):
        with pytest.raises(filelock.Timeout):
            filelock.FileLock(path).acquire(timeout=0)
        with pytest.raises(Conflict) as caught, Lock(path, patience=0.02):
            pass
        assert caught.value.code == "locked"
    with filelock.FileLock(path), pytest.raises(Conflict), Lock(path, patience=0.02):
        pass
    with Lock(path, patience=0):
        pass


@pytest.mark.parametrize("becomes", ["taken", "no-folder"])
def test_a_lock_is_waited_for_unless_its_folder_is_moved(tmp_path, becomes):
    os.mkdir(tmp_path / "a")
    path, got = str(tmp_path / "a/lock"), []

    def take():
        try:
            with Lock(path):
                got.append("taken")
        except NotFound as refusal:
            got.append(refusal.code)

    with Lock(path):
        thread = threading.Thread(target=take)
        thread.start()
        while opened_here().count(path) < 2:
            time.sleep(0.001)
        if becomes == "no-folder":
            os.rename(tmp_path / "a", tmp_path / "b")
    thread.join(10)
    assert got == [becomes]


def opened_here():
    """Return the paths of all files that this process has open."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # it is closed by now
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return found


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(plain | st.just({"\u2028": "\x9b\u202e"}), st.text(st.characters(categories=["Cs", "L"])))
def test_json_round_trip(value, halves):
    assert codec.loads(codec.printed(value)) == value
    assert codec.loads("\ufeff{}\r\n".encode()) == {}  # as editors of Windows save it
    assert not {*"\n\x9b\u2028\u202e"} & {*codec.printed(value)}
    assert codec.loads(codec.dumps(value)) == codec.loads(codec.dumps(value, spaced=True)) == value
    assert codec.loads(codec.encoded([value, halves])) == [value, halves]
    assert b"\n" not in codec.encoded(value)


@pytest.mark.parametrize(
    "text", ["", "{", "[1] x", "NaN", "[" * 99999, '"\t"', b"\xff", "1" * 9999, "{'a':1}", "[1,]"]
)
def test_json_is_refused(text):
    with pytest.raises(Invalid) as caught:
        codec.loads(text, "this")
    assert caught.value.code == "bad-json" and caught.value.message.startswith("this: ")


WHERE = ("conversations/d", "../d.md")


def hint(tmp_path):
    return Hint(str(tmp_path), AT)


def settled(tmp_path):
    """Make a document with a row in the hint, whatever its age; return its page."""
    begun(tmp_path / "memory/shared")
    one = hint(tmp_path)
    one.quiet_ns = 0
    assert not one.skips(*WHERE)
    one.note(*WHERE, "2026-11-28T10:00:00Z")
    one.save()
    assert hint(tmp_path).skips(*WHERE)
    return tmp_path / "memory/shared/d.md"


def test_the_hint_skips_what_did_not_change(tmp_path):
    page = settled(tmp_path)
    assert not Hint(str(tmp_path), AT + timedelta(hours=1)).skips(*WHERE)
    assert not hint(tmp_path).skips(WHERE[0] + "x", WHERE[1])
    (tmp_path / "council.toml").write_text("x = 1\n")
    assert not hint(tmp_path).skips(*WHERE)
    (tmp_path / "council.toml").unlink()
    one = hint(tmp_path)
    assert one.lacks() and one.skips(*WHERE) and not one.lacks()  # nothing that was not met
    facts = os.stat(page)
    with open(page, "r+") as file:
        file.write("X")
    os.utime(page, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert os.stat(page).st_size == facts.st_size and not hint(tmp_path).skips(*WHERE)


def test_the_hint_forgets_what_changes_meanwhile(tmp_path):
    begun(tmp_path / "memory/shared")
    one, due = document(tmp_path / "memory/shared"), hint(tmp_path)
    assert not due.skips(*WHERE)
    due.note(*WHERE, None)  # too young
    due.quiet_ns = 0
    one.change(note("meanwhile"), by="x", at=AT)
    due.note(*WHERE, None)
    with open(one.page) as editor:
        assert not due.skips(*WHERE)
        one.change(note("an old page stays"), by="x", at=AT)
        assert not due.skips(*WHERE)
        due.note(*WHERE, None)
        assert editor.read()
    due.save()
    assert not hint(tmp_path).skips(*WHERE)
    assert not [n for n in os.listdir(tmp_path / "memory/shared/.council") if n.startswith("due.")]


def test_line_ends_that_a_tool_changed(tmp_path):
    journal = opened(tmp_path)
    text = journal.read_bytes()
    journal.write_bytes(text.replace(b"\n", b"\r\n"))
    one = document(tmp_path)
    assert one.peek().notes == ["note 0", "note 1", "note 2"]
    assert journal.read_bytes() != text, "reading writes nothing"
    one.change(note("more"), by="x", at=AT)
    assert journal.read_bytes().startswith(text)
    assert document(tmp_path).peek().notes[-1] == "more"
