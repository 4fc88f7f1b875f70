"""The stream of events: what a reader gets, from where on, and the form of it."""

import asyncio
import json

import pytest

from council.councils import service
from council.web.stream import Stream

pytestmark = pytest.mark.anyio


def blocks(data: bytes) -> list[dict[str, str]]:
    """Return the blocks of a stream, each with data."""
    found = []
    for block in data.decode().split("\n\n"):
        lines = [line for line in block.split("\n") if line and line[0] != ":"]
        if lines:
            found.append(dict(line.split(": ", 1) for line in lines))
    return found


async def read(stream: Stream, until: str, about: str = "", last: str = "") -> list[dict[str, str]]:
    """Return what a reader is sent up to a block whose data contains a text, then leave."""
    data, follow = b"", stream.follow(about, last)
    await stream.look()
    try:
        async with asyncio.timeout(30):
            async for piece in follow:
                data += piece
                if until in data.decode():
                    break
    finally:
        await follow.aclose()
    return blocks(data)


async def readers(stream: Stream, count: int) -> None:
    """Wait until so many readers follow."""
    async with asyncio.timeout(30):
        while stream._readers < count:
            await asyncio.sleep(0.01)


@pytest.mark.slow
async def test_what_happens_is_sent_and_missed_events_are_sent_again(served) -> None:
    app = served.app
    served.debate()
    [name] = app.conversations()
    served.debate(topic="Milk?")
    [other_name] = {*app.conversations()} - {name}

    stream = Stream(lambda: app)
    ready = await read(stream, "ready")
    assert ready[0]["event"] == "ready"
    first = asyncio.create_task(read(stream, "One."))
    other = asyncio.create_task(read(stream, "Other.", other_name))
    await readers(stream, 2)
    service.say(app, name, "One.", "", "ann")
    service.say(app, other_name, "Other.", "", "ann")
    got, seen = await first, await other
    assert all("data" in block for block in got)
    one = next(block for block in got if "One." in block["data"])
    event = json.loads(one["data"])
    assert (event["type"], event["name"], event["eventId"]) == ("guided", name, one["id"])
    assert len(seen) == 2
    service.say(app, name, "Two.", "", "ann")
    service.steer(app, name, "cancel")
    missed = await read(stream, '"archived"', name, one["id"])
    told = [json.loads(block["data"]).get("type") for block in missed]
    assert told[:2] == [None, "guided"]
    assert "ended" in told
    expected = [block["id"] for block in missed[1:]]
    whole = await read(stream, '"archived"', name, ready[0]["id"])
    assert [block["id"] for block in whole][-len(expected) - 1 :] == [one["id"], *expected]
    for anew in (stream, Stream(lambda: app)):  # what is not kept, also after a new start
        lost = await read(anew, "}", "", "no-such-id:1.0")
        assert lost[0]["event"] == "reset"


async def test_a_sealed_answer_is_not_on_the_stream_and_a_hand_edit_is(served) -> None:
    app = served.app
    opening = service.Opening(topic="Tea?", agents=["ada", "bob"], people=["ada", "bob"])
    page = service.convene(app, opening)["path"]

    stream = Stream(lambda: app)
    reader = asyncio.create_task(read(stream, "typed by hand"))
    await readers(stream, 1)
    stated = service.Stated(status="responded")
    service.respond(app, "active", "ada", "A secret.", stated)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    with open(page, "w", encoding="utf-8") as file:
        file.write(text.replace("## Notes\n", "## Notes\n\ntyped by hand\n"))
    got = str(await reader)
    assert "answered" in got
    assert "secret" not in got
