"""SOUL.md: who an agent is. Front matter has its facts, the text below it is its persona.

A file that cannot be used is a fault of that agent and stops nobody else.
"""

from __future__ import annotations

import os

from council.agents.settings import AgentSettings, Settings
from council.kernel.ids import is_name
from council.kernel.record import Any, Record

FOLDER = "memory/agents"
FILE = "SOUL.md"
MOST_BYTES = 1024 * 1024
FACTS = ("name", "emoji", "role", "model")


class Soul(Record):
    """The facts and the persona of an agent; empty where its file does not say."""

    id: str
    name: str = ""
    emoji: str = ""
    role: str = ""
    model: str = ""
    capabilities: list[str] = []
    persona: str = ""
    faults: list[str] = []


def souls(root: str) -> dict[str, Soul]:
    """Return the agents that have a folder in the workspace, by id."""
    try:
        names = sorted(os.listdir(f"{root}/{FOLDER}"))
    except OSError:
        return {}
    folders = [one for one in names if is_name(one) and os.path.isdir(f"{root}/{FOLDER}/{one}")]
    return {ident: soul(root, ident) for ident in folders}


def soul(root: str, ident: str) -> Soul:
    """Return what the file of one agent says."""
    made, where = Soul(id=ident), f"{FOLDER}/{ident}/{FILE}"
    try:
        file = os.open(f"{root}/{where}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        try:
            content = os.read(file, MOST_BYTES)
        finally:
            os.close(file)
    except FileNotFoundError:
        return made
    except OSError as error:
        made.faults.append(f"{where} cannot be read: {error.strerror}")
        return made
    text = content.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    head, made.persona = parted(text)
    found = _plain(head)
    if found is None:
        found = _yaml(head, where, made.faults)
    for key in FACTS:
        value = found.get(key, "")
        setattr(made, key, "" if value is None else " ".join(str(value).split())[:200])
    many = found.get("capabilities") or []
    many = many.split(",") if isinstance(many, str) else many if isinstance(many, list) else []
    made.capabilities = [str(one).strip() for one in many if str(one).strip()]
    return made


def parted(text: str) -> tuple[str, str]:
    """Return front matter and the text below it; the first is "" where there is none."""
    if not text.startswith("---\n"):
        return "", text.strip()
    head, mark, body = text[4:].partition("\n---\n")
    if not mark and text.rstrip().endswith("\n---"):
        head, mark, body = text.rstrip()[4:-4], "---", ""
    return (head, body.strip()) if mark else ("", text.strip())


def _plain(head: str) -> dict[str, Any] | None:
    """Return plain `key: value` lines; None where only a YAML parser knows what they mean."""
    found: dict[str, Any] = {}
    for line in head.splitlines():
        key, colon, value = line.partition(":")
        value = value.strip()
        if not line.strip() or line.startswith("#"):
            continue
        if value.startswith("[") and value.endswith("]"):
            many = [one.strip() for one in value[1:-1].split(",") if one.strip()]
            if any(set(one) & set("\"'[]{}#:&*") for one in many):
                return None
            found[key] = many
            continue
        is_odd = not value or value[0] in "\"'[{>|&*!%@`#-?" or ": " in value or " #" in value
        if not colon or is_odd or not key.isidentifier():
            return None
        found[key] = value
    return found


def _yaml(head: str, where: str, faults: list[str]) -> dict[str, Any]:
    import yaml  # late: plain front matter needs no parser

    try:
        found = yaml.safe_load(head)
    except (yaml.YAMLError, RecursionError, ValueError):
        faults.append(f"{where}: its front matter is no YAML")
        return {}
    return found if isinstance(found, dict) else {}


def write(root: str, made: Soul) -> None:
    """Write the file of an agent; facts of its front matter that we do not know are kept."""
    import json  # late: a JSON text is a YAML text as well

    folder = f"{root}/{FOLDER}/{made.id}"
    os.makedirs(folder, exist_ok=True)
    path, known = f"{folder}/{FILE}", (*FACTS, "capabilities")
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            head = parted(file.read())[0].splitlines()
    except OSError:
        head = []
    # An indented line or a list item belongs to the key above it.
    keep, kept = True, []
    for line in head:
        if line[:1] not in ("", " ", "\t", "-", "#"):
            keep = line.partition(":")[0].strip() not in known
        kept += [line] if keep else []
    facts = [f"{key}: {json.dumps(getattr(made, key), ensure_ascii=False)}"
             for key in known if getattr(made, key)]
    text = "\n".join(["---", *facts, *kept, "---", "", made.persona.strip(), ""])
    beside = f"{path}.{os.getpid()}"
    with open(beside, "w", encoding="utf-8") as out:
        out.write(text)
    os.replace(beside, path)


def agents(root: str, settings: Settings) -> dict[str, AgentSettings]:
    """Return all agents of the workspace, those with a folder and those with a table, by id."""
    found = souls(root)
    idents = sorted(found.keys() | settings.agents.keys())
    return {ident: settings.agent(ident, found.get(ident)) for ident in idents}
