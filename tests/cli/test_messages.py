"""Messages on the command line: read, checked, written, converted, signed, explained."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from council.cli.app import run
from council.core.plain_text import estimated_tokens
from council.wire.messages import Splitter, parse
from tests.conftest import Ran

VECTORS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "vectors" / "messages.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
V5 = "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=web_search"
V4 = "M1|O1>W1|R|T1|P1|N|-|call=web_search"
SIGNED = f"{V5};auth=S1:A3F2:1D4FF958"
# Everything that is wrong with it, in checklist order.
FAULTY = "M1|O1>>W1|Z|T1|P9|N|-|9|S1|B500|a>b"
FAULTS = [("E13", 2), ("E14", 3), ("E11", 5), ("E16", 8), ("E12", 11)]
BLOCK = "[MSG_01]\nFROM: ORCHESTRATOR\nTO: WORKER\nTYPE: REQ\nTASK: TASK_01\nDATA: scan"


@pytest.fixture
def msg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """`council msg` inside this process, in a folder that is no workspace."""
    monkeypatch.chdir(tmp_path)

    def called(*words: str, stdin: str | bytes = b"") -> Ran:
        given = tmp_path / "stdin"
        given.write_bytes(stdin.encode() if isinstance(stdin, str) else stdin)
        with given.open() as file, monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", file)
            code = run(["msg", *words])
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return called


def of(*kinds: str) -> list[dict[str, Any]]:
    return [one for one in VECTORS if one["kind"] in kinds]


def stream(texts: list[str]) -> str:
    return "".join(f"{text}\n\n" for text in texts)


def records(done: Ran) -> list[Any]:
    return [json.loads(line) for line in done.out.splitlines()]


def messages_in(lines: list[bytes], version: str | None) -> int:
    splitter = Splitter(version)
    found = [splitter.feed(line.decode(errors="replace")) for line in lines]
    return sum(map(bool, [*found, splitter.rest()]))


def together(vectors: list[dict[str, Any]], key: Any) -> list[tuple[Any, list[dict[str, Any]]]]:
    """Return vectors in groups, each of which one call answers."""
    ordered = sorted(vectors, key=key)
    return [(name, list(group)) for name, group in groupby(ordered, key)]


# Reading


@pytest.mark.req("PR-001", "PR-002", "PR-003", "PR-005", "PR-103", "PR-106", "PR-110", "PR-201")
@pytest.mark.req("PR-205", "PR-301", "PR-319", "PR-401", "PR-411", "PR-420")
@pytest.mark.req("PR-451", "PR-452", "PR-453", "PR-455", "PR-544", "PR-573")
@pytest.mark.parametrize("verb", ["parse", "validate"])
def test_every_message_of_the_vectors_is_read_from_one_stream(msg, verb: str):
    vectors = of("example", "edge")

    done = msg(verb, "--json", stdin=stream([one["raw"] for one in vectors]))

    assert (done.code, done.err) == (0, "")
    assert [
        (one["version"], one["valid"], one["fields"], one["warnings"]) for one in records(done)
    ] == [(one["version"], True, one["parsed"], one["warnings"]) for one in vectors]


@pytest.mark.req("PR-003", "PR-004", "PR-111", "PR-316", "PR-416", "PR-533")
def test_every_faulty_vector_is_refused_with_its_faults(msg):
    whole = [one for one in of("negative") if one["version"] == "V1" or "\n" not in one["raw"]]
    for version, vectors in together(whole, lambda one: one["version"]):
        done = msg(
            "validate",
            *("--json", "--version", version),
            stdin=stream([one["raw"] for one in vectors]),
        )

        assert (done.code, done.err) == (3, "")
        for found, vector in zip(records(done), vectors, strict=True):
            assert found["errors"] == vector["errors"], vector["id"]
            assert not found["valid"]
            assert list(found) == ["version", "standing", "valid", "fields", "errors", "warnings"]


@pytest.mark.req("PR-003")
def test_every_message_of_the_sequences_is_read_and_no_template_is_a_message(msg):
    sequences = of("sequence")
    templates = [one["raw"] for one in of("template", "fragment")]

    well = msg("parse", "--json", stdin="\n".join(one["raw"] for one in sequences))
    none = msg("parse", "--json", stdin=stream(templates))

    assert well.code == 0
    versions = [one["version"] for one in sequences for _ in one["raw"].split("\n")]
    assert [(one["version"], one["valid"]) for one in records(well)] == [
        (version, True) for version in versions
    ]
    assert none.code == 3
    assert [one["valid"] for one in records(none)] == [False] * len(templates)


@pytest.mark.req("PR-542")
def test_data_of_the_vectors_is_built_into_messages_and_read_again(msg):
    vectors = [one for one in of("data") if ">" not in one["raw"]]
    lines = [
        json.dumps({"msg": 1, "to": "W1", "type": "R", "tid": 1, "data": one["raw"]})
        for one in vectors
    ]

    built = msg("build", stdin="\n".join(lines))
    read = msg("parse", "--json", stdin=built.out)

    assert (built.code, read.code) == (0, 0), built.err
    for found, vector in zip(records(read), vectors, strict=True):
        told = {name: found["fields"][name] for name in ("flags", "pairs")}
        assert told == {name: vector["parsed"][name] for name in ("flags", "pairs")}


@pytest.mark.req("PR-642")
def test_a_line_break_inside_a_message_is_a_fault_where_the_message_is_the_argument(msg):
    broken = [one for one in of("negative") if one["version"] != "V1" and "\n" in one["raw"]]
    assert broken
    for vector in broken:
        done = msg("parse", vector["raw"], "--version", vector["version"], "--json")

        assert done.code == 3
        assert done.json()["errors"] == vector["errors"]


@pytest.mark.req("PR-006")
def test_strict_turns_each_warning_into_its_code(msg):
    lenient = msg("validate", "--json", "M01|O1>W1|R|T1|P1|N|-|-|S1|B500|go")
    strict = msg("validate", "--json", "--strict", "M01|O1>W1|R|T1|P1|N|-|-|S1|B500|go")

    assert (lenient.code, strict.code) == (0, 3)
    assert lenient.json()["warnings"] == ["W_NONCANONICAL", "W_DEPTH_DASH"]
    assert [one["code"] for one in strict.json()["errors"]] == ["E10", "E16"]


@pytest.mark.req("PR-002", "PR-423")
def test_a_version_can_be_forced(msg):
    v3 = "MSG_01|O1>W1|R|TASK_01|P0|N|scan"

    assert msg("parse", "--json", v3).json()["version"] == "V3"
    forced = msg("parse", "--json", "--version", "V4", v3)
    assert forced.code == 3
    assert forced.json()["errors"][0]["code"] == "E03"
    assert msg("parse", "--version", "V6", v3).code == 2


@pytest.mark.req("PR-003")
def test_people_get_one_line_for_each_fault_with_what_where_and_what_to_do(msg):
    done = msg("validate", FAULTY)

    assert (done.code, done.out) == (3, "")
    lines = done.err.splitlines()
    assert [line.split()[1] for line in lines] == [code for code, _ in FAULTS]
    for line, (_, segment) in zip(lines, FAULTS, strict=True):
        assert f"in segment {segment} " in line
        assert "; write " in line
    assert "'O1>>W1': invalid route" in lines[0]


@pytest.mark.req("PR-001", "PR-592")
def test_people_see_how_the_version_stands_and_its_warnings(msg):
    done = msg("parse", "MSG_01|O1>W1|R|-|P0|N|scan")

    assert done.code == 0
    assert done.out.startswith("V3 deprecated: migrate to V5\n")
    assert re.search(r"^  from +O1$", done.out, re.MULTILINE)
    assert "warning W_TASK_MISSING in segment 4 TASK" in done.err


def test_of_many_messages_people_are_told_which_one_is_at_fault(msg):
    done = msg("validate", stdin=f"{V5}\n{BLOCK}\n\n{FAULTY}\n")

    assert done.code == 3
    assert [line[:9] for line in done.out.splitlines()] == ["valid: V5", "valid: V1"]
    assert all(line.startswith("council: message 3: ") for line in done.err.splitlines())


@pytest.mark.req("PR-317", "PR-418", "PR-537")
def test_reply_writes_the_message_that_answers_the_fault(msg):
    v3 = msg("validate", "--reply", "MSG_01|O1>W1|R|TASK_01|P7|N|scan")
    v5 = msg("validate", "--reply", "--json", FAULTY)
    well = msg("validate", "--reply", V5)

    assert v3.code == 3
    assert v3.out == "MSG_02|W1>O1|E|TASK_01|-|-|E05:parsing;seg=5\n"
    assert parse(v5.json()["reply"]).fields["err"] == "E13"
    assert (well.code, well.out) == (0, "")


@pytest.mark.req("PR-005")
def test_the_form_of_a_message_does_not_depend_on_what_exists_here(council, now):
    council("ctx", "open", now=now)
    council("agent", "join", "W1", "--caps", "plan", now=now)
    nobody = "M1|O1>W7|R|T1|P1|N|-|0|S1|B500|src=#REF:T9:S"

    for verb in ("parse", "validate"):
        done = council("msg", verb, "--json", nobody)
        assert (done.code, done.json()["valid"], done.err) == (0, True, "")


@pytest.mark.req("PR-418", "PR-545")
def test_known_tells_by_name_what_does_not_exist_here(council, now, msg):
    council("ctx", "open", now=now)
    council("agent", "join", "W1", "--caps", "plan", now=now)
    well = "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|go"
    nobody = "M1|O1>W7|R|T1|P1|N|-|0|S1|B500|src=#REF:T9:S"

    done = council("msg", "validate", "--known", "--json", "--reply", nobody)
    for_people = council("msg", "validate", "--known", "-", stdin=f"{well}\n{nobody}\n{FAULTY}\n")

    assert done.code == 3
    assert [one["code"] for one in done.json()["errors"]] == ["E41", "E43"]
    assert done.json()["reply"].endswith("desc=unknown agent;details=W7")
    assert "message 2: E41: unknown agent 'W7'" in for_people.err
    assert "message 2: E43: invalid reference '#REF:T9:S'" in for_people.err
    assert for_people.err.count("message 3: ") == len(FAULTS)
    assert for_people.out.count("valid: ") == 1
    assert msg("validate", "--known", well).code == 5


# Any bytes, any number


def test_other_bytes_than_utf_8_are_one_fault_and_the_other_lines_are_answered(council, tmp_path):
    done = council(
        "msg",
        "parse",
        "--json",
        stdin=f"{V5}\n".encode() * 2 + b"M1|\xff\n" + V4.encode(),
        cwd=tmp_path,
    )

    assert done.code == 3
    assert [one["valid"] for one in records(done)] == [True, True, False, True]
    assert len(records(done)[2]["errors"]) == 1
    argument = subprocess.run(
        [*council.argv("msg", "parse", "--json"), V5.encode() + b"\xff"],
        env=council.env(),
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert argument.returncode == 3
    assert not json.loads(argument.stdout)["valid"]


def test_a_message_beyond_the_limit_is_refused_and_the_next_is_read(msg):
    longest = 1024 * 1024
    block = "[MSG_01]\n" + "DATA: x\n" * (longest // 8)
    texts = f"{V5}{'x' * longest}\n{V5}{'x' * longest * 2}\n{V4}\n{block}\n{V5}\n"

    done = msg("validate", "--json", stdin=texts)

    assert done.code == 3
    assert [one["valid"] for one in records(done)] == [False, False, True, False, True]
    assert msg("parse", "--json", V5 + "x" * 1000).json()["warnings"] == ["W_DATA_TRUNCATED"]


@pytest.mark.parametrize(
    "words",
    [
        ["parse"],
        ["validate", "--strict", "--reply"],
        ["convert", "--to", "V1", "--lossy"],
        ["convert", "--to", "V5"],
        ["build"],
        ["lint"],
        ["explain"],
        ["explain", "--lang", "fr", "--version", "V3"],
        ["sign"],
        ["verify"],
    ],
    ids=" ".join,
)
def test_no_bytes_bring_a_command_down(msg, words: list[str], tmp_path: Path):
    (tmp_path / "council.toml").touch()
    assert msg("sign", V5).code == 0
    chance = random.Random(2)
    pieces = [
        V5,
        V4,
        FAULTY,
        SIGNED,
        *BLOCK.split("\n"),
        "E|E08:id=W1",
        "|",
        ">",
        '{"to":"W1"}',
        "{}",
    ]
    noise = [b"\xff", b"\x00", b"\xc3\xa9", b"\xe2\x80\xa8", b"\r", b"", b"a" * 300]
    lines = [
        b"".join(
            chance.choice([chance.choice(pieces).encode(), chance.choice(noise)])[
                : chance.randrange(1, 70)
            ]
            for _ in range(chance.randrange(4))
        )
        for _ in range(400)
    ]

    for json_too in ([], ["--json"]):
        done = msg(*words, *json_too, stdin=b"\n".join(lines))

        assert done.code in (0, 3, 6), done.err
        assert "unexpected failure" not in done.err
        assert "Traceback" not in done.err + done.out
    if words != ["lint"]:
        own = "V5" if words[0] in ("build", "sign", "verify") or "V3" in words else None
        assert len(records(done)) == messages_in(lines, own)


def test_a_stream_is_answered_as_it_comes(council, tmp_path):
    process = council.start("msg", "parse", "--json", cwd=tmp_path, stdin=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    for text in (V5, V4):
        process.stdin.write(f"{text}\n".encode())
        process.stdin.flush()

        assert json.loads(process.stdout.readline())["valid"]
    process.stdin.close()
    assert process.wait(timeout=300) == 0


def test_a_long_stream_needs_no_more_memory_than_a_short_one(council, tmp_path):
    def megabytes(lines: int) -> float:
        ran = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
        ran += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"
        done = subprocess.run(
            [sys.executable, "-c", ran, *council.argv("msg", "validate", "--json")],
            input=f"{V5}\n".encode() * lines,
            env=council.env(),
            cwd=tmp_path,
            capture_output=True,
            check=True,
        )
        assert done.stdout.count(b"\n") == lines
        return int(done.stderr) * (1 if sys.platform == "darwin" else 1024) / 2**20

    assert megabytes(40_000) < megabytes(400) + 8


# Writing


@pytest.mark.req("PR-007", "PR-303", "PR-415", "PR-547")
def test_a_message_is_built_of_its_fields(msg):
    whole = msg("build", "msg=1", "to=W1", "type=R", "tid=1", "data=call=plan")
    parent = msg("build", "msg=4", "to=W1", "type=R", "tid=T1", "data=call=plan", "--pid", "M3")
    short = msg(
        *("build", "--minimal", "--version", "V4", "--json"),
        *("msg=1", "to=W1", "type=R", "task=1", "data=go"),
    )

    assert whole.out == "M1|O1>W1|R|T1|P1|-|-|0|S0|-|call=plan\n"
    assert parse(parent.out).fields["pairs"]["pid"] == "M3"
    assert short.json() == {"text": "M1|O1>W1|R|T1|-|-|-|go", "version": "V4"}


@pytest.mark.req("PR-007")
def test_what_was_parsed_is_built_again(msg):
    vectors = [one for one in of("example") if one["version"] in ("V2", "V3", "V4")]
    texts = [one["raw"] for one in vectors]
    read = msg("parse", "--json", stdin=stream(texts))

    built = msg("build", stdin=read.out)

    assert built.code == 0, built.err
    assert built.out.splitlines() == texts
    assert msg("build", "-", stdin=read.out) == built


@pytest.mark.req("PR-007", "PR-576")
def test_a_message_that_cannot_be_is_not_built(msg):
    fifth = ";".join(["question=which", *(f"opt{number}=x" for number in range(1, 6))])
    many = msg("build", "msg=1", "to=User", "type=D", "tid=1", f"data={fifth}", "--json")
    wrong = msg("build", "msg=1", "to=Z1", "type=R", "tid=1", "data=a>b")
    unknown = msg("build", "colour=red")
    no_json = msg("build", "--json", stdin='{"msg":1,"to":"W1","type":"R","data":"x"}\nno\n[1]\n')

    assert many.code == 3
    assert many.json()["error"]["faults"][0]["rule"] == "V5-options"
    assert wrong.code == 3
    assert [line.split()[1] for line in wrong.err.splitlines()] == ["E13", "E12"]
    assert unknown.code == 2
    assert no_json.code == 3
    assert ["text" in one for one in records(no_json)] == [True, False, False]


@pytest.mark.req("PR-548")
def test_a_large_result_is_built_in_parts(msg, council):
    words = ("msg=4", "from=W1", "to=O1", "type=S", "tid=1", "state=D", f"data=result={'x' * 400}")

    alone = msg("build", "--parts", *words)
    here = council("msg", "build", "--parts", "--json", *words)

    told = [parse(line).strict() for line in alone.out.splitlines()]
    assert (alone.code, alone.err) == (0, "")
    assert [(one.fields["msg"], one.fields["pairs"]["part"]) for one in told] == [
        *(("M4", "1/3"), ("M5", "2/3"), ("M6", "3/3")),
    ]
    assert [one["text"] for one in records(here)] == alone.out.splitlines()
    assert not (council.root / "memory/shared/artifacts").exists()


@pytest.mark.req("PR-547", "PR-548")
def test_a_parent_is_an_id_and_belongs_to_a_whole_message(msg):
    words = ("msg=4", "from=W1", "to=O1", "type=S", "tid=1", "data=result=...")

    assert msg("build", "--pid", "3", *words).out.endswith("|pid=M3;result=...\n")
    for wrong in (("--pid", "three"), ("--pid", "M3", "--parts")):
        done = msg("build", *wrong, *words)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)


@pytest.mark.req("PR-006", "PR-628")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("MSG_01|O1>W1|R|-|P1|N|x", "write TASK_ and digits, such as TASK_01)"),
        ("M1|W1>O1|E|T1|P1|F|-|0|S1|B5|x", "write the code of the error)"),
        ("M01|O1>W1|R|T1|P1|N|-|0|S1|B5|x", "write the number without leading zeros)"),
        ("M1|O1>W1|R|T1|P1|N|-|4|S1|B5|x", "write 0 to 3, or reason= in DATA)"),
        (
            f"{V5}{'x' * 200}",
            "write at most 200 characters in DATA, and what is longer as #REF:ID)",
        ),
    ],
)
def test_a_warning_taken_for_a_fault_says_what_to_write(msg, text: str, wanted: str):
    done = msg("validate", "--strict", text)

    assert done.code == 3
    assert done.err.endswith(f"{wanted}\n")


@pytest.mark.req("PR-601", "PR-604", "PR-605", "PR-606", "PR-607", "PR-608", "PR-610")
def test_every_conversion_of_the_vectors_gives_its_text_and_losses(msg):
    def options(one: dict[str, Any]) -> tuple[str, ...]:
        told = one["parsed"]
        words = ["--lossy"] * told["lossy"] + ["--structural"] * (told["mode"] == "structural")
        return ("--to", told["chain"][-1], *words)

    for words, vectors in together(of("conversion"), options):
        done = msg("convert", "--json", *words, stdin=stream([one["raw"] for one in vectors]))

        assert (done.code, done.err) == (0, done.err)
        for found, vector in zip(records(done), vectors, strict=True):
            told = vector["parsed"]
            assert found == {"text": told["texts"][-1], "losses": told["losses"]}, vector["id"]


@pytest.mark.req("PR-602", "PR-603", "PR-604", "PR-605", "PR-607")
def test_every_refusal_of_the_vectors_tells_its_reason(msg):
    for to, vectors in together(of("conversion-refused"), lambda one: one["parsed"]["chain"][-1]):
        done = msg("convert", "--json", "--to", to, stdin=stream([one["raw"] for one in vectors]))

        assert done.code == 3
        for found, vector in zip(records(done), vectors, strict=True):
            error = found["error"]
            assert [{name: error[name] for name in ("code", "rule", "segment")}] == vector[
                "errors"
            ], vector["id"]


@pytest.mark.req("PR-502", "PR-607")
def test_people_get_the_text_alone_and_are_told_what_was_lost(msg):
    done = msg("convert", "--to", "V4", V5)
    faulty = msg("convert", "--to", "V4", FAULTY)

    assert (done.code, done.out) == (0, f"{V4}\n")
    assert done.err == "council: lost: CTX, BUDGET\n"
    assert (faulty.code, faulty.out, len(faulty.err.splitlines())) == (3, "", len(FAULTS))
    assert msg("convert", V5).code == 2
    assert msg("convert", "--to", "V9", V5).code == 2


@pytest.mark.req("PR-209")
def test_a_conversion_reports_the_size_on_request(msg):
    blocks = [one["raw"] for one in of("example") if one["version"] == "V1"]

    shown = msg("convert", "--to", "V2", "--size", stdin=stream(blocks))
    told = records(msg("convert", "--to", "V2", "--size", "--json", stdin=stream(blocks)))
    longer = msg("convert", "--to", "V5", "--size", "MSG_01|O|R|TASK_01|go")

    before = sum(map(estimated_tokens, blocks))
    after = sum(map(estimated_tokens, shown.out.splitlines()))
    saved = (before - after) * 100 // before
    assert 40 <= saved <= 50, "what the document expects"
    assert shown.err == f"council: about {before} tokens become {after}, {saved} % less\n"
    assert sum(one["size"]["before"] for one in told) == before
    assert sum(one["size"]["after"] for one in told) == after
    assert longer.err == "council: about 13 tokens become 27, 107 % more\n"
    assert msg("convert", "--to", "V2", stdin=stream(blocks)).err == ""


@pytest.mark.req("PR-609")
def test_a_side_car_gives_back_what_was_lost(msg):
    first = "M7|O1>W1|R|T1|P1|N|-|2|S1|B500|call=plan"
    second = "M8|W1>O1|E|T2|P1|F|E17|1|S2|B20|needed=50;have=20"
    aside = "aside"
    away = msg("convert", "--to", "V4", "--sidecar", aside, stdin=f"{first}\n{second}\n")
    assert away.out.count("|") == 14

    back = msg("convert", "--to", "V5", "--sidecar", aside, stdin=away.out)
    answer = msg("convert", "--to", "V5", "--sidecar", aside, "M9|W1>O1|S|T1|P1|D|-|done")
    without = msg("convert", "--to", "V5", stdin=away.out)

    assert back.out.splitlines() == [first, second]
    assert answer.out == "M9|W1>O1|S|T1|P1|D|-|2|S1|B500|done\n"
    assert without.out.splitlines() != [first, second]


@pytest.mark.req("PR-609")
def test_messages_that_come_out_alike_each_come_back_as_themselves(msg, tmp_path: Path):
    alike = [f"M1|O1>W1|R|T1|P1|N|-|0|S{number}|B{number}00|go" for number in (1, 1, 2, 3)]
    aside = str(tmp_path / "aside")
    away = msg("convert", "--to", "V4", "--sidecar", aside, stdin="\n".join(alike))
    assert len(set(away.out.splitlines())) == 1

    back = msg("convert", "--to", "V5", "--sidecar", aside, stdin=away.out)

    assert back.out.splitlines() == alike


@pytest.mark.req("PR-609")
def test_an_answer_is_taken_to_the_message_between_the_same_two(msg, tmp_path: Path):
    sent = "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|go\nM2|W1>W2|X|T1|P1|R|-|1|S1|B200|call=x\n"
    aside = str(tmp_path / "aside")
    msg("convert", "--to", "V4", "--lossy", "--sidecar", aside, stdin=sent)

    answers = "M3|W2>W1|S|T1|P1|D|-|part\nM4|W1>O1|S|T1|P1|D|-|all\n"
    back = msg("convert", "--to", "V5", "--sidecar", aside, stdin=answers)

    assert back.out.splitlines() == [
        "M3|W2>W1|S|T1|P1|D|-|1|S1|B200|part",
        "M4|W1>O1|S|T1|P1|D|-|0|S1|B500|all",
    ]


@pytest.mark.req("PR-609")
def test_a_file_that_is_no_side_car_is_left_alone(msg, tmp_path: Path):
    mine = tmp_path / "mine.txt"
    mine.write_text("a letter\n")

    done = msg("convert", "--to", "V4", "--sidecar", str(mine), V5)

    assert (done.code, done.out) == (3, "")
    assert mine.read_text() == "a letter\n"


# Signing


@pytest.mark.req("PR-589")
def test_a_signature_holds_once_and_a_second_time_is_a_replay(council):
    signed = council("msg", "sign", "--as", "O1", V5, "--json")
    assert signed.code == 0, signed.err
    text = signed.json()["text"]

    first = council("msg", "verify", text)
    second = council("msg", "verify", text, "--json")

    assert (first.code, first.out) == (0, "valid: S1:0000\n")
    assert second.code == 6
    assert second.json() == {
        "valid": False,
        "reason": "replayed",
        "sid": None,
        "nonce": None,
        "errors": [{"code": "E90", "rule": "auth", "segment": 11}],
    }
    key = council.root / "memory/shared/.council/message-key"
    assert key.stat().st_mode & 0o777 == 0o600


@pytest.mark.req("PR-589", "PR-590")
def test_the_signed_sequences_of_the_vectors_are_judged_with_their_key(msg, tmp_path: Path):
    sequences = [one for one in of("sequence") if one["parsed"]["context"].get("require_auth")]
    assert len(sequences) >= 4
    for vector in sequences:
        root = tmp_path / vector["id"]
        root.mkdir()
        (tmp_path / "key").write_text(vector["parsed"]["context"]["key"] + "\n")
        words = ("verify", "--json", "--root", str(root), "--key-file", str(tmp_path / "key"))

        done = msg(*words, stdin=vector["raw"])

        found = [one["errors"][0]["code"] if one["errors"] else None for one in records(done)]
        assert found == vector["parsed"]["expect"], vector["id"]
        assert done.code == (6 if "E90" in found else 0)


@pytest.mark.req("PR-589")
def test_a_message_without_room_for_its_signature_is_told_so(council):
    long = f"{V5};x={'x' * 170}"

    done = council("msg", "sign", long)
    next_one = council("msg", "sign", "--json", V5)

    assert (done.code, done.out) == (3, "")
    assert "rule V5-signed" in done.err
    assert "auth=SID:NONCE:SIG" in done.err
    assert next_one.json()["nonce"] == "0000"


@pytest.mark.req("PR-589")
def test_of_two_processes_only_one_takes_a_signature_for_its_first_use(council):
    text = council("msg", "sign", V5).out.strip()

    both = [council.start("msg", "verify", text) for _ in range(2)]
    for one in both:
        one.communicate(timeout=300)

    assert sorted(one.returncode for one in both) == [0, 6]


@pytest.mark.req("PR-589")
def test_nonces_count_up_for_each_session_and_never_come_again(msg, tmp_path: Path):
    (tmp_path / "council.toml").touch()
    other = V5.replace("|S1|", "|Sabc|")

    many = msg("sign", "--json", stdin=f"{V5}\n{V5}\n{other}\n")
    assert msg("verify", records(many)[0]["text"]).code == 0
    more = msg("sign", "--json", V5)
    named = msg("sign", "--json", "--session", "S9", V5)

    found = [(one["sid"], one["nonce"]) for one in (*records(many), more.json(), named.json())]
    assert found == [("S1", "0000"), ("S1", "0001"), ("S0", "0000"), ("S1", "0002"), ("S9", "0000")]


@pytest.mark.req("PR-589")
def test_who_is_not_the_sender_cannot_sign_and_what_was_changed_is_refused(msg, tmp_path: Path):
    (tmp_path / "council.toml").touch()
    text = msg("sign", V5).out.strip()

    assert msg("sign", "--as", "W1", V5).code == 6
    forged = msg("verify", text.replace("B500", "B900"))
    plain = msg("verify", V5)
    faulty = msg("verify", FAULTY)
    shapeless = msg("verify", f"{V5};auth=S1")

    assert (forged.code, plain.code, faulty.code, shapeless.code) == (6, 6, 3, 6)
    assert "does not fit" in forged.err
    assert "not signed" in plain.err
    assert "council msg sign" in plain.err
    assert msg("verify", text).code == 0


@pytest.mark.req("PR-589")
def test_a_damaged_note_of_nonces_opens_no_way_for_replays(msg, tmp_path: Path):
    (tmp_path / "council.toml").touch()
    text = msg("sign", V5).out.strip()
    assert msg("verify", text).code == 0
    (tmp_path / "memory/shared/.council/signatures.jsonl").write_text("{")

    refused = msg("verify", text)

    assert refused.code == 3
    assert "signatures.jsonl" in refused.err


def test_signatures_need_a_workspace_and_a_key(msg, tmp_path: Path):
    assert msg("sign", V5).code == 5
    assert msg("verify", SIGNED, "--json").json()["error"]["code"] == "not-found"

    (tmp_path / "council.toml").touch()
    no_key = msg("verify", SIGNED)
    assert no_key.code == 5
    assert "message-key" in no_key.err


# Advice, changes, explanations


@pytest.mark.req("PR-008", "PR-208", "PR-314", "PR-414")
def test_lint_gives_advice_and_finds_no_fault(msg):
    done = msg("lint", stdin=f"{V5}\nM2|O1>W2|R|T2|P1|N|-|0|S1|B500|please search\n")
    told = msg("lint", "--json", "--lang", "fr", "M2|O1>W2|R|T2|-|N|-|0|S1|B500|merci")

    assert done.code == 0
    assert "message 2: L_POLITE: no polite phrases" in done.out.splitlines()
    assert told.json() == {
        "advice": [{"rule": "L_POLITE", "message": 1, "text": "pas de formules de politesse"}]
    }
    assert msg("lint", stdin=b"\xff\n").code == 3


@pytest.mark.req("PR-009", "PR-633", "PR-634")
def test_diff_tells_what_changed_between_versions(msg):
    done = msg("diff", "V3", "v5", "--json")
    shown = msg("diff", "V3", "V5", "--lang", "fr")

    assert [(one["from"], one["to"]) for one in done.json()["steps"]] == [
        ("V3", "V4"),
        ("V4", "V5"),
    ]
    assert "  ajouté   segments DEPTH, CTX, BUDGET" in shown.out.splitlines()
    assert msg("diff", "V5", "V4").code == 2
    assert msg("diff", "V5", V5).code == 2


def test_diff_tells_what_differs_between_messages_of_any_two_versions(msg):
    same = msg("diff", V4, V5, "--json")
    other = msg("diff", V5, V5.replace("B500", "B300").replace("W1", "W2"))
    faulty = msg("diff", V5, FAULTY)

    assert same.json()["differences"] == [
        {"field": "ctx", "before": None, "after": "S1"},
        {"field": "budget", "before": None, "after": 500},
    ]
    assert other.out == "to: W1 → W2\nbudget: 500 → 300\n"
    assert faulty.code == 3
    assert faulty.err.startswith("council: message 2: E13")
    assert msg("diff", V5, V5).out == "the same\n"


@pytest.mark.req("PR-109", "PR-313", "PR-413")
def test_explain_tells_every_part_in_english_and_french(msg):
    english = msg("explain", V5)
    french = msg("explain", V5, "--lang", "fr")
    block = msg("explain", BLOCK)

    assert re.search(r"2 +ROUTE +O1>W1 +sender and target", english.out)
    assert "calls: web_search()" in english.out
    assert "émetteur et destinataire" in french.out
    assert "request: a short description of the task" in block.out
    assert msg("explain", V5, "--lang", "de").code == 2


@pytest.mark.req("PR-313", "PR-413")
def test_explain_tells_a_code_in_each_version_that_has_it(msg):
    everywhere = msg("explain", "E13").out.splitlines()
    one = msg("explain", "E31", "--version", "V5", "--json")

    assert everywhere == ["V4 E13: invalid route (protocol)", "V5 E13: invalid route (validation)"]
    assert one.json()["meaning"] == "worker busy"
    assert one.json()["category"] == "resource"
    assert msg("explain", "E77").code == 5


@pytest.mark.req("PR-109", "PR-309", "PR-410")
def test_explain_tells_a_word(msg):
    shown = {word: msg("explain", word).out for word in ("REQ", "R", "P1", "CTX", "W_TYPE_Q")}
    french = msg("explain", "L_POLITE", "--lang", "fr", "--json").json()

    assert shown["REQ"] == "V1 type REQ: request: a short description of the task\n"
    assert [line.split(":")[0] for line in shown["R"].splitlines()] == ["type R", "state R"]
    assert shown["P1"].startswith("V3 priority P1: normal")
    assert "V4 priority P1: high" in shown["P1"]
    assert shown["CTX"].startswith("segment CTX: context")
    assert shown["W_TYPE_Q"].startswith("warning W_TYPE_Q: ")
    assert french["meanings"][0]["meaning"] == "pas de formules de politesse"


@pytest.mark.req("PR-109")
def test_what_is_no_word_of_a_message_is_not_explained(msg):
    for word in ("hello", "E5", "V9", "req"):
        done = msg("explain", word)
        assert (done.code, done.out, done.err.count("\n")) == (5, "", 1)
    assert msg("explain", "hello there").code == 0
    assert msg("explain", "-", stdin="hello\n").code == 0


@pytest.mark.req("PR-418")
def test_explain_writes_a_short_note_of_the_document_out(msg):
    for vector in of("fragment"):
        done = msg("explain", vector["raw"], "--json")

        assert done.json()["standsFor"] == vector["parsed"]["canonical"]


@pytest.mark.req("PR-592", "PR-597")
def test_explain_prints_the_card_and_the_page_of_a_version(msg):
    card = msg("explain", "--card")
    page = msg("explain", "v3")

    examples = [line.split(maxsplit=1)[1] for line in card.out.splitlines()[-4:]]
    assert examples[0] == "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=web_search;query=AI"
    assert all(parse(text).valid for text in examples)
    assert page.out.startswith("V3 deprecated: migrate to V5\n")
    assert re.search(r"code E06 +agent busy$", page.out, re.MULTILINE)


def test_explain_shows_what_is_wrong_without_failing(msg):
    done = msg("explain", FAULTY)

    assert done.code == 0
    assert "fault 2 ROUTE: E13 invalid route (V5-3)" in done.out
    assert done.out.count("fault ") == len(FAULTS)


# Everywhere


def test_messages_need_no_workspace_and_take_the_options_of_every_command(council, tmp_path):
    done = council("--json", "msg", "parse", V5, cwd=tmp_path)

    assert done.code == 0
    assert done.json()["fields"]["ctx"] == "S1"
    assert os.listdir(tmp_path / "home") == []
    assert council("msg", "parse", V5, "--root", tmp_path / "no", cwd=tmp_path).code == 5


def test_the_workspace_gives_language_and_limit(msg, tmp_path: Path):
    (tmp_path / "council.toml").write_text('language = "fr"\nmax_text_bytes = 40\n')

    assert "\nfaute: E03 " in msg("explain", "M1|x").out
    assert msg("parse", V5).code == 3


def test_settings_of_a_newer_version_stop_only_what_writes(msg, tmp_path: Path):
    (tmp_path / "council.toml").write_text("schemaVersion = 9\n")

    assert msg("parse", V5).code == 0
    assert msg("sign", V5).code == 3


def test_the_commands_stand_in_their_panel(council, tmp_path):
    done = council("msg", "--help", cwd=tmp_path, env={"COLUMNS": "80"})

    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    shown = re.findall(r"^  ([a-z]+)  ", done.out, re.MULTILINE)
    assert shown == [
        *("parse", "validate", "build", "convert", "sign", "verify", "lint", "diff", "explain"),
        *("send", "inbox", "log", "resolve"),
    ]
    assert re.search(
        r"^Programs:\n  serve .*\n  mcp .*\n  msg ", council("help", cwd=tmp_path).out, re.MULTILINE
    )
