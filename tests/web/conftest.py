"""A workspace whose agents answer by hand, and its HTTP interface."""

import pytest
from starlette.testclient import TestClient

from council.app import App
from council.setup import init
from council.web import serving
from council.web.guard import Keys

TOKEN, HOST = "a-token-of-the-workspace", "http://127.0.0.1:8420"


class Served:
    """The application behind its guard, and clients of it."""

    def __init__(self, root: str) -> None:
        init.init(root, ["ada", "bob", "eve"], "en", {"PATH": "/nonexistent"})
        self.app = App(root, None, {"PATH": "/usr/bin:/bin", "HOME": root, "USER": "tester"})
        self.app.check_format()
        self.keys = Keys(TOKEN)
        self.guard = serving.create(self.app, self.keys, 8420)
        self.program = self.client(Authorization=f"Bearer {TOKEN}")

    def client(self, **headers: str) -> TestClient:
        """Return a client that sends these headers."""
        return TestClient(self.guard, HOST, headers=headers, follow_redirects=False)

    def debate(self, **more: object) -> dict:
        """Start a debate and return its session."""
        made = self.program.post("/api/council/debates", json={"topic": "Tea?", **more})
        assert made.status_code == 201, made.text
        return made.json()


@pytest.fixture
def served(tmp_path):
    return Served(str(tmp_path / "ws"))
