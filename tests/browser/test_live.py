"""Pages in a real Chromium, driven over WebDriver, with the installed server."""

import json
import re
import shutil
import subprocess
import urllib.request

import pytest

from tests.runs.processes import until
from tests.scenarios.workspaces import Workspace

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync"
PATHS = ["/", "/councils/tea", "/new", "/dirigent", "/rooms/hall", "/agents", "/minutes"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium with its driver here"),
]


class Chromium:
    """One window, asked as the WebDriver standard says."""

    def __init__(self, driver: str, profile: str) -> None:
        flags = [*FLAGS.split(), f"--user-data-dir={profile}"]
        options = {"binary": CHROMIUM, "args": flags}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self.at, body = driver, {"capabilities": {"alwaysMatch": wanted}}
        self.at = f"{driver}/session/{self.ask('/session', body)['sessionId']}"

    def ask(self, path: str, body: dict | None = None, method: str = ""):
        data = None if body is None else json.dumps(body).encode()
        head = {"Content-Type": "application/json"}
        method = method or ("GET" if body is None else "POST")
        made = urllib.request.Request(f"{self.at}{path}", data, head, method=method)
        with urllib.request.urlopen(made, timeout=120) as answer:
            return json.load(answer)["value"]

    def open(self, url: str) -> None:
        self.ask("/url", {"url": url})

    def run(self, script: str):
        return self.ask("/execute/sync", {"script": f"return {script}", "args": []})

    def wait(self, script: str) -> None:
        """Wait until a script gives something true."""
        until(lambda: self.run(script))

    def type(self, selector: str, text: str) -> None:
        found = self.ask("/element", {"using": "css selector", "value": selector})
        self.ask(f"/element/{found[ELEMENT]}/value", {"text": text})

    def complaints(self) -> list:
        return [one["message"] for one in self.ask("/se/log", {"type": "browser"})]


def told(server: subprocess.Popen[str], word: str) -> str:
    """Return the line with a word that a server prints when it listens."""
    return next(line for line in server.stdout if word in line)


@pytest.fixture
def team(tmp_path):
    made = Workspace(tmp_path)
    made.run("init", "--agents", "ada,bob,eve")
    toml = "".join(f'[agents.{one}]\ndriver = "manual"\n' for one in ("ada", "bob", "eve"))
    (tmp_path / "council.toml").write_text(toml)
    made.json("convene", "Tea or coffee?", "--name", "tea", "--mode", "review")
    made.json("channel", "create", "chat", "hall", "--participants", "ada,bob")
    return made


@pytest.fixture
def page(team, tmp_path_factory):
    server, chromium = team.start("serve", "--port", "0"), None
    driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        port = re.search(r"port (\d+)", told(driver, "successfully"))[1]
        profile = tmp_path_factory.mktemp("profile")
        chromium = Chromium(f"http://127.0.0.1:{port}", str(profile))
        link = told(server, "link=").split()[0]
        chromium.home = link.partition("/?")[0]
        chromium.open(link)
        yield chromium
    finally:
        if chromium:
            chromium.ask("", method="DELETE")
        for process in (driver, server):
            process.terminate()
            process.wait(30)


def test_a_page_follows_and_keeps_what_is_typed(page, team) -> None:
    page.open(f"{page.home}/councils/tea")
    page.type("#say-message", "half a sentence")
    team.json("respond", "Tea, since it is warm.", "--as", "ada", "--name", "tea")
    page.wait("document.body.textContent.includes('Ada answered')")
    for agent in ("bob", "eve"):
        team.json("respond", f"Coffee, says {agent}.", "--as", agent, "--name", "tea")
    page.wait("document.getElementById('1-eve')?.textContent.includes('Coffee, says eve')")
    assert page.run("document.getElementById('say-message').value") == "half a sentence"
    assert page.run("document.activeElement.id") == "say-message"
    page.run("document.querySelector('#say button.main').click()")
    page.wait("document.body.textContent.includes('half a sentence') && !location.search")
    assert page.complaints() == []


def test_no_page_is_wider_than_its_window_or_breaks_a_rule_of_its_own(page) -> None:
    for width in (390, 1280):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        command = {"cmd": "Emulation.setDeviceMetricsOverride", "params": size}
        page.ask("/goog/cdp/execute", command)
        for scheme in ("light", "dark"):
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            emulated = {"cmd": "Emulation.setEmulatedMedia", "params": {"features": features}}
            page.ask("/goog/cdp/execute", emulated)
            for path in PATHS:
                page.open(f"{page.home}{path}")
                assert page.run("document.documentElement.scrollWidth") <= width, path
                paint = page.run("getComputedStyle(document.body).backgroundColor")
                assert (int(paint[4:].split(",")[0]) < 60) == (scheme == "dark"), path
    assert page.complaints() == []
