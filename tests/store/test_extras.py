"""Each installer is recognised by what it leaves, and the command named is one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
import venv
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from council.store.extras import DISTRIBUTION, EXTRAS, extra_with, missing

HOUSE = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ASKS = "import sys; from council.store.extras import command_that_adds as one; print(one({!r}))"


class Installation:
    """A Python with council in it, as some installer leaves it; no extra is there."""

    def __init__(self, folder: Path, installer: str = "pip", **origin: Any) -> None:
        venv.create(folder, symlinks=True)
        self.folder = folder
        (self.site,) = folder.glob("lib/python*/site-packages")
        (self.site / "council.pth").write_text(f"{HOUSE}\n")
        about = self.site / "council_files-0.2.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {DISTRIBUTION}\n")
        (about / "INSTALLER").write_text(f"{installer}\n")
        if origin:
            (about / "direct_url.json").write_text(json.dumps(origin))

    def says(self, extra: str, *, cwd: Path | None = None, is_active: bool = True) -> str:
        """Return the command that it names for an extra."""
        if is_active:
            pip = self.folder / "bin" / "pip"
            pip.touch()
            pip.chmod(0o755)
        first = [str(self.folder / "bin")] if is_active else []
        done = subprocess.run(
            [self.folder / "bin" / "python", "-P", "-c", ASKS.format(extra)],
            cwd=cwd or self.folder,
            env={"PATH": os.pathsep.join([*first, "/usr/bin", "/bin"])},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()


@pytest.mark.req("TB-001")
def test_the_table_of_extras_is_that_of_the_package():
    distributions = packages_distributions()
    for extra, modules in EXTRAS.items():
        wanted = {
            canonicalize_name(Requirement(line).name)
            for line in PROJECT["optional-dependencies"][extra]
        }
        found = {canonicalize_name(distributions[module][0]) for module in modules}
        assert found == wanted, extra
        assert {extra_with(module) for module in modules} == {extra}
        assert missing(extra) == []  # all are there where council is developed
    assert {*EXTRAS, "dev"} == set(PROJECT["optional-dependencies"])


@pytest.mark.req("TB-001")
@pytest.mark.parametrize("extra", EXTRAS)
def test_every_extra_is_added_by_pip_where_pip_put_council(tmp_path: Path, extra: str):
    here = Installation(tmp_path / "here")
    assert here.says(extra) == f"pip install 'council-files[{extra}]'"
    python = here.folder / "bin" / "python"
    wanted = f"{python} -m pip install 'council-files[{extra}]'"
    assert here.says(extra, is_active=False).replace("python3", "python") == wanted


@pytest.mark.req("TB-001")
@pytest.mark.parametrize(
    ("file", "installer", "words"),
    [
        ("pipx_metadata.json", "pip", "pipx install --force"),
        ("pipx_metadata.json", "uv", "pipx install --force"),  # pipx may let uv do the work
        ("uv-receipt.toml", "uv", "uv tool install --force"),
    ],
)
def test_an_application_is_installed_anew_with_all_its_extras(
    tmp_path: Path, file: str, installer: str, words: str
):
    here = Installation(tmp_path / "here", installer)
    (here.folder / file).touch()
    for extra in EXTRAS:
        assert here.says(extra) == f"{words} 'council-files[{extra}]'"
    # What is installed anew loses what is not named.
    (here.site / "mcp.py").touch()
    assert here.says("web") == f"{words} 'council-files[mcp,web]'"


@pytest.mark.req("TB-001")
def test_what_uvx_runs_is_run_with_the_extra(tmp_path: Path):
    here = Installation(tmp_path / "archive-v0" / "x1", "uv")
    assert here.says("web") == "uvx --from 'council-files[web]' council"


@pytest.mark.req("TB-001")
def test_uv_adds_to_the_python_into_which_it_put_council(tmp_path: Path):
    here = Installation(tmp_path / "here", "uv")
    command = here.says("web")
    assert command.startswith(f"uv pip install --python {here.folder}/bin/python")
    assert command.endswith(" 'council-files[web]'")


@pytest.mark.req("TB-001")
@pytest.mark.parametrize(
    ("installer", "file", "words"),
    [("pip", "", "pip install"), ("pip", "pipx_metadata.json", "pipx install --force")],
)
def test_where_council_came_from_is_named_again(
    tmp_path: Path, installer: str, file: str, words: str
):
    checkout = tmp_path / "a copy"
    checkout.mkdir()
    wheel = tmp_path / "council_files-0.2.0-py3-none-any.whl"
    wheel.touch()
    git = {"url": "https://git.example/c.git", "vcs_info": {"vcs": "git", "commit_id": "ab12"}}
    origins: list[tuple[dict[str, Any], str]] = [
        ({"url": checkout.as_uri(), "dir_info": {}}, f"'{checkout}[web]'"),
        ({"url": wheel.as_uri(), "archive_info": {}}, f"'{wheel}[web]'"),
        ({"url": (tmp_path / "gone").as_uri(), "dir_info": {}}, "'council-files[web]'"),
        (git, "'council-files[web] @ git+https://git.example/c.git@ab12'"),
        (
            {"url": "https://files.example/council_files.whl", "archive_info": {}},
            "'council-files[web] @ https://files.example/council_files.whl'",
        ),
    ]
    for number, (origin, wanted) in enumerate(origins):
        here = Installation(tmp_path / str(number), installer, **origin)
        if file:
            (here.folder / file).touch()
        assert here.says("web") == f"{words} {wanted}"


@pytest.mark.req("TB-001")
def test_a_checkout_stays_editable(tmp_path: Path):
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    origin = {"url": checkout.as_uri(), "dir_info": {"editable": True}}
    here = Installation(tmp_path / "here", **origin)
    assert here.says("web", cwd=checkout) == "pip install -e '.[web]'"
    assert here.says("web") == f"pip install -e '{checkout}[web]'"


def test_notes_of_an_installer_that_cannot_be_read_are_left_out(tmp_path: Path):
    here = Installation(tmp_path / "here")
    (here.site / "council_files-0.2.0.dist-info" / "direct_url.json").write_text("[no")
    assert here.says("web") == "pip install 'council-files[web]'"
