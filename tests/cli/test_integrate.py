"""`council integrate` for programs that take our server: by their own commands alone."""

from __future__ import annotations

import pytest

PROGRAM = """#!/bin/sh
echo "$*" >>"$HOME/asked"
case "$*" in
*" remove "*) if [ -e "$HOME/server" ]; then rm "$HOME/server"; else {absent}; fi;;
*" add "*) echo council >"$HOME/server"; {added};;
*) cat "$HOME/server" 2>&1;;
esac
"""
# What the real ones do where they have no such server: two of them end with 0.
ABSENT = {
    "claude": "false",
    "codex": """echo "No MCP server named 'council' found." """,
    "gemini": """echo 'Server "council" not found in user settings.'""",
}


@pytest.fixture
def programs(council, tmp_path):
    """Programs that keep whether they have our server, and what they were asked."""
    council("init", "--agents", "owl,gecko")
    folder = tmp_path / "programs"
    folder.mkdir()

    def put(name: str, added: str = "true") -> dict[str, str]:
        (folder / name).write_text(PROGRAM.format(added=added, absent=ABSENT[name]))
        (folder / name).chmod(0o755)
        return {"PATH": f"{folder}:{council.env()['PATH']}"}

    return put


@pytest.mark.req("CL-007")
@pytest.mark.parametrize(
    ("client", "begins"),
    [
        ("claude", "mcp add council --scope user -- "),
        ("codex", "mcp add council -- "),
        ("gemini", "mcp add --scope user council "),
    ],
)
def test_the_server_is_added_and_taken_away_by_the_commands_of_a_program(
    council, programs, client, begins
):
    env = programs(client)
    shown = council("integrate", client, "--as", "owl", env=env)
    assert shown.out.startswith(f"{client} {begins}")
    assert not (council.home / "asked").exists()

    for _ in range(2):
        added = council("integrate", client, "--install", "--as", "owl", env=env)
        assert (added.code, added.out) == (0, f"{client}: has the server council now\n")
    gone = [council("integrate", client, "--uninstall", env=env).out for _ in range(2)]

    assert gone == [
        f"{client}: no longer has the server council\n",
        f"{client}: had no server council there\n",
    ]
    asked = [line for line in (council.home / "asked").read_text().splitlines() if " add " in line]
    assert len(asked) == 2 and all(one.startswith(begins) for one in asked)
    assert asked[0].endswith(f"council mcp --root {council.root} --as owl")


def test_what_stands_in_the_way_of_an_integration_is_one_line(council, programs):
    env = programs("claude", added="exit 1")
    refused = {
        words: council("integrate", *words, env=env)
        for words in (
            ("claude", "--install"),
            ("claude", "--install", "--uninstall"),
            ("claude", "--install", "--scope", "moon"),
            ("codex", "--install", "--scope", "user"),
            ("cursor", "--install"),
        )
    }
    absent = council("integrate", "codex", "--install", env={"PATH": "/nowhere"})

    assert [one.code for one in refused.values()] == [1, 2, 2, 2, 2]
    told = [one.err for one in (*refused.values(), absent)]
    assert all(len(one.splitlines()) == 1 for one in told), told
    assert "run by hand: claude mcp add council" in told[0]
    assert "docs" not in told[4] and "openclaw, claude, codex, gemini" in told[4]
    assert absent.code == 5 and "no program codex on PATH" in absent.err
