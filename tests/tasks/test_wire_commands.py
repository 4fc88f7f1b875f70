"""The msg commands, as installed."""

import json
from pathlib import Path

import pytest

from tests.scenarios.workspaces import Workspace

LINE = "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|go"


@pytest.fixture
def anywhere(tmp_path: Path) -> Workspace:
    """Return a directory that is no workspace: messages need none."""
    made = Workspace(tmp_path)
    del made.env["COUNCIL_ROOT"]
    return made


def test_messages_are_parsed_one_by_one(anywhere: Workspace) -> None:
    block = "[MSG_01]\nFROM: WORKER\nTO: ORCHESTRATOR\nTYPE: RES\nTASK: TASK_01\nDATA: tea"
    lines = f"{LINE}\nM2|bad\nno line\r\n\n{block}\n{LINE}\r\n"
    done = anywhere.run("msg", "parse", "-", "--json", stdin=lines)
    read = [json.loads(one) for one in done.stdout.splitlines()]
    codes = [one["errors"][0]["code"] if one["errors"] else one["version"] for one in read]
    assert (done.returncode, codes) == (3, ["V5", "E03", "E10", "V1", "V5"])
    told = anywhere.run("msg", "parse", "-", stdin=f"{LINE}\nM2|bad\n").stdout
    assert "(recommended): valid" in told and "(stable): not valid" in told
    told = anywhere.run("msg", "parse", LINE.replace("|R|", "|Z|"), "--reply")
    assert told.returncode == 3
    assert "E14 (V5-4): unknown message type" in told.stdout
    assert "\nM2|W1>O1|E|T1|P1|F|E14|" in told.stdout
    assert anywhere.run("msg", "parse", "--version", "V4", LINE).returncode == 3


def test_a_line_is_built_converted_and_restored(anywhere: Workspace) -> None:
    words = ["msg=1", "to=W1", "type=R", "tid=1", "state=N", "ctx=S1", "budget=500", "data=go"]
    assert anywhere.json("msg", "build", *words) == {"text": LINE}
    down = anywhere.json("msg", "convert", "--to", "V4", "--sidecar", "kept", LINE)
    assert down == {"text": "M1|O1>W1|R|T1|P1|N|-|go", "losses": ["CTX", "BUDGET"]}
    back = anywhere.run("msg", "convert", "--to", "V5", "--sidecar", "kept", down["text"])
    assert back.stdout == f"{LINE}\n"
    (anywhere.root / "kept").write_text("[5]")
    assert anywhere.run("msg", "convert", "--to", "V4", "--sidecar", "kept", LINE).returncode == 3
    refused = anywhere.run("msg", "convert", "--to", "V4", LINE.replace("W1", "User"))
    assert refused.returncode == 6 and "User endpoint" in refused.stderr


def test_a_signature_needs_the_key(anywhere: Workspace) -> None:
    assert anywhere.run("msg", "sign", LINE).returncode == 2
    signed = anywhere.json("msg", "sign", LINE, COUNCIL_AUTH_KEY="k")["text"]
    assert signed.startswith(f"{LINE};auth=S1:")
    assert anywhere.run("msg", "sign", "--verify", signed, COUNCIL_AUTH_KEY="k").returncode == 0
    assert anywhere.run("msg", "sign", "--verify", signed, COUNCIL_AUTH_KEY="j").returncode == 3
