"""Adding to `council.toml`: tables behind what a person wrote, which stays as it is."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping

from council.core.errors import CouncilError, InvalidStateError
from council.core.reading import bounded_toml
from council.core.record import Any
from council.store import files
from council.store.conversations.naming import prepare_control
from council.store.lock import Lock
from council.store.paths import Workspace
from council.store.settings import settings_of

# The line that new settings have for the coordinator, which a chosen one takes the place of.
_NO_COORDINATOR = re.compile(r"^# coordinator = .*$", re.MULTILINE)


def add_tables(
    workspace: Workspace, tables: Mapping[str, Mapping[str, Any]], coordinator: str = ""
) -> None:
    """Add tables that are not there to the settings; make the file where there is none.

    Args:
        workspace: Where the settings lie.
        tables: By what stands in their headings, what they say: texts, numbers, true and false,
            lists of these.
        coordinator: The coordinator of a workspace that has none, "" to choose none.

    Raises:
        InvalidStateError: The file is no plain file, was changed meanwhile, or has no place for it.
        CouncilError: The system refuses.
    """
    prepare_control(workspace)
    chosen = f"coordinator = {_written(coordinator)}" if coordinator else ""
    added = "\n".join(
        "\n".join([f"[{name}]", *(f"{key} = {_written(one)}" for key, one in values.items()), ""])
        for name, values in tables.items()
    )
    with Lock(f"{workspace.control}/settings.lock"):
        standing = files.read_stable(workspace.settings)
        before = standing.data.decode("utf-8-sig") if standing else ""
        if chosen:
            before, count = _NO_COORDINATOR.subn(lambda _: chosen, before, count=1)
            before = before if count else f"{chosen}\n{before}"
        after = "\n\n".join(filter(None, [before.rstrip("\r\n"), added])).rstrip("\n") + "\n"
        try:
            settings_of(tomllib.loads(bounded_toml(before)))
        except (ValueError, CouncilError) as error:
            raise InvalidStateError(
                f"nothing was changed, for council.toml cannot be read: {error}",
                "correct it there, then do that again",
            ) from None
        try:
            settings_of(tomllib.loads(bounded_toml(after)))
        except (ValueError, CouncilError):
            wanted = " ".join(f"{chosen} {added}".split())
            raise InvalidStateError(
                f"council.toml cannot be added to; nothing was changed: {wanted}",
                "write that there by hand",
            ) from None
        latest = files.read_stable(workspace.settings)
        if (latest and latest.digest) != (standing and standing.digest):
            raise InvalidStateError("council.toml was being edited", "save it, then try again")
        files.replace(workspace.settings, after.encode("utf-8"))


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)  # of each such value JSON is TOML as well
