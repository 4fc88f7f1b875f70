"""A requirement counts only by tests that ran and passed, and one that is lost is a fault."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import MEMORY, ROOM_BYTES
from tests.coverage_of_requirements import (
    DOCUMENTS,
    HALVES,
    SENTENCES,
    SUITES,
    main,
    read_citations,
    read_record,
    read_table,
    render_report,
    rows_of,
)

HOUSE = Path(__file__).resolve().parent.parent
KNOWN = ["C0-001", "C0-002", "C0-003"]
REQ = "@pytest.mark.req"


def cited(folder: Path, text: str) -> tuple[set[str], list[str]]:
    tests = folder / "tests" / "core"
    tests.mkdir(parents=True)
    (tests / "test_something.py").write_text(f"import pytest\n{text}\n")
    found, faults = read_citations(folder / "tests", KNOWN)
    return {row for one in found if one.counts for row in one.rows}, faults


_OF_THE_HOUSE = (
    *("conftest.py", "coverage_of_requirements.py", "examples.py", "forks.py"),
    "shown_requirements.py",
)


class House:
    """A tree with our tools and a test file of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        tests = root / "tests"
        (tests / "requirements").mkdir(parents=True)
        for name in _OF_THE_HOUSE:
            shutil.copy(HOUSE / "tests" / name, tests / name)
        shutil.copy(HOUSE / "pyproject.toml", root)
        (tests / "requirements" / "ids.txt").write_text("\n".join(KNOWN) + "\n")

    def write(self, text: str) -> None:
        (self.root / "tests" / "test_it.py").write_text(f"import pytest\n\n\n{text}\n")

    def keep(self, *rows: str) -> None:
        text = "".join(f"{row}\n" for row in rows)
        (self.root / "tests" / "requirements" / "covered.txt").write_text(text)

    def kept(self) -> str:
        return (self.root / "tests" / "requirements" / "covered.txt").read_text()

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "pytest", *words]
        return subprocess.run(argv, cwd=self.root, capture_output=True, text=True, check=False)

    def check(self, *words: str) -> int:
        return main(list(words), self.root)

    def passed(self) -> dict[str, list[str]]:
        record = read_record(self.root, "test")
        assert record is not None
        return record.passed


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "house")


# --- what the tests say ------------------------------------------------------------------------


def test_table_of_requirements_holds_each_id_once_and_no_foreign_document():
    table = read_table()

    assert len(table) == len(set(table)) == 635
    assert {row.split("-")[0] for row in table} == set(DOCUMENTS)


@pytest.mark.parametrize(
    "text",
    [
        f'{REQ}("C0-001", "C0-002")\ndef test_a(): assert a',
        f'{REQ}("C0-001")\n{REQ}("C0-002")\ndef test_a(): assert a',
        f'{REQ}("C0-001")\nclass TestA:\n    {REQ}("C0-002")\n    def test_a(self): check(a)',
        'pytestmark = [pytest.mark.req("C0-001"), pytest.mark.req("C0-002")]',
        '@pytest.mark.parametrize("a", [pytest.param(1, marks=pytest.mark.req("C0-001", "C0-002"))'
        "])\ndef test_a(a): assert a",
        'TestA = pytest.mark.req("C0-001", "C0-002")(Machine.TestCase)',
    ],
    ids=["one mark", "two marks", "class", "module", "parameter", "state machine"],
)
def test_citations_are_found_wherever_pytest_takes_a_mark(tmp_path: Path, text: str):
    assert cited(tmp_path, text) == ({"C0-001", "C0-002"}, [])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (f'{REQ}("C0-999")\ndef test_a(): assert a', "there is no requirement C0-999"),
        (f"{REQ}(ROW)\ndef test_a(): assert a", "write the id as a plain string"),
        (f"{REQ}()\ndef test_a(): assert a", "name at least one requirement, and nothing else"),
        (f'{REQ}("C0-001")\ndef helper(): assert a', "this mark is on no test"),
        (
            f'class Rules:\n    {REQ}("C0-001")\n    def test_a(self): assert a',
            "this mark is on no test",
        ),
    ],
    ids=["unknown", "computed", "empty", "helper", "class that is not collected"],
)
def test_wrong_citation_is_a_fault_that_names_its_line(tmp_path: Path, text: str, fault: str):
    shown, faults = cited(tmp_path, text)

    line = 1 + next(n for n, part in enumerate(text.splitlines(), 1) if "mark.req" in part)
    assert faults == [f"tests/core/test_something.py:{line}: {fault}"]
    assert not shown


@pytest.mark.parametrize(
    "mark", ["skip", "skip('later')", "xfail(reason='later')", "skipif(True, reason='later')"]
)
def test_a_test_that_does_not_have_to_pass_shows_nothing(tmp_path: Path, mark: str):
    text = f'{REQ}("C0-001")\n@pytest.mark.{mark}\ndef test_a(): assert a'
    assert cited(tmp_path, text) == (set(), [])


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "...",
        '"""Words."""',
        "assert True",
        "a = 1",
        "return\n    assert a",
        "assert a\n    pytest.skip('later')",
    ],
)
def test_a_test_without_anything_that_can_fail_shows_nothing(tmp_path: Path, body: str):
    assert cited(tmp_path, f'{REQ}("C0-001")\ndef test_a():\n    {body}') == (set(), [])


@pytest.mark.parametrize(
    "later",
    ["def test_a(): assert b", "test_a = None", "from other import test_a", "del test_a"],
)
def test_a_test_that_is_hidden_by_a_later_name_is_a_fault(tmp_path: Path, later: str):
    _, faults = cited(tmp_path, f"def test_a(): assert a\n{later}")

    assert faults == ["tests/core/test_something.py:2: test_a is hidden by line 3 and never runs"]


def test_a_citation_in_a_file_without_tests_is_a_fault(tmp_path: Path):
    (tmp_path / "tests").mkdir()
    text = f'import pytest\n{REQ}("C0-001")\ndef test_a(): assert a\n'
    (tmp_path / "tests" / "helpers_of_test.py").write_text(text)

    assert read_citations(tmp_path / "tests", KNOWN) == (
        [],
        ["tests/helpers_of_test.py:2: this mark is on no test"],
    )


def test_the_same_name_in_two_classes_hides_nothing(tmp_path: Path):
    one = "    def test_a(self): assert a"
    assert cited(tmp_path, f"class TestA:\n{one}\nclass TestB:\n{one}")[1] == []


def test_a_row_of_two_halves_needs_a_test_of_each():
    row, place = next(iter(HALVES.items()))

    assert rows_of([("tests/cli/test_a.py::test_a", [row])]) == set()
    assert rows_of([(f"{place}test_a.py::test_a", [row])]) == set()
    assert rows_of([("tests/cli/test_a.py::a", [row]), (f"{place}test_a.py::b", [row])]) == {row}


def test_a_row_of_several_sentences_needs_a_test_of_each():
    row, count = next(iter(SENTENCES.items()))
    cited_one = [("tests/test_a.py::test_a", [f"{row}.1"])]
    cited_all = [("tests/test_a.py::test_a", [f"{row}.{one}"]) for one in range(1, count + 1)]

    assert rows_of(cited_one) == set()
    assert rows_of(cited_all) == {row}


def test_report_counts_each_document_and_names_the_missing_rows_when_asked():
    report = render_report(["C0-001", "C0-002", "XC-001"], {"C0-002"}, verbose=True)

    assert "  C0    1 /   2  000 council conversation\n      missing: C0-001\n" in report
    assert "  XC    0 /   1  across the documents\n      missing: XC-001\n" in report
    assert "missing" not in render_report(["C0-001"], set(), verbose=False)


@pytest.mark.long
def test_every_citation_of_our_tests_is_in_the_table():
    assert read_citations(HOUSE / "tests", read_table())[1] == []


# --- what a run shows --------------------------------------------------------------------------


@pytest.mark.parametrize("processes", ["0", "2"])
def test_only_what_ran_and_passed_is_on_record(house: House, processes: str):
    house.write(
        f"""{REQ}("C0-001")
@pytest.mark.parametrize("a", [1, pytest.param(2, marks=pytest.mark.req("C0-002"))])
def test_passes(a):
    assert a == 1


{REQ}("C0-003")
def test_skips_itself():
    pytest.skip("not today")
    assert True


@pytest.fixture
def broken():
    yield
    raise OSError


{REQ}("C0-003")
def test_cannot_be_cleaned_up(broken):
    assert 1 + 1 == 2"""
    )

    done = house.run("--suite", "test", "-n", processes)

    assert done.returncode == 1, done.stdout
    assert house.passed() == {"tests/test_it.py::test_passes[1]": ["C0-001"]}


def test_the_quick_suite_works_in_memory_where_there_is_room_and_leaves_nothing(house: House):
    has_room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 2 * ROOM_BYTES
    if not has_room or os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
        pytest.skip("no room in memory")
    where = house.root / "where"
    house.write(f"def test_a(tmp_path):\n    open({str(where)!r}, 'w').write(str(tmp_path))")

    assert house.run("--suite", "test", "-n", "1").returncode == 0

    used = Path(where.read_text())
    assert used.is_relative_to(MEMORY)
    assert not (MEMORY / used.relative_to(MEMORY).parts[0]).exists()
    assert house.run("--suite", "long").returncode == 0
    assert not Path(where.read_text()).is_relative_to(MEMORY)


def test_what_failed_and_passes_when_it_is_tried_again_adds_to_the_record(house: House):
    state = house.root / "build" / "state"
    house.write(
        f'{REQ}("C0-001")\ndef test_passes():\n    assert str(1)\n\n\n'
        f'{REQ}("C0-002")\ndef test_waits():\n    assert open({str(state)!r}).read()\n\n\n'
        f'{REQ}("C0-003")\ndef test_fails():\n    assert str()'
    )

    first = house.run("--suite", "test")
    state.write_text("it is there now")
    again = house.run("--suite", "test", "--lf", "--lfnf=none")

    assert (first.returncode, again.returncode) == (1, 1)
    assert "1 failed, 1 passed" in again.stdout
    assert rows_of(house.passed().items()) == {"C0-001", "C0-002"}


def test_a_run_of_a_part_keeps_nothing(house: House):
    house.write(f'{REQ}("C0-001")\ndef test_a():\n    assert str(1)')

    assert house.run().returncode == 0
    assert read_record(house.root, "test") is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            f'{REQ}("C0-001")\ndef test_a():\n    pytest.skip("no")\n    assert a',
            " (its tests were",
        ),
        (f'{REQ}("C0-001")\ndef test_a():\n    pass', ""),
        (f'{REQ}("C0-002")\ndef test_a():\n    assert str(1)', ""),
    ],
    ids=["skipped while it runs", "empty", "cites another"],
)
def test_a_row_of_the_list_that_no_test_showed_is_lost(house: House, capsys, text: str, why: str):
    house.keep("C0-001")
    house.write(text)
    assert house.run("--suite", "test").returncode == 0

    for words in ([], ["--after", "test"]):
        assert house.check(*words) == 1
        assert f"C0-001 is no longer covered by `make test`{why}" in capsys.readouterr().err


def test_before_the_tests_ran_a_row_counts_as_cited_and_the_report_says_so(house: House, capsys):
    house.keep("C0-001")
    house.write(f'{REQ}("C0-001")\ndef test_a():\n    assert str(1)')

    assert house.check() == 0
    said = capsys.readouterr().out
    assert "Requirements that a test cites" in said
    assert "`make test` has not run on these files: 1 rows are cited, not shown" in said

    house.write(f'@pytest.mark.skip\n{REQ}("C0-001")\ndef test_a():\n    assert str(1)')
    assert house.check() == 1


def test_a_record_holds_for_the_files_it_was_made_with_alone(house: House, capsys):
    house.write(f'{REQ}("C0-001")\ndef test_a():\n    assert str(1)')
    assert house.run("--suite", "test").returncode == 0
    assert house.check("--keep") == 0
    assert "Requirements that a test shows" in capsys.readouterr().out
    assert house.kept() == "C0-001\n"
    assert house.check() == 0
    assert "Requirements that a test shows" in capsys.readouterr().out

    house.write(f'{REQ}("C0-001")\ndef test_a():\n    assert str(2)')

    assert house.check() == 0
    assert "Requirements that a test cites" in capsys.readouterr().out


@pytest.mark.parametrize("suite", ["long", "slow"])
def test_a_row_of_another_suite_is_not_called_lost(house: House, capsys, suite: str):
    house.keep("C0-001", f"C0-002 {suite}")
    other = f'@pytest.mark.{suite}\n{REQ}("C0-002")\ndef test_b():\n    assert str(1)'
    house.write(f'{REQ}("C0-001")\ndef test_a():\n    assert str(1)\n\n\n{other}')
    assert house.run("--suite", "test", "-m", f"not {suite}").returncode == 0

    assert house.check("--after", "test") == 0
    assert house.check() == 0
    assert f"`make {suite}` has not run on these files: 1 rows" in capsys.readouterr().out
    assert house.run("--suite", suite, "-m", suite).returncode == 0
    assert house.check() == 0
    assert "has not run on these files: 1" not in capsys.readouterr().out


def test_a_run_without_a_record_cannot_be_judged(house: House, capsys):
    house.write("")

    assert house.check("--after", "test") == 1
    assert "left no record" in capsys.readouterr().err


def test_each_make_target_of_tests_keeps_a_record_and_judges_it():
    made = (HOUSE / "Makefile").read_text(encoding="utf-8")

    for suite in SUITES:
        recipe = made.partition(f"\n{suite}: ")[2].partition("\n\n")[0]
        assert f"--suite {suite}\n" in recipe
        assert f"--after {suite}" in recipe
