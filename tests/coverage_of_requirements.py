"""Which requirement rows the tests show: `python tests/coverage_of_requirements.py [-v]`.

A row counts when a test cites it with `@pytest.mark.req("C0-071")`. The tests
are read, not run; a test that is skipped or expected to fail shows nothing.
The table of all rows is `tests/requirements/ids.txt`. With -v the rows that no
test cites are listed. The exit code is 1 when a citation is wrong: an id that
is not in the table, an argument that is no plain string, or a mark where
pytest finds no test.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent
TABLE = TESTS / "requirements" / "ids.txt"
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
}


class Citations(ast.NodeVisitor):
    """The citations of one test file: the ids that tests show, and the faults found."""

    def __init__(self, where: str, known: set[str]) -> None:
        self.where = where
        self.known = known
        self.ids: set[str] = set()
        self.faults: list[str] = []
        self._seen: set[ast.AST] = set()
        self._run = True

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name.startswith("test"):
            self._take(node.decorator_list)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - a name of ast

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if not node.name.startswith("Test"):
            return
        outer = self._run
        self._run = self._take(node.decorator_list)
        self.generic_visit(node)
        self._run = outer

    def visit_Assign(self, node: ast.Assign) -> None:
        for name in node.targets:
            if isinstance(name, ast.Name) and (
                name.id == "pytestmark" or name.id.startswith("Test")
            ):
                self._take([node.value])

    def report_misplaced(self, tree: ast.AST) -> None:
        """Add a fault for each mark that stands where pytest finds no test."""
        for node in ast.walk(tree):
            if _is_mark(node, "req") and node not in self._seen:
                self._fault(node, "this mark is on no test")

    def _take(self, holders: list[ast.expr]) -> bool:
        """Count the marks below `holders`; return False when these tests are not run."""
        nodes = [node for holder in holders for node in ast.walk(holder)]
        shown = self._run and not any(
            _is_mark(holder, "skip") or _is_mark(holder, "xfail") for holder in _each(holders)
        )
        for node in nodes:
            if _is_mark(node, "req"):
                self._seen.add(node)
                self._read(node, shown=shown)
        return shown

    def _read(self, mark: ast.Call, *, shown: bool) -> None:
        if not mark.args or mark.keywords:
            self._fault(mark, "name at least one requirement, and nothing else")
        for argument in mark.args:
            if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                self._fault(mark, "write the id as a plain string")
            elif argument.value not in self.known:
                self._fault(mark, f"there is no requirement {argument.value}")
            elif shown:
                self.ids.add(argument.value)

    def _fault(self, node: ast.AST, text: str) -> None:
        self.faults.append(f"{self.where}:{getattr(node, 'lineno', 0)}: {text}")


def _each(holders: list[ast.expr]) -> list[ast.expr]:
    flat: list[ast.expr] = []
    for holder in holders:
        flat.extend(holder.elts if isinstance(holder, ast.List | ast.Tuple) else [holder])
    return flat


def _is_mark(node: ast.AST, name: str) -> bool:
    """Tell whether `node` is `….mark.<name>(…)`; `skip` and `xfail` also stand without a call."""
    target = node.func if isinstance(node, ast.Call) else node
    return (
        (isinstance(node, ast.Call) or name != "req")
        and isinstance(target, ast.Attribute)
        and target.attr == name
        and isinstance(target.value, ast.Attribute)
        and target.value.attr == "mark"
    )


def read_table(path: Path = TABLE) -> list[str]:
    """Return every requirement id, in the order of the table."""
    return path.read_text(encoding="utf-8").split()


def read_citations(tests: Path, known: list[str]) -> tuple[set[str], list[str]]:
    """Return the ids that the tests below a folder show, and the wrong citations."""
    ids: set[str] = set()
    faults: list[str] = []
    for path in sorted(tests.rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        citations = Citations(path.relative_to(tests.parent).as_posix(), set(known))
        citations.visit(tree)
        citations.report_misplaced(tree)
        ids |= citations.ids
        faults += citations.faults
    return ids, faults


def render_report(known: list[str], shown: set[str], *, verbose: bool) -> str:
    """Return the table of covered / all per document; with `verbose` the missing rows too."""
    lines = ["Requirements that a test shows"]
    for prefix, title in DOCUMENTS.items():
        rows = [row for row in known if row.startswith(f"{prefix}-")]
        missing = [row for row in rows if row not in shown]
        lines.append(f"  {prefix}  {len(rows) - len(missing):3} / {len(rows):3}  {title}")
        if verbose and missing:
            lines.append(f"      missing: {' '.join(missing)}")
    lines.append(f"  all {len(shown):3} / {len(known):3}")
    return "\n".join(lines)


def main(words: list[str]) -> int:
    """Print the report and the faults; return the exit code."""
    known = read_table()
    shown, faults = read_citations(TESTS, known)
    print(render_report(known, shown, verbose="-v" in words))
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
