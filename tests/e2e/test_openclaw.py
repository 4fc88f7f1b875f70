"""The real OpenClaw: its agents take part by what they print, by their shell, and by its clock.

One gateway serves all tests of this file, with four agents that answer and some that fail.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.openclaw_host import BROKEN, FOUR, TOKEN, Host, openclaw

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def host(clients: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    clients.need("openclaw")
    with openclaw(clients, tmp_path_factory.mktemp("openclaw")) as made:
        yield made


def flat(value: Any, path: str = "") -> dict[str, str]:
    """Return all that a configuration says, by where it stands, but what OpenClaw notes itself."""
    if isinstance(value, dict) and value:
        return {
            key: one
            for name, inner in value.items()
            if path or name != "meta"
            for key, one in flat(inner, f"{path}.{name}").items()
        }
    return {path: json.dumps(value)}


def set_for(root: Path, agents: Sequence[str], line: str) -> None:
    """Add a line to the tables of some agents."""
    path = root / "council.toml"
    text = path.read_text()
    for one in agents:
        text = text.replace(f"\n[agents.{one}]\n", f"\n[agents.{one}]\n{line}\n")
    path.write_text(text)


def minutes_of(root: Path) -> str:
    (found,) = (root / "conseils").glob("*.md")
    return found.read_text()


def until(seen: Any, limit_s: float) -> None:
    ends_at = time.monotonic() + limit_s
    while not seen():
        assert time.monotonic() < ends_at, "it did not come to that in time"
        time.sleep(0.5)


@pytest.mark.req("CL-001", "CL-003")
def test_openclaws_agents_are_taken_in_and_four_of_them_decide(host: Host, row: Any):
    with row("openclaw", "init, ask: four print") as told:
        root = host.home.parent / "printed"
        root.mkdir()
        host.made.append(root)
        said = host.council(root, "init", "--openclaw")
        settings = (root / "council.toml").read_text()
        assert re.search(r"^agents of OpenClaw: henry, sage, nova, alex", said, re.MULTILINE)
        assert '\ncoordinator = "henry"\n' in settings
        assert 'name = "Henry the Elder"\nemoji = "🦉"\n' in settings
        assert (host.home / ".openclaw/skills/council/SKILL.md").is_file()
        jobs = json.loads(host.openclaw("cron", "list", "--json"))["jobs"]
        (clock,) = [one for one in jobs if one["payload"].get("cwd") == str(root)]
        assert clock["agentId"] == "henry"

        again = host.council(root, "init", "--openclaw")
        assert "agents of OpenClaw: all were there already" in again
        assert (root / "council.toml").read_text() == settings
        assert json.loads(host.openclaw("cron", "list", "--json"))["jobs"] == jobs

        said = host.council(root, "ask", "A second kettle?", "--agents", ",".join(FOUR))
        assert "all 9 texts verified" in said
        assert "Henry the Elder" in said
        told.came_out = "agreed, all 9 texts verified"


@pytest.mark.req("CL-003", "CL-006", "HR-028")
def test_four_agents_answer_from_their_shells_and_all_is_verified(host: Host, row: Any):
    with row("openclaw", "plugin, ask: four by tool") as told:
        before = flat(json.loads(host.config.read_text()))
        root = host.workspace("tools")
        said = host.council(root, "integrate", "openclaw", "--install")
        assert "test: henry answered from its shell, verified" in said
        assert re.search(r"test: sage was to fail, and failed: .*Unknown model", said)
        assert "was in place already" in host.council(
            root, "integrate", "openclaw", "--install", "--untried"
        )

        set_for(root, FOUR, 'answer = "tool"')
        said = host.council(root, "ask", "A third kettle?", "--agents", ",".join(FOUR))
        assert "all 9 texts verified" in said
        until(lambda: not list((host.home / ".openclaw/council").iterdir()), 60)

        assert "removed" in host.council(root, "integrate", "openclaw", "--uninstall")
        assert flat(json.loads(host.config.read_text())) == before
        assert not (host.home / ".openclaw/extensions/council").exists()
        told.came_out = "agreed, all 9 texts verified; plugin gone without a trace"


@pytest.mark.req("CL-001", "SC-006")
def test_a_council_called_in_an_agents_shell_is_led_to_its_end_by_the_clock_alone(
    host: Host, row: Any
):
    with row("openclaw", "by its automation alone") as told:
        root = host.workspace("clocked")
        words = ("convene", "A fourth kettle?", "--agents", ",".join(FOUR))
        said = host.council(root, *words, OPENCLAW_SHELL="exec")
        assert "woke" not in said
        assert "OpenClaw's clock is asked to start who is due" in said
        until(lambda: list((root / "conseils").glob("*.md")), 300)
        assert "all 9 texts verified" in minutes_of(root)
        told.came_out = "led to its end, all 9 texts verified"


@pytest.mark.req("CL-003")
@pytest.mark.parametrize("way", ["command line", "gateway"])
def test_each_failure_is_named_and_no_error_text_becomes_a_contribution(
    host: Host, row: Any, way: str
):
    with row("openclaw", f"key, hang, excuse, limit ({way})") as told:
        root = host.workspace(f"broken-{way[:3]}")
        set_for(root, ("mute",), 'timeout = "50s"')
        names, more = ("henry", *BROKEN), {}
        if way == "gateway":
            set_for(root, names, f'gateway = "http://127.0.0.1:{host.port}"')
            more["OPENCLAW_GATEWAY_TOKEN"] = TOKEN
        asked = ("convene", "Does it work?", "--agents", ",".join(names), "--timeout", "20m")
        host.council(root, *asked, "--phases", "collect,synthesize", **more)
        seen: set[str] = set()

        def all_are_named() -> bool:
            said = " ".join(host.council(root, "explain", "active", **more).split())
            words = {
                "badkey": r"badkey[^!]*(401|Authentication failed|Incorrect API key)",
                "mute": r"mute[^!]*(timed out|it did not end)",
                "excuse": r"excuse[^!]*⚠️ Exec failed",
                "capped": r"capped[^!]*(429|rate|billing|disabled|quota|internal error)",
            }
            seen.update(one for one, about in words.items() if re.search(about, said))
            return len(seen) == len(words) or not (root / "memory/shared").exists()

        until(all_are_named, 400)
        texts = [path.read_text() for path in root.rglob("*.md") if "council-active" in path.name]
        texts += [path.read_text() for path in (root / "conseils").glob("*.md")]
        assert texts
        assert not any(re.search(r"^(> )?⚠️ Exec failed", one, re.MULTILINE) for one in texts)
        told.came_out = "each named in explain, none a contribution"


@pytest.mark.req("CL-006", "DG-071")
def test_in_a_room_only_the_agent_with_the_floor_is_heard(host: Host, row: Any):
    with row("openclaw", "a room by the plugin") as told:
        root = host.workspace("roomy")
        for one in ("henry", "sage"):  # by hand here: the gateway's channel wakes them
            path = root / "council.toml"
            text = path.read_text().replace(
                f'[agents.{one}]\ndriver = "openclaw"\n', f"[agents.{one}]\n"
            )
            path.write_text(text)
        host.council(root, "integrate", "openclaw", "--install", "--untried")
        host.council(
            root, "channel", "create", "chat", "kitchen", "--participants", "henry,sage,ann"
        )
        host.council(root, "channel", "post", "kitchen", "Which kettle?", "--as", "ann")

        def turn(agent: str) -> dict[str, Any]:
            key = f"agent:{agent}:discord:channel:kitchen"
            words = ("agent", "--agent", agent, "--session-key", key, "--message", "Which kettle?")
            said: dict[str, Any] = json.loads(host.openclaw(*words, "--json", "--timeout", "60"))
            return said

        asked = len(host.models.requests)
        assert turn("sage")["result"]["payloads"] == []
        assert (
            len(host.models.requests) == asked
        )  # no model was asked for the one without the floor
        host.council(root, "convene", "Tea?", "--agents", "ann,bob", "--people", "ann,bob")
        mark = root / "memory/shared/.council/last-heartbeat"
        beaten_at = mark.stat().st_mtime
        assert turn("henry")["result"]["payloads"]
        until(lambda: mark.stat().st_mtime > beaten_at, 30)  # the end of the turn has seen to it
        shown = json.loads(host.council(root, "channel", "show", "kitchen", "--json"))
        told.came_out = "sage silent without a model, henry heard"
        assert "henry" in json.dumps(shown)
        host.council(root, "integrate", "openclaw", "--uninstall")
