"""Adding to `council.toml`: a table behind what a person wrote, which stays as it is."""

from __future__ import annotations

import json

from council.core.errors import InvalidStateError
from council.core.record import Any
from council.store import files
from council.store.conversations.naming import prepare_control
from council.store.lock import Lock
from council.store.paths import Workspace


def add_table(workspace: Workspace, name: str, values: dict[str, Any]) -> None:
    """Add a table that is not there to the settings; make the file where there is none.

    Args:
        workspace: Where the settings lie.
        name: What stands in the heading of the table.
        values: What it says: texts, numbers, true and false, lists of these.

    Raises:
        InvalidStateError: The file is no plain file, or was changed meanwhile.
        CouncilError: The system refuses.
    """
    prepare_control(workspace)
    # Of each value JSON is TOML as well.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    added = "\n".join([f"[{name}]", *lines, ""])
    with Lock(f"{workspace.control}/settings.lock"):
        standing = files.read_stable(workspace.settings)
        before = standing.data.rstrip(b"\r\n") + b"\n\n" if standing else b""
        latest = files.read_stable(workspace.settings)
        if (latest and latest.digest) != (standing and standing.digest):
            raise InvalidStateError("council.toml was being edited", "save it, then try again")
        files.replace(workspace.settings, before + added.encode("utf-8"))
