"""Wherever an extra of council is missed, one line names it and the command that adds it."""

from __future__ import annotations

import re

import pytest

from council.store.extras import EXTRAS
from tests.conftest import Council

HIDES = """
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in {!r} else found(name, *more)
"""
OPENAI = '[agents.owl]\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n'
BY_TOOL = '[agents.owl]\npreset = "claude"\nanswer = "tool"\n'
MISSED = [
    ("web", ("serve",), ""),
    ("web", ("ask", "Tea?", "--agents", "owl,fox", "--page"), ""),
    ("web", ("show", "active", "--format", "html"), ""),
    ("web", ("doctor",), ""),
    ("mcp", ("mcp", "--as", "owl"), ""),
    ("mcp", ("integrate", "claude", "--install"), ""),
    ("mcp", ("doctor",), BY_TOOL),
    ("openai", ("doctor",), OPENAI),
    ("openai", ("status", "--problems"), OPENAI),
    ("postgres", ("engine", "init", "postgresql://127.0.0.1:9/none"), ""),
    ("postgres", ("engine", "join", "postgresql://127.0.0.1:9/none"), ""),
    ("postgres", ("demo", "--machines", "2"), ""),
    ("postgres", ("link",), ""),
]


@pytest.fixture
def bare(council: Council) -> Council:
    """A workspace with a council, `claude` on PATH, and no extra of council."""
    assert council("init", "--agents", "owl,fox").code == 0
    assert council("convene", "Tea?", "--agents", "owl,fox").code == 0
    hidden = [module for modules in EXTRAS.values() for module in modules]
    (council.home / "sitecustomize.py").write_text(HIDES.format(hidden))
    claude = council.home / "claude"
    claude.write_text("#!/bin/sh\n")
    claude.chmod(0o755)
    return council


@pytest.mark.req("TB-001")
@pytest.mark.parametrize(("extra", "words", "settings"), MISSED)
def test_a_missing_extra_is_named_with_the_command_that_adds_it(
    bare: Council, extra: str, words: tuple[str, ...], settings: str
):
    if settings:
        with (bare.root / "council.toml").open("a") as file:
            file.write(settings)
    path = bare.env()["PATH"]
    env = {"PYTHONPATH": str(bare.home), "PATH": f"{path}:{bare.home}", "COLUMNS": "400"}

    done = bare(*words, env=env)

    said = done.out + done.err
    assert re.search(rf"pip install (-e )?'[^']*\[{extra}\]'", said), said
    assert "Traceback" not in said
    if words[0] not in ("doctor", "status"):
        assert (done.code, len(done.err.splitlines())) == (5, 1)
    if settings:
        assert f"owl needs the Python package {EXTRAS[extra][0]}" in said
