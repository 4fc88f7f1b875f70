"""What real agent programs printed, and what is understood of it.

`recorded.jsonl` has a row a program and situation: its output (shortened), its exit code (negative:
the signal; `killed`: it was ended from outside) and what has to come of it.
"""

import json
from pathlib import Path

import pytest

from council.agents.expressions import unwrapped
from council.agents.readers import Listener, Said, classified, status_in
from council.runs.drivers import Output, judged
from tests.vectors.rows import tables_of

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("recorded.jsonl").read_text("utf-8").splitlines()
]


def lines(many: list[object]) -> str:
    return "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in many)


def read(reader: str, output: str, step: int = 1 << 20) -> Said:
    listener, data = Listener(reader), output.encode()
    for at in range(0, len(data), step):
        listener.hear(data[at : at + step])
    listener.hear(b"", last=True)
    return listener.said


def outcome(
    reader: str, output: str, errors: str = "", code: int = 0, killed: bool = False
) -> Output:
    said = read(reader, output)
    hopeless = said.retries and said.is_hopeless()
    ended = ("hopeless" if hopeless else "timed-out") if killed else ""
    return judged(said, errors, code, (ended, ""))


@pytest.mark.parametrize("row", ROWS, ids=[f"{r['program']}-{r['situation']}" for r in ROWS])
def test_recorded_outputs(row):
    made = outcome(
        row["reader"], lines(row["stdout"]), lines(row["stderr"]), row["exit"], row["killed"]
    )
    seen = {
        **{"code": made.code, "text": made.text.strip()[:40], "tokens": made.use.tokens},
        **{"cut": made.cut, "words": made.words[:60]},
    }
    assert seen == row["expect"]


@pytest.mark.parametrize("reader", sorted({r["reader"] for r in ROWS}))
def test_pieces_of_any_size_are_read_alike(reader):
    for row in [r for r in ROWS if r["reader"] == reader][:4]:
        output = lines(row["stdout"])
        assert read(reader, output, 7) == read(reader, output)


def claude(*texts: tuple[str, str], result: str, usd: float = 0.01, tokens: int = 1000) -> str:
    texts_of = [(ident, [{"type": "text", "text": text}]) for ident, text in texts]
    said = [{"type": "assistant", "message": {"id": i, "content": one}} for i, one in texts_of]
    end = {"type": "result", "subtype": "success", "is_error": False, "result": result}
    end |= {"modelUsage": {"m": {"inputTokens": tokens}}, "total_cost_usd": usd}
    return lines([{"type": "stream_event", "event": {"type": "message_start"}}, *said, end])


def message(reason: str, ident: str = "m", text: str = "Yes.", tokens: int = 100) -> list[object]:
    end = {"reason": reason, "tokens": {"total": tokens}, "cost": 0.1}
    return [
        {"type": "step_start", "part": {"messageID": ident}},
        {"type": "text", "part": {"messageID": ident, "text": text}},
        {"type": "step_finish", "part": end},
    ]


def codex(*texts: str) -> str:
    said = [{"type": "agent_message", "text": text} for text in texts]
    items = [{"type": "item.completed", "item": one} for one in said]
    return lines([*items, {"type": "turn.completed", "usage": None}])


PIECE = {"type": "message", "role": "assistant", "delta": True}
PIECES = [{**PIECE, "content": "Yes, a second kettle, for "}] * 2 + [{**PIECE, "content": "tea."}]
SHORT = [{**PIECE, "content": "It stands "}, {**PIECE, "content": "above."}]
KIMI = {"role": "assistant", "content": "See above."}
TWO = [("a", "First. "), ("a", "Second.")]
GEMINI_END = {"type": "result", "status": "success", "stats": {"total_tokens": 0}}
PI = {"role": "assistant", "usage": {"totalTokens": 107, "cost": {"total": 0.5}}}
FOUND = [
    # reader, output, exit code, then text and tokens
    ("claude", claude(*TWO, result="Second."), 0, "First. Second.", 1000),
    ("claude", claude(*TWO, result="First."), 0, "First. Second.", 1000),
    ("claude", claude(("a", "Yes."), result=""), 0, "Yes.", 1000),
    ("claude", claude(("a", "Look."), ("b", "Yes."), result="Yes."), 0, "Yes.", 1000),
    ("claude", claude(result="Yes.") + claude(result="Yes.", tokens=1100), 0, "Yes.", 1100),
    ("claude", claude(result="Yes."), 1, "Yes.", 1000),  # a hook at the end failed
    ("gemini", lines([*PIECES, GEMINI_END]),
     0, "Yes, a second kettle, for tea.", None),
    ("opencode", lines(message("tool-calls", "a", "Look.") + message("stop", "b")), 0, "Yes.", 200),
    ("opencode", lines(message("unknown", "a") + message("unknown", "b", "No.")), -9, "Yes.", 200),
    ("pi", lines([{"type": "message_end", "message": {**PI, "content": t}} for t in ("a", "b")]),
     0, "b", 214),
    ("codex", codex("Yes."), 1, "Yes.", None),
    ("gemini", lines([*PIECES, {"type": "tool_use"}, *SHORT, GEMINI_END]), 0,
     "Yes, a second kettle, for tea.\n\nIt stands above.", None),
    ("kimi", lines([{**SHORT[0], "content": "Tea, as ever.", "tool_calls": [{}]}, KIMI]), 0,
     "Tea, as ever.\n\nSee above.", None),
    ("openhands", lines([{"kind": "ActionEvent", "tool_name": "finish",
                          "action": {"message": "Y"}}]),
     0, "Y", None),
]  # fmt: skip


@pytest.mark.parametrize(("reader", "output", "code", "text", "tokens"), FOUND)
def test_where_the_answer_is(reader, output, code, text, tokens):
    made = outcome(reader, output, code=code)
    assert (made.code, made.text, made.use.tokens) == ("", text, tokens)


LOOK = {"type": "agent_message", "text": "Let me look."}
BEGUN = [{"type": "turn.started"}, {"type": "item.completed", "item": LOOK}]
FAILED = {"type": "result", "is_error": True, "subtype": "error_during_execution"}
UNFINISHED = [
    # what a program printed that ended with exit 0, then code and words
    ("codex", BEGUN, "crashed", "its output ended before its turn did"),
    ("opencode", message("tool-calls")[:2], "crashed", "its output ended before its turn did"),
    ("gemini", [{"type": "init"}, PIECES[0]], "crashed", "its output ended before its turn did"),
    ("gemini", [PIECES[0], {"type": "result", "status": "error"}], "crashed", "it does not say"),
    ("copilot", [{"type": "assistant.message", "data": {"content": "Half"}},
                 {"type": "result", "exitCode": 1}], "crashed", "it does not say why"),
    ("cline", [{"type": "run_result", "finishReason": "aborted", "text": "Half"}], "crashed",
     "Half"),
    ("claude", [{**FAILED, "errors": ["overloaded_error: try later"]}], "unreachable", "try later"),
    ("claude", ["Unknown option --verbose"], "no-answer", "Unknown option --verbose"),
]  # fmt: skip


@pytest.mark.parametrize(("reader", "output", "code", "words"), UNFINISHED)
def test_an_unfinished_turn_is_no_answer(reader, output, code, words):
    made = outcome(reader, lines(output))
    assert made.code == code and words in made.words


@pytest.mark.parametrize("reader", ["claude", "codex", "gemini", "openhands", "opencode", "pi"])
def test_a_finished_answer_counts_however_the_program_ends(reader):
    good = [r for r in ROWS if r["reader"] == reader and r["expect"]["code"] == ""]
    for output in [lines(r["stdout"]) for r in good if not r["killed"]]:
        made = outcome(reader, output, "error: a hook failed", code=1)
        assert read(reader, output).is_over and (made.code, bool(made.text)) == ("", True)


def test_a_program_that_asks_without_end_is_noticed():
    assert read("opencode", lines(message("unknown", "a") + message("unknown", "b"))).goes_round
    assert not read("opencode", lines(message("tool-calls", "a") + message("stop", "b"))).goes_round


@pytest.mark.parametrize("code", tables_of("failures"))
def test_what_the_words_of_failures_mean(code):
    for words in tables_of("failures")[code]:
        assert classified(words, status_in(words)) == code, words


@pytest.mark.parametrize(
    ("text", "rest"),
    [("<think>hm</think>Yes.", "Yes."), ("It thinks.\n</think>\nYes.", "Yes."),
     ("<Thinking>hm</thinking> Yes.\n</think>\nSo.", "Yes.\n\nSo."), ("<think>never closed", ""),
     ("Yes.</think>", "Yes."), ("Use `<think>` where a < b.", "Use `<think>` where a < b.")],
)  # fmt: skip
def test_thoughts_are_no_part_of_an_answer(text, rest):
    assert unwrapped(text) == rest
