"""The stream of events: what a reader gets, from where on, and the form of it."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from council.councils import service
from council.web.stream import Stream

pytestmark = pytest.mark.anyio


def blocks(data: bytes) -> list[dict[str, str]]:
    """Return the blocks of a stream, without comments."""
    texts = [re.sub("^:.*\n?", "", one, flags=re.M) for one in data.decode().split("\n\n")]
    return [dict(line.split(": ", 1) for line in one.splitlines()) for one in texts if one]


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
    [ready] = await read(stream, "ready")
    assert ready["event"] == "ready"
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
    assert told[:2] == [None, "guided"] and "ended" in told
    expected = [block["id"] for block in missed[1:]]
    whole = await read(stream, '"archived"', name, ready["id"])
    assert [block["id"] for block in whole][-len(expected) - 1 :] == [one["id"], *expected]
    for anew in (stream, Stream(lambda: app)):  # what is not kept, also after a new start
        lost = await read(anew, "}", "", "no-such-id:1.0")
        assert lost[0]["event"] == "reset"


async def test_a_sealed_answer_is_not_on_the_stream_and_a_hand_edit_is(served) -> None:
    app = served.app
    opening = service.Opening(topic="Tea?", agents=["ada", "bob"], people=["ada", "bob"])
    page = Path(service.convene(app, opening)["path"])
    stream = Stream(lambda: app)
    reader = asyncio.create_task(read(stream, "typed by hand"))
    await readers(stream, 1)
    service.respond(app, "active", "ada", "A secret.", service.Stated(status="responded"))
    page.write_text(page.read_text().replace("## Notes\n", "## Notes\n\ntyped by hand\n"))
    got = str(await reader)
    assert "answered" in got and "secret" not in got
