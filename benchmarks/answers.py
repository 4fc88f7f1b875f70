"""Read answers as language models write them: `python -m benchmarks.answers`.

Prints for each kind how many answers of `tests/corpus/` are read right, wrong
and in part, and keeps that as `benchmarks/ANSWERS.md`. The exit code is 1 when
a bound is missed.

Source: HR-031.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import answer_readers
from benchmarks.answer_readers import Heard

KEPT = Path(__file__).with_name("ANSWERS.md")
CORPUS = Path(__file__).resolve().parent.parent / "tests" / "corpus"
LEAST_RIGHT = 0.97
KINDS = ("turn", "vote", "council", "result", "room", "worker line")

RIGHT, WRONG, LOST = "right", "wrong", "lost"
_ABOUT = """\
*Right*: all parts are read as a careful reader does, a position word for word. *Wrong*: a part is
read that was not said. *Lost*: nothing is wrong, but a part that was said is missing. *Unclear*
answers leave a part open or contradict themselves: that part has to be missing, and the author
*asked again*."""


@dataclass(frozen=True)
class Case:
    """An answer and what a careful reader understands; a part that is None is unclear."""

    id: str
    kind: str
    text: str
    expected: dict[str, Any]
    schema: Any = None

    @property
    def is_clear(self) -> bool:
        """Whether every part can be understood."""
        return None not in self.expected.values()


@dataclass
class Judged:
    """How an answer was read: `RIGHT`, `WRONG` or `LOST`, and which parts were not right."""

    case: Case
    outcome: str
    parts: list[str] = field(default_factory=list)
    is_asked: bool = False

    @property
    def is_unasked(self) -> bool:
        """Whether something is unclear about which the author is not asked."""
        return not self.case.is_clear and not self.is_asked


def read_corpus(folder: Path = CORPUS) -> list[Case]:
    """Return all answers of the corpus."""
    cases = [_case(one) for one in _lines(folder / "answers.jsonl")]
    for one in _lines(folder / "worker-lines.jsonl"):
        cases.append(Case(one["id"], "worker line", one["text"], {"read as": one["want"]}))
    return cases


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


def _case(one: dict[str, Any]) -> Case:
    expected = dict(one["expected"])
    for agent, stance in expected.pop("stances", {}).items():
        expected[f"@{agent}"] = stance
    if expected.get("position") == "":
        expected["position"] = None
    return Case(one["id"], one["kind"], one["text"], expected, one.get("schema"))


def hear(case: Case) -> Heard | None:
    """Read an answer with the reader of its kind; None if there is none."""
    if case.kind == "result":
        return answer_readers.read_result(case.text, case.schema)
    readers = {
        "turn": answer_readers.read_turn,
        "vote": answer_readers.read_vote,
        "council": answer_readers.read_contribution,
        "room": answer_readers.read_room_message,
        "worker line": answer_readers.read_worker_line,
    }
    return readers[case.kind](case.text)


def judge(case: Case, heard: Heard | None) -> Judged:
    """Hold what was read against what a careful reader understands."""
    if heard is None:
        return Judged(case, LOST, ["its kind has no reader"])
    outcomes = {
        name: _judge_part(name, case.expected.get(name), heard.parts.get(name))
        for name in case.expected.keys() | heard.parts.keys()
    }
    worst = next((one for one in (WRONG, LOST) if one in outcomes.values()), RIGHT)
    parts = [f"{name} {outcome}" for name, outcome in outcomes.items() if outcome != RIGHT]
    return Judged(case, worst, sorted(parts), heard.is_asked)


def _judge_part(name: str, expected: Any, read: Any) -> str:
    if read is None:
        return RIGHT if expected is None else LOST
    if expected is None:
        return WRONG
    if name == "blockers" and read != expected:
        return LOST if set(read) < set(expected) else WRONG
    if (name, expected, read) in (
        ("status", "agreed", "responded"),
        ("pass", True, False),
        ("read as", "read", "explain"),
    ):
        return LOST  # nothing false is taken for said
    return RIGHT if read == expected else WRONG


def missed_bounds(judged: list[Judged]) -> list[str]:
    """Return in words which bounds are missed."""
    clear = [one for one in judged if one.case.is_clear]
    right = sum(one.outcome == RIGHT for one in clear)
    wrong = [one.case.id for one in judged if one.outcome == WRONG]
    unasked = [one.case.id for one in judged if one.is_unasked]
    missed = []
    if wrong:
        missed.append(f"{len(wrong)} read wrong, none may be")
    if right < LEAST_RIGHT * len(clear):
        share = 100 * right / len(clear)
        missed.append(
            f"{share:.1f} % of the clear ones right, {100 * LEAST_RIGHT:.0f} % have to be"
        )
    if unasked:
        missed.append(f"{len(unasked)} unclear ones are not asked about: {', '.join(unasked)}")
    return missed


HEAD = ("kind", "answers", "right", "wrong", "lost", "unclear", "asked again")


def table(judged: list[Judged]) -> list[tuple[str, ...]]:
    """Return a row for each kind, and one for all."""
    rows = [_row(kind, [one for one in judged if one.case.kind == kind]) for kind in KINDS]
    return [HEAD, *rows, _row("all", judged)]


def _row(name: str, judged: list[Judged]) -> tuple[str, ...]:
    unclear = [one for one in judged if not one.case.is_clear]
    counts = [
        len(judged),
        *(sum(one.outcome == outcome for one in judged) for outcome in (RIGHT, WRONG, LOST)),
        len(unclear),
        sum(not one.is_unasked for one in unclear),
    ]
    return (name, *map(str, counts))


def on_terminal(judged: list[Judged]) -> str:
    """Return the table as lines of equal columns, and the answers that were not read right."""
    rows = table(judged)
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEAD))]
    lines = [
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join([*lines, *(f"  {line}" for line in not_right(judged))])


def not_right(judged: list[Judged]) -> list[str]:
    """Return a line for each answer that was not read right, or not asked about."""
    return [
        f"{one.case.id}: {', '.join([*one.parts, *(['not asked again'] * one.is_unasked)])}"
        for one in judged
        if one.outcome != RIGHT or one.is_unasked
    ]


def page(judged: list[Judged]) -> str:
    """Return everything that `ANSWERS.md` says."""
    head, *rows = (f"| {' | '.join(row)} |" for row in table(judged))
    missed = missed_bounds(judged)
    parts = [
        "# How answers are understood",
        "Made by `make bench-answers`: answers in the styles of many language models "
        "(`tests/corpus/`), held against what a careful reader understands.",
        _ABOUT,
        "\n".join([head, "|---|" + "--:|" * (len(HEAD) - 1), *rows]),
        f"Bounds: none wrong, {100 * LEAST_RIGHT:.0f} % of the clear ones right, every unclear one "
        f"asked again. {'MISSED: ' + '; '.join(missed) if missed else 'All kept'}.",
    ]
    if lines := not_right(judged):
        parts += ["## Not read right", "\n".join(f"- {line}" for line in lines)]
    return "\n\n".join(parts) + "\n"


def main(folder: Path = CORPUS) -> int:
    """Read the corpus, print the table, keep it; return the exit code."""
    judged = [judge(case, hear(case)) for case in read_corpus(folder)]
    print(on_terminal(judged))
    KEPT.write_text(page(judged), encoding="utf-8")
    missed = missed_bounds(judged)
    for one in missed:
        print(f"MISSED: {one}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
