"""Adding to `council.toml`: a table behind what a person wrote, which stays as it is."""

from __future__ import annotations

import json
import tomllib

from council.core.errors import CouncilError, InvalidStateError
from council.core.reading import bounded_toml
from council.core.record import Any
from council.store import files
from council.store.conversations.naming import prepare_control
from council.store.lock import Lock
from council.store.paths import Workspace
from council.store.settings import settings_of


def add_table(workspace: Workspace, name: str, values: dict[str, Any]) -> None:
    """Add a table that is not there to the settings; make the file where there is none.

    Args:
        workspace: Where the settings lie.
        name: What stands in the heading of the table.
        values: What it says: texts, numbers, true and false, lists of these.

    Raises:
        InvalidStateError: The file is no plain file, was changed meanwhile, or has no place for it.
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
        after = before + added.encode("utf-8")
        try:
            settings_of(tomllib.loads(bounded_toml(after.decode("utf-8-sig"))))
        except (ValueError, CouncilError):
            raise InvalidStateError(
                f"council.toml cannot be added to; nothing was changed: {' '.join(added.split())}",
                "write that there by hand",
            ) from None
        files.replace(workspace.settings, after)
