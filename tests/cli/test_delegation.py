"""`agent message` and `agent call` as commands: what they take, print and exit with."""

from __future__ import annotations

import json

import pytest

SETTINGS = """
[agents.sage]
argv = ["/bin/sh", "-c", "cat >/dev/null; echo Yes."]
capabilities = ["judge"]
[agents.fails]
argv = ["/bin/sh", "-c", "cat >/dev/null; exit 3"]
[agents.slow]
argv = ["/bin/sh", "-c", "cat >/dev/null; sleep 60"]
[agents.owl]
"""
WHO = ("--as", "user", "--trace", "t1")


@pytest.fixture
def staffed(council):
    """The command in a workspace with agents that answer, fail, sleep, and answer by hand."""
    (council.root / "council.toml").write_text(SETTINGS)
    return council


@pytest.mark.req("P8-011", "P8-021")
@pytest.mark.parametrize("verb", ["message", "call"])
@pytest.mark.parametrize(
    "words",
    [
        ("--as", "user", "--trace", "t1", "do it"),
        ("--to", "sage", "--trace", "t1", "do it"),
        ("--to", "sage", "--as", "user", "do it"),
        ("--to", "sage", "--as", "user", "--trace", "t1"),
    ],
    ids=["no receiver", "no sender", "no trace", "no message"],
)
def test_a_missing_part_is_wrong_usage(staffed, verb: str, words: tuple[str, ...]):
    done = staffed("agent", verb, *words, "--json")

    assert done.code == 2, done.err
    assert done.json()["error"]["code"] == "usage"
    assert not (staffed.root / "memory/agents/sage/sessions").exists()


@pytest.mark.parametrize("verb", ["message", "call"])
def test_who_names_no_trace_is_told_what_to_say_and_that_is_right(staffed, verb: str):
    words = ("agent", verb, "--to", "sage", "--as", "user")

    refused = staffed(*words, "do it")
    hint = refused.err.partition("(")[2]
    told = hint.partition("such as ")[2].partition(";")[0].split()

    assert "one name for all calls of a request" in hint
    assert told == ["--trace", "t1"]
    assert staffed(*words, *told, "do it").code == 0


@pytest.mark.req("P8-011", "P8-021")
@pytest.mark.parametrize("verb", ["message", "call"])
@pytest.mark.parametrize("left_out", ["fromAgentId", "toAgentId", "traceId", "message"])
def test_a_missing_field_of_the_document_is_wrong_usage(staffed, verb: str, left_out: str):
    request = {"fromAgentId": "user", "toAgentId": "sage", "traceId": "t1", "message": "do it"}
    del request[left_out]

    done = staffed("agent", verb, "--input", "-", "--json", stdin=json.dumps(request))

    assert done.code == 2, done.err


@pytest.mark.req("P8-011", "P8-012")
def test_a_message_as_one_document(staffed):
    request = {
        "fromAgentId": "user",
        "toAgentId": "sage",
        "traceId": "t1",
        "message": "The brief has changed.",
        "artifactRefs": [],
        "priority": "P0",
    }

    done = staffed("agent", "message", "--input", "-", "--json", stdin=json.dumps(request))

    assert done.code == 0, done.err
    record = done.json()
    assert (record["status"], record["priority"]) == ("ok", "P0")
    assert (record["traceId"], record["toAgentId"]) == ("t1", "sage")
    assert record["sessionKey"] == "agent:sage:inbox"
    transcript = staffed.root / "memory/agents/sage/sessions/agent:sage:inbox.jsonl"
    assert json.loads(transcript.read_text())["id"] == record["messageId"]


@pytest.mark.req("P8-021", "P8-024")
def test_a_call_as_one_document_with_limits_and_schema(staffed):
    request = {
        "fromAgentId": "user",
        "toAgentId": "sage",
        "traceId": "t1",
        "sessionKey": "agent:sage:workflow:mine",
        "message": "Judge this.",
        "limits": {"timeoutMs": 60000},
        "expectedSchema": {"type": "string"},
    }

    done = staffed("agent", "call", "--input", "-", "--json", stdin=json.dumps(request))

    record = done.json()
    assert (done.code, record["status"]) == (3, "error")
    assert record["error"]["guard"] == "expectedSchema"
    assert (staffed.root / "memory/agents/sage/sessions/agent:sage:workflow:mine.jsonl").exists()


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ("[]", 3),
        ("{", 3),
        ("[" * 100_000, 3),
        ('{"message": 3, "toAgentId": "sage"}', 3),
        ('{"toAgentId": "sage", "message": "x", "artifactRefs": "a"}', 3),
        ('{"toAgentId": "sage", "message": "x", "limits": {"timeoutMs": "1"}}', 3),
        ('{"toAgentId": "sage", "message": "x", "limits": {"speed": 1}}', 3),
        ('{"toAgentId": "sage", "message": "x", "urgency": 1}', 2),
        ('{"toAgentId": "sage", "message": "x", "priority": "P0"}', 2),
    ],
)
def test_a_document_that_is_none_is_refused_in_one_line(staffed, request_: str, code: int):
    done = staffed("agent", "call", *WHO, "--input", "-", stdin=request_)

    assert done.code == code, done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.req("P8-024", "P8-026")
@pytest.mark.parametrize(
    ("to", "more", "code", "status"),
    [
        ("sage", (), 0, "ok"),
        ("fails", (), 1, "error"),
        ("owl", (), 6, "rejected"),
        ("slow", ("--limit", "timeoutMs=200"), 7, "timeout"),
    ],
)
def test_each_status_has_its_exit_code_and_shape(staffed, to, more, code, status):
    done = staffed("agent", "call", "--to", to, *WHO, "do it", *more, "--json")

    record = done.json()
    assert (done.code, record["status"]) == (code, status)
    assert set(record) - {"error"} == {"status", "summary", "artifacts"}
    if status != "ok":
        assert record["error"]["code"][0] == "E"
        assert record["error"]["message"] in done.err
        assert len(done.err.splitlines()) == 1


@pytest.mark.req("P8-024", "P8-027", "XC-006")
def test_a_result_of_another_form_than_expected_exits_3(staffed):
    (staffed.root / "form.json").write_text('{"type": "object"}')
    form = ("--schema", str(staffed.root / "form.json"))

    done = staffed("agent", "call", "--to", "sage", *WHO, "do it", *form, "--json")
    again = staffed("agent", "call", "--to", "sage", *WHO, "do it", *form)

    record = done.json()
    assert (done.code, record["status"]) == (3, "error")
    assert record["error"]["guard"] == "expectedSchema"
    assert again.code == 3
    assert "Yes." in again.out


def test_the_help_of_a_call_names_every_exit_code(council):
    shown = " ".join(council("agent", "call", "--help").out.split())

    for code in ("0 ok", "1 error", "2 wrong usage", "3 ", "5 ", "6 rejected", "7 timeout"):
        assert code in shown, code


def test_people_read_the_answer_and_its_artifacts(staffed):
    done = staffed("agent", "call", "--to", "sage", *WHO, "do it")

    assert (done.out, done.err) == ("Yes.\n", "")


def test_the_message_may_be_an_option_and_is_taken_once(staffed):
    words = ("agent", "message", "--to", "owl", *WHO)

    assert staffed(*words, "--message", "hi").code == 0
    assert staffed(*words, "--message", "hi", "ho").code == 2
    assert staffed(*words, "--message", "hi", "--file", "x").code == 2


def test_people_are_told_that_an_answer_is_of_before(staffed, now):
    staffed("agent", "call", "--to", "sage", *WHO, "do it", now=now)

    again = staffed("agent", "call", "--to", "sage", *WHO, "do it", now=now)

    assert again.out == "Yes.\n"
    assert "asked before" in again.err


def test_whoever_can_do_it_is_called(staffed):
    done = staffed("agent", "call", "--to", "cap:judge", *WHO, "do it")

    assert done.out == "Yes.\n"
    assert (staffed.root / "memory/agents/sage/sessions/agent:sage:workflow:t1.jsonl").exists()


@pytest.mark.parametrize("limit", ["timeoutMs", "timeoutMs=", "timeoutMs=-1", "speed=3", "=3"])
def test_a_limit_that_is_none_is_wrong_usage(staffed, limit: str):
    done = staffed("agent", "call", "--to", "sage", *WHO, "do it", "--limit", limit)

    assert done.code == 2


@pytest.mark.req("P8-015")
def test_the_inbox_shows_p0_first(staffed, now):
    for priority, text in (("P2", "last"), ("P1", "second"), ("P0", "first")):
        words = ("--to", "sage", *WHO, text, "--priority", priority)
        assert staffed("agent", "message", *words, now=now).code == 0

    shown = staffed("msg", "inbox", "--as", "sage", "--json").json()

    assert [one["text"] for one in shown["letters"]] == ["first", "second", "last"]


@pytest.mark.req("P8-001", "XC-015")
def test_a_run_speaks_for_nobody_else(staffed):
    run = {"COUNCIL_TASK_ID": "call.t1.1.sage.1", "COUNCIL_AGENT": "sage", "COUNCIL_TOKEN": "x"}

    as_other = staffed("agent", "message", "--to", "owl", "--as", "owl", "hi", "--json", env=run)
    as_itself = staffed("agent", "message", "--to", "owl", "hi", "--json", env=run)

    assert as_other.code == 6
    assert as_other.json()["error"]["code"] == "refused"
    assert as_itself.code == 6
    assert as_itself.json()["error"]["guard"] == "chain"


def test_a_file_and_a_reference_go_along(staffed):
    (staffed.root / "note.txt").write_text("a note")
    published = staffed("artifact", "publish", "note.txt", "--as", "owl", "--json").json()

    words = ("--to", "sage", *WHO, "--file", "note.txt", "--ref", published["artifactId"])
    done = staffed("agent", "message", *words, "--json")

    assert done.code == 0, done.err
    assert done.json()["artifacts"] == [published["artifactId"]]


def test_doctor_finds_a_policy_that_nobody_can_read(staffed):
    folder = staffed.root / "memory/agents/sage"
    folder.mkdir(parents=True)
    (folder / "policy.json").write_text('{"call": {"allow": "all"}}')

    refused = staffed("agent", "call", "--to", "sage", *WHO, "do it")
    found = staffed("doctor", "--json").json()

    assert refused.code == 3
    assert "policy.json" in refused.err
    findings = found if isinstance(found, list) else found["findings"]
    (fault,) = [one for one in findings if one["what"] == "policy of sage"]
    assert "call.allow" in fault["found"]


def test_the_limits_of_delegation_are_no_strangers_to_doctor(staffed):
    settings = staffed.root / "council.toml"
    settings.write_text(SETTINGS + "[limits]\nmaxDepth = 2\nmaxdepth = 2\n")

    found = staffed("doctor", "--json").json()

    findings = found if isinstance(found, list) else found["findings"]
    faults = [one["found"] for one in findings if one["what"] == "limits"]
    assert faults == ["no limit is called maxdepth"]
