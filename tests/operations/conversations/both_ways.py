"""Prompts rendered by the template engine and without it, which must say the same."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from council.operations.conversations.kept_prompts import built_in
from council.operations.conversations.prompts import render_prompt

_KEPT = tempfile.TemporaryDirectory(prefix="council both ways-")
_TEMPLATES = Path(built_in("en")).parent


def render_both_ways(kind: str, parts: dict[str, Any], **how: Any) -> str:
    """Return a prompt, after a check that both renderings are the same."""
    elsewhere = {**how, "root": _KEPT.name}
    made = render_prompt(kind, parts, **elsewhere)
    with own_templates(Path(_KEPT.name)):
        assert render_prompt(kind, parts, **elsewhere) == made
    return render_prompt(kind, parts, **how)


def made_both_ways(root: Path, make: Callable[[], str]) -> str:
    """Return what `make` makes, after a check that both renderings are the same."""
    made = make()
    with own_templates(root):
        assert make() == made
    return made


@contextmanager
def own_templates(root: Path) -> Iterator[None]:
    """Let the built-in templates lie in a workspace itself, where the engine renders them."""
    own = root / "prompts"
    assert not own.exists()
    own.symlink_to(_TEMPLATES)
    try:
        yield
    finally:
        own.unlink()
