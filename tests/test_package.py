"""The package as it is published: what it says of itself, what is in it, where it runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import metadata, version
from pathlib import Path
from typing import NamedTuple

import pytest

import council as product
from council.store.extras import DISTRIBUTION
from tests.conftest import Council
from tests.web.serving import serving

HOUSE = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BUILDS = "from setuptools import build_meta; print(build_meta.build_{}({!r}))"
# What only those need who change council.
LEFT_OUT = ("tests", "benchmarks", "docs", "memory", "conseils", "build", ".venv")
POSIX = ("fcntl", "grp", "pwd", "resource", "termios", "tty", "pty", "syslog", "_posixsubprocess")
ON_WINDOWS = """
import sys
sys.platform = "win32"
for module in {!r}:
    sys.modules[module] = None
sys.argv = ["council", *{!r}]
from council.__main__ import main
main()
"""


class Built(NamedTuple):
    """What a build made: the files of the sdist, and those of the wheel built from it."""

    sdist: dict[str, bytes]
    wheel: dict[str, bytes]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The sdist of a checkout, and the wheel that is built of that sdist alone."""
    folder = tmp_path_factory.mktemp("built")
    copy = folder / "checkout"
    copy.mkdir()
    tracked = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=HOUSE,
        capture_output=True,
        check=True,
        text=True,
    ).stdout.splitlines()
    for name in tracked:
        if (HOUSE / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((HOUSE / name).read_bytes())

    def build(kind: str, source: Path) -> None:
        code = BUILDS.format(kind, str(folder))
        subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, check=True)

    build("sdist", copy)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    (source,) = (folder / "unpacked").iterdir()
    sdist = {
        str(path.relative_to(source)): path.read_bytes()
        for path in source.rglob("*")
        if path.is_file()
    }
    build("wheel", source)
    (archive,) = folder.glob("*.whl")
    with zipfile.ZipFile(archive) as packed_wheel:
        return Built(sdist, {name: packed_wheel.read(name) for name in packed_wheel.namelist()})


@pytest.mark.req("TB-001")
def test_the_distribution_is_council_files_and_the_command_council():
    assert PROJECT["name"] == DISTRIBUTION == "council-files"
    assert PROJECT["scripts"] == {"council": "council.__main__:main"}
    assert product.__name__ == "council"


@pytest.mark.req("TB-001")
def test_the_metadata_is_whole_and_leaves_urls_to_who_publishes_it():
    told = metadata(DISTRIBUTION)
    assert told["Author"] == "council contributors"
    assert told["License-Expression"] == "MIT"
    assert told["Requires-Python"] == ">=3.11"
    assert 20 < len(told["Summary"]) <= 100
    assert len(told["Keywords"].split(",")) >= 5
    assert told["Description-Content-Type"] == "text/markdown"
    classifiers = told.get_all("Classifier")
    for minor in (11, 12, 13, 14):
        assert f"Programming Language :: Python :: 3.{minor}" in classifiers
    assert not any("Windows" in one for one in classifiers)
    assert not told.get_all("Project-URL") and not told["Home-page"]


@pytest.mark.req("TB-001")
def test_there_is_one_version_everywhere(council: Council):
    assert council("init", "--agents", "owl,fox").code == 0
    assert council("convene", "Tea?", "--agents", "owl,fox").code == 0
    spans = council("events", "export", "--format", "otlp-json").json()
    plugin = json.loads((HOUSE / "council/plugin/openclaw/package.json").read_text())
    versions = {
        "the metadata": version(DISTRIBUTION),
        "the command": council("--version").out.removeprefix("council ").strip(),
        "spans": spans["resourceSpans"][0]["scopeSpans"][0]["scope"]["version"],
        "the plugin of OpenClaw": plugin["version"],
    }
    assert versions == dict.fromkeys(versions, product.__version__)


@pytest.mark.long
@pytest.mark.req("TB-001")
def test_servers_name_the_same_version(council: Council, tmp_path: Path):
    assert council("init", "--agents", "owl,fox").code == 0
    with serving(council, tmp_path) as served:
        described = served.get("/openapi.json").json()["info"]["version"]
    server = council.start("mcp", "--as", "owl", stdin=subprocess.PIPE)
    client = {"name": "test", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    line = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
    out, _ = server.communicate(f"{json.dumps(line)}\n".encode(), timeout=60)
    answer = json.loads(out.splitlines()[0])["result"]
    assert answer["serverInfo"]["version"] == described == product.__version__


@pytest.mark.req("TB-001", "FW-013")
def test_the_changelog_has_a_section_for_each_version_the_newest_first():
    heads = re.findall(r"^## (.+)$", (HOUSE / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    if heads[0] == "Unreleased":
        heads = heads[1:]
    read = [re.fullmatch(r"(\d+)\.(\d+)\.(\d+) \((\d{4}-\d\d-\d\d)\)", head) for head in heads]
    assert all(read), heads
    numbers = [tuple(map(int, one.groups()[:3])) for one in read if one]
    assert numbers == sorted(set(numbers), reverse=True)
    assert ".".join(map(str, numbers[0])) == product.__version__
    days = [one[4] for one in read if one]
    assert days == sorted(days, reverse=True)


@pytest.mark.req("TB-001")
def test_what_is_published_holds_what_runs_and_nothing_that_is_for_developers(built: Built):
    for names in (built.sdist, built.wheel):
        assert not [name for name in names if name.split("/")[0] in LEFT_OUT]
        assert not [name for name in names if name.endswith((".png", ".pyc", ".diff"))]
    tops = {name.split("/")[0] for name in built.wheel}
    assert tops == {"council", f"council_files-{product.__version__}.dist-info"}
    made = "council/operations/conversations/made_prompts"
    assert {f"{made}/en_room_turn.py", f"{made}/fr_room_turn.py"} <= set(built.wheel)
    assert "CHANGELOG.md" in built.sdist


@pytest.mark.req("TB-001", "TB-002")
def test_a_wheel_built_from_the_sdist_has_the_skill_of_the_repository(built: Built):
    skill = HOUSE / "skills" / "council"
    packaged = {
        name.removeprefix("council/skill/"): data
        for name, data in built.wheel.items()
        if name.startswith("council/skill/")
    }
    assert packaged == {
        str(path.relative_to(skill)): path.read_bytes()
        for path in skill.rglob("*")
        if path.is_file()
    }


@pytest.mark.req("TB-001")
@pytest.mark.parametrize("words", [[], ["status"], ["respond", "--as", "a", "x"], ["--help"]])
def test_on_windows_one_line_refuses_and_names_wsl(words: list[str]):
    done = subprocess.run(
        [sys.executable, "-c", ON_WINDOWS.format(POSIX, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (6, "")
    (line,) = done.stderr.splitlines()
    assert "WSL" in line and line.startswith("council: Windows itself is not supported")
