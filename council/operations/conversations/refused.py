"""A refused answer is not lost: its text lies beside the tasks of the agent.

Source: HR-010.
"""

from __future__ import annotations

import os

from council.core.digests import sha256_hex
from council.core.errors import CouncilError
from council.operations.place import Place
from council.store.files import make_folder, replace

_NAME_DIGITS = 12


def keep_refused(place: Place, agent: str, text: str) -> str:
    """Keep a text that was not recorded; return its path, "" where it cannot be kept.

    The same text is kept once. No folder is made for an agent that nobody knows: a
    mistyped name would become one.
    """
    known = agent in place.settings.agents or os.path.isdir(place.paths.agent(agent))
    if not text.strip() or not known:
        return ""
    content = text.encode("utf-8", "surrogatepass")
    folder = place.paths.tasks(agent)
    path = f"{folder}/refused-{sha256_hex(content)[:_NAME_DIGITS]}.md"
    try:
        make_folder(folder)
        replace(path, content)
    except (OSError, CouncilError):
        return ""
    return path
