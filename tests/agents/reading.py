"""What the agents of the second scenario have in common: reading a prompt, tables, dates.

No agent itself. Nothing here knows a particular brief; it knows the marks of
a prompt and how a table of Markdown is drawn.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import date, timedelta
from typing import NamedTuple

PHASE = os.environ.get("COUNCIL_PHASE", "COLLECT")
ME = os.environ.get("COUNCIL_AGENT", "nobody")


class Said(NamedTuple):
    """One contribution as it stands in the prompt."""

    agent: str
    phase: str
    status: str
    text: str

    def line(self, start: str) -> str:
        """Return the first line that begins so, "" if there is none."""
        return next((one for one in self.text.splitlines() if one.startswith(start)), "")

    @property
    def option(self) -> str:
        """Return the option of its position line."""
        found = re.match(r"Position: option ([A-Z])\b", self.line("Position: "))
        return found[1] if found else ""


class Table(NamedTuple):
    """One table of the brief: the header, and the rows by their first cell."""

    header: list[str]
    rows: dict[str, list[str]]


class Prompt:
    """The prompt on standard input, taken apart by the marks drawn for it."""

    def __init__(self, text: str) -> None:
        mark = re.search(r"\[\[([0-9a-f]{8,}) begin brief\]\]", text)
        boundary = mark[1] if mark else "none"
        self.brief = self._between(text, f"[[{boundary} begin brief]]", f"[[{boundary} end brief]]")
        self.said: list[Said] = []
        opening = rf"^\[\[{boundary} begin (\d+-\S+) \| (.*)\]\]$"
        for found in re.finditer(opening, text, re.MULTILINE):
            parts = [part.strip() for part in found[2].split("|")]
            who = re.search(r"\(@([a-z0-9_-]+)\)", parts[0])
            agent = who[1] if who else ME
            body = text[found.end() + 1 : text.index(f"[[{boundary} end {found[1]}]]", found.end())]
            body = body.split(f"[[{boundary} quotations in")[0]
            self.said.append(Said(agent, parts[1].split(",")[0], parts[2], body.strip("\n")))

    def others(self, phase: str) -> list[Said]:
        return [one for one in self.said if one.agent != ME and one.phase == phase]

    def table(self, first: str) -> Table:
        """Return the table whose first column has this title."""
        lines = iter(self.brief.splitlines())
        for line in lines:
            header = cells(line)
            if header and header[0] == first:
                next(lines)
                rows = {}
                for row in lines:
                    if not row.startswith("|"):
                        break
                    rows[cells(row)[0]] = cells(row)[1:]
                return Table(header[1:], rows)
        raise SystemExit(f"the brief holds no table of {first}")

    def amount(self, pattern: str) -> int:
        """Return the number that the first group of a pattern finds in the brief."""
        found = re.search(pattern, self.brief)
        if not found:
            raise SystemExit(f"the brief does not say {pattern}")
        return number(found[1])

    def day(self, pattern: str) -> date:
        found = re.search(pattern + r"\D{0,20}(\d{4}-\d\d-\d\d)", self.brief)
        if not found:
            raise SystemExit(f"the brief has no date for {pattern}")
        return date.fromisoformat(found[1])

    @staticmethod
    def _between(text: str, start: str, end: str) -> str:
        return text.split(start, 1)[1].split(end, 1)[0] if start in text else ""


class Figures:
    """What can be computed from a brief that has tables of costs, risks, steps and limits."""

    def __init__(self, prompt: Prompt) -> None:
        costs = prompt.table("cost")
        self.options = costs.header
        self.base = {
            one: sum(number(row[at]) for row in costs.rows.values())
            for at, one in enumerate(self.options)
        }
        self.risks: dict[str, list[tuple[str, float, int, int]]] = {o: [] for o in self.options}
        for name, (option, chance, cost, weeks) in prompt.table("risk").rows.items():
            self.risks[option].append((name, number(chance) / 100, number(cost), number(weeks)))
        steps = prompt.table("step")
        self.weeks = {
            one: sum(number(row[at]) for row in steps.rows.values())
            for at, one in enumerate(steps.header)
        }
        self.ceiling = prompt.amount(r"ceiling\D*([\d,]+)")
        self.extension = prompt.amount(r"extension of \w+ months for ([\d,]+)")
        self.order_by = prompt.day("to be ordered by")
        self.start = prompt.day("can start on")
        self.ends = prompt.day("maintenance of the old system ends on")

    def weighted(self, option: str) -> int:
        return self.base[option] + round(sum(p * c for _, p, c, _ in self.risks[option]))

    def worst(self, option: str) -> int:
        return self.base[option] + sum(c for _, _, c, _ in self.risks[option])

    def done(self, option: str, *, late: bool = False) -> date:
        more = sum(w for *_, w in self.risks[option]) if late else 0
        return self.start + timedelta(weeks=self.weeks[option] + more)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if "|" in line else []


def number(text: str) -> int:
    return int(re.sub(r"[^\d]", "", text))


def quote(agent: str, line: str, answer: str) -> str:
    """Return one point: whom it answers, the exact words, what is to be said to them."""
    return f"@{agent}\n> {line}\n\n{answer}"


def prompt() -> Prompt:
    return Prompt(sys.stdin.read())


def speak(*paragraphs: str, status: str = "responded") -> None:
    """Say it: by `council respond` where a status is to go with it, else on standard output."""
    text = "\n\n".join(part for part in paragraphs if part) + "\n"
    if "--tool" not in sys.argv:
        sys.stdout.write(text)
        return
    done = subprocess.run(
        ["council", "respond", "-", "--status", status], input=text.encode(), check=False
    )
    sys.exit(done.returncode)
