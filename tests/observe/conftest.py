"""A workspace with an open conversation of three agents, one of whom answers by hand."""

from datetime import UTC, datetime, timedelta

import pytest

from council.app import App
from council.councils import decisions
from council.councils.model import Config, Participant, State
from council.setup import init

START = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
TOML = """[agents.ada]
argv = ["/nonexistent/ada"]
"""


class Workspace:
    """An `App` and a clock that a test moves."""

    def __init__(self, root: str) -> None:
        init.init(root, ["ada", "bob", "eve"], "", {"PATH": "/nonexistent"})
        with open(f"{root}/council.toml", "a", encoding="utf-8") as file:
            file.write(TOML)
        self.root = root
        self.app = self.at(0)

    def at(self, minutes: float) -> App:
        """Return the app at so many minutes after the start."""
        now = START + timedelta(minutes=minutes)
        self.app = App(self.root, now, {"PATH": "/usr/bin:/bin", "HOME": self.root})
        return self.app

    def open(self, name: str = "k", **config: object) -> None:
        """Open a conversation."""
        who = {one: Participant(name=one.title(), person=one == "eve") for one in ("ada", "bob")}
        who["eve"] = Participant(name="Eve", person=True)
        phases = ["COLLECT", "CHALLENGE", "SYNTHESIZE"]
        given = {"name": name, "topic": f"Kettle {name}?", "participants": who}
        given |= {"conversation_id": f"00000000-0000-4000-8000-{len(name):012}"}
        given |= {"config": Config(**{"phases": phases, **config})}
        self.change(name, lambda state: decisions.opened(state, State(**given), at=self.app.now))

    def change(self, name: str, decide: object) -> object:
        """Append what a decision says."""
        document = self.app.conversation(name)
        return document.change(decide, by="test", at=self.app.now, create=True)

    def add(self, name: str, *events: dict) -> None:
        """Append events."""
        self.change(name, lambda _: list(events))


@pytest.fixture
def ws(tmp_path):
    made = Workspace(str(tmp_path / "ws"))
    made.open()
    return made
