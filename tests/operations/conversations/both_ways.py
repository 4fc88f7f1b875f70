"""Prompts rendered by the template engine and without it, which must say the same."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from council.operations.conversations.kept_prompts import built_in
from council.operations.conversations.prompts import render_prompt

_KEPT = tempfile.TemporaryDirectory(prefix="council-ready-")


def render_both_ways(kind: str, parts: dict[str, Any], **how: Any) -> str:
    """Return a prompt, after a look that it is the same whoever renders it."""
    by_engine = render_prompt(kind, parts, **how)
    assert render_prompt(kind, parts, compiled_in=_KEPT.name, **how) == by_engine
    assert needed_no_engine(_KEPT.name)
    return by_engine


def made_both_ways(root: Path, compiled: str, make: Callable[[], str]) -> str:
    """Return what `make` makes, after a look that it is the same whoever renders it.

    Templates that lie in the workspace itself, were they copies, are rendered by the engine.
    `compiled` is the folder of what was compiled, below that of the marks and keys.
    """
    own = root / "prompts"
    assert not own.exists()
    made = make()
    folder = root / "memory/shared/.council" / compiled
    assert needed_no_engine(folder)
    shutil.copytree(Path(built_in("en")).parent, own)
    assert make() == made
    shutil.rmtree(own)
    for bytecode in folder.glob("__jinja2_*"):
        bytecode.unlink()
    return made


def needed_no_engine(folder: str | Path) -> bool:
    """Tell whether all that was rendered with a folder for compiled templates went without it.

    The engine leaves bytecode of its own where it has to render after all.
    """
    names = [path.name for path in Path(folder).iterdir()]
    assert any(name.endswith(".ready") for name in names)
    return not any(name.startswith("__jinja2_") for name in names)
