"""The tools of `council mcp`, called by the official client over standard input and output."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from council.core.conversations.conversation import ANSWERED
from council.core.conversations.procedures import MODES, ORDERS, PROCEDURES
from council.core.errors import CouncilError
from council.core.trust import RUN_VERBS, run_token
from council.mcp.tools import TOOLS
from council.store.keys import run_key
from council.store.paths import Workspace
from council.working.calling import Worker
from tests.cli.commands import wait_until

DEFINITIONS = json.loads(
    (Path(__file__).parents[2] / "council/schemas/mcp.json").read_text(encoding="utf-8")
)
OF_PEOPLE = {
    *("convene", "status", "show", "explain", "inject", "heartbeat"),
    *("artifact_publish", "artifact_fetch", "msg_parse", "msg_convert"),
}


def test_every_tool_is_defined_once_and_offers_the_words_that_the_rules_know():
    defined = {one["name"]: one for one in DEFINITIONS["tools"]}

    assert list(defined) == list(TOOLS)
    for name, one in defined.items():
        assert one["inputSchema"]["additionalProperties"] is False
        assert one["annotations"]["readOnlyHint"] <= TOOLS[name].reads
        assert one["description"] and all(
            "description" in field for field in one["inputSchema"]["properties"].values()
        )
    words = defined["convene"]["inputSchema"]["properties"]
    assert words["procedure"]["enum"] == list(PROCEDURES)
    assert words["mode"]["enum"] == list(MODES) and words["order"]["enum"] == list(ORDERS)
    statuses = defined["respond"]["inputSchema"]["properties"]["status"]["enum"]
    assert statuses == [one.lower() for one in ANSWERED]


@pytest.mark.req("IO-004", "CL-007", "HR-010")
def test_two_agents_hold_a_council_and_each_is_informed_of_what_was_understood(
    council, serve, play
):
    council("init", "--agents", "owl,gecko")

    async def scene():
        async with (
            serve.stdio("--as", "owl") as owl,
            serve("--as", "gecko", mode="legacy") as gecko,
        ):
            tools = {one.name: one for one in (await owl.list_tools()).tools}
            assert set(tools) == set(TOOLS)
            assert tools["context"].annotations.read_only_hint
            assert not tools["respond"].annotations.destructive_hint
            made = await owl.call_tool(
                "convene", {"topic": "Shall we?", "agents": ["owl", "gecko"]}
            )
            assert made.structured_content["name"] == "active"
            turn = await owl.call_tool("wait", {"conversation": "active"})
            assert turn.structured_content["outcome"] == "turn"
            read = (await owl.call_tool("context")).structured_content["prompt"]
            assert "tool `respond`" in read and "END-OF-ANSWER" not in read
            task = turn.structured_content["task"]
            assert f"`task`: `{task}`" in read
            first = await owl.call_tool("respond", {"text": "Yes, with a test.", "task": task})
            assert first.structured_content["understood"]["status"] == "RESPONDED"
            await gecko.call_tool("respond", {"text": "Yes.\n\nBLOCKING: who pays?"})
            read = (await gecko.call_tool("context")).structured_content["prompt"]
            assert "Yes, with a test." in read
            said = "@owl\n> Yes, with a test.\n\nAgreed, then. What does it cost, @owl?"
            heard = await gecko.call_tool("respond", {"text": said, "status": "agreed"})
            understood = heard.structured_content["understood"]
            assert understood["status"] == "AGREED"
            assert understood["quotations"] == [{"text": "Yes, with a test.", "found": "found"}]
            await owl.call_tool("respond", {"text": "Nothing.", "status": "agreed"})
            last = await owl.call_tool("synthesize", {"text": "# Decision\n\nWe build it."})
            assert not last.is_error, last.content
            over = await gecko.call_tool("wait", {"conversation": "active"})
            assert over.structured_content["outcome"] == "over"
            shown = await gecko.call_tool("show", {"conversation": "active"})
            return over.structured_content["minutes"], shown.structured_content["text"]

    minutes, shown = play(scene())
    assert "We build it." in Path(minutes).read_text() and "We build it." in shown


@pytest.mark.req("CL-007", "HR-010")
def test_position_stances_and_confidence_are_arguments(council, serve, play):
    council("init", "--agents", "owl,gecko")
    council("convene", "Shall we?", "--agents", "owl,gecko", "--procedure", "deliberation")
    stated = {"position": "We should.", "text": "People ask for it.", "confidence": 4}

    async def scene():
        async with serve("--as", "owl") as owl, serve("--as", "gecko") as gecko:
            lacks = (await owl.call_tool("respond", {**stated, "check": True})).structured_content
            done = (await owl.call_tool("respond", stated)).structured_content
            stances = [{"agent": "owl", "stance": "partial", "comment": "not this year"}]
            wrong = await gecko.call_tool("respond", {**stated, "stances": [{"agent": "owl"}]})
            peer = await gecko.call_tool("respond", {**stated, "stances": stances})
            return lacks, done, wrong, peer.structured_content

    checked, done, wrong, peer = play(scene())
    assert checked["outcome"] == "checked" and done["outcome"] == "recorded"
    assert (done["understood"]["position"], done["understood"]["confidence"]) == ("We should.", 4)
    assert wrong.is_error and wrong.content[0].text.startswith("usage: ")
    assert peer["understood"]["stances"] == {"owl": "partial"}


@pytest.mark.req("CL-007")
def test_no_argument_says_who_acts_or_where(opened, serve, play):
    async def scene():
        async with serve("--as", "owl") as owl:
            tried = [{"as": "gecko"}, {"agent": "gecko"}, {"root": "/tmp"}, {"token": "x"}]
            return [await owl.call_tool("respond", {"text": "Yes.", **one}) for one in tried]

    for refused in play(scene()):
        assert refused.is_error
        assert refused.structured_content["error"]["code"] == "refused"
        assert "this server acts as owl in" in refused.content[0].text
    assert {one["status"] for one in opened("show", "--json").json()["participants"].values()} == {
        "WAITING"
    }


@pytest.mark.req("IO-008")
def test_errors_are_one_line_with_our_code(opened, serve, play):
    async def scene():
        async with serve("--as", "owl") as owl:
            return (
                await owl.call_tool("respond", {"text": "Yes.", "status": "agreed"}),
                await owl.call_tool("call", {"to": "gecko", "message": "Hi.", "trace": "t1"}),
                await owl.call_tool("msg_parse", {"message": "garbage"}),
                await owl.call_tool("show", {"conversation": "nothing"}),
                await owl.call_tool("wait", {"timeout_s": -1}),
                await owl.call_tool("vote", {"text": "Yes."}),
            )

    answers = play(scene())
    assert all(one.is_error for one in answers)
    told = [one.content[0].text.splitlines()[0] for one in answers]
    codes = [one.structured_content["error"]["code"] for one in answers]
    assert codes == ["refused", "E30", "E10", "not-found", "usage", "refused"]
    assert all(line.startswith(f"{code}: ") for line, code in zip(told, codes, strict=True))
    assert "`status` agreed" in told[0]
    kept = next((opened.root / "memory/agents/owl/tasks").glob("refused-*.md"))
    assert kept.read_text() == "Yes." and str(kept) in told[0]


@pytest.mark.req("CL-007", "OP-008")
def test_a_call_that_is_repeated_with_its_id_counts_once_by_whichever_server(opened, serve, play):
    given = {"text": "Mind the deadline.", "operation_id": "one"}

    async def scene():
        async with serve("--as", "owl") as owl:
            twice = [owl.call_tool("inject", given) for _ in range(2)]
            done = [one.structured_content for one in await asyncio.gather(*twice)]
        async with serve("--as", "owl") as again:
            done.append((await again.call_tool("inject", given)).structured_content)
            other = await again.call_tool("inject", {**given, "operation_id": "two"})
        return done, other.structured_content

    done, other = play(scene())
    assert sorted(one["changed"] for one in done) == [False, False, True]
    assert other["changed"]
    said = [one["text"] for one in opened("show", "--json").json()["guidance"]]
    assert said == [given["text"]] * 2


@pytest.mark.req("CL-007")
def test_a_server_without_an_agent_offers_what_people_may_do(opened, serve, play):
    async def scene():
        async with serve() as person:
            offered = {one.name for one in (await person.list_tools()).tools}
            return offered, await person.call_tool("inject", {"text": "Mind the cost."})

    offered, added = play(scene())
    assert offered == OF_PEOPLE and not added.is_error


def test_a_text_longer_than_any_command_takes_is_refused_in_one_line(opened, serve, play):
    settings = opened.root / "council.toml"
    settings.write_text(f"max_text_bytes = 2000\n{settings.read_text()}")

    async def scene():
        async with serve("--as", "owl") as owl:
            return [await owl.call_tool(one, {"text": "é" * 1001}) for one in ("inject", "respond")]

    for refused in play(scene()):
        assert refused.is_error
        assert refused.content[0].text.startswith("invalid-input: `text` is longer than 2000 bytes")


@pytest.mark.req("CL-007")
def test_calls_wait_for_no_other_call_and_see_a_file_that_was_edited_meanwhile(opened, serve, play):
    async def scene():
        told = []

        async def hear(progress, total, message):
            told.append((progress, total))

        async with serve("--as", "owl") as owl:
            await owl.call_tool("respond", {"text": "Yes."})
            wait = owl.call_tool("wait", {"timeout_s": 600}, progress_callback=hear)
            waiting = asyncio.create_task(wait)
            status = (await owl.call_tool("status")).structured_content
            assert not waiting.done()
            assert status["conversations"][0]["waiting"] == ["gecko"]
            live = opened.root / "memory/shared/council-active-conversation.md"
            text = live.read_text()
            own = next(line for line in text.splitlines() if line.startswith("*(to answer"))
            text = text.replace("(agent:gecko): WAITING", "(agent:gecko): RESPONDED")
            live.write_text(text.replace(own, "[Tour 1]: No, it costs."))
            opened("heartbeat")
            turn = (await waiting).structured_content
            return turn, (await owl.call_tool("show")).structured_content["text"], told

    turn, shown, told = play(scene())
    assert (turn["outcome"], turn["phase"]) == ("turn", "CHALLENGE")
    assert "No, it costs." in shown and told[0] == (0, 600)


def in_run(council, agent: str) -> dict[str, str]:
    """Return the variables of a run of an agent that has begun."""
    conversation = council("show", "--json").json()["conversationId"]
    key = run_key(Workspace(str(council.root)))
    return {
        "COUNCIL_NAME": "active",
        "COUNCIL_AGENT": agent,
        "COUNCIL_TASK_ID": f"{conversation}.1.{agent}.1",
        "COUNCIL_TOKEN": run_token(key, conversation, 1, agent, 1),
    }


@pytest.mark.req("CL-007")
def test_the_server_of_a_run_answers_with_its_token_and_offers_what_a_run_may_do(
    opened, serve, play
):
    env = in_run(opened, "owl")

    async def scene():
        async with serve(env=env) as owl:
            offered = {one.name for one in (await owl.list_tools()).tools}
            prompts = (await owl.list_prompts()).prompts
            done = await owl.call_tool("respond", {"text": "Yes."})
            with pytest.raises(MCPError) as refused:
                await owl.read_resource("council://minutes/any")
            return offered, prompts, done.structured_content, refused.value.data

    offered, prompts, done, refused = play(scene())
    allowed = {one for one in TOOLS if {TOOLS[one].verb, TOOLS[one].verb.split()[0]} & RUN_VERBS}
    assert offered == allowed and not offered & {"convene", "inject", "wait", "explain"}
    assert done["outcome"] == "recorded" and not prompts and refused["code"] == "refused"
    opened("respond", "No.", "--as", "gecko")
    said = {one["agent"]: one["origin"] for one in opened("show", "--json").json()["contributions"]}
    assert said == {"owl": "verified", "gecko": "claimed"}


@pytest.mark.req("CL-007")
def test_a_run_opens_no_port_and_acts_as_nobody_else(opened):
    env = in_run(opened, "owl")

    port = opened("mcp", "--http", "--port", "0", env=env)
    other = opened("mcp", "--as", "gecko", env=env)

    assert port.code == other.code == 6
    assert "a run opens no port" in port.err and "cannot act as gecko" in other.err


@pytest.mark.long
@pytest.mark.req("CL-007", "IO-004")
def test_inside_a_run_only_what_a_run_may_do_is_offered_and_its_answer_is_verified(
    council, serve, play
):
    council("init", "--agents", "owl,gecko")
    client = Path(__file__).with_name("answers.py")
    table = f'[agents.owl]\nargv = ["{sys.executable}", "{client}"]\nanswer = "tool"\n'
    with (council.root / "council.toml").open("a") as settings:
        settings.write(table + table.replace("owl", "gecko"))

    asked = ("ask", "Shall we?", "--agents", "owl,gecko", "--phases", "collect,synthesize")
    assert council(*asked, timeout_s=120).code == 0

    (minutes,) = (council.root / "conseils").glob("*.md")
    assert "all 3 texts verified" in minutes.read_text()
    offered = set((council.root / "offered.txt").read_text().split())
    verbs = {one: TOOLS[one].verb for one in TOOLS}
    allowed = {one for one, verb in verbs.items() if {verb, verb.split()[0]} & RUN_VERBS}
    assert offered == allowed and not offered & {"convene", "inject", "wait", "explain"}
    assert (council.root / "refused.txt").read_text().startswith("council: ")


@pytest.mark.req("CL-007")
def test_a_call_that_is_cancelled_ends_what_it_has_started(council, serve, play, tmp_path):
    council("init", "--agents", "owl,gecko")
    program = f"import os,time; open('{tmp_path}/pid','w').write(str(os.getpid())); time.sleep(600)"
    with (council.root / "council.toml").open("a") as settings:
        settings.write(f"[agents.gecko]\nargv = {json.dumps([sys.executable, '-c', program])}\n")
    started = tmp_path / "pid"

    async def scene():
        async with serve("--as", "owl") as owl:
            given = {"to": "gecko", "message": "Think.", "trace": "t1"}
            calling = asyncio.create_task(owl.call_tool("call", given))
            while not (started.exists() and started.read_text()):
                await asyncio.sleep(0.05)
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
            while _runs(started.read_text()):
                await asyncio.sleep(0.05)
            return await owl.call_tool("status")

    assert not play(scene()).is_error


@pytest.mark.req("IO-004")
def test_artifacts_and_messages_of_the_protocol_are_made_and_read(opened, serve, play, tmp_path):
    line = "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=plan"
    other = tmp_path / "bytes.bin"
    other.write_bytes(b"\xff\x00")

    async def scene():
        async with serve("--as", "owl") as owl:
            made = await owl.call_tool("artifact_publish", {"text": "Rain.", "type": "text/plain"})
            name = made.structured_content["artifactId"]
            again = await owl.call_tool("artifact_publish", {"text": "Rain."})
            got = await owl.call_tool("artifact_fetch", {"artifact": name[:12]})
            file = await owl.call_tool("artifact_publish", {"file": str(other)})
            raw = {"artifact": file.structured_content["artifactId"]}
            refused = await owl.call_tool("artifact_fetch", raw)
            written = await owl.call_tool("artifact_fetch", {**raw, "out": f"{tmp_path}/copy"})
            left = {"to": "gecko", "message": "See it.", "trace": "t1", "refs": [name]}
            sent = await owl.call_tool("message", left)
            fields = await owl.call_tool("msg_parse", {"message": line})
            older = await owl.call_tool("msg_convert", {"message": line, "to": "V4"})
            beaten = await owl.call_tool("heartbeat", {"dry_run": True})
            why = await owl.call_tool("explain", {})
            answers = (made, again, got, file, refused, written, sent, fields, older, beaten, why)
            return [one.structured_content for one in answers]

    made, again, got, file, refused, _, sent, fields, older, beaten, why = play(scene())
    assert (made["outcome"], again["outcome"]) == ("published", "already-there")
    assert got["text"] == "Rain." and file["publisher"] == "owl"
    assert "`out`" in refused["error"]["hint"] or "out" in refused["error"]["hint"]
    assert (tmp_path / "copy").read_bytes() == b"\xff\x00"
    assert sent["status"] == "ok" and sent["toAgentId"] == "gecko"
    assert fields["fields"]["to"] == "W1" and older["text"].startswith("M1|")
    assert beaten["conversations"][0]["waiting"] == ["owl", "gecko"]
    assert why["waitsFor"] and why["kind"] == "conversation"


def test_nothing_is_left_over_when_a_client_goes_away(opened):
    process = opened.start("mcp", "--as", "owl", stdin=-1)
    first = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _ME}
    ask = {"name": "wait", "arguments": {"timeout_s": 600}}
    for number, (method, params) in enumerate((("initialize", first), ("tools/call", ask))):
        line = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        process.stdin.write(f"{json.dumps(line)}\nthis is no JSON\n".encode())
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert answer["jsonrpc"] == "2.0"
    wait_until(lambda: _children(process.pid))
    (worker,) = _children(process.pid)

    process.stdin.close()

    assert process.wait(30) == 0
    rest = process.stdout.read().decode().splitlines()
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest)
    wait_until(lambda: not Path(f"/proc/{worker}/cmdline").exists())


_ME = {"name": "test", "version": "1"}


def _runs(process: str) -> bool:
    try:  # what has ended, and is not yet collected, has no arguments any more
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())
    except (FileNotFoundError, ProcessLookupError):
        return False


def _children(process: int) -> list[str]:
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


HIDES = """
import sys, importlib.util as u
found = u.find_spec
u.find_spec = lambda name, *more: None if name == "mcp" else found(name, *more)
"""


def test_without_the_extra_one_line_says_how_to_install_it(opened, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(HIDES)

    refused = opened.start("mcp", "--as", "owl", env={"PYTHONPATH": str(tmp_path)})

    out, err = refused.communicate(timeout=60)
    assert refused.returncode == 5 and out == b""
    assert re.fullmatch(
        r"council: the server needs the extra 'mcp', which is not installed"
        r" \(install it: pip install .*\[mcp\]'\)\n",
        err.decode(),
    )


def test_a_run_that_answers_by_tool_says_that_the_extra_is_missing(opened, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(HIDES)
    with (opened.root / "council.toml").open("a") as settings:
        settings.write('[agents.owl]\npreset = "claude"\nanswer = "tool"\n')
    (tmp_path / "claude").write_text("#!/bin/sh\n")
    (tmp_path / "claude").chmod(0o755)
    path = f"{tmp_path}:{opened.env()['PATH']}"

    tried = opened("doctor", "--probe", env={"PYTHONPATH": str(tmp_path), "PATH": path})

    assert "owl needs the Python package mcp" in " ".join(tried.out.split())


def test_a_process_of_the_server_that_was_killed_is_said_in_a_line_and_started_again(opened, play):
    async def scene():
        worker = Worker("council.mcp.working", opened.env(env={"COUNCIL_ROOT": str(opened.root)}))
        await worker.call("status", {})
        worker._process.kill()
        outcomes = []
        for _ in range(4):
            try:
                outcomes.append((await worker.call("status", {})).get("error"))
            except CouncilError as error:
                outcomes.append(error.message)
        worker.end()
        return outcomes

    *first, last = play(scene())
    assert last is None
    assert set(first) <= {None, "the call of status ended without an answer"}
