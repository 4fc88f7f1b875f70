"""Prompts that were made once and are kept, each under the digest of what it was made of.

A note beside them says for which revision of the file a prompt holds, so that
an agent that asks again before anything has changed gets it without reading the
conversation. Prompts and notes are only ever shortcuts: one that is missing
or torn is made anew, and the oldest are forgotten.

Source: `store.md` section 7.
"""

from __future__ import annotations

import json
import os
from collections.abc import Container

from council.core.errors import CouncilError, InvalidStateError
from council.core.ids import sha256_hex
from council.core.reading import read_json
from council.store.files import content_of, make_folder, open_temporary

LANGUAGES = ("en", "fr")
KEPT_PROMPTS = 200
KEPT_BYTES = 64 * 1024 * 1024

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_TEMPLATES = os.path.join(_PACKAGE, "prompts")
MADE = "council.operations.conversations.made_prompts"
_PACKAGED_SKILL = os.path.join(_PACKAGE, "skill")
# An installed package has a copy of the skill; a checkout has the skill itself.
SKILL = (
    _PACKAGED_SKILL
    if os.path.isdir(_PACKAGED_SKILL)
    else os.path.join(os.path.dirname(_PACKAGE), "skills", "council")
)
REFERENCES = os.path.join(SKILL, "references")


def template_folders(root: str, language: str) -> list[str]:
    """Return where templates are looked for, the workspace's first."""
    own = os.path.join(root, "prompts")
    return [os.path.join(own, language), own, built_in(language)]


def workspace_reference(root: str, name: str) -> str:
    """Return the path of a reference that people of this workspace may have edited."""
    return os.path.join(root, "skills", "council", "references", name)


def built_in(language: str) -> str:
    """Return the folder of the built-in templates in a language."""
    return os.path.join(_TEMPLATES, language)


def has_own_templates(root: str, language: str) -> bool:
    """Return true if people wrote templates into the workspace that concern this language."""
    folders = template_folders(root, language)[:-1]
    return any(name.endswith(".j2") for folder in folders for name in _listed(folder))


def made() -> tuple[str, Container[str]]:
    """Return the digest of the built-in templates, and which modules were made from them.

    Raises:
        InvalidStateError: None were made.
    """
    try:
        from council.operations.conversations.made_prompts import MADE_OF, PROMPTS
    except ImportError:
        raise InvalidStateError(
            f"this installation of council has no prompts: {MADE} is missing",
            "install it again, or run in its source folder: python3 .ci/set_up_venv.py",
        ) from None
    return MADE_OF, PROMPTS


def stamps(root: str, *languages: str) -> list[list[object]]:
    """Return what shows that a template or a checklist in these languages was changed since.

    Raises:
        InvalidStateError: This installation has no prompts.
    """
    names = ("COUNCIL.md", *(f"COUNCIL.{language}.md" for language in languages))
    files = [workspace_reference(root, name) for name in names]
    files.append(os.path.join(REFERENCES, "COUNCIL.md"))
    folders = [one for language in languages for one in template_folders(root, language)[:-1]]
    files += [os.path.join(one, name) for one in dict.fromkeys(folders) for name in _listed(one)]
    found: list[list[object]] = [[made()[0]]]
    for path in files:
        try:
            facts = os.stat(path)
        except OSError:
            continue
        found.append([path, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino])
    return found


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def read(path: str) -> str | None:
    """Return a kept prompt if its file is whole: its first line is the digest of the rest."""
    digest, _, content = content_of(path).partition(b"\n")
    is_whole = sha256_hex(content).encode() == digest
    return content.decode("utf-8", "surrogatepass") if is_whole else None


def keep(path: str, text: str) -> None:
    """Keep a prompt for the next time, for no other to read; no harm if that fails."""
    content = text.encode("utf-8", "surrogatepass")
    _write(path, sha256_hex(content).encode() + b"\n" + content)


def read_noted(path: str, now: float) -> str | None:
    """Return the prompt that a note speaks of, None where there is none that holds now."""
    try:
        file, since, until = read_json(content_of(path))
        holds = (since is None or since <= now) and (until is None or now < until)
    except (ValueError, TypeError):
        return None
    is_name = isinstance(file, str) and "/" not in file
    return read(f"{os.path.dirname(path)}/{file}") if holds and is_name else None


def note(path: str, prompt: str, since: float | None, until: float | None) -> None:
    """Note for how long a kept prompt holds; no harm if that fails.

    Args:
        path: Where the note lies, in the folder of the prompt.
        prompt: The path of the prompt.
        since: From when it holds, in seconds; None binds nothing.
        until: Before when, likewise.
    """
    _write(path, json.dumps([os.path.basename(prompt), since, until]).encode("ascii"))


def _write(path: str, content: bytes) -> None:
    folder = os.path.dirname(path)
    try:
        make_folder(folder, 0o700)
        temporary, descriptor = open_temporary(folder, content, mode=0o600, like=None)
        os.close(descriptor)
        os.replace(temporary, path)
        _forget_oldest(folder)
    except (OSError, CouncilError):
        return


def _forget_oldest(folder: str) -> None:
    """Remove what is more than may be kept of each kind, the newest stay."""
    found = [(one.stat(), one.path) for one in os.scandir(folder) if one.is_file()]
    found.sort(key=lambda one: one[0].st_mtime_ns, reverse=True)
    for kind in (".prompt", ".note"):
        number, total = 0, 0
        for facts, path in found:
            if path.endswith(kind):
                number, total = number + 1, total + facts.st_size
                if number > 1 and (number > KEPT_PROMPTS or total > KEPT_BYTES):
                    os.unlink(path)
