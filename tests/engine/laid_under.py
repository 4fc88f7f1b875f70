"""Puts an engine under the workspaces below a folder, in whatever process opens them.

`tests/engine/beneath.py` has Python run this at its start, in each process of one virtual
environment and whatever its variables say. A workspace is as if it had joined: its settings name
a server and a schema of its own, whose tables are made when they are first missed.

Which server it is says the nearest file `engine-beneath` above the workspace. Without one
nothing changes.

Source: EN-009.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from hashlib import sha256
from importlib.machinery import ModuleSpec, PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

TOLD = "laid_under"  # what this is called where Python runs it at its start
MARK = "engine-beneath"
PREFIX = "w"
_DIGITS = 24
_roots: dict[str, str] = {}


def address_for(root: str) -> str:
    """Return which server lies beneath a workspace, "" for none."""
    folder = os.path.realpath(root)
    while folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        try:
            with open(f"{folder}/{MARK}", encoding="utf-8") as file:
                if url := file.read():
                    return url
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            pass
    return ""


def schema_of(root: str) -> str:
    """Return the schema of a workspace."""
    schema = PREFIX + sha256(os.path.realpath(root).encode()).hexdigest()[:_DIGITS]
    _roots[schema] = os.path.realpath(root)
    return schema


def _in_settings(settings: ModuleType) -> None:
    """Let settings that name no engine name the one beneath."""
    copy_in, settings_of = settings.copy_in, settings.settings_of
    root = ""

    def copy_of(asked: str) -> Any:
        nonlocal root
        root = asked
        return copy_in(asked)

    def with_engine(document: dict[str, Any]) -> Any:
        if "engine" not in document and (url := address_for(root)):
            document = {**document, "engine": {"url": url, "schema": schema_of(root)}}
        return settings_of(document)

    settings.copy_in = copy_of  # type: ignore[attr-defined]
    settings.settings_of = with_engine  # type: ignore[attr-defined]


def _in_workspaces(paths: ModuleType) -> None:
    """Let a workspace share its documents even if no settings are read, as tests of the store."""
    begin = paths.Workspace.__init__

    def __init__(self: Any, root: str, *given: Any, **named: Any) -> None:  # noqa: N807
        begin(self, root, *given, **named)
        if url := address_for(root):
            from council.core.errors import CouncilError
            from council.store.engine.joined import joined
            from council.store.settings import EngineSettings

            with suppress(CouncilError):  # a place that is refused: its user is told
                joined(self, EngineSettings(url=url, schema=schema_of(root)))

    paths.Workspace.__init__ = __init__


def _in_schema(schema: ModuleType) -> None:
    """Make the tables that are missing."""
    check = schema.check

    def made(connection: Any, name: str) -> None:
        if name in _roots and not schema.version(connection, name):
            schema.migrate(connection, name)
            connection.execute(f"COMMENT ON SCHEMA {name} IS '{_roots[name]}'")
        check(connection, name)

    schema.check = made  # type: ignore[attr-defined]


_CHANGES: dict[str, Callable[[ModuleType], None]] = {
    "council.store.settings": _in_settings,
    "council.store.paths": _in_workspaces,
    "council.store.engine.schema": _in_schema,
}


class _Finder:
    """Finds the modules that are changed, and has them changed once they are loaded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        change = _CHANGES.get(name)
        spec = PathFinder.find_spec(name, path, target) if change else None
        if spec is None or spec.loader is None or change is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            change(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def lay() -> None:
    """Change what is imported from now on, and what is imported already."""
    sys.meta_path.insert(0, _Finder())  # type: ignore[arg-type]
    for name, change in _CHANGES.items():
        if name in sys.modules:
            change(sys.modules[name])


if __name__ == TOLD:
    lay()
