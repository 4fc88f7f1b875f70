"""Pages in a real Chromium, driven over WebDriver, with the installed server."""

import json
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
COUNCIL = str(Path(sys.executable).parent / "council")
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

    def wait(self, script: str):
        """Return what a script gives, once that is true."""
        ends = time.monotonic() + 60
        while not (found := self.run(script)):
            assert time.monotonic() < ends, script
            time.sleep(0.05)
        return found

    def type(self, selector: str, text: str) -> None:
        found = self.ask("/element", {"using": "css selector", "value": selector})
        self.ask(f"/element/{found[ELEMENT]}/value", {"text": text})

    def complaints(self) -> list:
        return [one["message"] for one in self.ask("/se/log", {"type": "browser"})]


def first_line(command: list[str], word: str, **more: str):
    """Start a server; return it, and the line with a word that it prints when it listens."""
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **more)
    return server, next(line for line in server.stdout if word in line)


@pytest.fixture
def root(tmp_path):
    made = tmp_path / "ws"
    agents = ["ada", "bob", "eve"]
    council(made, "init", "--agents", ",".join(agents))
    toml = "".join(f'[agents.{one}]\ndriver = "manual"\n' for one in agents)
    (made / "council.toml").write_text(toml)
    council(made, "convene", "Tea or coffee?", "--name", "tea", "--mode", "review")
    council(made, "channel", "create", "chat", "hall", "--participants", "ada,bob")
    return made


def council(root, *words: str) -> None:
    command = [COUNCIL, *words, "--root", str(root)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


@pytest.fixture
def page(root, tmp_path):
    server, line = first_line([COUNCIL, "serve", "--port", "0", "--root", str(root)], "link=")
    driver, told = first_line([DRIVER, "--port=0"], "successfully")
    chromium = None
    try:
        port = "".join(c for c in told.rpartition("port")[2] if c.isdigit())
        chromium = Chromium(f"http://127.0.0.1:{port}", str(tmp_path / "profile"))
        chromium.home = line.split()[0].partition("/?")[0]
        chromium.open(line.split()[0])
        yield chromium
    finally:
        if chromium:
            chromium.ask("", method="DELETE")
        for process in (driver, server):
            process.terminate()
            process.wait(30)


def test_a_page_follows_and_keeps_what_is_typed(page, root) -> None:
    page.open(f"{page.home}/councils/tea")
    page.type("#say-message", "half a sentence")
    council(root, "respond", "Tea, since it is warm.", "--as", "ada", "--name", "tea")
    page.wait("document.body.textContent.includes('Ada answered')")
    for agent in ("bob", "eve"):
        council(root, "respond", f"Coffee, says {agent}.", "--as", agent, "--name", "tea")
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
