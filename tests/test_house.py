"""The house itself: the entrances, the pins, the layers, the count of requirements."""

from __future__ import annotations

import importlib.util
import json
import os
import runpy
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from council.operations.conversations.kept_prompts import made
from tests.examples import one_in

HOUSE = Path(__file__).resolve().parent.parent
NOBODY = ("-c", "user.name=x", "-c", "user.email=x@y.z")
ENTRANCES = ("demo", "test", "check", "bench", "fmt", "clean")


def run(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False
    )


def set_up_venv():
    """Return the set-up script as a module."""
    spec = importlib.util.spec_from_file_location("set_up_venv", HOUSE / ".ci" / "set_up_venv.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copy_of_house(tmp_path: Path) -> Path:
    """A copy of the code and its settings, in a folder whose name holds spaces."""
    root = tmp_path / "a house with spaces"
    root.mkdir()
    shutil.copytree(
        HOUSE / "council", root / "council", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("pyproject.toml", "constraints.txt", "Makefile"):
        shutil.copy(HOUSE / name, root / name)
    shutil.copytree(HOUSE / ".ci", root / ".ci", ignore=shutil.ignore_patterns("__pycache__"))
    return root


def test_make_alone_names_every_entrance_with_one_line():
    shown = run("make", "--no-print-directory", cwd=HOUSE)

    assert shown.returncode == 0
    lines = [line.split(maxsplit=2) for line in shown.stdout.splitlines()]
    told = {words[1]: words[2] for words in lines}
    assert set(ENTRANCES) <= set(told)
    assert all(told.values())


def test_make_alone_creates_nothing(copy_of_house: Path):
    before = sorted(copy_of_house.rglob("*"))

    run("make", cwd=copy_of_house)

    assert sorted(copy_of_house.rglob("*")) == before


def test_make_clean_leaves_conversations_and_minutes_alone(copy_of_house: Path):
    kept = [copy_of_house / "memory/shared/a.md", copy_of_house / "conseils/b.md"]
    removed = [copy_of_house / ".venv/pyvenv.cfg", copy_of_house / "council/__pycache__/a.pyc"]
    for path in kept + removed:
        path.parent.mkdir(parents=True)
        path.touch()

    done = run("make", "clean", cwd=copy_of_house)

    assert done.returncode == 0
    assert all(path.exists() for path in kept)
    assert not any(path.exists() for path in removed)


def test_continuous_integration_runs_check_and_test_from_any_folder(
    copy_of_house: Path, tmp_path: Path
):
    (copy_of_house / "Makefile").write_text('%:\n\t@echo "$@ CI=$$CI"; cat\n')
    for words in (("init", "-q"), ("add", "Makefile"), (*NOBODY, "commit", "-qm", "x")):
        assert run("git", *words, cwd=copy_of_house).returncode == 0  # what it clones

    done = run(copy_of_house / ".ci" / "run", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "check CI=true" in done.stdout
    assert "test CI=true" in done.stdout


def test_continuous_integration_stops_at_the_first_failure(copy_of_house: Path):
    (copy_of_house / "Makefile").write_text("check:\n\t@false\ntest:\n\t@echo reached\n")

    done = run(copy_of_house / ".ci" / "run", cwd=copy_of_house)

    assert done.returncode != 0
    assert "reached" not in done.stdout


def test_environment_counts_as_ready_only_with_a_stamp_of_the_same_sources():
    ready = set_up_venv().is_ready

    assert ready("abc", "", ["abc"])
    assert ready("abc", "", ["abc", "dev"])
    assert ready("abc", "dev", ["abc", "dev"])
    assert not ready("abc", "dev", ["abc"])
    assert not ready("abc", "", ["other", "dev"])
    assert not ready("abc", "", [])


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt", "council/__init__.py"])
def test_stamp_follows_every_source_of_the_environment(copy_of_house: Path, name: str):
    script = copy_of_house / ".ci" / "set_up_venv.py"
    ask = f"import runpy; print(runpy.run_path({str(script)!r})['stamp_text']())"
    before = run(sys.executable, "-c", ask, cwd=copy_of_house).stdout
    with (copy_of_house / name).open("a") as file:
        file.write("\n# changed\n")

    after = run(sys.executable, "-c", ask, cwd=copy_of_house).stdout

    assert before and after and before != after


def test_every_package_that_make_installs_is_pinned():
    pins = [Requirement(line) for line in (HOUSE / "constraints.txt").read_text().splitlines()]
    assert all(len(pin.specifier) == 1 and str(pin.specifier)[:2] == "==" for pin in pins)
    pinned = {canonicalize_name(pin.name) for pin in pins}
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]
    open_ends = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    installed: set[str] = set()
    while open_ends:
        wanted = Requirement(open_ends.pop())
        name = canonicalize_name(wanted.name)
        if name in installed or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        installed.add(name)
        open_ends += requires(name) or []

    assert sorted(installed - pinned) == []


def test_pins_allow_what_the_project_asks_for():
    pins = {
        canonicalize_name(pin.name): str(pin.specifier)[2:]
        for pin in map(Requirement, (HOUSE / "constraints.txt").read_text().splitlines())
    }
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]

    for line in [*project["dependencies"], *project["optional-dependencies"]["dev"]]:
        wanted = Requirement(line)
        assert wanted.specifier.contains(pins[canonicalize_name(wanted.name)]), line


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    one_in(
        3,
        [
            ("core/ids.py", "import os", "The core is pure"),
            ("core/ids.py", "import council.store", "Imports go downwards"),
            ("store/extra.py", "import council.drivers", "Imports go downwards"),
            ("drivers/extra.py", "import council.store", "Imports go downwards"),
            ("attic.py", "", "Imports go downwards"),
            ("operations/extra.py", "import rich", "Typer and rich"),
            ("operations/extra.py", "import jinja2", "Templates"),
            ("core/ids.py", "import yaml", "Front matter"),
            ("drivers/extra.py", "import watchdog", "File watching"),
            ("operations/extra.py", "import hikari", "The client library of a service"),
        ],
    ),
)
def test_import_contract_is_broken_by(copy_of_house: Path, module: str, line: str, contract: str):
    with (copy_of_house / "council" / module).open("a") as file:
        file.write(f"\n{line}\n")

    done = run(Path(sys.executable).parent / "lint-imports", "--no-cache", cwd=copy_of_house)

    assert done.returncode != 0
    verdict = next(text for text in done.stdout.splitlines() if text.startswith(contract))
    assert " BROKEN" in verdict


@pytest.mark.parametrize(("name", "count"), [("messages", 325), ("rules", 179)])
def test_vectors_are_whole(name: str, count: int):
    text = (HOUSE / "tests" / "vectors" / f"{name}.jsonl").read_text(encoding="utf-8")

    assert len({json.loads(line)["id"] for line in text.splitlines()}) == count


def test_the_command_fixture_hides_the_outer_environment(council, monkeypatch, now):
    monkeypatch.setenv("COUNCIL_ROOT", "/elsewhere")
    monkeypatch.setenv("SECRET_KEY", "hidden")

    seen = council.env(now=now, env={"EXTRA": "1"})

    assert seen["COUNCIL_NOW"] == "2026-02-08T20:00:00+00:00"
    assert set(seen) - {"TMPDIR"} == {"PATH", "HOME", "LANG", "TERM", "COUNCIL_NOW", "EXTRA"}
    assert not [name for name in os.environ if name.startswith("COUNCIL_") and name[8:] != "ROOT"]


def make_prompts(house: Path) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, house / ".ci" / "make_prompts.py", cwd=house)


def test_the_prompts_that_run_were_made_from_the_templates_that_lie_there():
    script = runpy.run_path(str(HOUSE / ".ci" / "make_prompts.py"))

    assert made()[0] == script["digest_of_sources"](), "run: python3 .ci/set_up_venv.py"


def test_prompts_are_made_again_when_a_template_was_changed(copy_of_house: Path):
    folder = copy_of_house / "council" / "operations" / "conversations" / "made_prompts"
    template = copy_of_house / "council" / "prompts" / "en" / "_who.md.j2"
    stays, goes = folder / "en_turn.py", folder / "en_gone.py"
    shutil.rmtree(folder)
    assert make_prompts(copy_of_house).returncode == 0
    first = stays.stat().st_mtime_ns
    assert make_prompts(copy_of_house).returncode == 0
    assert stays.stat().st_mtime_ns == first
    goes.touch()
    template.write_text(template.read_text() + "Something new.\n")

    assert make_prompts(copy_of_house).returncode == 0

    assert not goes.exists()
    assert "Something new." in (folder / "en_turn.py").read_text()


@pytest.mark.parametrize(
    "text, fault",
    one_in(
        3,
        [
            ("{% if %}", "Expected an expression"),
            ("{{ topic | upper }}", "No filter named 'upper'"),
            ("{% if a %}{{ topic | upper }}{% endif %}", "does not know: upper"),
            ("{% if topic is string %}{% endif %}", "does not know: string"),
            ("{% macro a() %}{% endmacro %}{{ a() }}", "does not know: Macro"),
            ("{% include topic %}", "unknown code"),
            ("{% block a %}{% endblock %}", "unknown code"),
        ],
    ),
)
def test_a_template_that_needs_more_than_our_few_lines_is_no_prompt(
    copy_of_house: Path, text: str, fault: str
):
    (copy_of_house / "council" / "prompts" / "en" / "turn.md.j2").write_text(text)

    done = make_prompts(copy_of_house)

    assert done.returncode == 1
    assert "turn.md.j2" in done.stderr and fault in done.stderr
    assert "Traceback" not in done.stderr


def test_without_its_texts_a_command_says_what_is_missing(copy_of_house: Path, council):
    assert council("init", "--agents", "owl,gecko").code == 0
    assert council("convene", "Tea?", "--agents", "owl,gecko").code == 0
    shutil.rmtree(copy_of_house / "council" / "texts")

    done = run_copy(copy_of_house, council, "events", "story", "active")

    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "texts/events.txt is missing" in done.stderr
    assert "install it again" in done.stderr


def run_copy(house: Path, council, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the copy in the workspace."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "council", *words],
        cwd=council.root,
        env=council.env(env={"PYTHONPATH": str(house)}),
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_made_prompts_a_command_says_what_to_run(copy_of_house: Path, council):
    assert council("init", "--agents", "owl,gecko").code == 0
    assert council("convene", "Tea?", "--agents", "owl,gecko").code == 0
    shutil.rmtree(copy_of_house / "council" / "operations" / "conversations" / "made_prompts")

    done = run_copy(copy_of_house, council, "context", "--as", "owl")

    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "made_prompts is missing" in done.stderr
    assert "python3 .ci/set_up_venv.py" in done.stderr
