"""Which requirement rows the tests show: `python tests/coverage_of_requirements.py [-v]`.

A row counts when a test that cites it with `@pytest.mark.req("C0-071")` ran
and passed. `make test`, `make long`, `make slow`, `make faults`, `make engine` and `make e2e` each
keep a record of that (`tests/shown_requirements.py`), which holds for the files
it was made with. Without such a record the tests are read: then a row is only *cited*,
and the report says so. A test that is skipped, expected to fail, empty or
hidden by a later one of its name never counts.

The table of all rows is `tests/requirements/ids.txt`, the list of those that
are covered `tests/requirements/covered.txt`: a row that stands there and is
covered no more is a fault, and so is a wrong citation. The exit code is then 1.

    -v             list the rows that are missing
    --after SUITE  judge the run of that suite, which just ended, and no other
    --keep         add newly covered rows to the list
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

HOUSE = Path(__file__).resolve().parent.parent
# The quickest first; a row is kept under the first one that covers it.
SUITES = ("test", "long", "engine", "slow", "faults", "e2e")
DOCUMENTS = {
    "C0": "000 council conversation",
    "DG": "001 turn manager",
    "PR": "002 messages",
    "DL": "003 deliberation",
    "P8": "004 delegation",
    "XC": "across the documents",
    "IO": "other programs",
    "HR": "heard right",
    "OP": "a week of use",
    "SC": "security",
    "CL": "clients",
    "EN": "many machines",
    "MO": "what nobody has",
    "FW": "the first week",
    "FI": "the field",
    "TB": "packages and plugins",
}
# Rows of two halves: what a test below this folder shows, and what any other test shows.
HALVES = {
    "P8-005": "tests/web/",
    "DL-056": "tests/web/",
    "DL-073": "tests/web/",
    "DG-137": "tests/web/",
}
# Rows that promise several things, a sentence each: they count when every sentence is cited, the
# first of FW-002 as `FW-002.1`.
SENTENCES = {
    "FW-002": 2,
    "FW-003": 2,
    "FW-004": 2,
    "FW-005": 3,
    "FW-006": 2,
    "FW-007": 2,
    "FW-008": 2,
    "FW-012": 2,
}
_LIST = "tests/requirements/covered.txt"
_SOURCES = ("council", "tests", "benchmarks", "bin", "pyproject.toml", "constraints.txt")

# The name of a row, and the suite that covers it.
Covered = dict[str, str]


@dataclass
class Citation:
    """One test that cites rows: its node id without parameters, its suite, the rows."""

    test: str
    suite: str
    rows: set[str] = field(default_factory=set)
    counts: bool = True


class Citations(ast.NodeVisitor):
    """The citations of one test file, and the faults found in them."""

    def __init__(self, where: str, known: set[str]) -> None:
        self.where = where
        self.known = known
        self.found: list[Citation] = []
        self.faults: list[str] = []
        self._seen: set[ast.AST] = set()
        # What encloses the node that is visited: names, marks, whether it is run.
        self._around: list[str] = []
        self._suite = SUITES[0]
        self._run = True

    def visit_Module(self, node: ast.Module) -> None:
        self._visit_body(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if not node.name.startswith("Test"):
            return
        outer = self._suite, self._run
        self._around.append(node.name)
        self._take(node.decorator_list)
        self._visit_body(node)
        self._around.pop()
        self._suite, self._run = outer

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if not node.name.startswith("test"):
            return
        outer = self._suite, self._run
        self._around.append(node.name)
        self._take(node.decorator_list)
        if is_empty(node):
            for one in self.found:
                one.counts = one.counts and one.test != self._name()
        self._around.pop()
        self._suite, self._run = outer

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - a name of ast

    def visit_Assign(self, node: ast.Assign) -> None:
        for name in node.targets:
            if isinstance(name, ast.Name) and name.id.startswith("Test"):
                outer = self._suite, self._run
                self._around.append(name.id)
                self._take([node.value])
                self._around.pop()
                self._suite, self._run = outer

    def report_misplaced(self, tree: ast.AST) -> None:
        """Add a fault for each mark that stands where pytest finds no test."""
        for node in ast.walk(tree):
            if _is_mark(node, "req") and node not in self._seen:
                self._fault(node, "this mark is on no test")

    def _visit_body(self, node: ast.Module | ast.ClassDef) -> None:
        for one in node.body:
            if isinstance(one, ast.Assign) and any(
                isinstance(name, ast.Name) and name.id == "pytestmark" for name in one.targets
            ):
                self._take([one.value])
        self._report_hidden(node)
        self.generic_visit(node)

    def _report_hidden(self, node: ast.Module | ast.ClassDef) -> None:
        """Add a fault for each test behind which another thing takes its name."""
        tests: dict[str, ast.AST] = {}
        for one in node.body:
            for name in _names_bound(one):
                hidden = tests.pop(name, None)
                if hidden is not None:
                    self._fault(hidden, f"{name} is hidden by line {one.lineno} and never runs")
                kind = "Test" if isinstance(one, ast.ClassDef) else "test"
                is_test = isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                if is_test and name.startswith(kind):
                    tests[name] = one

    def _name(self) -> str:
        return "::".join([self.where, *self._around])

    def _take(self, holders: list[ast.expr]) -> None:
        """Take in the marks below `holders`: they hold for what is visited now."""
        each = _each(holders)
        if any(_is_skipped(one) for one in each):
            self._run = False
        for suite in SUITES[1:]:
            if any(_is_mark(one, suite) for one in each):
                self._suite = suite
        citation = Citation(self._name(), self._suite, counts=self._run)
        self.found.append(citation)
        for node in [node for holder in holders for node in ast.walk(holder)]:
            if _is_mark(node, "req"):
                self._seen.add(node)
                self._read(node, citation)

    def _read(self, mark: ast.Call, citation: Citation) -> None:
        if not mark.args or mark.keywords:
            self._fault(mark, "name at least one requirement, and nothing else")
        for argument in mark.args:
            if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                self._fault(mark, "write the id as a plain string")
            elif argument.value not in self.known:
                self._fault(mark, f"there is no requirement {argument.value}")
            elif argument.value in SENTENCES:
                self._fault(mark, f"name the sentence, such as {argument.value}.1")
            else:
                citation.rows.add(argument.value)

    def _fault(self, node: ast.AST, text: str) -> None:
        self.faults.append(f"{self.where}:{getattr(node, 'lineno', 0)}: {text}")


def is_empty(test: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return true if a test cannot fail by what it reads, or always skips itself.

    It can fail when, before a `return` of its own, it asserts something that
    is no constant, raises, or calls something that may do so.
    """
    body: list[ast.stmt] = []
    for one in test.body:
        if isinstance(one, ast.Return):
            break
        if isinstance(one, ast.Expr) and _ends_unpassed(one.value):
            return True
        body.append(one)
    return not any(
        isinstance(node, ast.Call | ast.Raise)
        or (isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant))
        for one in body
        for node in ast.walk(one)
    )


def _ends_unpassed(node: ast.expr) -> bool:
    """Return true for `pytest.skip(…)` and `pytest.xfail(…)`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("skip", "xfail")
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "pytest"
    )


def _is_skipped(mark: ast.expr) -> bool:
    """Return true if a mark keeps a test from having to pass, on every machine."""
    always = (
        _is_mark(mark, "skipif")
        and isinstance(mark, ast.Call)
        and any(isinstance(one, ast.Constant) and one.value for one in mark.args)
    )
    return always or _is_mark(mark, "skip") or _is_mark(mark, "xfail")


def _names_bound(node: ast.stmt) -> list[str]:
    """Return the names that a statement at the outermost level gives to something."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [one.id for one in node.targets if isinstance(one, ast.Name)]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [one.asname or one.name for one in node.names]
    if isinstance(node, ast.Delete):
        return [one.id for one in node.targets if isinstance(one, ast.Name)]
    return []


def _each(holders: list[ast.expr]) -> list[ast.expr]:
    flat: list[ast.expr] = []
    for holder in holders:
        flat.extend(holder.elts if isinstance(holder, ast.List | ast.Tuple) else [holder])
    return flat


def _is_mark(node: ast.AST, name: str) -> bool:
    """Return true if `node` is `….mark.<name>(…)`; all but `req` also stand without a call."""
    target = node.func if isinstance(node, ast.Call) else node
    return (
        (isinstance(node, ast.Call) or name != "req")
        and isinstance(target, ast.Attribute)
        and target.attr == name
        and isinstance(target.value, ast.Attribute)
        and target.value.attr == "mark"
    )


def read_table(house: Path = HOUSE) -> list[str]:
    """Return every requirement id, in the order of the table."""
    return (house / "tests" / "requirements" / "ids.txt").read_text(encoding="utf-8").split()


def sentences_of(row: str) -> list[str]:
    """Return the ids by which tests cite the sentences of a row, or the row itself."""
    count = SENTENCES.get(row)
    return [f"{row}.{number}" for number in range(1, count + 1)] if count else [row]


def read_citations(tests: Path, known: list[str]) -> tuple[list[Citation], list[str]]:
    """Return what the tests below a folder cite, and the wrong citations."""
    found: list[Citation] = []
    faults: list[str] = []
    ids = {*known, *(one for row in known for one in sentences_of(row))}
    for path in sorted(tests.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        citations = Citations(path.relative_to(tests.parent).as_posix(), ids)
        if path.name.startswith("test_"):  # the files in which pytest searches for tests
            citations.visit(tree)
        citations.report_misplaced(tree)
        found += citations.found
        faults += citations.faults
    return found, faults


def tree_state(house: Path = HOUSE) -> str:
    """Return a digest of all files on which the outcome of a test may depend."""
    digest = hashlib.sha256()
    for name in _SOURCES:
        top = house / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if "__pycache__" in path.parts or path == house / _LIST or not path.is_file():
                continue
            digest.update(f"{path.relative_to(house).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def record_path(house: Path, suite: str) -> Path:
    """Return where the run of a suite keeps which tests passed and what they cite."""
    return house / "build" / "requirements" / f"{suite}.json"


@dataclass
class Record:
    """What the run of a suite showed: for each test that passed, the rows it cites."""

    tree: str
    passed: dict[str, list[str]]
    skipped: dict[str, list[str]]


def read_record(house: Path, suite: str) -> Record | None:
    """Return the record of the last run of a suite, None if there is none that can be read."""
    try:
        kept = json.loads(record_path(house, suite).read_text(encoding="utf-8"))
        return Record(kept["tree"], kept["passed"], kept["skipped"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def rows_of(tests: Iterable[tuple[str, Iterable[str]]]) -> set[str]:
    """Return the rows that tests show; each half, and each sentence, needs a test."""
    places: dict[str, set[bool]] = {}
    for test, rows in tests:
        for row in rows:
            half = HALVES.get(row, "")
            places.setdefault(row, set()).add(bool(half) and test.startswith(half))
    shown = {row for row, sides in places.items() if row not in HALVES or len(sides) == 2}
    whole = {row for row in SENTENCES if shown.issuperset(sentences_of(row))}
    return {row for row in shown if row.partition(".")[0] not in SENTENCES} | whole


def _counting(record: Record, citations: list[Citation]) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield the tests of a record that count, with their rows."""
    never = {one.test for one in citations if not one.counts}
    for test, rows in record.passed.items():
        if test.partition("[")[0] not in never:
            yield test, rows


def read_list(house: Path) -> Covered:
    """Return the rows that were covered when the list was kept, each with its suite."""
    path = house / _LIST
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {
        row: "".join(suite) or SUITES[0]
        for row, *suite in (line.split() for line in lines if line.strip())
    }


def write_list(house: Path, known: list[str], covered: Covered) -> None:
    """Keep the list: a row a line, with its suite where `make test` does not cover it."""
    lines = [
        row if covered[row] == SUITES[0] else f"{row} {covered[row]}"
        for row in known
        if row in covered
    ]
    (house / _LIST).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def render_report(
    known: list[str], covered: Iterable[str], *, verbose: bool, verb: str = "shows"
) -> str:
    """Return the table of covered / all per document; with `verbose` the missing rows too."""
    covered = set(covered)
    lines = [f"Requirements that a test {verb}"]
    for prefix, title in DOCUMENTS.items():
        rows = [row for row in known if row.startswith(f"{prefix}-")]
        missing = [row for row in rows if row not in covered]
        lines.append(f"  {prefix}  {len(rows) - len(missing):3} / {len(rows):3}  {title}")
        if verbose and missing:
            lines.append(f"      missing: {' '.join(missing)}")
    lines.append(f"  all {len(covered):3} / {len(known):3}")
    return "\n".join(lines)


def lost_rows(kept: Covered, covered: dict[str, set[str]]) -> list[str]:
    """Return the rows of the list that neither their suite nor a quicker one covers."""
    return [
        row
        for row, suite in kept.items()
        if not any(row in covered[one] for one in SUITES[: SUITES.index(suite) + 1])
    ]


def new_rows(kept: Covered, covered: dict[str, set[str]]) -> Covered:
    """Return the rows that the list lacks, or has under a suite that is not the quickest."""
    quickest = {row: suite for suite in reversed(SUITES) for row in covered[suite]}
    return {
        row: suite
        for row, suite in quickest.items()
        if kept.get(row) not in (suite, *before(suite))
    }


def before(suite: str) -> tuple[str, ...]:
    """Return the suites that are quicker than one."""
    return SUITES[: SUITES.index(suite)]


def main(words: list[str], house: Path = HOUSE) -> int:
    """Print the report and the faults; return the exit code."""
    parser = argparse.ArgumentParser(description="Which requirement rows the tests show.")
    parser.add_argument("-v", "--verbose", action="store_true", help="list the missing rows")
    parser.add_argument("--after", choices=SUITES, help="judge the run that just ended")
    parser.add_argument("--keep", action="store_true", help="add new rows to the list")
    options = parser.parse_args(words)
    known, kept = read_table(house), read_list(house)
    citations, faults = read_citations(house / "tests", known)
    faults += [f"{_LIST}: there is no requirement {row}" for row in kept if row not in known]
    tree = tree_state(house)
    records: dict[str, Record] = {}
    for suite in SUITES:
        record = read_record(house, suite)
        if record and (suite == options.after or record.tree == tree):
            records[suite] = record
    if options.after and options.after not in records:
        print(f"`make {options.after}` left no record of what passed", file=sys.stderr)
        return 1

    tests = {
        suite: list(
            _counting(records[suite], citations) if suite in records else _cited(citations, suite)
        )
        for suite in SUITES
    }
    covered = {suite: rows_of(found) for suite, found in tests.items()}
    # The halves of a row may stand in two suites.
    covered[SUITES[-1]] |= rows_of([one for found in tests.values() for one in found])
    verb = "shows" if SUITES[0] in records else "cites"
    everything = set[str]().union(*covered.values())
    print(render_report(known, everything, verbose=options.verbose, verb=verb))
    for suite in SUITES:
        if suite not in records:
            rows = len(covered[suite].difference(*(covered[one] for one in before(suite))))
            print(f"`make {suite}` has not run on these files: {rows} rows are cited, not shown")

    lost = [row for row in lost_rows(kept, covered) if options.after in (None, kept[row])]
    for row in lost:
        record = records.get(kept[row])
        is_skipped = record and any(row in rows for rows in record.skipped.values())
        if is_skipped and kept[row] in ("faults", "e2e"):
            print(f"{row} was not tried: what its tests need is missing on this machine")
        else:
            why = " (its tests were skipped)" if is_skipped else ""
            faults.append(f"{_LIST}: {row} is no longer covered by `make {kept[row]}`{why}")
    new = new_rows(kept, covered)
    if new and options.keep:
        write_list(house, known, {**kept, **new})
    elif new:
        print(f"Not in {_LIST} yet (--keep adds them): {_named(new)}")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


def _cited(citations: list[Citation], suite: str) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield the tests of a suite that count as far as one can read, with their rows."""
    for one in citations:
        if one.counts and one.suite == suite:
            yield one.test, one.rows


def _named(rows: Iterable[str]) -> str:
    """Return rows in a line: all of a few, else how many of each document."""
    rows = sorted(rows)
    if len(rows) <= 12:
        return " ".join(rows)
    counts = Counter(row.partition("-")[0] for row in rows)
    return ", ".join(f"{count} of {prefix}" for prefix, count in counts.items())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
