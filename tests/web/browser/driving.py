"""Chromium, driven by playwright-core in a process of node; `make e2e PART=web` installs both."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).with_name("drive.mjs")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def browser_program() -> str:
    """Return the path of a browser, "" where there is none."""
    return next((found for one in BROWSERS if (found := shutil.which(one))), "")


class DrivenError(AssertionError):
    """The browser could not do what it was told."""


class Browser:
    """One browser; its pages share nothing but what they are told to."""

    def __init__(self, modules: Path) -> None:
        node = shutil.which("node")
        assert node, "node is not installed"
        self._process = subprocess.Popen(
            [node, str(DRIVER), str(modules), browser_program()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def do(self, deed: str, **told: Any) -> Any:
        """Have something done and return what came of it.

        Raises:
            DrivenError: It could not be done.
        """
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps({"deed": deed, **told}) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline() or '{"error": "the driver has ended"}')
        if "error" in answer:
            raise DrivenError(answer["error"])
        return answer["value"]

    def open(self, url: str, cookie: str, **choices: Any) -> Page:
        """Return a new page of a context of its own; choices are width, scheme, scripts, lang."""
        return Page(self, url, self.do("open", url=url, cookie=cookie, **choices))

    def end(self) -> None:
        """End the browser."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


class Page:
    """One page: `url` is where its server is."""

    def __init__(self, browser: Browser, url: str, number: int) -> None:
        self._browser = browser
        self._number = number
        self.url = url

    def _do(self, deed: str, **told: Any) -> Any:
        return self._browser.do(deed, page=self._number, **told)

    def goto(self, path: str) -> int:
        """Go to an address of the server and return the status."""
        return int(self._do("page", method="goto", args=[f"{self.url}{path}"]))

    def where(self) -> str:
        """Return the path on which the page is."""
        return str(self.run("location.pathname"))

    def run(self, expression: str) -> Any:
        """Return what an expression of the page comes to."""
        return self._do("page", method="evaluate", args=[expression])

    def text(self, css: str = "main", nth: int = 0) -> str:
        """Return what a person reads there."""
        return str(self._do("on", css=css, nth=nth, method="innerText"))

    def count(self, css: str) -> int:
        """Return how many there are."""
        return int(self._do("on", css=css, method="count"))

    def fill(self, css: str, text: str) -> None:
        """Write into a field."""
        self._do("on", css=css, method="fill", args=[text])

    def choose(self, css: str, value: str) -> None:
        """Choose from a list."""
        self._do("on", css=css, method="selectOption", args=[value])

    def check(self, css: str, *, on: bool = True) -> None:
        """Set or clear a box."""
        self._do("on", css=css, method="setChecked", args=[on])

    def click(self, css: str, nth: int = 0) -> None:
        """Click something."""
        self._do("on", css=css, nth=nth, method="click")

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self._do("press", key=key)

    def type(self, text: str) -> None:
        """Type a text where the focus is."""
        self._do("type", text=text)

    def wait(self, expression: str, timeout_s: float = 15) -> float:
        """Wait until an expression of the page is true; return when it was, in seconds."""
        return float(self._do("wait", expression=expression, timeout=timeout_s * 1000)) / 1000

    def axe(self) -> list[str]:
        """Return what axe finds wrong."""
        return list(self._do("axe"))

    def noise(self) -> list[str]:
        """Return errors, dialogs and requests to elsewhere since it was last asked."""
        return list(self._do("noise"))

    def picture(self, path: Path, **choices: Any) -> None:
        """Take a picture."""
        self._do("page", method="screenshot", args=[{"path": str(path), **choices}])

    def close(self) -> None:
        """Close it."""
        self._do("close")
