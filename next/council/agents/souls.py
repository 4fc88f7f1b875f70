"""SOUL.md: who an agent is. Front matter has its facts, the text below it is its persona.

A file that cannot be used is a fault of that agent and stops nobody else.
"""

from __future__ import annotations

import os

from council.agents.settings import AgentSettings, Facts, Settings, content
from council.kernel import files
from council.kernel.errors import Invalid
from council.kernel.ids import is_name
from council.kernel.record import Any

FOLDER = "memory/agents"
FILE = "SOUL.md"
MOST_BYTES = 1024 * 1024
FACTS = ("name", "emoji", "role", "model")
_YAML_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))


class Soul(Facts):
    """The facts and the persona of an agent; empty where its file does not say."""

    persona: str = ""
    faults: list[str] = []


def souls(root: str) -> dict[str, Soul]:
    """Return the agents that have a folder in the workspace, by id."""
    try:
        names = sorted(os.listdir(f"{root}/{FOLDER}"))
    except OSError:
        return {}
    folders = [one for one in names if is_name(one) and os.path.isdir(f"{root}/{FOLDER}/{one}")]
    return {ident: read(root, ident) or Soul(id=ident) for ident in folders}


def read(root: str, ident: str) -> Soul | None:
    """Return what the file of one agent says; None where it has none."""
    made, where = Soul(id=ident), f"{FOLDER}/{ident}/{FILE}"
    try:
        found_bytes = content(f"{root}/{where}", MOST_BYTES)
    except Invalid as error:
        made.faults.append(error.message)
        return made
    if found_bytes is None:
        return None
    text = found_bytes.decode("utf-8-sig", "replace").replace("\r\n", "\n")
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
        key, colon, value = line.partition(": ")
        value = value.strip()
        if not line.strip() or line.startswith("#"):
            continue
        is_list = value[:1] == "[" and value[-1:] == "]"
        many = [one.strip() for one in value[1:-1].split(",")] if is_list else [value]
        if not colon or not key.isidentifier() or not all(map(_is_plain, many)):
            return None
        if is_list and set(value[1:-1]) & set("[]{}"):
            return None
        found[key] = many if is_list else value
    return found


def _is_plain(value: str) -> bool:
    """Return whether YAML reads a value as the text that it is."""
    begins = value[:1].isalpha() or value[:1] > "\u2000"
    is_odd = ": " in value or " #" in value or value.endswith(":") or "\t" in value
    return begins and not is_odd and value.lower() not in _YAML_WORDS


def _yaml(head: str, where: str, faults: list[str]) -> dict[str, Any]:
    import frontmatter  # late: plain front matter needs no parser
    from yaml import YAMLError  # late: as above

    try:
        found = frontmatter.parse(f"---\n{head}\n---\n")[0]
    except (YAMLError, RecursionError, ValueError):
        faults.append(f"{where}: its front matter is no YAML")
        return {}
    return found if isinstance(found, dict) else {}


def write(root: str, made: Soul) -> None:
    """Write the file of an agent; facts of its front matter that we do not know are kept."""
    import json  # late: a JSON text is a YAML text as well

    path, known = f"{root}/{FOLDER}/{made.id}/{FILE}", (*FACTS, "capabilities")
    head = parted((content(path) or b"").decode("utf-8-sig", "replace"))[0].splitlines()
    keep, lines = True, []
    for key in known:
        value = getattr(made, key)
        if value:
            is_plain = isinstance(value, str) and _is_plain(value)
            shown = value if is_plain else json.dumps(value, ensure_ascii=False)
            lines.append(f"{key}: {shown}")
    for line in head:  # an indented line or a list item belongs to the key above it
        if line[:1] not in ("", " ", "\t", "-", "#"):
            keep = line.partition(":")[0].strip() not in known
        lines += [line] if keep else []
    os.makedirs(os.path.dirname(path), exist_ok=True)
    text = "\n".join(["---", *lines, "---", "", made.persona.strip(), ""])
    files.replace(path, text.encode("utf-8", "replace"))


def agents(root: str, settings: Settings) -> dict[str, AgentSettings]:
    """Return all agents of the workspace, those with a folder and those with a table, by id."""
    found = souls(root)
    idents = sorted(found.keys() | settings.agents.keys())
    return {ident: settings.agent(ident, found.get(ident)) for ident in idents}
