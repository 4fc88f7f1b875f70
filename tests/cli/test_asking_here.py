"""Questions that are asked right where a person waits for an answer."""

from __future__ import annotations

import os
import pty
import subprocess
import time

import pytest

from council.core.errors import LateAnswerError
from council.operations.protocol.asking import Asked, answer_to, choose
from tests.scenarios.office import Office

WAITS = ("msg", "send", "--user", "Paint it", "--caps", "paint", "--wait")


@pytest.fixture
def office(council) -> Office:
    hired = Office(council)
    hired.hire(painter=(["asks", "Which?", "red,dark blue"], "paint"))
    return hired


class Screen:
    """A terminal at which a command runs."""

    def __init__(self, office: Office, *words: str) -> None:
        self.ours, theirs = pty.openpty()
        self.running = subprocess.Popen(
            office.council.argv(*words),
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
            cwd=office.root,
            env=office.council.env(),
            text=True,
        )
        os.close(theirs)
        self.seen = ""

    def until(self, words: str) -> str:
        """Read what is shown until these words come; return all that came before them."""
        while words not in self.seen:
            self.seen += os.read(self.ours, 4096).decode()
        before, _, self.seen = self.seen.partition(words)
        return before

    def types(self, line: str) -> None:
        os.write(self.ours, line.encode())

    def ends(self) -> tuple[int, str]:
        said, _ = self.running.communicate(timeout=120)
        os.close(self.ours)
        return self.running.returncode, said


@pytest.mark.req("OP-004", "OP-007", "PR-577")
@pytest.mark.parametrize("given", ["2", "Dark Blue"])
def test_a_question_is_asked_where_somebody_waits_and_the_reply_is_taken_there(office, given):
    screen = Screen(office, *WAITS)
    shown = screen.until("> ")
    assert [line.strip() for line in shown.splitlines()] == [
        *("council: Which?", "1 red", "2 dark blue")
    ]

    screen.types("purple\n")
    assert "no option 'purple" in screen.until("> ")
    screen.types(f"{given}\n")
    screen.until("council: understood: dark blue")

    code, said = screen.ends()
    assert (code, said.split("\n\n")[0]) == (0, "with dark blue")
    assert said.splitlines()[-1] == "S1: done by painter · memory/shared/protocol/answers/S1.md"


@pytest.mark.req("OP-007")
@pytest.mark.parametrize("is_here", [True, False])
def test_the_time_that_a_person_takes_right_there_is_not_waited_away(office, is_here: bool):
    context = office.ask("Paint it", "--caps", "paint")
    office.until(context, lambda one: one["tasks"]["T1"]["questions"])
    began = time.monotonic()

    def put(asked: list[Asked], longest_s: float) -> bool:
        if asked and time.monotonic() > began + 1:
            choose(office.place, asked[0].where, "1")
        time.sleep(min(longest_s, 0.05))
        return is_here

    longest_s = 0.5 if is_here else 0.2
    if is_here:
        assert answer_to(office.place, context, "T1", longest_s, put).text == "with red"
    else:
        with pytest.raises(LateAnswerError):
            answer_to(office.place, context, "T1", longest_s, put)


@pytest.mark.req("OP-007")
def test_what_was_answered_elsewhere_is_not_asked_on(office):
    screen = Screen(office, *WAITS)
    screen.until("> ")
    assert office.council("msg", "answer", "S1", "1").code == 0
    screen.until("this is not asked any more")
    assert screen.ends()[0] == 0


@pytest.mark.req("OP-004")
def test_without_a_terminal_one_line_says_how_to_answer(office):
    done = office.council(*WAITS, "--timeout", "3s")
    lines = [line for line in done.err.splitlines() if "Which?" in line]
    assert lines == [
        "council: Which? 1 red · 2 dark blue (answer with: council say OPTION --to S1/T1)"
    ]
    assert done.code == 7
    assert office.do("msg", "answer", "S1/T1", "2")["answers"] == ["understood: dark blue"]
