"""Resources, prompts, names and tasks of `council mcp`, read by the official client."""

from __future__ import annotations

import asyncio
import base64
from typing import Any, Literal

import mcp_types
import pytest
from mcp.client.extension import ClientExtension, ResultClaim
from mcp.shared.exceptions import MCPError

from council.mcp.tasks import EXTENSION, TaskParams


@pytest.mark.req("IO-004")
def test_conversations_minutes_and_artifacts_are_listed_and_read(opened, serve, play, tmp_path):
    opened("archive")
    opened("convene", "And then?", "--agents", "owl,gecko", "--name", "then")
    (tmp_path / "bytes.bin").write_bytes(b"\xff\x00")
    opened("artifact", "publish", tmp_path / "bytes.bin", "--as", "owl")

    async def scene():
        async with serve("--as", "owl") as owl:
            listed = {one.uri: one for one in (await owl.list_resources()).resources}
            templates = (await owl.list_resource_templates()).resource_templates
            kinds = [one.uri_template.split("/")[2] for one in templates]
            return (
                listed,
                {uri: (await owl.read_resource(uri)).contents[0] for uri in listed},
                kinds,
                (await owl.read_resource("council://record/then")).contents[0],
            )

    listed, read, kinds, record = play(scene())
    by_kind = {uri.split("/")[2]: uri for uri in listed}
    assert kinds == ["conversation", "record", "minutes", "artifact"]
    assert by_kind["conversation"] == "council://conversation/then"
    assert "And then?" in read["council://conversation/then"].text
    assert "Shall we build it?" in read[by_kind["minutes"]].text
    assert base64.b64decode(read[by_kind["artifact"]].blob) == b"\xff\x00"
    assert listed[by_kind["artifact"]].size == 2
    assert record.mime_type == "application/json" and '"conversationId"' in record.text


@pytest.mark.req("IO-008")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_refusal_of_the_protocol_keeps_our_code_in_its_data(opened, serve, play, mode):
    async def scene():
        refused = []
        async with serve("--as", "owl", mode=mode) as owl:
            for asked in (
                owl.read_resource("council://conversation/nothing"),
                owl.read_resource("council://minutes/..%2F..%2Fsecret"),
                owl.read_resource("file:///etc/passwd"),
                owl.get_prompt("nothing"),
                owl.call_tool("nothing"),
                owl.list_resources(cursor="x"),
                owl.list_resources(cursor="9" * 5000),
            ):
                with pytest.raises(MCPError) as error:
                    await asked
                refused.append(error.value)
        return refused

    found = play(scene())
    assert [one.data["code"] for one in found] == [*["not-found"] * 5, "usage", "usage"]
    assert all(one.code == mcp_types.INVALID_PARAMS for one in found)
    assert all(one.message.startswith(f"{one.data['code']}: ") for one in found)
    assert all(len(one.message) < 500 for one in found)


DELIBERATES = ("--procedure", "deliberation")


@pytest.mark.req("IO-004", "PR-593", "PR-594", "PR-595", "DL-018", "DL-029")
def test_prompts_take_arguments_and_names_are_completed(opened, serve, play):
    opened("convene", "And how?", "--agents", "owl,gecko", "--name", "how", *DELIBERATES)
    opened("agent", "join", "W3", "--as", "gecko", "--caps", "web_search,summarize")

    async def scene():
        async with serve("--as", "owl") as owl:
            prompts = {one.name: one for one in (await owl.list_prompts()).prompts}
            how = {"conversation": "how", "agent": "owl"}
            asked = {**dict.fromkeys(("turn", "vote", "synthesis"), how), "worker": {"agent": "W3"}}
            read = {
                name: (await owl.get_prompt(name, asked.get(name))).messages[0].content.text
                for name in prompts
            }
            french = (await owl.get_prompt("turn", {**how, "lang": "fr"})).messages
            ref = mcp_types.PromptReference(name="turn")
            of_uri = mcp_types.ResourceTemplateReference(uri="council://conversation/{name}")
            names = [
                (await owl.complete(ref, {"name": "agent", "value": "ge"})).completion.values,
                (await owl.complete(ref, {"name": "conversation", "value": ""})).completion.values,
                (await owl.complete(of_uri, {"name": "name", "value": "act"})).completion.values,
            ]
            return prompts, read, french[0].content.text, names

    prompts, read, french, names = play(scene())
    assert list(prompts) == ["turn", "vote", "synthesis", "orchestrator", "worker", "research"]
    assert "And how?" in read["turn"] and "tool `respond`" in read["turn"]
    assert "W3" in read["orchestrator"] and "web_search" in read["worker"]
    assert "Consensus Summary" in read["synthesis"] and "Tu es **" in french
    assert names == [["gecko"], ["active", "how"], ["active"]]


@pytest.mark.req("IO-004")
def test_a_client_that_follows_a_conversation_hears_of_its_changes(opened, serve, play):
    uri = "council://conversation/active"

    async def scene():
        heard: asyncio.Queue[Any] = asyncio.Queue()

        async def hear(message: Any) -> None:
            if isinstance(message, mcp_types.ResourceUpdatedNotification):
                await heard.put(message.params.uri)

        async with (
            serve("--as", "owl") as new,
            serve("--as", "owl", mode="legacy", message_handler=hear) as old,
        ):
            await old.subscribe_resource(uri)
            async with new.listen(
                resource_subscriptions=[uri], resources_list_changed=True
            ) as events:
                await old.call_tool("inject", {"text": "Mind the cost."})
                followed = [await anext(events), await heard.get()]
                opened("convene", "And then?", "--agents", "owl,gecko", "--name", "then")
                followed.append(await anext(events))
            await old.unsubscribe_resource(uri)
            with pytest.raises(MCPError):
                await old.subscribe_resource("council://conversation/nothing")
            return followed

    updated, legacy, listed = play(scene())
    assert updated.uri == legacy == uri
    assert type(listed).__name__ == "ResourcesListChanged"


class Created(mcp_types.Result):
    """A task instead of a result."""

    result_type: Literal["task"] = "task"
    task_id: str
    status: str


class Polled(mcp_types.Result):
    """How a task stands."""

    status: str
    result: dict[str, Any] | None = None


class Get(mcp_types.Request[TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"


class Cancel(mcp_types.Request[TaskParams, Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = "tasks/cancel"


_PLAIN = {"name": "active", "phase": "COLLECT", "participants": []}


class Tasks(ClientExtension):
    """A client that declares the extension and is given the task itself."""

    identifier = EXTENSION

    def claims(self):
        async def resolve(made: Created, _: Any) -> mcp_types.CallToolResult:
            return mcp_types.CallToolResult(
                content=[], structured_content={**_PLAIN, "task": made.task_id}
            )

        return [ResultClaim(result_type="task", model=Created, resolve=resolve)]


@pytest.mark.req("IO-005")
def test_a_client_that_declares_tasks_polls_a_conversation_until_it_is_over(council, serve, play):
    council("init", "--agents", "owl,gecko")
    given = {"topic": "Shall we?", "agents": ["owl", "gecko"], "phases": ["COLLECT", "SYNTHESIZE"]}

    async def scene():
        async with serve(extensions=[Tasks()]) as person:
            made = (await person.call_tool("convene", given)).structured_content
            params = TaskParams(task_id=made["task"])
            first = await person.session.send_request(Get(params=params), Polled)
            for agent in ("owl", "gecko"):
                council("respond", "Yes.", "--as", agent)
            council("synthesize", "# Decision\n\nWe build it.", "--as", "owl")
            last = await person.session.send_request(Get(params=params), Polled)
            other = await person.call_tool("convene", {**given, "conversation": "other"})
            stopped = TaskParams(task_id=other.structured_content["task"])
            await person.session.send_request(Cancel(params=stopped), mcp_types.EmptyResult)
            ended = await person.session.send_request(Get(params=stopped), Polled)
            with pytest.raises(MCPError) as unknown:
                await person.session.send_request(Get(params=TaskParams(task_id="x")), Polled)
        async with serve("--as", "owl", extensions=[Tasks()]) as owl:
            own = await owl.call_tool("convene", {**given, "conversation": "own"})
        return first, last, ended, unknown.value, own.structured_content

    first, last, ended, unknown, own = play(scene())
    assert first.status == "working" and first.result is None
    assert last.status == "completed" and ended.status == "cancelled"
    assert "We build it." in last.result["content"][0]["text"]
    assert last.result["structuredContent"]["minutes"].endswith(".md")
    assert unknown.data["code"] == "not-found"
    assert own["name"] == "own"  # who takes part has to answer meanwhile
