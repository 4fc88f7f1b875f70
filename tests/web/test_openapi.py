"""The description of the interface: who may read it, what it says, and that the server keeps to it.

Schemathesis reads it and asks whatever it allows and whatever it forbids, with all of its checks.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import BIN, Council
from tests.web.serving import API, Served, serving

# What is asked for must exist now and then. Only one check is told more than it knows by itself:
# a request of the right form may be refused with 400 or 422, too. That a person must say who
# speaks, or that two fields contradict each other, is in no schema.
CONFIG = """
[parameters]
"path.name" = "tea"
"path.id" = "wine"
"path.channel" = "weather"
"path.agent" = "owl"
"path.which" = "beer"
"path.who" = "W1"
"path.context" = "S1"
"path.artifact" = "{artifact}"

[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", 400, 401, 403, 404, 409, 412, 422]

[[operations]]
include-path-regex = "/events$"
enabled = false
"""


@contextmanager
def furnishing(folder: Path) -> Iterator[Served]:
    """Serve a workspace that has one of everything."""
    (folder / "workspace").mkdir()
    council = Council(folder / "workspace", folder)
    assert council("init", "--agents", "owl,gecko,fox").code == 0
    for name in ("tea", "beer"):
        named = ("--agents", "owl,gecko", "--name", name)
        assert council("convene", f"Which {name}?", *named).code == 0
    assert council("cancel", "beer").code == 0
    debate = ("--procedure", "deliberation", "--agents", "owl,gecko", "--name", "wine")
    assert council("convene", "Which wine?", *debate).code == 0
    assert council("channel", "create", "chat", "weather", "--participants", "owl,gecko").code == 0
    assert council("agent", "join", "--as", "fox", "--caps", "plan").code == 0
    assert council("ctx", "open").code == 0
    artifact = council("artifact", "publish", "-", stdin="tea leaves").out.strip()
    (folder / "schemathesis.toml").write_text(CONFIG.format(artifact=artifact))
    with serving(council, folder) as served:
        yield served


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that quick tests share."""
    with furnishing(tmp_path_factory.mktemp("furnished")) as served:
        yield served


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Served]:
    """A server of its own."""
    with furnishing(tmp_path) as served:
        yield served


def searched(served: Served, *words: str) -> int:
    """Have Schemathesis search the server for what its description does not say; count its cases.

    Raises:
        AssertionError: It found something.
    """
    folder = served.log.parent
    argv = [
        *(str(BIN / "st"), "--config-file", str(folder / "schemathesis.toml")),
        *("run", f"{served.url}/openapi.json", "--checks", "all", "--no-color"),
        *("-H", f"Authorization: Bearer {served.token}", *words),
    ]
    done = subprocess.run(argv, capture_output=True, cwd=folder, check=False, text=True)
    log = served.log.read_text()
    assert done.returncode == 0, f"{done.stdout[-20_000:]}\n{done.stderr}\n{log}"
    assert "Traceback" not in log
    found = re.search(r"(\d+) generated", done.stdout)
    return int(found[1]) if found else 0


@pytest.mark.req("DL-066", "DL-067")
def test_the_description_names_all_that_can_come(furnished: Served):
    assert furnished.get("/openapi.json", Authorization=None).status == 401
    described = furnished.get("/openapi.json").json()
    assert {"token", "session"} == set(described["components"]["securitySchemes"])
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            told = set(operation["responses"])
            assert {"400", "401", "403", "404", "422", "503", "5XX"} <= told, path
            assert method == "get" or {"409", "412", "413"} <= told, path
            assert operation["tags"], path
            assert operation["summary"], path
    assert f"{API}/debates/{{id}}/inject" in described["paths"]


@pytest.mark.req("DL-067")
def test_the_debates_keep_to_their_description_whatever_is_asked(furnished: Served):
    few = ("--phases", "examples,fuzzing", "--max-examples", "4")
    assert searched(furnished, *few, "--include-path-regex", "/debates") > 15


@pytest.mark.req("DL-067")
@pytest.mark.long
def test_the_server_keeps_to_its_description_whatever_is_asked(fresh: Served):
    many = ("--phases", "examples,fuzzing", "--max-examples", "20", "--workers", "2")
    assert searched(fresh, *many) > 2000


@pytest.mark.req("DL-067")
@pytest.mark.slow
def test_every_bound_of_the_description_is_kept(fresh: Served):
    all_bounds = ("--phases", "coverage", "--include-path-regex", "/(debates|councils|rooms)")
    assert searched(fresh, *all_bounds) > 1000
