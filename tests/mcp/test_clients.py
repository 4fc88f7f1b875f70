"""`council mcp` with the client of the official SDK: both ways, both revisions."""

import json
from functools import partial

import anyio
import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from tests.mcp.conftest import ANN, TOKEN
from tests.vectors.rows import tables_of

pytestmark = pytest.mark.anyio
TOOLS = "context respond wait convene status show explain say call message"
TOOLS = {*TOOLS.split(), "artifact_publish", "artifact_fetch"}


def text(result, failed=False):
    assert result.is_error is failed, result.content[0].text
    assert not failed or result.structured_content is None  # strict clients would hide the text
    return result.content[0].text


async def test_a_turn_is_taken(served):
    async with served.client(*ANN) as client:
        tools = (await client.list_tools()).tools
        assert {one.name for one in tools} == TOOLS
        assert (await client.call_tool("wait")).structured_content["outcome"] == "turn"
        prompt = text(await client.call_tool("context"))
        assert "Which kettle?" in prompt and "Use the tool `respond`" in prompt
        mark = prompt.rsplit("`round` ", 1)[1].rstrip(".")
        said = {"text": "Gas.", "round": mark, "stances": [], "choice": "", "amend": False}
        made = (await client.call_tool("respond", said)).structured_content
        assert (made["outcome"], made["agent"]) == ("recorded", "ann")
        again = await client.call_tool("respond", {**said, "text": "Oil."})
        assert "already-answered" in text(again, failed=True)
        shown = json.loads(text(await client.call_tool("show", {"format": "json"})))
        assert shown["participants"]["ann"]["status"] == "RESPONDED"
    assert served.json("show", "tea")["participants"]["ann"]["status"] == "RESPONDED"


@pytest.mark.slow
async def test_a_change_reaches_who_follows(served):
    uri, told = "council://conversation/tea", anyio.Event()

    async def hear(message):
        if getattr(message, "method", "") == "notifications/resources/updated":
            told.set()

    async with served.client(*ANN, message_handler=hear) as client:
        listed = await client.list_resources()
        assert uri in [str(one.uri) for one in listed.resources]
        say = partial(served.json, "say", "Be quick.", "--name", "tea")
        with anyio.fail_after(60):
            if served.mode == "legacy":
                await client.session.subscribe_resource(uri)
                await anyio.to_thread.run_sync(say)
                await told.wait()
            else:
                async with client.listen(resource_subscriptions=[uri]) as events:
                    await anyio.to_thread.run_sync(say)
                    assert str((await anext(aiter(events))).uri) == uri
        found = await client.read_resource("council://record/tea")
        assert json.loads(found.contents[0].text)["guidance"][0]["text"] == "Be quick."


async def test_what_fails_is_a_text(shared):
    async with shared.client() as client:
        for tool, given, says in tables_of("mcp")["faults"]:
            said = text(await client.call_tool(tool, given), failed=True)
            assert says in said and "\n" not in said, (tool, given)


async def test_arguments_come_as_clients_send_them(shared):
    async with shared.client() as client:

        async def data(tool, **given):
            return json.loads(text(await client.call_tool(tool, given)))

        schemas = {one.name: one.input_schema for one in (await client.list_tools()).tools}
        for tool in ("context", "status", "show"):  # null for all that is optional
            assert text(await client.call_tool(tool, dict.fromkeys(schemas[tool]["properties"])))
        await data("status", random_string="x")  # some add one where there is none
        asked = {"agents": '["ann", "bea"]', "max_runs": "3.0", "dry_run": "True", "roles": "{}"}
        made = await data("convene", topic="Tea?", conversation="b", order="Fixed", **asked)
        assert made["dryRun"] and made["participants"] == ["ann", "bea"]
        assert (await data("wait", timeout_s="1"))["outcome"] == "turn"
        held = await data("artifact_publish", text="hé", type=None)
        got = await client.call_tool("artifact_fetch", {"artifact": held["artifactId"]})
        assert text(got) == "hé"
        assert (await data("message", to="bea", text="Hi.", refs=[None]))["status"] == "stored"
        stances = ['{"agent": "Bea", "stance": "AGREE", "comment": null}']
        made = await data("respond", text="Tea.", stances=stances, confidence=3.0, check="true")
        assert made["outcome"] == "checked"
        limits = {"limits": {"maxDepth": "3", "timeoutMs": None}, "schema": {"enum": [None, " "]}}
        said = await client.call_tool("call", {"to": "bea", "text": "Tea?", **limits})
        assert "answers by hand" in text(said, failed=True)
        assert (await data("say", text="Be brief.", to=""))["outcome"] == "recorded"
    assert "Hi." in shared.run("msg", "inbox", "--as", "bea").stdout


async def test_a_long_result_is_read_in_parts(shared):
    words = "x" + "é" * 60_000  # no part ends between two letters by chance
    async with shared.client() as client:
        held = await client.call_tool("artifact_publish", {"text": words})
        ask = {"artifact": held.structured_content["artifactId"], "offset": 0}
        whole, following = "", "offset 0"
        while "offset" in following:
            ask["offset"] = int(following.rpartition(" ")[2].rstrip("]"))
            part = text(await client.call_tool("artifact_fetch", ask))
            assert len(part.encode()) < 60_000
            piece, _, following = part.rpartition("\n\n")
            whole += piece
        assert whole == words


@pytest.mark.slow
async def test_wait_reports_progress_until_the_answer_of_another_makes_it_a_turn(stdio):
    stdio.json("respond", "Gas.", "--as", "ann", "--name", "tea")
    answers = partial(stdio.json, "respond", "Oil.", "--as", "bea", "--name", "tea")
    heard = []

    async def hear(progress, total, message):
        heard.append((progress, total))
        if len(heard) == 2:
            await anyio.to_thread.run_sync(answers)

    async with stdio.client(*ANN) as client:
        made = await client.call_tool("wait", {"timeout_s": 60}, progress_callback=hear)
        assert made.structured_content["outcome"] == "turn"
        assert made.structured_content["phase"] == "CHALLENGE"
    assert heard[0][0] < 5 <= heard[1][0] < 60 == heard[0][1]


@pytest.mark.slow
async def test_agents_are_run_beside_other_calls(stdio):
    stdio.program("bea", "sleep 3; echo It is fair.")
    async with stdio.client(*ANN) as client, anyio.create_task_group() as group:
        done = []

        async def call():
            made = await client.call_tool("call", {"to": "bea", "text": "Is it fair?"})
            done.append(json.loads(text(made)))

        group.start_soon(call)
        with anyio.fail_after(60):
            while not json.loads(text(await client.call_tool("status")))["runs"]:
                assert not done
        assert not done
    assert (done[0]["status"], done[0]["summary"]) == ("ok", "It is fair.")


async def test_a_person_reads_and_convenes(stdio):
    async with stdio.client() as client:
        tools = {one.name for one in (await client.list_tools()).tools}
        assert tools == TOOLS - {"context", "respond", "wait"}
        with pytest.raises(MCPError):
            await client.call_tool("respond", {"text": "x"})
        made = await client.call_tool("convene", {"topic": "Tea?", "conversation": "two"})
        assert made.structured_content["name"] == "two"
        prompt = await client.get_prompt("turn", {"agent": "bea", "conversation": "two"})
        assert "Tea?" in prompt.messages[0].content.text
        for bad in ("turn", "nope"):
            with pytest.raises(MCPError):
                await client.get_prompt(bad, {"conversation": "nope"})
        for uri in ("council://conversation/nope", "council://x/tea", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)


def test_http_needs_the_token_and_a_name_of_this_machine(shared):
    ask = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    with shared.http() as url, httpx2.Client() as client:
        for headers, status in [
            ({}, 401), ({"Authorization": "Bearer x"}, 401),
            ({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403),
        ]:  # fmt: skip
            own = {"Authorization": f"Bearer {TOKEN}"} if status != 401 else {}
            done = client.post(url, json=ask, headers={**own, **headers})
            assert done.status_code == status


@pytest.mark.parametrize(
    ("words", "env", "says", "code"),
    [(["--port", "1"], {}, "--port needs --http", 2),
     (["--http", "--port", "99999"], {}, "choose another with --port", 2),
     (["--http"], {"COUNCIL_MCP_TOKEN": "short"}, "shorter than 16 characters", 3),
     (["--as", "No Name"], {}, "not a legal agent id", 3),
     ([], {"COUNCIL_TOKEN": "x"}, "does not work inside a run", 6)],
)  # fmt: skip
def test_what_cannot_be_served_is_one_line(stdio, words, env, says, code):
    done = stdio.run("mcp", *words, **env)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
    assert says in done.stderr


@pytest.mark.slow
def test_at_the_end_of_input_open_calls_are_answered(stdio):
    hello = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "x", "version": "1"}}
    asked = [("initialize", {**hello, "capabilities": {}})]
    asked += [("tools/call", {"name": "status", "arguments": {}})] * 9
    rows = [{"id": at, "method": how, "params": what} for at, (how, what) in enumerate(asked)]
    lines = "\n".join(json.dumps({"jsonrpc": "2.0", **one}) for one in rows)
    said = stdio.run("mcp", stdin=lines).stdout.splitlines()
    assert {json.loads(one).get("id") for one in said} == {*range(10)}


def test_what_is_no_request_is_answered_under_its_id(stdio):
    rows = [
        ('{"id": 1, "method": "ping"}', (1, -32600)),
        ('{"jsonrpc": "2.0", "id": "2", "method": "tools/call", "params": []}', ("2", -32600)),
        ('{"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {"a": "\\ud83d"}}', (3, -32700)),
        ("[]", (None, -32700)),
        ("hello", (None, -32700)),
    ]
    said = stdio.run("mcp", stdin="".join(f"{line}\n" for line, _ in rows)).stdout.splitlines()
    seen = [(one["id"], one["error"]["code"]) for one in map(json.loads, said)]
    assert sorted(seen, key=str) == sorted([expected for _, expected in rows], key=str)


def test_without_the_extra_one_line_names_it(stdio):
    (stdio.root / "mcp_types.py").write_text("raise ModuleNotFoundError(name='mcp')\n")
    done = stdio.run("mcp", PYTHONPATH=str(stdio.root))
    assert (done.returncode, done.stderr.count("\n")) == (6, 1)
    assert "pip install 'council-files[mcp]'" in done.stderr
