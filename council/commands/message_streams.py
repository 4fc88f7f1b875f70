"""Messages as a command gets them and speaks of them: one as argument, or any number from stdin.

A stream is answered as it comes, in memory that does not grow with it. What is said to people is
each fault in one line with what to do, and pages.

Source: PR-001, PR-003, PR-592, `cli.md` sections 1 and 2.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from council.commands.output import shown
from council.core.errors import InvalidInputError, UsageError
from council.wire import word_texts
from council.wire.codes import meaning_of
from council.wire.forms import NAMES
from council.wire.messages import VERSIONS, Splitter, parse, unreadable
from council.wire.parsed import Parsed

_CHUNK = 1 << 16


# What one message is answered with: lines for standard output, lines for people, the exit code.
Answer = tuple[list[str], list[str], int]


class Given(NamedTuple):
    """One message: its number from 1, its bytes, whether it is longer than allowed.

    It is `alone` if the command got it as argument.
    """

    number: int
    data: bytes
    too_long: bool
    alone: bool = False

    def read(self, version: str | None) -> Parsed:
        """Return its reading; what is no text or too long is at fault as a whole."""
        if self.too_long:
            return unreadable(self.data[:_CHUNK].decode("utf-8", "replace"), version)
        return parse(self.data, version)


def batches(argument: str | None, most: int, version: str | None = None) -> Iterator[list[Given]]:
    """Yield the messages of a command, as many at a time as have come.

    Args:
        argument: The message; None or `-` reads standard input.
        most: The bytes that one message may have.
        version: The version that all are read in, None if each names its own.

    Raises:
        UsageError: There is no message and standard input is a terminal.
    """
    if argument is not None and argument != "-":
        data = os.fsencode(argument)
        yield [Given(1, data, len(data) > most, alone=True)]
        return
    if argument is None and sys.stdin.isatty():
        raise UsageError(
            "no message was given", "give one as argument, or many on standard input (-)"
        )
    splitter, number = Splitter(version, most), 0
    for lines in _lines(most):
        batch = []
        for line in lines:
            text = splitter.feed(line.decode("utf-8", "surrogateescape"))
            if text:
                number += 1
                batch.append(_given(number, text, most))
        if batch:
            yield batch
    text = splitter.rest()
    if text:
        yield [_given(number + 1, text, most)]


def _given(number: int, text: str, most: int) -> Given:
    data = text.encode("utf-8", "surrogateescape")
    return Given(number, data, len(data) > most)


def _lines(most: int) -> Iterator[list[bytes]]:
    tail = b""
    while chunk := _chunk():
        *lines, tail = (tail + chunk).split(b"\n")
        tail = tail[: most + 1]  # of a line that is too long no more is needed
        yield lines
    if tail:
        yield [tail]


def _chunk() -> bytes:
    try:
        # Not `read` of the stream: it would wait until a whole chunk has come.
        return os.read(sys.stdin.fileno(), _CHUNK)
    except OSError as error:
        raise InvalidInputError(
            f"cannot read standard input: {error.strerror}", "give a file or a pipe"
        ) from None


def say(lines: Iterable[str]) -> None:
    """Print lines for a program or for people on standard output at once."""
    text = "".join(f"{line}\n" for line in lines)
    if text:
        text = shown(text) if sys.stdout.isatty() else text
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.flush()


def complain(lines: Iterable[str]) -> None:
    """Print lines for people on standard error at once."""
    text = "".join(f"council: {line}\n" for line in lines)
    if text:
        sys.stderr.write(shown(text).encode("utf-8", "replace").decode("utf-8"))
        sys.stderr.flush()


def answer_each(
    given: Iterable[list[Given]],
    answer: Callable[[Given], Answer],
    settle: Callable[[], None] = lambda: None,
) -> int:
    """Print what each message is answered with; return the highest exit code.

    Args:
        given: The batches of messages.
        answer: Takes a message, returns what it is answered with.
        settle: Called before the answers to a batch are printed.
    """
    worst = 0
    for batch in given:
        out: list[str] = []
        said: list[str] = []
        for one in batch:
            lines, notes, code = answer(one)
            out += lines
            said += notes
            worst = max(worst, code)
        settle()
        say(out)
        complain(said)
    return worst


def numbered(lines: Iterable[str], given: Given) -> list[str]:
    """Return lines for people that say which message they are about, if there may be several."""
    return [line if given.alone else f"message {given.number}: {line}" for line in lines]


def forced_version(option: str) -> str | None:
    """Return the version that `--version` forces, None for none.

    Raises:
        UsageError: There is no such version.
    """
    if not option:
        return None
    if option.upper() not in (*VERSIONS, "V5D"):
        raise UsageError(f"no protocol version {option!r}", f"it is one of {', '.join(VERSIONS)}")
    return option.upper()


_SHOWN_CHARS = 40
_LONG_TASK = "TASK_ and digits, such as TASK_01"
_CODE_FIRST = "where TYPE is E a code first, such as E01:config.json"
_DATA = "some text without | and >"

# What belongs into a segment, by its name, and by its version where it is something else there.
_WANTED = {
    "V1 MSG": "[MSG_ and digits], such as [MSG_01]",
    "MSG": "MSG_ and digits, such as MSG_01",
    "V4 MSG": "M1 to M9999",
    "V5 MSG": "M0 to M9999",
    "ROLE": "O or W; only O begins a task",
    "ROUTE": "FROM>TO, such as O1>W1 or O1>*",
    "V4 ROUTE": "FROM>TO, such as O1>W1, O1>G1, O1>W* or O1>*",
    "V5 ROUTE": "FROM>TO, such as O1>W1, W1>W2, O1>* or O1>User",
    "V2 TYPE": "one of R S C U A E",
    "TYPE": "one of R S C U A E B",
    "V4 TYPE": "one of R S C U A E B H",
    "V5 TYPE": "one of R S E C U A B H D J L K X",
    "V2 TASK": f"{_LONG_TASK}; - only where TYPE is A",
    "TASK": f"{_LONG_TASK}, or -",
    "V4 TASK": "T1 to T999, or -",
    "TID": "T0 to T999, or -",
    "PRI": "P0, P1, P2 or -",
    "STATE": "N, R, D, F, X or -",
    "ERR": "E01 to E99, or -",
    "V5 ERR": "E00 to E99, or -",
    "DEPTH": "0 to 5; from 4 on with reason= in DATA",
    "CTX": "S and up to 7 small letters or digits, such as S1, or -",
    "BUDGET": "B and up to 4 digits, such as B500, or -",
    "AUTH": "SID:NONCE:SIG, such as S1:A3F2:1D4FF958, or -",
    "TRACE": "X1:M1:12345, or -",
    "V2 DATA": f"some text; {_CODE_FIRST}",
    "V3 DATA": f"{_DATA}; {_CODE_FIRST}",
    "DATA": f"{_DATA}, at most 200 characters",
}
# V1 names rules, not segments.
_WANTED_BY_RULE = {
    "V1-2": "the lines FROM, TO, TYPE, TASK (if any), DATA, in this order",
    "V1-3": "a value in each line; only the DATA of an ACK may be empty",
    "V1-4": "ORCHESTRATOR and WORKER, one as FROM and one as TO",
    "V1-5": "TYPE as one of REQ RES CLR UPD ACK ERR",
    "V1-6": f"TASK as {_LONG_TASK}",
    "V1-7": "a code first in the DATA of an ERR, such as E01:config.json",
    "V1-8": "REQ only from ORCHESTRATOR; a WORKER answers",
    "V5-signed": "less in DATA: with auth=SID:NONCE:SIG it may have 200 characters",
    "V5-options": "opt1= to opt4= in DATA, two to four options of one to three words each",
    "state": "agents, tasks, contexts and references that exist",
    "auth": "auth=SID:NONCE:SIG in DATA, made by: council msg sign",
    "W_ACK_EMPTY": "a word in DATA, such as ok",
    "W_TASK_MISSING": _LONG_TASK,
    "W_DATA_TRUNCATED": "at most 200 characters in DATA, and what is longer as #REF:ID",
    "W_UNKNOWN_ERR": "a code of the table of its version",
    "W_ERR_MISSING": "the code of the error",
    "W_ERR_ON_NON_ERROR": "- here, or E as TYPE",
    "W_NONCANONICAL": "the number without leading zeros",
    "W_DEPTH_DASH": "0 to 5",
    "W_DEPTH_EXCEPTIONAL": "0 to 3, or reason= in DATA",
}


def fault_line(version: str, fault: Mapping[str, Any], told: Parsed | None = None) -> str:
    """Return one fault in one line: what, where, and what to write instead.

    Args:
        version: The version whose code it is.
        fault: Code, rule and segment; `named`, if it names what does not exist.
        told: The reading it was found in, if there is one.
    """
    segment, rule = fault["segment"], fault["rule"]
    names = NAMES[version]
    where = f" in segment {segment} {names[segment - 1]}" if segment else ""
    if segment and told and told.segments:
        where += f" {_short(told.segments[segment - 1])}"
    table = "V2" if version == "V1" else version
    means = meaning_of(fault["code"], "V4" if table == "V5D" else table) or "not valid"
    if fault.get("named"):
        means = f"{means} {_short(fault['named'])}"
    if rule.startswith("W_"):
        means = f"{means}: {word_texts.WARNINGS[rule][0]}"
    return f"{fault['code']}{where}: {means} (rule {rule}; write {_wanted(version, fault, told)})"


def _wanted(version: str, fault: Mapping[str, Any], told: Parsed | None) -> str:
    segment, rule = fault["segment"], fault["rule"]
    if rule in _WANTED_BY_RULE:
        return _WANTED_BY_RULE[rule]
    if segment:
        name = NAMES[version][segment - 1]
        return _WANTED.get(f"{'V4' if version == 'V5D' else version} {name}") or _WANTED[name]
    if rule == f"{version}-1":
        found = f", not {told.text.count('|') + 1}" if told else ""
        return f"{len(NAMES[version])} segments{found}: {'|'.join(NAMES[version])}"
    return "one message in UTF-8 without control characters, of the length that is allowed"


def _short(value: str) -> str:
    return repr(value if len(value) <= _SHOWN_CHARS else value[:_SHOWN_CHARS] + "…")


def fault_lines(found: Parsed) -> list[str]:
    """Return every fault of a reading, in checklist order."""
    return [
        fault_line(found.version, {**fault.to_record(), "named": fault.named}, found)
        for fault in found.errors
    ]


def warning_lines(found: Parsed) -> list[str]:
    """Return every warning of a reading, with the segment it is about."""
    if found.errors:
        return []
    names = NAMES[found.version]
    return [
        f"warning {note.name} in segment {note.segment} {names[note.segment - 1]}: "
        f"{word_texts.WARNINGS[note.name][0]}"
        for note in found.notes
    ]


def heading(found: Parsed) -> str:
    """Return the version of a reading and how it stands."""
    return f"{found.version} {word_texts.STANDINGS[found.version][0]}"


def fields_page(found: Parsed) -> str:
    """Return the fields of a valid message, one a line; what is unused is left out."""
    shown = {
        name: _joined(value)
        for name, value in found.fields.items()
        if value not in (None, "", [], {})
    }
    width = max(map(len, shown))
    rows = [f"  {name:{width}}  {value}" for name, value in shown.items()]
    return "\n".join([heading(found), *rows]) + "\n"


def _joined(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={one}" for name, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
