"""The description of the interface: who may read it, what it says, and that the server keeps to it.

Schemathesis reads it and asks whatever it allows and whatever it forbids, with all of its checks.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import BIN, Council
from tests.web.serving import Served, serving

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


@pytest.fixture
def furnished(council: Council, tmp_path: Path) -> Iterator[Served]:
    """A server in a workspace that has one of everything."""
    assert council("init", "--agents", "owl,gecko,fox").code == 0
    for name in ("tea", "beer"):
        assert (
            council("convene", f"Which {name}?", "--agents", "owl,gecko", "--name", name).code == 0
        )
    assert council("cancel", "beer").code == 0
    debate = ("--procedure", "deliberation", "--agents", "owl,gecko", "--name", "wine")
    assert council("convene", "Which wine?", *debate).code == 0
    assert council("channel", "create", "chat", "weather", "--participants", "owl,gecko").code == 0
    assert council("agent", "join", "--as", "fox", "--caps", "plan").code == 0
    assert council("ctx", "open").code == 0
    artifact = council("artifact", "publish", "-", stdin="tea leaves").out.strip()
    (tmp_path / "schemathesis.toml").write_text(CONFIG.format(artifact=artifact))
    with serving(council, tmp_path) as served:
        yield served


def searched(served: Served, folder: Path, examples: int, *phases: str) -> str:
    """Return what Schemathesis says of the server after so many examples of each operation."""
    argv = [
        *(str(BIN / "st"), "--config-file", str(folder / "schemathesis.toml")),
        *("run", f"{served.url}/openapi.json", "--checks", "all", "--no-color"),
        *("-H", f"Authorization: Bearer {served.token}", "--max-examples", str(examples)),
        *("--phases", ",".join(phases), "--generation-database", ":memory:"),
    ]
    done = subprocess.run(argv, capture_output=True, cwd=folder, check=False, text=True)
    assert done.returncode == 0, f"{done.stdout[-20_000:]}\n{done.stderr}\n{served.log.read_text()}"
    return done.stdout


@pytest.mark.req("DL-067")
@pytest.mark.long
def test_the_server_keeps_to_its_description_whatever_is_asked(furnished: Served, tmp_path: Path):
    told = searched(furnished, tmp_path, 30, "examples", "coverage", "fuzzing", "stateful")
    asked = re.search(r"(\d+) generated", told)
    assert asked is not None and int(asked[1]) > 2000, told
    assert "Traceback" not in furnished.log.read_text()
