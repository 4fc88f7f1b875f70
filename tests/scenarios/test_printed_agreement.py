"""Councils of real programs whose only way to answer is to print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def seat(root: Path, **shells: str) -> None:
    """Let agents be shells; each notes in which phase it ran."""
    lines = ["schemaVersion = 1", 'retry_backoff = ["1s"]']
    for agent, shell in shells.items():
        noted = f'cat >/dev/null; echo "{agent} $COUNCIL_PHASE" >>{root}/runs; {shell}'
        lines.append(f"[agents.{agent}]\nargv = {json.dumps(['/bin/sh', '-c', noted])}")
    (root / "council.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def runs(root: Path) -> list[str]:
    return sorted((root / "runs").read_text(encoding="utf-8").splitlines())


@pytest.mark.req("HR-012", "C0-074")
def test_two_programs_that_print_that_they_agree_reach_consensus_and_skip_resolve(council):
    agrees = "printf '<think>\\nDo I?\\n</think>\\nI agree, fully.\\n\\nSTATUS: AGREED\\n'"
    seat(council.root, owl=agrees, gecko=agrees)

    done = council("ask", "Tea?", "--agents", "owl,gecko", "--synthesizer", "owl", "--json")

    assert done.code == 0, done.err
    assert done.json()["verdict"]["consensus"] is True
    assert runs(council.root) == [
        "gecko CHALLENGE",
        "gecko COLLECT",
        "owl CHALLENGE",
        "owl COLLECT",
        "owl SYNTHESIZE",
    ]
    minutes = Path(done.json()["minutes"]).read_text(encoding="utf-8")
    assert "I agree, fully." in minutes
    assert "Do I?" not in minutes


@pytest.mark.req("HR-012")
def test_a_program_that_agrees_beside_a_blocker_is_asked_once_and_its_blocker_stands(council):
    blocks = "printf 'I agree.\\n\\n- **BLOCKING:** the kettle is broken.\\n\\nSTATUS: AGREED\\n'"
    seat(council.root, owl=blocks, gecko="printf 'Tea.\\n\\nSTATUS: AGREED\\n'")

    done = council("ask", "Tea?", "--agents", "owl,gecko", "--synthesizer", "gecko", "--json")

    assert done.code == 0, done.err
    assert done.json()["verdict"]["consensus"] is False
    assert runs(council.root).count("owl CHALLENGE") == 2
    assert runs(council.root).count("owl RESOLVE") == 2
    minutes = Path(done.json()["minutes"]).read_text(encoding="utf-8")
    assert "the kettle is broken" in minutes
    assert "No blocking issue is open" not in minutes
