"""What the lines of a crontab run, and when: read as cron and `sh` read them, nothing is run.

A line is parsed far enough to say which heartbeat of council it runs, with which program, for
which workspace, and whether it is certain to. What is not understood (`$(…)`, a script of the
user) runs no heartbeat that we know of.

Source: FW-008; crontab(5).
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from council.core.record import Record

_NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
AT_BOOT = "@reboot"
_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_DAYS = "sun mon tue wed thu fri sat"
_NAMES: tuple[dict[str, int], ...] = (
    *({}, {}, {}),
    {name: at for at, name in enumerate(_MONTHS.split(" "), 1)},
    {name: at for at, name in enumerate(_DAYS.split(" "))},
)
_MOST_DAYS = 400
_VARIABLE = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z_]\w*))\s*=\s*(.*?)\s*$""")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_REFERENCE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_OPERATOR = re.compile(r"&&|\|\||[;&|()]")
# What may stand before the command that counts, and what surely goes on to the next one.
_BEFORE = "env nice ionice chrt taskset timeout flock nohup setsid time chronic cronic stdbuf exec"
_WRAPPERS = frozenset(_BEFORE.split(" "))
_SHELLS, _GIVEN = frozenset(("sh", "bash", "dash", "zsh", "flock")), ("-c", "-lc", "-ic", "-lic")
_QUIET = ". source : true set export unset cd umask ulimit sleep echo printf date"
_SURE = frozenset(_QUIET.split(" "))
_CHOOSING = "if then elif else while until for case select ! [["
_KEYWORDS = frozenset(_CHOOSING.split(" "))
_NOTED = frozenset(("cd", "export", ".", "source"))
_END = frozenset(("exit", "return"))
# Options of `council heartbeat` without which no whole heartbeat is run.
_NO_BEAT = frozenset(("--dry-run", "--help", "-h", "--version"))


class Line(Record):
    """A line that cron runs.

    Attributes:
        when: The five fields, each as its values; empty for a line that runs at boot.
        command: What `sh` is given.
        variables: What the crontab has set above it.
        is_off: Whether the line is commented out, so that cron does not run it.
        any_day: Whether the day of the month, and that of the week, is left open.
    """

    when: tuple[frozenset[int], ...]
    command: str
    variables: dict[str, str]
    is_off: bool = False
    any_day: tuple[bool, bool] = (True, True)

    def latest(self, now: datetime, count: int) -> datetime | None:
        """Return when it ran for the last but `count` - 1 time, None for never in a year.

        `now` has the zone in which cron reads the line; so has what is returned.
        """
        if not self.when:
            return None
        minutes, hours, days, months, weekdays = self.when
        left = count
        for back in range(_MOST_DAYS):
            day = now - timedelta(days=back)
            of_month, of_week = day.day in days, day.isoweekday() % 7 in weekdays
            fits = of_month and of_week if any(self.any_day) else of_month or of_week
            if day.month not in months or not fits:
                continue
            for hour in sorted(hours, reverse=True):
                for minute in sorted(minutes, reverse=True):
                    at = day.replace(hour=hour, minute=minute, second=0, microsecond=0)
                    left -= at <= now
                    if not left:
                        return at
        return None


class Beat(Record):
    """A heartbeat of council that a command runs.

    Attributes:
        program: The words that start council: its path or name, or those of Python.
        root: The workspace that it names, "" where it names none.
        folder: The directory it works in, "" for that of the shell.
        variables: The variables that are set for it.
        is_certain: Whether it is run whatever happens before.
        reads_more: Whether a file that sets more variables is read before.
    """

    program: list[str]
    root: str = ""
    folder: str = ""
    variables: dict[str, str] = {}
    is_certain: bool = True
    reads_more: bool = False


def parse(text: str) -> list[Line]:
    """Return the lines of a crontab that are well formed, those that are commented out as well."""
    variables: dict[str, str] = {}
    found = []
    for raw in text.splitlines():
        line = raw.strip(" \t")
        is_off = line.startswith("#")
        if setting := None if is_off else _VARIABLE.match(line):
            name = next(filter(None, setting.groups()[:3]), "")
            variables[name] = _unquoted(setting[4])
            continue
        if timed := _timed(line.lstrip("# \t") if is_off else line):
            when, any_day, command = timed
            known = dict(variables)
            found.append(
                Line(when=when, command=command, variables=known, is_off=is_off, any_day=any_day)
            )
    return found


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _timed(line: str) -> tuple[tuple[frozenset[int], ...], tuple[bool, bool], str] | None:
    """Return when a line runs and its command, None where it is no line of a crontab."""
    first, _, rest = line.partition(" ") if " " in line else line.partition("\t")
    if first == AT_BOOT:
        return (), (True, True), _command(rest)
    fields = line.split(None, 5)
    if first in _NAMED:
        fields = [*_NAMED[first].split(), rest]
    if len(fields) < 6:
        return None
    when = [_values(*given) for given in zip(fields, _RANGES, _NAMES, strict=False)]
    known = tuple(one for one in when if one)
    if len(known) < len(_RANGES):
        return None
    any_day = (fields[2].startswith("*"), fields[4].startswith("*"))
    return known, any_day, _command(fields[5])


def _values(field: str, bounds: tuple[int, int], names: Mapping[str, int]) -> frozenset[int]:
    """Return the values of one field, none where it is not one."""
    least, most = bounds
    found: set[int] = set()
    for part in field.lower().split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        start, end = (str(least), str(most)) if span == "*" else (first, last if dash else first)
        if step and not dash and span != "*":
            end = str(most)
        told = [str(names.get(one, one)) for one in (start, end, step or "1")]
        if not all(one.isascii() and one.isdigit() and len(one) < 4 for one in told):
            return frozenset()
        low, high, by = map(int, told)
        if not by or not least <= low <= high <= most:
            return frozenset()
        found.update(range(low, high + 1, by))
    return frozenset(value % 7 for value in found) if most == 7 else frozenset(found)


def _command(text: str) -> str:
    """Return what `sh` is given: a bare percent sign ends it, one behind a backslash is one."""
    ends = re.search(r"(?<!\\)%", text)
    return (text[: ends.start()] if ends else text).replace("\\%", "%").strip()


def beats(command: str, variables: Mapping[str, str]) -> Iterator[Beat]:
    """Return the heartbeats of council that a command of the shell runs.

    Args:
        command: The command, as `sh` gets it.
        variables: The environment of the shell; `$NAME` is known where NAME is in it.
    """
    shell = _Shell(dict(variables))
    for joined, given in _simple_commands(command):
        yield from shell.run(joined, given)
        if shell.has_ended:
            return


class _Shell:
    """What is known of a shell between two of its commands."""

    def __init__(self, known: dict[str, str]) -> None:
        self.known = known
        self.folder = ""
        self.reads_more = False
        self.is_certain = True  # whether the next command is run whatever happened before
        self.is_choosing = False
        self.has_ended = False

    def run(self, joined: str, given: list[str]) -> Iterator[Beat]:
        """Take note of a command; return the heartbeats that it runs.

        `joined` is the operator that stands before it.
        """
        if joined != "&&":
            self.is_certain = joined != "||" and not self.is_choosing
        own = dict(self.known)
        words = _assigned([_expanded(word, self.known) for word in given], own)
        if not words:
            self.known = own
            return
        name = words[0].rpartition("/")[2]
        if name in _KEYWORDS:
            self.is_choosing, self.is_certain = True, False
        elif name in _NOTED:
            self._note(name, words[1:])
        elif inner := _inner(words):
            for one in beats(inner, own):
                yield self._within(one, reads_more=True)
        elif found := _beat(words, own):
            yield self._within(found, reads_more=self.reads_more)
        is_over = name in _END or (name == "exec" and len(words) > 1)
        self.has_ended = is_over and self.is_certain
        # What `&&` joins to another command waits for its success.
        self.is_certain = self.is_certain and name in _SURE

    def _note(self, name: str, words: list[str]) -> None:
        if name == "cd":
            to = words[0] if words else self.known.get("HOME", "")
            self.folder = os.path.join(self.folder, to)
        elif name == "export":
            _assigned(words, self.known)
        else:
            self.reads_more = True

    def _within(self, beat: Beat, *, reads_more: bool) -> Beat:
        beat.folder = os.path.join(self.folder, beat.folder)
        beat.is_certain = beat.is_certain and self.is_certain
        beat.reads_more = reads_more
        return beat


def _inner(words: list[str]) -> str:
    """Return the command that a shell, or `flock`, is given by `-c`; "" where there is none."""
    if words[0].rpartition("/")[2] in _SHELLS:
        at = next((at for at, word in enumerate(words) if word in _GIVEN), len(words))
        return words[at + 1] if at + 1 < len(words) else ""
    return ""


def _simple_commands(command: str) -> Iterator[tuple[str, list[str]]]:
    """Return the simple commands of a command, each with the operator that stands before it."""
    words: list[str] = []
    joined, skips = "", False
    for token in _tokens(command):
        if skips:  # what a redirection names
            skips = False
        elif set(token) <= set("<>&") and set(token) & set("<>"):
            skips = True
            if words and words[-1] in ("0", "1", "2"):
                words.pop()
        elif set(token) <= set(";&|()"):
            for operator in _OPERATOR.findall(token):
                if words:
                    yield joined, words
                    words, joined = [], operator
                elif operator != "(" or joined not in ("&&", "||"):
                    joined = operator
        elif token not in ("{", "}"):
            words.append(token)
    if words:
        yield joined, words


def _tokens(command: str) -> Iterator[str]:
    reader = shlex.shlex(command.replace("\n", ";"), posix=True, punctuation_chars=True)
    reader.whitespace_split, reader.commenters = True, ""
    try:
        for token in reader:
            if token.startswith("#"):
                return
            yield token
    except ValueError:  # a quotation without its end: sh refuses all of it
        yield from (";", "exit", ";")


def _expanded(word: str, known: Mapping[str, str]) -> str:
    if word == "~" or word.startswith("~/"):
        word = known.get("HOME", "~") + word[1:]

    def value(one: re.Match[str]) -> str:
        return known.get(one[1] or one[2], one[0])

    return _REFERENCE.sub(value, word)


def _assigned(words: list[str], known: dict[str, str]) -> list[str]:
    """Take the assignments that words begin with into `known`; return the rest."""
    at = 0
    while at < len(words) and (one := _ASSIGNMENT.fullmatch(words[at])):
        known[one[1]] = one[2]
        at += 1
    return words[at:]


def _beat(words: list[str], variables: dict[str, str]) -> Beat | None:
    """Return the heartbeat of council that a simple command is, None where it is none."""
    at = _program_at(words)
    if at is None:
        return None
    start, end = at
    for word in words[:start]:
        if one := _ASSIGNMENT.fullmatch(word):
            variables[one[1]] = one[2]
    root, names = "", []
    left = iter(words[end:])
    for word in left:
        option, has_value, value = word.partition("=")
        if option == "--root":
            root = value if has_value else next(left, "")
        elif option == "--now":
            return None  # its clock stands still
        elif word in _NO_BEAT:
            return None
        elif not word.startswith("-"):
            names.append(word)
    if names != ["heartbeat"]:
        return None
    return Beat(program=words[start:end], root=root, variables=variables)


def _program_at(words: list[str]) -> tuple[int, int] | None:
    """Return where the words that start council begin and end, None where others are started."""
    base = [word.rpartition("/")[2] for word in words]
    for at, name in enumerate(base):
        if name == "council":
            start, end = at, at + 1
        elif name.startswith("python") and "-m" in words[at:]:
            end = words.index("-m", at) + 2
            start = at
            if words[end - 1 : end] != ["council"]:
                return None
        else:
            continue
        is_run = not start or base[0] in _WRAPPERS or base[0].startswith("python")
        return (start, end) if is_run else None
    return None
