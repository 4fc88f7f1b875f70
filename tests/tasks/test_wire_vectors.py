"""Every vector of document 002: readings, conversions, refusals, sequences, and two rules."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from council.agents.registry import Worker
from council.kernel import times
from council.kernel.errors import Refused
from council.tasks import decisions
from council.tasks.model import Context, Hop, Task
from council.tasks.row import protocol_line
from council.tasks.wire import tables, writing
from council.tasks.wire.model import Message, parse, parted, split
from council.tasks.wire.writing import convert, line_of, message_of
from tests.vectors.rows import of


@pytest.mark.parametrize("row", of("messages", "example", "edge", "negative"))
def test_a_message_reads_as_its_vector_says(row: dict[str, Any]) -> None:
    found = parse(row["raw"], row["version"]).shown()
    assert found.pop("standing")
    wanted = {name: row[name] for name in ("version", "valid", "errors", "warnings")}
    assert found == {**wanted, "fields": row["parsed"]}
    if row["valid"]:  # its version is found, and strict turns warnings into faults
        assert parse(row["raw"]).version == row["version"]
        strict = [fault.rule for fault in parse(row["raw"], row["version"], strict=True).errors]
        assert strict == [name for name in row["warnings"] if name != "W_SENDER"]


@pytest.mark.parametrize("row", of("messages", "template", "fragment"))
def test_a_template_or_a_short_note_is_no_message(row: dict[str, Any]) -> None:
    assert parse(row["raw"]).errors


@pytest.mark.parametrize("row", of("messages", "data"))
def test_data_splits(row: dict[str, Any]) -> None:
    (flags, pairs), told = split(row["raw"]), row["parsed"]
    params = dict(one.split(":", 1) for one in parted(pairs.get("params", ""), ",") if one)
    assert (flags, pairs, params) == (told["flags"], told["pairs"], told.get("params", {}))


@pytest.mark.parametrize("row", of("messages", "log"))
def test_the_line_of_the_log(row: dict[str, Any]) -> None:
    told = row["parsed"]
    sender, _, receiver = told["route"].partition(">")
    text = told["summary"].replace(" ", ";")
    message = Message(sender=sender, receiver=receiver, kind=told["type"], data=text)
    message = message.copy(context=told["ctx"], task=told["tid"], code=told["err"].strip("-"))
    day = datetime(2026, 11, 28, tzinfo=UTC)
    at = times.text(day + timedelta(seconds=int(told["ts"])))
    assert protocol_line({"line": line_of(message.copy(number=1)), "at": at}) == row["raw"]


@pytest.mark.parametrize("row", of("messages", "conversion"))
def test_a_chain_of_versions(row: dict[str, Any]) -> None:
    told, lost = row["parsed"], []
    how = {"lossy": told["lossy"], "structural": told["mode"] == "structural"}
    for at, version in enumerate(told["chain"][1:]):
        step = convert(told["texts"][at], version, **how)
        lost += step.losses
        assert step.text == told["texts"][at + 1]
    assert lost == told["losses"]
    assert parse(row["raw"]).version == row["version"]
    once = convert(row["raw"], told["chain"][-1], **how)
    assert (once.text, once.losses) == (told["texts"][-1], told["losses"])


@pytest.mark.parametrize("row", of("messages", "conversion-refused"))
def test_a_refused_conversion_says_for_what(row: dict[str, Any]) -> None:
    told = row["parsed"]
    with pytest.raises(Refused) as refused:
        convert(row["raw"], told["chain"][-1], lossy=told["lossy"])
    assert refused.value.more["rule"] == row["errors"][0]["rule"]


def state_of(given: dict[str, Any]) -> Context:
    """Return a context as the vector's sequence finds it."""
    workers = {}
    for name, one in given["agents"].items():
        load = 100 * (name in given.get("busy", []))
        depth, caps = one.get("max_depth", 4), one.get("caps", [])
        workers[name] = Worker(agent_id=name, caps=caps, max_depth=depth, load=load)
    fields, keys = (dict.fromkeys(given.get(name, []), "x") for name in ("fields", "ctx_keys"))
    return Context(workers=workers, down=given.get("down", []), fields=fields, keys=keys)


def hear(state: Context, message: Message) -> None:
    """Add what an accepted message changes."""
    state.lines[str(message.number)] = ""
    if message.task not in ("", "T0"):
        is_given = message.kind == "X" or message.sender[:1] == "O"
        worker = message.receiver if is_given else message.sender
        task = state.tasks.setdefault(message.task, Task(text=""))
        task.questions += message.kind == "C" and not is_given
        key = f"{message.task} {worker}"
        hop = state.hops.get(key, Hop(number=0, task=message.task, worker=worker, agent=""))
        state.hops[key] = hop.copy(state=message.state or hop.state)


@pytest.mark.parametrize("row", of("messages", "sequence"))
def test_a_sequence(row: dict[str, Any]) -> None:
    given, found, earlier = row["parsed"]["context"], [], list[str]()
    state = state_of(given)
    for line in row["raw"].split("\n"):
        assert parse(line).errors == []
        message = message_of(line)
        code = decisions.judge(message, state)
        if given.get("require_auth"):
            code = code or "E90" * (writing.verify(line, given["key"], earlier) != "valid")
            earlier.append(line)
        if not code:
            hear(state, message)
        for source, target in (("V5", "V4"), ("V4", "V3"), ("V3", "V2")):
            if row["version"] < source and code:
                code = tables.mapped(code, source, target)[0]
        found.append(code or None)
    assert found == row["parsed"]["expect"]


@pytest.mark.parametrize("row", of("rules", "transition"))
def test_a_transition(row: dict[str, Any]) -> None:
    assert decisions.transition(row["input"]["from"], row["input"]["to"]) == row["expect"]


@pytest.mark.parametrize("row", of("rules", "retry"))
def test_what_follows_on_a_code(row: dict[str, Any]) -> None:
    assert tables.described("!", row["input"], "") == row["expect"]
