"""Single files: whole, durable, honest about what went wrong; and where they may lie."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from council.core.errors import (
    InvalidInputError,
    InvalidStateError,
    NotFoundError,
    RefusedError,
    StorageError,
)
from council.store import files
from council.store.documents import live
from council.store.keys import run_key
from council.store.paths import Workspace, find_root, resolve_inside
from council.store.sharing import refuse_network, type_in
from tests.store.processes import at_call, die, forked, status_of, together


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_new_file_never_takes_the_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert files.write_new(str(path), b"first")
    assert not files.write_new(str(path), b"second")
    assert _contents(tmp_path) == {"file": b"first"}


def test_of_many_who_make_one_file_exactly_one_does(tmp_path: Path) -> None:
    path = str(tmp_path / "file")

    def make() -> None:
        if not files.write_new(path, str(os.getpid()).encode()):
            raise SystemExit(1)

    statuses = together([make] * 8)
    assert statuses.count(0) == 1
    assert len(_contents(tmp_path)) == 1


def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)
    files.replace(str(path), b"new")
    assert _contents(tmp_path) == {"file": b"new"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.req("XC-001")
def test_killed_at_any_call_a_replaced_file_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    path, number, seen = tmp_path / "file", 0, set[bytes]()
    while True:
        number += 1
        path.write_bytes(b"old")

        def replace(at: int = number) -> None:
            at_call(at, die)
            files.replace(str(path), b"new" * 1000)

        status = status_of(forked(replace))
        seen.add(path.read_bytes())
        if status == 0:
            break
    assert number > 5
    assert seen == {b"old", b"new" * 1000}


@pytest.mark.parametrize(
    ("code", "kind", "hint"),
    [
        (errno.ENOSPC, StorageError, "free some disk space"),
        (errno.EDQUOT, StorageError, "free some disk space"),
        (errno.EIO, StorageError, "check the disk"),
        (errno.EROFS, RefusedError, "mount"),
        (errno.EACCES, RefusedError, "permissions"),
        (errno.ELOOP, InvalidStateError, "regular file"),
    ],
)
def test_an_error_of_the_system_says_what_where_and_what_to_do(
    code: int, kind: type, hint: str
) -> None:
    error = files.explained(OSError(code, os.strerror(code)), "write", "/some/where")
    assert type(error) is kind
    assert error.message == f"cannot write /some/where: {os.strerror(code)}"
    assert hint in error.hint


def test_a_folder_that_is_missing_is_said_as_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        files.replace(str(tmp_path / "nowhere" / "file"), b"")


def test_a_folder_that_cannot_be_made_is_said_as_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=r"cannot make .*file/folder"):
        files.make_folder(str(tmp_path / "file" / "folder"))


def test_exchanged_files_keep_their_inodes(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"1")
    other.write_bytes(b"2")
    before = other.stat().st_ino
    if not live.exchange(str(one), str(other)):
        pytest.skip("this file system cannot exchange")
    assert (one.read_bytes(), other.read_bytes()) == (b"2", b"1")
    assert one.stat().st_ino == before


def test_nothing_but_a_regular_file_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "link", "folder"):
        with pytest.raises(InvalidStateError):
            files.read_stable(str(tmp_path / name))
    with pytest.raises(InvalidStateError):
        files.read_stable("/dev/zero")
    assert files.read_stable(str(tmp_path / "missing")) is None


def test_a_file_that_never_stops_changing_is_read_as_unsettled(tmp_path: Path) -> None:
    path, real = tmp_path / "file", os.fstat
    path.write_bytes(b"")

    def growing() -> None:
        def fstat(descriptor: int) -> os.stat_result:
            with path.open("ab") as file:
                file.write(b".")
            return real(descriptor)

        os.fstat = fstat
        reading = files.read_stable(str(path))
        assert reading is not None
        assert not reading.settled

    assert status_of(forked(growing)) == 0


@pytest.mark.req("XC-009")
@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd", "a\x00b", "..", "a/.."])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(RefusedError) as caught:
        resolve_inside(str(tmp_path), path)
    assert caught.value.exit_code == 6


@pytest.mark.req("XC-009")
def test_a_path_through_a_link_is_refused_wherever_the_link_leads(tmp_path: Path) -> None:
    (tmp_path / "root" / "real").mkdir(parents=True)
    (tmp_path / "root" / "out").symlink_to(tmp_path)
    (tmp_path / "root" / "in").symlink_to(tmp_path / "root" / "real")
    (tmp_path / "root" / "real" / "file").symlink_to("/etc/passwd")
    root = str(tmp_path / "root")
    for path in ("out/x", "in/x", "real/file"):
        with pytest.raises(RefusedError):
            resolve_inside(root, path)
    assert resolve_inside(root, "real/new") == f"{root}/real/new"
    assert resolve_inside(root, f"{root}/real") == f"{root}/real"
    (tmp_path / "door").symlink_to(tmp_path / "root")
    assert resolve_inside(str(tmp_path / "door"), "real/x") == f"{tmp_path}/door/real/x"


@pytest.mark.req("C0-002")
def test_the_live_file_lies_where_the_document_says_or_where_the_settings_say(
    tmp_path: Path,
) -> None:
    plain = Workspace(str(tmp_path))
    assert plain.conversation_file("active") == (
        f"{tmp_path}/memory/shared/council-active-conversation.md"
    )
    moved = Workspace(str(tmp_path), {"conversation": "talks/{name}.md"})
    assert moved.conversation_file("plan") == f"{tmp_path}/talks/plan.md"
    assert moved.control == f"{tmp_path}/talks/.council"
    assert (moved.conversation_name("plan.md"), moved.conversation_name("Plan.md")) == ("plan", "")
    single = Workspace(str(tmp_path), {"conversation": "state.md"})
    assert single.conversation_file("active") == f"{tmp_path}/state.md"
    assert single.conversation_file("plan") == f"{tmp_path}/council-plan-conversation.md"
    assert (
        Workspace(str(tmp_path), {"shared": "elsewhere"}).events == f"{tmp_path}/elsewhere/events"
    )
    assert Workspace("/w", {"minutes": "/srv/minutes"}).minutes == "/srv/minutes"


def test_names_that_could_be_paths_are_refused(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    for name in ("../x", "", "a/b", ".council", "x" * 181):
        with pytest.raises(InvalidInputError):
            workspace.conversation_file(name)
    for name in ("../x", "", "A", "a/b", ".council", "x" * 65):
        with pytest.raises(InvalidInputError):
            workspace.agent(name)
    for name in ("open", "runs", "delegation", "prompts", "..", "a/b"):
        with pytest.raises(InvalidInputError):
            workspace.conversation_folder(name)


def test_the_workspace_is_named_above_or_personal(tmp_path: Path) -> None:
    here = tmp_path / "w" / "deep" / "down"
    here.mkdir(parents=True)
    with pytest.raises(NotFoundError, match="no council workspace here or above"):
        find_root(str(here), {})
    data = tmp_path / "data"
    (data / "council" / "memory" / "shared").mkdir(parents=True)
    env = {"XDG_DATA_HOME": str(data)}
    assert find_root(str(here), env) == f"{data}/council"
    (tmp_path / "w" / "council.toml").touch()
    assert find_root(str(here), env) == f"{tmp_path}/w"
    assert find_root(str(here), {"COUNCIL_ROOT": str(data)}) == str(data)
    with pytest.raises(NotFoundError):
        find_root(str(here), {"COUNCIL_ROOT": str(tmp_path / "missing")})


def test_a_network_file_system_is_refused_and_found_by_the_innermost_mount() -> None:
    mounts = (
        "1 0 8:1 / / rw - ext4 /dev/a rw\n"
        "2 1 0:9 / /home/my\\040net rw shared:1 - nfs4 server:/ rw\n"
        "3 2 8:2 / /home/my\\040net/local rw - xfs /dev/b rw\n"
    )
    assert type_in(mounts, "/home/x") == "ext4"
    assert type_in(mounts, "/home/my net/w") == "nfs4"
    assert type_in(mounts, "/home/my net/local/w") == "xfs"
    refuse_network("/w", "ext4")
    for kind in ("nfs", "nfs4", "cifs", "9p", "fuse.sshfs"):
        with pytest.raises(RefusedError, match=kind) as caught:
            refuse_network("/w", kind)
        assert "force_network_fs" in caught.value.hint


@pytest.mark.req("XC-014")
def test_all_who_ask_at_once_get_the_same_key(tmp_path: Path) -> None:
    workspace, results = Workspace(str(tmp_path)), tmp_path / "results"

    def ask() -> None:
        key = run_key(workspace).hex().encode() + b"\n"
        with results.open("ab", buffering=0) as file:
            file.write(key)

    assert together([ask] * 8) == [0] * 8
    assert set(results.read_bytes().split()) == {run_key(workspace).hex().encode()}
    assert len(run_key(workspace)) == 32
    assert stat.S_IMODE(os.stat(workspace.key).st_mode) == 0o600
    Path(workspace.key).write_bytes(b"short")
    with pytest.raises(InvalidStateError):
        run_key(workspace)
