"""Stands for OpenClaw where the real one is not there: says what the real one has said.

    openclaw.py agent|agents|cron|config|plugins|skills …

Turns, lists and automations are answered from recordings of the real program
(`tests/drivers/recorded/openclaw`, made by `tests/e2e/openclaw_host.py`): that of the agent's id.
What changes its configuration or its folders is done to the file and folders themselves. Each call
is written down in `calls` of its home, with the variables and what was left for the plugin.
"""

import json
import os
import shutil
import sys
from pathlib import Path

RECORDED = Path(__file__).parent.parent / "drivers" / "recorded" / "openclaw"
HOME = Path(os.environ["HOME"])
STATE = Path(os.environ.get("OPENCLAW_STATE_DIR") or HOME / ".openclaw")
CONFIG = Path(os.environ.get("OPENCLAW_CONFIG_PATH") or STATE / "openclaw.json")


def say(name: str) -> None:
    told = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    sys.stdout.write(told["stdout"])
    sys.stderr.write(told["stderr"])
    sys.exit(told["exit"])


def refuse(words: str) -> None:
    sys.exit(f"[openclaw] Reason: {words}")


def config(verb: str, path: str, value: str = "", *_: str) -> None:
    whole = json.loads(CONFIG.read_text()) if CONFIG.exists() else {}
    *parents, last = path.split(".")
    inner = whole
    for one in parents:
        inner = inner.setdefault(one, {}) if verb == "set" else inner.get(one, {})
    if verb == "get":
        if last not in inner:
            refuse(f"{path} is not set")
        sys.stdout.write(json.dumps(inner[last]))
        return
    if verb == "set":
        inner[last] = json.loads(value)
    else:
        inner.pop(last)
    CONFIG.write_text(json.dumps(whole))


def plugins(verb: str, what: str, *_: str) -> None:
    there = STATE / "extensions" / "council"
    if verb == "install":
        shutil.rmtree(there, ignore_errors=True)
        shutil.copytree(what, there)
        config("set", "plugins.entries.council.enabled", "true")
    else:
        shutil.rmtree(there)
        config("set", "plugins.entries.council", '{"enabled": false}')


def automations() -> None:
    """List the recorded automations and those that were added here and not removed."""
    told = json.loads((RECORDED / "cron-list.json").read_text(encoding="utf-8"))
    added = json.loads(json.loads((RECORDED / "cron-add.json").read_text("utf-8"))["stdout"])
    listed = json.loads(told["stdout"])
    calls = [json.loads(one)["argv"] for one in (HOME / "calls").read_text().splitlines()]
    name = ""
    for call in calls:
        if call[:2] == ["cron", "add"]:
            name = call[call.index("--name") + 1]
        elif call[:2] == ["cron", "rm"]:
            name = ""
    if name:
        listed["jobs"].append({"id": added["id"], "name": name, "enabled": True})
    sys.stdout.write(json.dumps(listed))


def main(words: list[str]) -> None:
    left = [one.read_text() for one in (STATE / "council").glob("*.json")]
    modes = [oct(one.stat().st_mode & 0o777) for one in (STATE / "council").glob("*.json")]
    call = {"argv": words, "env": dict(os.environ), "left": left, "modes": modes}
    with (HOME / "calls").open("a") as file:
        file.write(json.dumps(call) + "\n")
    if words[0] == "agent":
        say(words[words.index("--agent") + 1])
    elif words[:2] == ["agents", "list"]:
        say(os.environ.get("LISTS", "agents-list"))
    elif words[:2] == ["cron", "list"] and "CRON" not in os.environ:
        automations()
    elif words[0] == "cron":
        say(os.environ.get("CRON", f"cron-{words[1]}"))
    elif words[0] == "config":
        config(*words[1:3], *(one for one in words[3:] if not one.startswith("--")))
    elif words[0] == "plugins":
        plugins(*words[1:])
    elif words[:2] == ["skills", "install"]:
        shutil.copytree(words[2], STATE / "skills" / "council")


main(sys.argv[1:])
