"""Takes the pictures of the README, of a real workspace with a council that is under way.

    make pictures

writes them into `docs/pictures/`. What they show is the demo, played by its scripted agents, and
a deliberation in which three of them have spoken.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.conftest import Council
from tests.e2e.clients import Clients, folder
from tests.web.browser.driving import Browser, browser_program
from tests.web.serving import serving

PICTURES = Path(__file__).parents[3] / "docs/pictures"
# Who says what: agent, position, confidence, stances, reasoning.
TURNS = (
    (
        "henry",
        "Build it, small.",
        4,
        {},
        "Two lines of code a day are cheap; the mornings are not.",
    ),
    (
        *("sage", "Count the mornings first.", 3, {"henry": "disagree:We have no numbers."}),
        "Nobody knows how often it rained on us. Two weeks of counting cost nothing.",
    ),
    (
        *("nova", "Build it, and let it be silent.", 4),
        {"henry": "agree:Small is right.", "sage": "partial:Count while it runs."},
        "A bot that speaks on bad mornings alone will be read.",
    ),
    (
        *("anna", "Warn by seven.", 3),
        {"henry": "partial:If it is early.", "sage": "disagree:Not again.", "nova": "agree:Yes."},
        "I leave at half past.",
    ),
    (
        *("sage", "Build it silent, and count on.", 4),
        {"henry": "partial:Small, yes.", "nova": "agree:Silence is it.", "anna": "agree:By seven."},
        "Nova is right: what speaks daily is muted within a week.",
    ),
)
VIEWS = (
    ("home", "/", 1280, 860, "light"),
    ("council", "/councils/umbrella", 1280, 1100, "light"),
    ("council-phone", "/councils/umbrella", 390, 844, "dark"),
)


def main() -> int:
    """Take them; return the exit code."""
    clients = Clients(folder())
    faults = [why for one in ("playwright", "axe") if (why := clients.why_not(one))]
    if faults or not browser_program():
        print(*faults or ["no Chromium on this machine"], sep="\n", file=sys.stderr)
        return 1
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as where:
        for name in ("home", "weather"):
            (Path(where) / name).mkdir()
        council = Council(Path(where) / "weather", Path(where) / "home")
        _compose(council)
        browser = Browser(clients.where / "node_modules")
        with serving(council, Path(where)) as served:
            cookie = served.cookie()
            for name, path, width, height, scheme in VIEWS:
                page = browser.open(
                    served.url, cookie, width=width, height=height, scheme=scheme, lang="en"
                )
                page.goto(path)
                page.picture(PICTURES / f"{name}.png")
                page.close()
        browser.end()
    return 0


def _compose(council: Council) -> None:
    def do(*words: str) -> None:
        done = council(*words)
        assert done.code == 0, (words, done.err)

    do("demo", "--root", str(council.root))
    do("convene", "Who waters the plants?", "--name", "plants", "--agents", "henry,nova")
    do(
        *("convene", "Should the bot warn of rain?", "--name", "umbrella"),
        *("--procedure", "deliberation", "--agents", "henry,sage,nova", "--people", "anna"),
        *("--order", "rotate", "--role", "sage=Skeptic", "--role", "henry=Pragmatist"),
    )
    for agent, position, confidence, stances, text in TURNS:
        said = [f"{peer}={stance}" for peer, stance in stances.items()]
        do(
            *("respond", "--name", "umbrella", "--as", agent, "--position", position),
            *("--confidence", str(confidence), *(w for one in said for w in ("--stance", one))),
            text,
        )


if __name__ == "__main__":
    sys.exit(main())
