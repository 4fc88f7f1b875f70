"""Documents on disk: damage, foreign pages, repetitions, closing, and what is refused."""

import errno
import os
from datetime import timedelta

import pytest

from council.kernel.document import Document
from council.kernel.errors import Conflict, Invalid, NotFound, Refused, Unexpected
from council.kernel.ids import digest
from tests.kernel import toy
from tests.kernel.toy import AT, begun, document, note


def page(tmp_path):
    return (tmp_path / "d.md").read_text()


def conflicts(tmp_path):
    folder = tmp_path / ".council/conversations/d/conflicts"
    return [one.read_text(errors="replace") for one in folder.iterdir()] if folder.exists() else []


def test_reading_makes_nothing(tmp_path):
    one = document(tmp_path)
    assert not one.exists()
    for act in (one.read, one.peek, one.history, lambda: one.close("id1")):
        with pytest.raises(NotFound):
            act()
    with pytest.raises(NotFound):
        one.change(note("x"), by="x", at=AT)
    with pytest.raises(Refused):
        one.change(toy.answer("ann", "x"), by="ann", at=AT, create=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("kept", "zeros"), [(0, 0), (0, 900), (300, 0), (300, 200), (-1, 0)])
def test_a_page_that_is_torn_or_gone_is_restored(tmp_path, kept, zeros):
    one = begun(tmp_path)
    before = page(tmp_path)
    os.unlink(one.page)
    if kept >= 0:
        (tmp_path / "d.md").write_bytes(before.encode()[:kept] + bytes(zeros))
    one.read()
    assert page(tmp_path) == before
    assert len(one.history()) == 1 and not conflicts(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe\x00garbage",
        b"# Something else\n\nwords\n",
        b"# About id1\n\n<!--council:eof rev=1 mark=00000000000000000000000000000000-->\n",
        b"# About id1\n\n<!--council:eof rev=9 mark=00000000000000000000000000000000-->\n",
        b"PAGE" + b"words " * 200_000,
    ],
    ids=["garbage", "no revision", "another clone's", "unknown", "too much"],
)
def test_a_page_of_no_known_revision_is_kept_aside(tmp_path, text):
    one = begun(tmp_path)
    text = text.replace(b"PAGE", (tmp_path / "d.md").read_bytes())
    for _ in range(2):  # the second time it is known
        (tmp_path / "d.md").write_bytes(text)
        state = one.read()
        assert page(tmp_path) == toy.render(state)
        assert conflicts(tmp_path) == [text.decode(errors="replace")]
        assert [os.path.exists(f"{one.folder}/conflicts/{n}") for n in state.kept_aside] == [True]
    assert [event["type"] for event in one.history()[-1].events] == ["kept"]
    assert len(one.history()) == 2


@pytest.mark.parametrize("first", [2, 1])
def test_a_page_without_a_journal_is_adopted(tmp_path, first):
    one = begun(tmp_path, "a note")
    text = page(tmp_path) if first == 2 else page(tmp_path).partition("<!--council:eof")[0]
    (tmp_path / "other").mkdir()
    (tmp_path / "other/d.md").write_text(text + "\ntyped\n")
    other = document(tmp_path / "other")
    assert other.exists()
    state = other.read()
    assert list(state.people) == ["ann", "bob"] and {"a note", "typed"} <= set(state.notes)
    assert [line.rev for line in other.history()] == [first, first + 1]
    assert (other.history()[0].mark == one.peek().mark) is (first == 2)
    (tmp_path / "other/d.md").write_text(page(tmp_path / "other") + "\nstale\n")
    assert "stale" in other.read().notes


def test_a_closed_document_has_the_last_words_and_is_not_adopted_again(tmp_path):
    one = begun(tmp_path)
    late = page(tmp_path) + "\nlast\n"
    (tmp_path / "d.md").write_text(late)
    for _ in range(2):
        one.close("id1")
        assert os.listdir(tmp_path / ".council/closed") == ["id1"] and not one.exists()
    assert Document(f"{tmp_path}/.council/closed/id1", None, toy).peek().notes == ["last"]
    assert not (tmp_path / "d.md").exists()
    (tmp_path / "d.md").write_text(late + "\nlate words\n")
    assert not document(tmp_path).exists()
    with pytest.raises(NotFound):
        document(tmp_path).read()
    assert not os.path.exists(one.folder)
    opens = toy.opened("id2", "eve")
    change = document(tmp_path).change(opens, by="x", at=AT, create=True)
    assert change.state.conversation_id == "id2" and page(tmp_path) == toy.render(change.state)
    kept = [n for n in os.listdir(tmp_path / ".council/closed/id1") if n.startswith("late-")]
    assert len(kept) == 1


def test_a_name_that_was_given_anew_is_not_closed(tmp_path):
    begun(tmp_path).close("id1")
    document(tmp_path).change(toy.opened("id2", "eve"), by="x", at=AT, create=True)
    document(tmp_path).close("id1", lambda state: state.conversation_id == "id1")
    assert document(tmp_path).read().conversation_id == "id2"
    document(tmp_path).close("id1-again", lambda state: state.conversation_id == "id1")
    assert os.listdir(tmp_path / ".council/closed") == ["id1"] and page(tmp_path)


def test_another_file_has_the_name_of_the_page(tmp_path):
    (tmp_path / "d.md").write_text("my shopping list\n")
    with pytest.raises(Conflict):
        document(tmp_path).change(toy.opened("id1", "ann"), by="x", at=AT, create=True)
    assert page(tmp_path) == "my shopping list\n"


@pytest.mark.parametrize(
    "make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/etc/passwd", path)]
)
def test_a_page_that_is_no_file_is_refused(tmp_path, make):
    one = begun(tmp_path)
    os.unlink(tmp_path / "d.md")
    make(tmp_path / "d.md")
    for act in (one.read, lambda: one.change(note("x"), by="x", at=AT)):
        with pytest.raises(Invalid) as caught:
            act()
        assert caught.value.code == "not-a-file" and "\n" not in caught.value.message
    os.rename(one.folder, tmp_path / "away")
    assert document(tmp_path).exists()  # so it is named, and stops no other one


def test_an_event_of_a_newer_version_is_kept_and_stops_writing(tmp_path):
    begun(tmp_path, "new")
    journal = (tmp_path / ".council/conversations/d/journal.jsonl").read_bytes()
    known = [one for one in toy.EVENTS if one != "noted"]
    one = document(tmp_path, toy.changed(EVENTS=known))
    assert one.read().topic == "About id1" and one.peek().notes == []
    (tmp_path / "d.md").write_text(page(tmp_path) + "\nmine\n")
    assert one.read().rev == 2
    with pytest.raises(Conflict) as caught:
        one.change(toy.answer("ann", "yes"), by="ann", at=AT)
    assert caught.value.code == "newer-version" and "noted" in caught.value.message
    assert (tmp_path / ".council/conversations/d/journal.jsonl").read_bytes() == journal
    assert document(tmp_path).read().notes == ["new", "mine"]


def test_a_page_in_other_words(tmp_path):
    begun(tmp_path)
    render = lambda state: toy.render(state).replace("## Notes", "## Remarks")  # noqa: E731
    one = document(tmp_path, toy.changed(render=render))
    one.read()
    assert "## Notes" in page(tmp_path) and len(one.history()) == 1
    os.unlink(tmp_path / "d.md")
    one.read()
    assert "## Remarks" in page(tmp_path)
    last = one.history()[-1]
    assert (last.rev, last.events) == (2, [{"type": "rendered"}])
    assert last.page == digest(page(tmp_path))


def test_a_page_keeps_its_mode(tmp_path):
    one = begun(tmp_path)
    os.chmod(tmp_path / "d.md", 0o664)
    one.change(note("x"), by="x", at=AT)
    assert os.stat(tmp_path / "d.md").st_mode & 0o777 == 0o664
    folder = tmp_path / ".council/conversations/d"
    assert os.stat(folder / "journal.jsonl").st_mode & 0o777 == 0o600


def test_texts_without_utf8_and_with_marks(tmp_path):
    one = begun(tmp_path)
    text = "a \ud800 lone half\n<!--council:end-->\n<!--council-state {} -->"
    one.change(toy.answer("ann", text), by="ann", at=AT)
    state = document(tmp_path).read()
    assert state.entries[0]["text"] == text
    (tmp_path / "d.md").write_text(page(tmp_path) + "\nmine\n")
    assert document(tmp_path).read().notes == ["mine"]


def test_bytes_in_no_encoding_are_kept(tmp_path):
    begun(tmp_path)
    (tmp_path / "d.md").write_bytes(page(tmp_path).encode() + b"\nTr\x8fs bien\n")
    assert document(tmp_path).read().notes == ["Tr\ufffds bien"]
    [kept] = (tmp_path / ".council/conversations/d/conflicts").iterdir()
    assert b"Tr\x8fs bien" in kept.read_bytes()


def test_a_journal_that_someone_else_appends_to(tmp_path):
    one = begun(tmp_path)
    calls = []

    def decide(state):
        calls.append(state.rev)
        if len(calls) == 1:  # another machine, which has not our lock
            other = Document(f"{tmp_path}/copy", f"{tmp_path}/c.md", toy)
            os.makedirs(other.folder)
            journal = f"{one.folder}/journal.jsonl"
            os.link(journal, f"{other.folder}/journal.jsonl")
            other.change(note("theirs"), by="y", at=AT)
        return note("ours")(state)

    change = one.change(decide, by="x", at=AT + timedelta(hours=1))
    assert calls == [1, 2] and change.state.notes == ["theirs", "ours"] and change.state.rev == 3


def test_what_the_journal_has_is_read_while_the_disk_is_full(tmp_path, monkeypatch):
    begun(tmp_path, "kept")
    os.remove(tmp_path / "d.md")

    def full(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "pwrite", full)
    assert document(tmp_path).read().notes == ["kept"]
    with pytest.raises(Unexpected, match="No space left"):
        document(tmp_path).change(note("lost"), by="x", at=AT)
    monkeypatch.undo()
    assert document(tmp_path).read().notes == ["kept"] and (tmp_path / "d.md").exists()
