"""A reason is a code with values: what is read as one, and that no rule reads its words."""

from __future__ import annotations

import ast
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import council
from council.core.conversations.conversation import Conversation, Task, TaskState
from council.core.conversations.due import next_due, pending
from council.core.conversations.machine import advance
from council.core.conversations.records import from_record, to_record
from council.core.conversations.tasks import task_failed, task_started
from council.core.reading import Reader
from council.core.reasons import CODES, NO_REASON, NOT_STARTED, Reason, read_reason, said
from council.store.reason_words import reason_words
from council.store.texts import texts
from tests.core.conversations.samples import HOUR, MINUTE, NOW, convened, wakes

SOURCES = Path(council.__file__).parent
UNTIL = datetime(2026, 2, 8, 21, 0, tzinfo=UTC)
# A value of each name that a code needs.
VALUES = {
    "until": "2026-02-08T21:00:00Z",
    **dict.fromkeys(("failures", "status", "count", "most", "after", "for"), 3),
}
JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(), one, max_size=3),
    max_leaves=6,
)


def whole(code: str) -> Reason:
    """Return a reason of a code with all the values that it needs."""
    return Reason(code=code, values={name: VALUES.get(name, "x") for name in CODES[code].split()})


@pytest.mark.req("FI-015")
@pytest.mark.parametrize("code", CODES)
def test_a_reason_is_written_and_read_again_as_it_was(code: str):
    assert read_reason(json.loads(json.dumps(whole(code).to_record()))) == whole(code)


@pytest.mark.req("FI-015", "XC-012")
@pytest.mark.parametrize("lang", ["en", "fr"])
@pytest.mark.parametrize("code", CODES)
def test_each_code_has_words_in_both_languages_and_they_name_each_of_its_values(code, lang):
    row = texts("reasons")[code][["en", "fr"].index(lang)]
    words = reason_words(whole(code), lang)
    assert words
    assert "?" not in words and "{" not in words, "each field is a value of the code"
    for name in CODES[code].split():
        shown = "{often}" if name == "failures" else f"{{{name}}}"
        assert shown in row, f"{code} does not say its {name}"


def test_each_code_is_given_by_something_and_no_words_belong_to_none():
    sources = [path for path in SOURCES.rglob("*.py") if "reasons" not in path.name]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    assert [code for code in CODES if f'"{code}"' not in text] == []
    assert set(texts("reasons")) - set(CODES) == {"more", "once", "often"}


def test_a_value_that_may_follow_any_reason_is_said():
    failed = Reason.of("exit", status=3).with_values(output="out of memory", unseen='"KEY"')
    assert reason_words(failed) == (
        'exit 3: out of memory (set here and kept from it; to pass on: env = ["KEY"])'
    )
    once = Reason.of("rests", until=UNTIL, failures=1)
    assert reason_words(once) == "not started: rests until 2026-02-08T21:00:00Z, failed once"


@pytest.mark.req("FI-015")
@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        (
            "not started: rests until 2026-02-08T21:00:00Z, failed 3 times in a row",
            Reason.of("rests", until=UNTIL, failures=3),
        ),
        (
            "not started: rests until 2026-02-08T21:00:00Z, failed once",
            Reason.of("rests", until=UNTIL, failures=1),
        ),
        (
            "not started: max_usd_per_day = 0.5 is reached",
            Reason.of("cap", limit="max_usd_per_day", most=0.5),
        ),
        ("not started: its ceiling of runs is reached", Reason.of("ceiling", limit="runs")),
        ("lost: no word from the run", Reason.of("lost")),
        ("exit 3", Reason.of("exit", status=3)),
        ("exit 3: no", Reason.of("exit", status=3, output="no")),
        ("timed out after 0.5s", Reason.of("timed-out", after=0.5)),
        ("not found: claude", Reason.of("no-program", program="claude")),
        ("key refused: 401", Reason.of("key-refused", text="401")),
        ("timeout", Reason.of("timeout")),
    ],
)
def test_a_sentence_of_an_earlier_version_is_read_as_the_reason_it_was(sentence, reason):
    assert read_reason(sentence) == reason


@pytest.mark.req("FI-015")
@pytest.mark.parametrize(
    "value",
    [
        "not started: rests until tomorrow",
        "not started: rests until tomorrow, failed 3 times in a row",
        "not started: rests until 9999-99-99T00:00:00Z, failed once",
        "not started: max_runs_per_day = many is reached",
        "not started: ",
        "rests",
        "no words of ours",
        {"code": "rests", "until": "tomorrow", "failures": 3},
        {"code": "rests", "until": 7, "failures": 3},
        {"code": "rests", "until": "2026-02-08T21:00:00Z", "failures": -1},
        {"code": "rests"},
        {"code": "exit", "status": True},
        {"code": "nothing of ours"},
        {"code": ["exit"]},
        {},
        [],
        3,
        False,
    ],
)
def test_what_is_no_reason_of_ours_is_text_that_decides_nothing(value):
    reason = read_reason(value)
    assert reason.code == "said"
    assert reason.is_start
    assert reason.rests_until is None
    assert reason.cause == "failed"


@pytest.mark.req("FI-015")
@given(JSON)
def test_any_value_in_the_place_of_a_reason_can_be_read_and_said(value):
    reason = read_reason(value)
    assert reason.code in CODES or reason == NO_REASON
    assert read_reason(reason.to_record()) == reason
    assert isinstance(reason_words(reason), str)
    assert reason_words(reason, "fr") or not reason


@given(JSON)
def test_a_task_with_any_reason_is_a_task(value):
    record = {"agent": "a", "tour": 1, "attempt": 1, "state": "F", "at": "2026-02-08T20:00:00Z"}
    task = Reader({**record, "reason": value}, "task").make(Task, id="t")
    assert task.state is TaskState.F
    assert task.is_failed_run == (task.reason.code not in NOT_STARTED)


def test_no_reason_is_written_as_an_empty_text_and_an_empty_text_is_none():
    assert NO_REASON.to_record() == ""
    assert not read_reason("") and not read_reason(None) and not said("")


# --- No rule reads words


def _names_reason(node: ast.AST) -> bool:
    """Return true if an expression is a reason, or a text of one."""
    if isinstance(node, ast.Attribute):
        return node.attr == "reason" or (node.attr == "text" and _names_reason(node.value))
    if isinstance(node, ast.Name):
        return node.id in ("reason", "refusal", "refused", "why")
    if isinstance(node, ast.Call):
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name in ("reason_words", "value"):
            return True
        if name in ("str", "lower", "strip", "casefold"):
            inner = [*node.args, *([called.value] if isinstance(called, ast.Attribute) else [])]
            return any(map(_names_reason, inner))
    return False


def _reads_words(tree: ast.AST) -> list[int]:
    """Return the lines on which the words of a reason are compared or taken apart."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            taken = ("startswith", "endswith", "removeprefix", "partition", "split", "find")
            is_joined_anew = node.func.attr == "split" and not node.args
            if node.func.attr in taken and _names_reason(node.func.value) and not is_joined_anew:
                found.append(node.lineno)
            arguments = [*node.args] if node.func.attr in ("match", "fullmatch", "search") else []
            found += [node.lineno for one in arguments if _names_reason(one)]
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            texts_too = any(_has_words(one) for one in sides)
            if texts_too and any(map(_names_reason, sides)):
                found.append(node.lineno)
    return found


def _has_words(node: ast.AST) -> bool:
    """Return true if a text with a blank in it stands there."""
    return any(
        isinstance(one, ast.Constant) and isinstance(one.value, str) and " " in one.value
        for one in ast.walk(node)
    )


@pytest.mark.req("FI-015")
def test_nothing_compares_the_words_of_a_reason_or_takes_them_apart():
    found = {
        str(path.relative_to(SOURCES)): lines
        for path in SOURCES.rglob("*.py")
        if path.name != "earlier_reasons.py"
        if (lines := _reads_words(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        'x = task.reason.startswith("not started")',
        'x = answer.reason.removeprefix("exit ")',
        'x = "not started" in one.reason',
        'x = str(reason) == "no answer"',
        'x = re.match("exit", reason_words(task.reason))',
        'x = reason_words(reason).startswith("exit")',
        'x = task.reason.value("text").partition(":")',
    ],
)
def test_the_search_finds_each_way_to_read_words(source: str):
    assert _reads_words(ast.parse(source)) == [1]


# --- A file by hand decides nothing by its words


def _with_reason(value: object) -> Conversation:
    """Return a conversation read from a file that has a value in the place of two reasons."""
    state = convened()
    wake = next(one for one in wakes(state, NOW) if one.agent == "sage")
    state = task_started(state, wake, driver="x", now=NOW, ends_at=NOW + HOUR).state
    state = task_failed(state, wake.task, said("no"), now=NOW).state
    record = json.loads(json.dumps(to_record(state)))
    record["tasks"][wake.task]["reason"] = value
    record["rounds"][0]["absent"] = {"nova": value}
    return from_record(record)


@pytest.mark.req("FI-015")
@given(st.text() | JSON)
@example("not started: rests until tomorrow")
@example("not started: rests until tomorrow, failed 3 times in a row")
@example({"code": "rests", "until": "never", "failures": 1})
@example({"code": "cap"})
def test_no_text_in_the_place_of_a_reason_changes_what_is_due(value):
    expected, state = _with_reason("no"), _with_reason(value)
    assume(read_reason(value).code == "said")  # else it is a reason, and may decide
    for now in (NOW, NOW + MINUTE, NOW + 2 * HOUR):
        assert pending(state, now) == pending(expected, now)
        assert next_due(state) == next_due(expected)
        before, after = advance(expected, now), advance(state, now)
        assert (after.state.phase, after.state.tour) == (before.state.phase, before.state.tour)
        assert [one.type for one in after.events] == [one.type for one in before.events]
