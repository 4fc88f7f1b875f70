"""A workspace under git: `git add -A` takes the council, and no secret, prompt, log or lock."""

from __future__ import annotations

import fnmatch
import json
import os
import shlex
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from council.operations.place import Place
from council.store.keys import run_key
from council.working.listening import token_in
from tests.cli.commands import wait_until
from tests.conftest import BIN, Council
from tests.scenarios import test_full_run as whole
from tests.scenarios.office import Office

SEALED = "Nobody may read these words yet."
# Every kind of file that git may take, as patterns of paths below the root.
TAKEN = (
    *("council.toml", "*/.gitignore", "conseils/*.md", "conseils/*.json", "skills/council/*.md"),
    *("skills/council/references/*.md", "guide.md", "memory/agents/*/SOUL.md"),
    *("memory/agents/*/policy.json", "memory/shared/BOARD.md", "memory/shared/identities.json"),
    *("memory/shared/council-*-conversation.md", "memory/shared/events/*.jsonl"),
    *("memory/shared/channels/*.md", "memory/shared/channels/*.jsonl"),
    *("memory/shared/discussion-summary/*.md", "memory/shared/artifacts/*"),
    *("memory/shared/briefs/*", "memory/shared/protocol/*"),
)
GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
AS = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")


def git(root: Path, *words: str) -> str:
    env = {**os.environ, **GIT}
    done = subprocess.run(
        ["git", *AS, *words], cwd=root, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout


def added(root: Path) -> list[str]:
    """Return what `git add -A` takes of a directory, as paths below it."""
    git(root, "init", "-q", ".")
    git(root, "add", "-A")
    return git(root, "ls-files", "-z").split("\0")[:-1]


def secrets_of(root: Path) -> list[bytes]:
    """Return the key and the tokens of a workspace, which are drawn where there are none yet."""
    paths = Place(str(root), {}, None).paths
    tokens = [token_in(paths.web_token), token_in(f"{paths.control}/mcp-token")]
    return [run_key(paths).hex().encode(), *(one.encode() for one in tokens)]


def private_of(council: Council) -> dict[str, dict[str, str]]:
    """Return what `doctor` says of git: the finding of each cause."""
    found = council("doctor", "--json").json()["findings"]
    return {one["cause"]: one for one in found if one["what"] == "git"}


def do_as_told(council: Council, fix: str) -> None:
    """Take the way out that a finding names, as a person does in a shell."""
    command = fix.partition("; then commit")[0].partition(" (")[0]
    path = f"{BIN}:{os.environ['PATH']}"
    env = {**council.env(), **GIT, "PATH": path}
    subprocess.run(["/bin/sh", "-c", command], cwd=council.root, env=env, check=True)


def has_answered(council: Council, agent: str) -> bool:
    (one,) = council("status", "--json").json()["conversations"]
    return agent not in one["waiting"]


def held_to_the_list(root: Path, taken: list[str], secrets: list[bytes]) -> None:
    assert [one for one in taken if not any(fnmatch.fnmatch(one, kind) for kind in TAKEN)] == []
    for one in taken:
        name = os.path.basename(one)
        assert not name.startswith(".tmp-") and not name.endswith("lock"), one
        data = (root / one).read_bytes()
        assert not [secret for secret in (*secrets, SEALED.encode()) if secret in data], one


@pytest.fixture
def blind(council: Council) -> Council:
    """A council amid its blind phase, in which ann has answered."""
    assert council("init", "--agents", "ann,bob,eve").code == 0
    assert council("convene", "Yes?", "--agents", "ann,bob,eve", "--sealed").code == 0
    assert council("respond", "--as", "ann", SEALED).code == 0
    return council


@pytest.mark.req("FW-009")
@pytest.mark.long
def test_of_a_workspace_with_everything_in_it_git_takes_the_council_and_nothing_else(
    council: Council, now
):
    Office(council).hire(whole.TOOLS)
    for happen in (whole.a_council, whole.a_deliberation, whole.rooms, whole.delegation):
        happen(council)
    whole.tasks(council)
    assert council("convene", "Yes?", "--agents", "ann,bob", "--sealed").code == 0
    assert council("respond", "--as", "ann", SEALED).code == 0
    # A program was killed between writing a file and naming it.
    for folder in ("", "agents", "shared", "shared/artifacts", "shared/events", "shared/protocol"):
        (council.root / "memory" / folder).mkdir(exist_ok=True)
        if folder:
            (council.root / "memory" / folder / ".tmp-0123456789abcdef").write_text(SEALED)

    secrets = secrets_of(council.root)
    taken = added(council.root)

    held_to_the_list(council.root, taken, secrets)
    kinds = ("conseils/*.md", "*-active-conversation.md", "*/channels/hall.md", "*/protocol/*")
    assert [kind for kind in kinds if not fnmatch.filter(taken, kind)] == []
    assert private_of(council) == {}


@pytest.mark.req("FW-009", "C0-024", "C0-054")
def test_git_takes_what_people_write_and_no_key_no_sealed_answer_and_no_prompt(blind: Council):
    secrets = secrets_of(blind.root)

    taken = added(blind.root)

    held_to_the_list(blind.root, taken, secrets)
    wanted = {"council.toml", "memory/agents/ann/SOUL.md"}
    wanted |= {"memory/shared/council-active-conversation.md"}
    wanted |= {"skills/council/references/HEARTBEAT-COUNCIL.md"}
    assert wanted <= set(taken)
    assert private_of(blind) == {}


MOVED = {
    "the live files": 'conversation = "talks/{name}.md"',
    "live files in the root": 'conversation = "council-{name}-conversation.md"',
    "what is shared": 'shared = "together"',
    "agents": 'agents = "people"',
    "run states": 'run_state = "state/{agent}"',
    "identities": 'identities = "who/accounts.json"',
}


@pytest.mark.req("FW-009")
@pytest.mark.parametrize("moved", MOVED.values(), ids=MOVED)
def test_wherever_paths_lead_to_the_secrets_stay_out_of_git(council: Council, moved: str):
    shutil.rmtree(council.root / "memory")
    argv = 'argv = ["/bin/sh", "-c", "cat >/dev/null; echo Yes."]'
    (council.root / "council.toml").write_text(f"[paths]\n{moved}\n[agents.bot]\n{argv}\n")
    council.declares = False
    assert council("init", "--agents", "ann,bot,eve").code == 0
    assert council("convene", "Yes?", "--agents", "ann,bot,eve", "--sealed").code == 0
    wait_until(lambda: has_answered(council, "bot"))
    assert council("respond", "--as", "ann", SEALED).code == 0
    secrets = secrets_of(council.root)

    taken = added(council.root)

    for one in taken:
        data = (council.root / one).read_bytes()
        assert not [secret for secret in (*secrets, SEALED.encode()) if secret in data], one
        assert not [part for part in (".council/", "tasks/", "/agent/") if part in one], one
    assert private_of(council) == {}


@pytest.mark.req("FW-009")
@pytest.mark.parametrize(
    "words",
    [
        ("respond", "--as", "bob", "Yes."),
        ("heartbeat",),
        ("inject", "Mind the rain."),
        ("init",),
        ("agent", "add", "fox"),
    ],
    ids=lambda words: words[0],
)
def test_the_next_command_that_writes_covers_a_workspace_of_before(
    blind: Council, words: tuple[str, ...]
):
    for path in blind.root.rglob(".gitignore"):
        path.unlink()

    assert blind(*words).code == 0

    held_to_the_list(blind.root, added(blind.root), secrets_of(blind.root))


@pytest.mark.req("FW-009")
def test_commands_that_only_read_write_no_gitignore(blind: Council):
    for path in blind.root.rglob(".gitignore"):
        path.unlink()

    for words in (["status"], ["list"], ["show"], ["explain", "active"], ["doctor"], ["check"]):
        blind(*words)

    assert list(blind.root.rglob(".gitignore")) == []


@pytest.mark.req("FW-009")
def test_a_gitignore_of_a_person_is_never_changed(blind: Council):
    written = {}
    for path in blind.root.rglob(".gitignore"):
        path.write_text("# mine\n")
        written[path] = path.read_text()
    assert len(written) > 2

    for words in (["init"], ["heartbeat"], ["respond", "--as", "bob", "Yes."], ["gc"], ["archive"]):
        assert blind(*words).code == 0
    assert blind("doctor", "--repair", "--json").json()["ok"] is True

    assert {path: path.read_text() for path in written} == written


@pytest.mark.req("FW-009")
def test_gitignores_outlive_pruning_and_purging(blind: Council):
    before = sorted(blind.root.rglob(".gitignore"))
    assert blind("respond", "--as", "bob", "Yes.").code == 0

    assert blind("archive").code == 0
    assert blind("gc", "--older-than", "1m", now="2099-01-01T00:00:00Z").code == 0
    (minutes,) = (blind.root / "conseils").glob("*.md")
    assert blind("purge", f"conseils/{minutes.name}", "--yes").code == 0

    assert sorted(blind.root.rglob(".gitignore")) == before


@pytest.mark.req("FW-009")
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_control_directory_that_cannot_be_written_stops_no_command(blind: Council):
    control = blind.root / "memory/shared/.council"
    (control / ".gitignore").unlink()
    control.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert blind("status").code == 0
        assert "Traceback" not in blind("heartbeat").err
    finally:
        control.chmod(0o755)


@pytest.mark.req("FW-009")
def test_doctor_names_what_git_tracks_and_how_to_draw_a_new_key(blind: Council):
    old = secrets_of(blind.root)
    git(blind.root, "init", "-q", ".")
    git(blind.root, "add", "-f", "memory/shared/.council", "memory/agents/ann/tasks")
    git(blind.root, "commit", "-q", "-m", "everything")

    found = private_of(blind)

    assert set(found) == {"git-has-secret", "git-tracks"}
    assert "memory/agents/ann/tasks/" in found["git-tracks"]["found"]
    named = found["git-has-secret"]["found"]
    assert [what for what in ("run key", "page token", "mcp token") if what not in named] == []
    do_as_told(blind, found["git-tracks"]["fix"])
    git(blind.root, "commit", "-q", "-m", "council's own")
    assert set(private_of(blind)) == {"git-has-secret"}  # the history has it
    do_as_told(blind, found["git-has-secret"]["fix"])

    assert private_of(blind) == {}
    assert not set(old) & set(secrets_of(blind.root))
    assert blind("show", "--json").json()["participants"]  # nothing else was touched
    assert (blind.root / "memory/agents/ann/tasks").is_dir()


@pytest.mark.req("FW-009")
@pytest.mark.parametrize("where", ["memory/shared/.council", "memory/agents", "memory/shared"])
def test_doctor_names_what_a_gitignore_of_a_person_lets_through(blind: Council, where: str):
    git(blind.root, "init", "-q", ".")
    for path in blind.root.rglob(".gitignore"):
        path.write_text("# mine\n" + "!*" * (path.parent == blind.root / where))
    (blind.root / "memory/shared/.tmp-0123456789abcdef").touch()

    found = private_of(blind)

    assert set(found) == {"git-takes"}
    do_as_told(blind, found["git-takes"]["fix"])
    assert private_of(blind) == {}
    held_to_the_list(blind.root, added(blind.root), secrets_of(blind.root))


@pytest.mark.req("FW-009")
def test_a_run_under_way_loses_its_token_with_a_new_key_and_is_told_so(council: Council, tmp_path):
    waits = 'cat >/dev/null; env > "$HOME/run"; touch "$HOME/began"; cat "$HOME/go"; echo Yes.'
    os.mkfifo(council.home / "go")
    argv = json.dumps(["/bin/sh", "-c", waits])
    (council.root / "council.toml").write_text(f"[agents.ann]\nargv = {argv}\nenv = ['HOME']\n")
    assert council("init").code == 0
    assert council("convene", "Yes?", "--agents", "ann,bob").code == 0
    wait_until((council.home / "began").exists)
    given = dict(one.split("=", 1) for one in (council.home / "run").read_text().splitlines())
    run = {name: value for name, value in given.items() if name.startswith("COUNCIL_")}
    assert council("context", env=run).code == 0

    assert council("doctor", "--new-keys").code == 0

    refused = council("respond", "From inside.", env=run)
    assert refused.code == 6
    assert len(refused.err.splitlines()) == 1 and "nothing shows" in refused.err
    (council.home / "go").write_text("")
    wait_until(lambda: has_answered(council, "ann"))
    assert council("status", "--problems", "--json").json()["ok"] is True


@pytest.mark.req("FW-009")
def test_a_council_goes_on_in_a_clone(blind: Council, tmp_path: Path):
    git(blind.root, "init", "-q", ".")
    git(blind.root, "add", "-A")
    git(blind.root, "commit", "-q", "-m", "council")
    git(blind.root, "clone", "-q", str(blind.root), str(tmp_path / "clone"))
    blind.root = tmp_path / "clone"

    assert blind("status").code == 0
    for agent in ("bob", "eve"):  # what ann said is sealed, and so in no clone
        assert blind("respond", "--as", agent, "Yes.").code == 0
    assert blind("archive").code == 0
    assert private_of(blind) == {}


@pytest.mark.req("FW-009")
def test_doctor_starts_nothing_that_a_repository_names(blind: Council, tmp_path: Path):
    git(blind.root, "init", "-q", ".")
    program = tmp_path / "watcher"
    program.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(tmp_path / 'ran'))}\n")
    program.chmod(0o755)
    git(blind.root, "config", "core.fsmonitor", str(program))

    assert blind("doctor").code == 0

    assert not (tmp_path / "ran").exists()
