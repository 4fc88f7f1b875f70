"""Record what real programs print: the files in `tests/drivers/recorded`, never written by hand.

    COUNCIL_CLIENTS=DIR python -m tests.drivers.record_programs [PROGRAM …] [MOOD …]

runs each by the argv of its row with a home of its own, against the scripted model server, in each
mood, for as long as that takes or until it is ended. Nothing but the names of folders is changed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from council.drivers.programs import PRESETS
from tests.e2e.clients import PROGRAMS, Clients, folder, outfit
from tests.e2e.model_server import model_server

RECORDED = Path(__file__).parent / "recorded"
PROMPT = "This is a test of the connection. Answer with the single word: ready\n"
KEYLESS = "keyless"
MOODS = {KEYLESS: 30, "answers": 60, "refuses": 12, "limits": 12, "fails": 30}


def record(clients: Clients, name: str, mood: str, limit_s: int) -> None:
    """Run one program once and write down what it printed."""
    with model_server() as server, tempfile.TemporaryDirectory() as made:
        home, work = Path(made) / "home", Path(made) / "work"
        work.mkdir()
        told = outfit(name, home, server.base("answers" if mood == KEYLESS else mood))
        if mood == KEYLESS:
            told = {one: value for one, value in told.items() if not one.endswith("_KEY")}
        environment = {"PATH": clients.path(name), "HOME": str(home), "LANG": "C.UTF-8", **told}
        process = subprocess.Popen(
            [str(clients.program(name)), *PRESETS[name].command("")[1:]],
            cwd=work,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(PROMPT.encode(), timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            out, err = process.communicate()
        code = process.returncode

        def shown(content: bytes) -> list[str]:
            text = content.decode("utf-8", "replace")
            for path, mark in ((made, "/folder"), (str(clients.where), "/clients")):
                text = text.replace(path, mark)
            return text.splitlines(keepends=True)

        kept = {
            "program": name,
            "version": PRESETS[name].version,
            "mood": mood,
            "exitCode": code if code >= 0 else None,
            "stdout": shown(out),
            "stderr": shown(err),
        }
        RECORDED.mkdir(exist_ok=True)
        path = RECORDED / f"{name}-{mood}.json"
        path.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        print(f"{path.name}: exit {code}, {len(out)} + {len(err)} bytes")


def main() -> None:
    """Record all programs in all moods, or those that are named of either."""
    clients = Clients(folder())
    named = [one for one in sys.argv[1:] if one in PROGRAMS]
    moods = [one for one in sys.argv[1:] if one in MOODS]
    for name in named or PROGRAMS:
        if fault := clients.why_not(name):
            print(f"{name}: {fault}", file=sys.stderr)
            continue
        for mood in moods or MOODS:
            record(clients, name, mood, 100 if name == "opencode" else MOODS[mood])


if __name__ == "__main__":
    main()
