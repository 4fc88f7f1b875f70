"""SOUL.md: who an agent is. Front matter has its facts, the text below it is its persona.

A file that cannot be used is a fault of that agent and stops nobody else.
"""

from __future__ import annotations

import os

from council.agents.settings import AgentSettings, Facts, Settings, content
from council.kernel import files
from council.kernel.errors import Invalid, Refusal
from council.kernel.ids import is_name
from council.kernel.page import decoded, plain
from council.kernel.record import Any

FOLDER = "memory/agents"
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
    made, where = Soul(id=ident), f"{FOLDER}/{ident}/SOUL.md"
    try:
        if (data := content(f"{root}/{where}", MOST_BYTES)) is None:
            return None
        head, made.persona = _parted(data)
        found = _facts(head, where)
    except Refusal as error:
        made.faults.append(error.message)
        return made
    for key in FACTS:
        value = found.get(key)
        setattr(made, key, "" if value is None else " ".join(str(value).split())[:200])
    many = found.get("capabilities") or []
    many = many.split(",") if isinstance(many, str) else many if isinstance(many, list) else []
    made.capabilities = [str(one).strip() for one in many if str(one).strip()]
    return made


def _parted(data: bytes) -> tuple[str, str]:
    """Return front matter and the text below it; the first is "" where there is none."""
    text = plain(decoded(data)).rstrip() + "\n"
    head, mark, body = text.removeprefix("---\n").partition("\n---\n")
    return (head, body.strip()) if mark and text[:4] == "---\n" else ("", text.strip())


def _facts(head: str, where: str) -> dict[str, Any]:
    """Return what front matter says; plain lines mean the same without a YAML parser."""
    rows = [line.partition(": ") for line in head.splitlines() if line[:1] not in ("", "#")]
    if all(key.isidentifier() and _is_plain(value.strip()) for key, _, value in rows):
        return {key: value.strip() for key, _, value in rows}
    import frontmatter  # late: plain front matter needs no parser
    from yaml import YAMLError  # late: as above

    try:
        found = frontmatter.parse(f"---\n{head}\n---\n")[0]
    except (YAMLError, RecursionError, ValueError):
        raise Invalid("bad-soul", f"{where}: its front matter is no YAML") from None
    return found if isinstance(found, dict) else {}


def _is_plain(value: str) -> bool:
    """Return whether YAML reads a value as the text that it is."""
    begins = value[:1].isalpha() or value[:1] > "\u2000"
    is_odd = ": " in value or " #" in value or value.endswith(":") or "\t" in value
    return begins and not is_odd and value.lower() not in _YAML_WORDS


def write(root: str, made: Soul) -> None:
    """Write the file of an agent; facts of its front matter that we do not know are kept."""
    import yaml  # late: agents are seldom changed; `frontmatter` would escape each emoji

    where = f"{FOLDER}/{made.id}/SOUL.md"
    facts = _facts(_parted(content(f"{root}/{where}") or b"")[0], where)
    facts |= {key: getattr(made, key) for key in (*FACTS, "capabilities")}
    facts = {key: value for key, value in facts.items() if value not in ("", [])}
    head = yaml.safe_dump(facts, sort_keys=False, width=1 << 20, allow_unicode=True)
    os.makedirs(f"{root}/{FOLDER}/{made.id}", exist_ok=True)
    text = f"---\n{head}---\n\n{made.persona}".rstrip() + "\n"
    files.replace(f"{root}/{where}", text.encode("utf-8", "replace"))


def agents(root: str, settings: Settings) -> dict[str, AgentSettings]:
    """Return all agents of the workspace, those with a folder and those with a table, by id."""
    found = souls(root)
    idents = sorted(found.keys() | settings.agents.keys())
    return {ident: settings.agent(ident, found.get(ident)) for ident in idents}
