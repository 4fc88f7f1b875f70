"""A copy of a workspace made at any moment is a backup; one that is moved goes on elsewhere."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.commands import at_rest, wait_until
from tests.operations.test_forget import everywhere

AGENTS = tuple(f"a{number:02d}" for number in range(40))
LATE = "zoe"
SHARED = Path("memory/shared")


def _cp(root: Path, to: Path) -> None:
    subprocess.run(["cp", "-r", root, to], check=False, capture_output=True)


def _tar(root: Path, to: Path) -> None:
    to.mkdir()
    with subprocess.Popen(
        ["tar", "c", "-C", root, "."], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as packed:
        subprocess.run(["tar", "x", "-C", to], stdin=packed.stdout, check=True)


def _rsync(root: Path, to: Path) -> None:
    subprocess.run(["rsync", "-a", f"{root}/", f"{to}/"], check=False, capture_output=True)


def _journal_first(root: Path, to: Path) -> None:
    """A snapshot of two moments: the histories a while before everything else."""
    _part_first(root, to, ".council", after=0)


def _live_first(root: Path, to: Path) -> None:
    """A snapshot of two moments: everything else a while before the histories."""
    _part_first(root, to, ".council", after=1)


def _part_first(root: Path, to: Path, part: str, *, after: int) -> None:
    def take(with_part: bool) -> None:
        def ignored(folder: str, names: list[str]) -> set[str]:
            is_part = part in Path(folder).relative_to(root).parts
            files = {one for one in names if not Path(folder, one).is_dir()}
            return files if is_part != with_part else set()

        with suppress(shutil.Error):  # a file that was there only while it was exchanged
            shutil.copytree(root, to, ignore=ignored, dirs_exist_ok=True)

    answered = len(_answers(root))
    take(bool(after == 0))
    wait_until(lambda: len(_answers(root)) > answered + 3 or _nobody_works(root))
    take(bool(after == 1))


def _answers(root: Path) -> list[str]:
    days = sorted((root / SHARED / "events").glob("*.jsonl"))
    return [line for day in days for line in day.read_text().splitlines() if "recorded" in line]


def _nobody_works(root: Path) -> bool:
    at_rest(root)
    return True


WAYS: dict[str, Callable[[Path, Path], None]] = {
    "cp": _cp,
    "tar": _tar,
    "rsync": _rsync,
    "journal-first": _journal_first,
    "live-first": _live_first,
}


def _ways() -> list[str]:
    return [name for name in WAYS if name != "rsync" or shutil.which("rsync")]


def _together(council, words: Callable[[str], tuple[str, ...]], copies: Path) -> dict[str, list]:
    """Let forty agents speak at once; copy meanwhile. Return who was acknowledged before each."""
    running = {agent: council.start(*words(agent)) for agent in AGENTS}
    before: dict[str, list] = {}

    def acknowledged() -> list[str]:
        return [agent for agent, one in running.items() if one.poll() == 0]

    for number, name in enumerate(_ways(), 1):
        wait_until(lambda least=2 * number: len(acknowledged()) >= least)
        before[name] = acknowledged()
        WAYS[name](council.root, copies / name)
    for agent, one in running.items():
        _, err = one.communicate(timeout=300)
        assert one.returncode == 0, f"{agent}: {err.decode()}"
    assert any(len(one) < len(AGENTS) for one in before.values()), "all copies came too late"
    return before


def _said_of_two_moments(council, root: Path) -> set[str]:
    told = council("events", "tail", "--json", "--lines", "1000", "--root", root).out.splitlines()
    types = {json.loads(line)["type"] for line in told}
    return types & {"journal.behind", "edit.reverted", "history.lost", "seal.missing"}


@pytest.mark.long
@pytest.mark.req("OP-010", "XC-001")
@pytest.mark.parametrize("blind", [False, True], ids=["open", "sealed"])
def test_every_copy_made_while_forty_answer_holds_what_was_acknowledged(
    council, tmp_path: Path, blind: bool
):
    opened = council(
        *("convene", "Tea?", "--agents", ",".join((*AGENTS, LATE))),
        *("--sealed" if blind else "--open", "--timeout", "9h"),
    )
    assert opened.code == 0, opened.err
    before = _together(council, lambda one: ("respond", "--as", one, f"It is {one}."), tmp_path)
    at_rest(council.root)
    whole = council("history", "--json").json()
    for name, known in before.items():
        root = tmp_path / name
        for words in (("status",), ("history",), ("show",)):
            done = council(*words, "--root", root)
            assert done.code == 0, f"{name}: {words}: {done.err}"
        looked = council("check", "--root", root)
        assert looked.code == 0 or "the next command" in looked.err, f"{name}: {looked.err}"
        last = council("respond", "--as", LATE, "I come late.", "--root", root)
        assert last.code == 0, f"{name}: {last.err}"
        assert council("stop", "--root", root).code == 0, name  # what was sealed is shown
        shown = council("show", "--json", "--root", root).json()
        said = {one["agent"]: one["text"] for one in shown["contributions"]}
        missing = set(known) - set(said)
        assert missing == set(), f"{name} lost what was acknowledged"
        assert all(said[one] == f"It is {one}." for one in known)
        revisions = council("history", "--json", "--root", root).json()
        digests = {one["digest"] for one in revisions}
        if name in ("journal-first", "live-first") and len(known) < len(AGENTS) - 4:
            assert _said_of_two_moments(council, root), f"{name} says nothing of what is missing"
        assert len(digests & {one["digest"] for one in whole}) >= len(known)
    assert council("show", "--json").json()["rev"] == whole[-1]["rev"], "the original is untouched"


@pytest.mark.long
@pytest.mark.req("OP-010", "DG-100")
def test_every_copy_made_while_forty_post_in_a_room_holds_what_was_acknowledged(
    council, tmp_path: Path
):
    made = council("channel", "create", "chat", "den", "--participants", "owl,gecko", "--as", "owl")
    assert made.code == 0, made.err
    words = ("channel", "post", "den")
    before = _together(council, lambda one: (*words, f"It is {one}.", "--as", one), tmp_path)
    at_rest(council.root)
    for name, known in before.items():
        root = tmp_path / name
        last = council(*words, "I come late.", "--as", LATE, "--root", root)
        assert last.code == 0, f"{name}: {last.err}"
        shown = council("channel", "show", "den", "--json", "--last", "99", "--root", root)
        assert shown.code == 0, shown.err
        for one in (*known, LATE):
            text = f"It is {one}." if one != LATE else "I come late."
            assert shown.out.count(text) == 1, f"{name}: {one}"
        assert council("status", "--root", root).code == 0
        assert council("doctor", "--root", root).code in (0, 1, 3)


@pytest.mark.req("OP-010")
def test_a_workspace_that_is_moved_while_a_conversation_is_open_goes_on(council, tmp_path: Path):
    assert council("convene", "Tea?", "--agents", "owl,gecko", "--name", "tea", "--open").code == 0
    assert council("convene", "Soup?", "--agents", "owl,gecko", "--name", "soup").code == 0
    assert council("respond", "--name", "tea", "--as", "owl", "Yes.").code == 0
    assert council("respond", "--name", "soup", "--as", "owl", "Sealed.").code == 0
    assert council("cancel", "--name", "soup").code == 0
    for words in (
        ("channel", "create", "chat", "den", "--participants", "owl,gecko", "--as", "owl"),
        ("channel", "post", "den", "Hear!", "--as", "zoe"),
        ("agent", "join", "W1", "--caps", "plan"),
        ("msg", "send", "--user", "Where?", "--caps", "plan"),
    ):
        assert council(*words).code == 0, words
    at_rest(council.root)
    old = str(council.root)
    (tmp_path / "elsewhere").mkdir()
    council.root = council.root.rename(tmp_path / "elsewhere" / "moved")

    holding = [path for path in everywhere(council.root, old) if "/tasks/" not in path]
    assert [path for path in holding if "/prompts/" not in path] == [], "prompts say --root"
    assert old not in council("context", "--name", "tea", "--as", "gecko").out
    assert council("respond", "--name", "tea", "--as", "gecko", "No.").code == 0
    assert len(council("history", "--name", "tea", "--json").json()) > 2
    assert council("check", "--name", "tea").code == 0
    assert council("channel", "post", "den", "Hear me!", "--as", "zoe").code == 0
    assert council("ctx", "close", "S1").code == 0
    assert council("cancel", "--name", "tea").code == 0
    listed = council("list", "--archived", "--json").json()
    assert {str(Path(one["path"]).parent) for one in listed} == {str(council.root / "conseils")}
    ended = council("history", "--name", "soup")
    assert ended.code == 0, ended.err
    done = council("purge", "soup", "--yes", "--json")
    assert done.code == 0, done.err
    assert len(done.json()["removed"]["minutes"]) == 1
    assert not any("soup" in one["path"] for one in council("list", "--archived", "--json").json())


@pytest.mark.req("OP-010", "C0-076")
def test_runs_go_on_in_the_new_place_when_a_workspace_is_moved_while_much_is_open(
    council, tmp_path: Path
):
    says = 'cat >/dev/null; echo "I work in $(basename "$(dirname "$PWD")")/${PWD##*/}."'
    argv = json.dumps(["/bin/sh", "-c", says])
    (council.root / "council.toml").write_text(
        f'schemaVersion = 1\n[agents.fox]\nargv = {argv}\ncapabilities = ["plan"]\n'
    )
    inside, outside = council.root / "src", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    for name, folder in (("tea", inside), ("soup", outside)):
        words = ("convene", f"{name}?", "--name", name, "--agents", "fox,owl", "--open")
        assert council(*words, "--cwd", folder).code == 0
    for words in (
        ("channel", "create", "chat", "den", "--participants", "fox,owl", "--as", "owl"),
        ("agent", "join", "fox"),
        ("artifact", "publish", "../council.toml"),
        ("msg", "send", "--user", "Plan", "--caps", "plan"),
        ("heartbeat",),
    ):
        done = council(*words, cwd=inside)
        assert done.code == 0, (words, done.err)
    at_rest(council.root)
    old = str(council.root)
    (tmp_path / "elsewhere").mkdir()
    council.root = council.root.rename(tmp_path / "elsewhere" / "moved")

    # Prompts and logs of runs say what was so; what goes on knows no place.
    of_runs = ("/tasks/", "/prompts/", "/runs/")
    holding = everywhere(council.root, old)
    assert [one for one in holding if not any(part in one for part in of_runs)] == []
    for name in ("tea", "soup"):
        assert council("respond", "--name", name, "--as", "owl", "Yes.").code == 0
    assert council("channel", "post", "den", "Hear!", "--as", "owl").code == 0
    assert council("msg", "send", "--user", "Plan anew", "--caps", "plan").code == 0
    assert council("heartbeat").code == 0
    at_rest(council.root)
    for name, before, after in (
        ("tea", "workspace/src", "moved/src"),
        ("soup", f"{tmp_path.name}/outside", f"{tmp_path.name}/outside"),
    ):
        shown = council("show", "--name", name, "--json").json()
        said = [one["text"] for one in shown["contributions"] if one["agent"] == "fox"]
        assert said[:2] == [f"I work in {before}.", f"I work in {after}."]
    assert not (council.root / SHARED / ".council/failures.log").exists()
    assert not Path(old).exists(), "nobody made the old place again"
    answered = council.root / SHARED / "protocol/answers"
    assert len(list(answered.glob("*.md"))) == 2
    assert council("doctor", "--json").json()["findings"]
