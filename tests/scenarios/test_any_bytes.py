"""Whatever bytes stand in whatever file of a workspace: a clear report, and a way back.

Commands run inside this process, which is the same code without the start of
an interpreter each time; each must end by itself, within its time, with one
of our exit codes and no traceback.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from council import __main__
from council.commands.options import hoisted
from tests.operations.tables import adopt_orphans, all_is_quiet
from tests.store.records import put

NOW = "2026-02-08T20:00:00Z"
LATER = "2026-02-08T20:20:00Z"
PATIENCE_S = 300
CODES = {0, 2, 3, 4, 5, 6, 7}
SHARED = Path("memory/shared")
SAID = ("Henry says that we should.", "A word of Sage.")


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def run(root: Path, *words: str, now: str = LATER) -> Ended:
    """Run one command in this process, as `council` dispatches it."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    argv = hoisted([*words, "--root", str(root), "--now", now])
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), patience(words):
        code = __main__.run(argv)
    out.flush()
    err.flush()
    told = [one.buffer.getvalue().decode("utf-8") for one in (out, err)]  # type: ignore[attr-defined]
    return Ended(code, *told)


@contextlib.contextmanager
def patience(words: tuple[str, ...]) -> Iterator[None]:
    """Fail a command that hangs, on a pipe without a writer for instance."""

    def too_long(*_: object) -> None:
        raise AssertionError(f"council {' '.join(words)} hangs")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(PATIENCE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module", autouse=True)
def processes_left_behind_are_ours() -> None:
    adopt_orphans()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with an open, sealed conversation in its second round and one archived."""
    root = tmp_path_factory.mktemp("template")
    (root / "memory" / "shared").mkdir(parents=True)
    agents = root / "memory" / "agents"
    for agent in ("henry", "sage", "nova"):
        (agents / agent).mkdir(parents=True)
        soul = f"---\nname: {agent.capitalize()}\nrole: thinks\n---\nYou are {agent}.\n"
        (agents / agent / "SOUL.md").write_text(soul)
    (root / "council.toml").write_text('schemaVersion = 1\nlanguage = "en"\n')
    (root / "prompts").mkdir()
    (root / "prompts" / "turn.md.j2").write_text("Answer, {{ agent }}.\n")

    def done(*words: str) -> str:
        ended = run(root, *words, now=NOW)
        assert ended.code == 0, ended.err
        return ended.out

    done("convene", "An old question?", "--agents", "henry,sage", "--open")
    done("archive")
    done("convene", "Shall we?", "--agents", "henry,sage,nova", "--mode", "prd", "--open")
    for agent, text in (("henry", SAID[0]), ("sage", "Sage doubts."), ("nova", "Nova asks.")):
        done("respond", "--as", agent, text)
    done("heartbeat")
    done("respond", "--as", "sage", SAID[1])
    done("context", "--as", "henry")
    done("convene", "Blind?", "--name", "blind", "--agents", "henry,sage")
    done("respond", "--name", "blind", "--as", "henry", "Seen by nobody yet.")
    put(root / SHARED / ".council" / "tally.jsonl", {})
    (root / SHARED / ".council" / "hooks.json").write_text("{}")
    all_is_quiet()
    return root


def only(paths: Iterator[Path]) -> Path:
    found = sorted(paths)
    assert found, "the template has no such file"
    return found[-1]


def folder(root: Path) -> Path:
    shown = (root / SHARED / ".council" / "open" / "active").read_text().strip()
    return root / SHARED / ".council" / shown


FILES: dict[str, Callable[[Path], Path]] = {
    "state file": lambda root: root / SHARED / "council-active-conversation.md",
    "journal": lambda root: folder(root) / "revisions.jsonl",
    "kept prompt": lambda root: only((folder(root) / "prompts").iterdir()),
    "lock": lambda root: folder(root) / "lock",
    "pointer": lambda root: root / SHARED / ".council" / "open" / "active",
    "sealed": lambda root: only((root / SHARED / ".council").glob("*/sealed/*")),
    "counts": lambda root: root / SHARED / ".council" / "tally.jsonl",
    "mark of the hooks": lambda root: root / SHARED / ".council" / "hooks.json",
    "settings": lambda root: root / "council.toml",
    "kept settings": lambda root: root / SHARED / ".council" / "settings-cache.json",
    "key": lambda root: root / SHARED / ".council" / "key",
    "heartbeat lock": lambda root: root / SHARED / ".council" / "heartbeat.lock",
    "last heartbeat": lambda root: root / SHARED / ".council" / "last-heartbeat",
    "events": lambda root: only((root / SHARED / "events").iterdir()),
    "soul": lambda root: root / "memory/agents/henry/SOUL.md",
    "template of a prompt": lambda root: root / "prompts" / "turn.md.j2",
    "minutes": lambda root: only((root / "conseils").iterdir()),
    "task": lambda root: only((root / "memory/agents/henry/tasks").iterdir()),
}


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def noise(path: Path) -> None:
    path.write_bytes(bytes(range(255, -1, -1)) * 9)


def nul(path: Path) -> None:
    path.write_bytes(b"\0" * 512)


def ten_megabytes(path: Path) -> None:
    path.write_bytes((b"all work and no play " * 50 + b"\n") * 10_000)


def nested(path: Path) -> None:
    path.write_bytes(b"[" * 100_000)


def made_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def made_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def made_link(path: Path) -> None:
    aside = path.with_name("elsewhere")
    path.rename(aside)
    path.symlink_to(aside)


def removed(path: Path) -> None:
    path.unlink()


def unreadable(path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    path.chmod(0)


WAYS = (
    emptied,
    cut,
    noise,
    nul,
    ten_megabytes,
    nested,
    made_folder,
    made_pipe,
    made_link,
    removed,
    unreadable,
)
COMMANDS = (
    ("status", "--json"),
    ("list", "--archived", "--json"),
    ("show", "--json"),
    ("check", "--json"),
    ("doctor", "--json"),
    ("history", "--json"),
    ("diff", "1", "--json"),
    ("context", "--as", "henry"),
    ("events", "tail", "--json"),
    ("migrate", "--json"),
    ("gc", "--dry-run", "--json"),
    ("heartbeat", "--json"),
    ("respond", "--as", "henry", "--json", "What Henry has to add."),
    ("doctor", "--repair", "--json"),
)


# Each of them reads ten megabytes more than once.
FEW = tuple(one for one in COMMANDS if one[0] in ("status", "check", "heartbeat", "respond"))
# Of these only the kind matters: what they hold is not read.
UNREAD = ("lock", "heartbeat lock", "last heartbeat", "task")
# Every day each file is met in some ways, and each way in some files.
SHARE, LARGEST = 4, ("state file", ten_megabytes)
CASES = [
    pytest.param(
        name,
        way,
        id=f"{name}-{way.__name__}",
        marks=[pytest.mark.long] if (file + number) % SHARE or (name, way) == LARGEST else [],
    )
    for file, name in enumerate(FILES)
    for number, way in enumerate(WAYS)
    if name not in UNREAD or way.__name__ in ("noise", "made_folder", "made_pipe", "made_link")
]


def put_right(path: Path, original: bytes) -> None:
    """Do what every report says in the end: put a regular file in its place, or take it away."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
    path.write_bytes(original)


@pytest.mark.req("XC-001", "XC-006", "XC-008")
@pytest.mark.parametrize(("name", "way"), CASES)
def test_any_bytes_in_any_file_are_reported_and_there_is_a_way_back(
    template: Path, tmp_path: Path, name: str, way: Callable[[Path], None]
):
    root = tmp_path / "workspace"
    shutil.copytree(template, root, symlinks=True)
    path = FILES[name](root)
    original = path.read_bytes()
    mode = path.stat().st_mode
    path.chmod(0o600)
    way(path)

    for words in FEW if way is ten_megabytes else COMMANDS:
        ended = run(root, *words)
        said = f"{' '.join(words)}: {ended}"
        assert ended.code in CODES, said
        assert "Traceback" not in ended.err, said
        assert "unexpected failure" not in ended.err, said
        if ended.code in (1, 4, 5, 6, 7):
            assert ended.err.strip(), said
        if "--json" in words and "tail" not in words:
            json.loads(ended.out)
    all_is_quiet()

    put_right(path, original)
    path.chmod(mode)
    shown = whole(root)
    texts = [one["text"] for one in (*shown["contributions"], *shown["late"])]
    assert [texts.count(text) for text in SAID] == [1, 1], texts
    assert run(root, "respond", "--as", "nova", "Nova at the end.").code == 0
    all_is_quiet()
    assert run(root, "check").code == 0
    assert "Nova at the end." in run(root, "show").out


def whole(root: Path) -> dict[str, Any]:
    ended = run(root, "show", "--json")
    assert ended.code == 0, ended.err
    shown: dict[str, Any] = json.loads(ended.out)
    return shown


if sys.platform != "linux":
    pytestmark = pytest.mark.skip(reason="pipes and links as Linux has them")
