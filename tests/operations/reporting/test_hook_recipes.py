"""The recipes of docs/clients/hooks.md, as they stand there, deliver to real ends on loopback."""

from __future__ import annotations

import json
import re
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from council.operations.conversations.answer import respond
from council.operations.reporting.hooks import plan_of
from tests.conftest import BIN
from tests.operations.tables import Table, all_is_quiet

PAGE = Path(__file__).resolve().parents[3] / "docs/clients/hooks.md"
RECIPES = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
TOPIC = "--help: kettles & <tea>?"
NOTIFIES = f"""#!{sys.executable}
import json, os, sys
with open(os.path.join(os.path.dirname(__file__), "shown.jsonl"), "a") as file:
    file.write(json.dumps(sys.argv[1:]) + chr(10))
"""


class Inbox(ThreadingHTTPServer):
    """Takes what is posted: the path and the JSON."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.letters: list[tuple[str, dict[str, object]]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Inbox

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.letters.append((self.path, json.loads(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    made = Inbox()
    serving = threading.Thread(target=made.serve_forever, args=(0.05,))
    serving.start()
    yield made
    made.shutdown()
    made.server_close()
    serving.join()


@pytest.fixture
def table(tmp_path: Path, inbox: Inbox, monkeypatch) -> Table:
    table = Table(tmp_path / "workspace").seat({"ann": {}, "bob": {}})
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "notify-send").write_text(NOTIFIES)
    (programs / "notify-send").chmod(0o755)
    host = f"127.0.0.1:{inbox.server_address[1]}"
    given = {
        **table.environ,
        "PATH": f"{programs}:{BIN}:/usr/bin:/bin",
        "APPRISE_URLS": f"json://{host}/phone",
        "WEBHOOK_URL": f"http://{host}/webhook",
    }
    monkeypatch.setattr(Table, "environ", property(lambda _: given))
    file = table.root / "council.toml"
    file.write_text(f"{file.read_text()}\n{RECIPES}")
    return table


@pytest.mark.req("CL-008")
def test_the_recipes_send_what_happened_in_plain_words(table: Table, inbox: Inbox, tmp_path: Path):
    assert plan_of(tomllib.loads(RECIPES)["hooks"]).faults == []

    table.convene(TOPIC, agents=("ann", "bob"), sealed=False)
    for status in ("responded", "agreed"):
        for agent in ("ann", "bob"):
            respond(table.place, "active", agent, f"I have {status}.", status=status)
    respond(table.place, "active", "ann", "So be it.")
    all_is_quiet()

    letters = dict(inbox.letters)
    assert letters["/phone"]["title"] == f"council: {TOPIC}"
    assert letters["/phone"]["message"] == "ended: CONVERGED (consensus)"
    event = letters["/webhook"]
    assert (event["hook"], event["type"]) == ("closed", "conversation.archived")
    assert event["title"] == f"council: {TOPIC}"
    assert event["line"] == f"Agreed · {table.minutes()[0]}"
    shown = [
        json.loads(one) for one in (tmp_path / "programs/shown.jsonl").read_text().splitlines()
    ]
    assert shown[0] == [
        "--app-name=council",
        f"council: {TOPIC}",
        "ann: prompt handed over, to answer by hand",
    ]
    log = "".join(one.read_text() for one in (table.root / "memory/shared/events").glob("*.jsonl"))
    assert "hook.failed" not in log
