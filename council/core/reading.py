"""Reading typed fields out of JSON objects, strict in meaning, and saying which one is wrong.

Before any parser sees a text, it is measured. Parsers go down one level by one call: YAML's ends
the process when the stack is used up, the others fail somewhere on the way, and what they read
can break what walks through it. So each text that others may have written is measured first, in
time that grows with its length alone.

Tables of words in several languages are read here as well: files and screens show them.

Source: XC-012, XC-013, SC-004, PR-581, PR-582.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum

from council.core.errors import InvalidStateError
from council.core.reasons import Reason, read_reason
from council.core.record import Any, Record, json_form
from council.core.times import parse_instant, render_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _Choice = TypeVar("_Choice", bound=StrEnum)
    _Made = TypeVar("_Made", bound=Record)
    _Held = TypeVar("_Held", dict[str, Any], list[Any])
    _Form = tuple[str, str, type | None, Callable[[Any], Any] | None, int, Callable[..., Any], Any]


def written_instant(instant: datetime | None) -> str | None:
    """Write an instant as it stands in JSON; None stays null."""
    return None if instant is None else render_instant(instant)


class Reader:
    """Takes typed fields out of one JSON object and says which one is wrong.

    What was not taken stands in `left`: the fields that are not known here. With `nulls` a null
    stands for a field that is missing, wherever one may be.
    """

    def __init__(self, record: object, where: str, *, nulls: bool = False) -> None:
        if not isinstance(record, dict):
            raise InvalidStateError(
                f"{where} is not a JSON object", "repair it, or see: council check"
            )
        self.left: dict[str, Any] = dict(record)
        self.where, self.nulls = where, nulls

    def make(self, kind: type[_Made], **given: Any) -> _Made:
        """Build a record of a class from the fields of the object, but for those that are given.

        What is missing has its default, where it has one; what is not known is kept in `extra`.
        """
        left, made = self.left, object.__new__(kind)  # there are thousands; all is there in the end
        own = made.__dict__
        own.update(kind._defaults)
        own.update(given)
        for name, key, usual, made_by, default, take, how in _FORMS.get(kind) or _form(kind):
            if given and name in given:
                continue
            value = left.get(key)
            if value.__class__ is usual:
                try:
                    own[name] = made_by(value) if made_by else value
                except Exception:
                    own[name] = take(self, key, how)  # which says what is wrong
                else:
                    del left[key]
            elif value is None and default and (default > 1 or self.nulls or key not in left):
                left.pop(key, None)
            else:
                own[name] = take(self, key, how)
        if "extra" in own:
            own["extra"] = left
        for name, empty in kind._growing:
            if own[name] is empty:
                own[name] = empty.copy()
        return made

    def record(self, key: str, kind: type[_Made]) -> _Made:
        """Take a value of a class."""
        where = f"{self.where}: {key}"
        return Reader(self.left.pop(key, None), where, nulls=self.nulls).make(kind)

    def records(self, key: str, kind: type[_Made]) -> list[_Made]:
        """Take a list of values of a class."""
        where = f"{self.where}: {key}"
        return [Reader(one, where, nulls=self.nulls).make(kind) for one in self.items(key)]

    def records_by_id(self, key: str, kind: type[_Made]) -> dict[str, _Made]:
        """Take values of a class by their ids; the id is given to one that has it in no field."""
        where, first = f"{self.where}: {key}", kind._fields[0]
        is_given = f"{first}:-" in kind._keys.split()
        return {
            name: Reader(one, f"{where}.{name}", nulls=self.nulls).make(
                kind, **({first: name} if is_given else {})
            )
            for name, one in self.table(key).items()
        }

    def fail(self, key: str, expected: str) -> InvalidStateError:
        """Return the error that `key` is not what is expected."""
        return InvalidStateError(
            f"{self.where}: {key} is not {expected}", "repair it, or see: council check"
        )

    def text(self, key: str, default: str | None = "") -> str:
        """Take a text; `default` None means that it must be given."""
        value = self.left.pop(key, default)
        if value is None and default == "":
            return ""
        if not isinstance(value, str):
            raise self.fail(key, "a text")
        return value

    def whole(self, key: str, default: int, least: int = 0) -> int:
        """Take a whole number."""
        value = self.left.pop(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**53:
            raise self.fail(key, f"a whole number from {least}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """Take true or false."""
        value = self.left.pop(key, default)
        if not isinstance(value, bool):
            raise self.fail(key, "true or false")
        return value

    def number(self, key: str, default: float = 0.0, most: float = 1.0) -> float:
        """Take a number from 0 to `most`."""
        value = self.left.pop(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            raise self.fail(key, f"a number from 0 to {most:g}")
        return float(value)

    def instant(self, key: str) -> datetime | None:
        """Take an instant, None where there is none."""
        value = self.left.pop(key, None)
        if value is None:
            return None
        try:
            return parse_instant(value)
        except Exception:
            raise self.fail(key, "a time like 2026-02-08T20:00:00Z") from None

    def given_instant(self, key: str) -> datetime:
        """Take an instant that has to be there."""
        instant = self.instant(key)
        if instant is None:
            raise self.fail(key, "given")
        return instant

    def choice(self, key: str, kind: type[_Choice], default: _Choice | None = None) -> _Choice:
        """Take one of the words of an enumeration."""
        value = self.left.pop(key, default)
        try:
            return kind(value)
        except ValueError:
            allowed = ", ".join(member.value for member in kind)
            raise self.fail(key, f"one of {allowed} (it is {value!r})") from None

    def _held(self, key: str, kind: type[_Held], expected: str) -> _Held:
        value = self.left.pop(key, None)
        if value is None:
            return kind()
        if not isinstance(value, kind):
            raise self.fail(key, expected)
        return value

    def table(self, key: str) -> dict[str, Any]:
        """Take a JSON object, an empty one where there is none."""
        return self._held(key, dict, "a JSON object")

    def items(self, key: str) -> list[Any]:
        """Take a list, an empty one where there is none."""
        return self._held(key, list, "a list")

    def texts(self, key: str) -> list[str]:
        """Take a list of texts."""
        values = self.items(key)
        if not _are_texts(values):
            raise self.fail(key, "a list of texts")
        return values

    def text_table(self, key: str) -> dict[str, str]:
        """Take an object of texts."""
        values = self.table(key)
        if not _are_texts(values.values()):
            raise self.fail(key, "an object of texts")
        return values

    def reasons(self, key: str) -> dict[str, Reason]:
        """Take an object of reasons."""
        return {name: read_reason(one) for name, one in self.table(key).items()}

    def text_pairs(self, key: str) -> tuple[tuple[str, str], ...]:
        """Take a list of pairs of texts."""
        pairs = self.items(key)
        if not all(isinstance(one, list) and len(one) == 2 and _are_texts(one) for one in pairs):
            raise self.fail(key, "a list of pairs of texts")
        return tuple((first, second) for first, second in pairs)


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(one, str) for one in values)


# How a field is taken, by its annotation, and what stands for one that is needed and missing.
_TAKEN: dict[str, tuple[Callable[..., Any], Any]] = {
    "str": (Reader.text, None),
    "int": (Reader.whole, 0),
    "Positive": (lambda read, key, usual: read.whole(key, usual, 1), 1),
    "bool": (Reader.flag, False),
    "float": (Reader.number, 0.0),
    "datetime": (lambda read, key, _: read.given_instant(key), None),
    "list[str]": (lambda read, key, _: read.texts(key), None),
    "tuple[str, ...]": (lambda read, key, _: tuple(read.texts(key)), None),
    "tuple[tuple[str, str], ...]": (lambda read, key, _: read.text_pairs(key), None),
    "dict[str, str]": (lambda read, key, _: read.text_table(key), None),
    "dict[str, Any]": (lambda read, key, _: read.table(key), None),
    "Reason": (lambda read, key, _: read_reason(read.left.pop(key, None)), None),
    "dict[str, Reason]": (lambda read, key, _: read.reasons(key), None),
}
_HOLDERS = {"": Reader.record, "list": Reader.records, "dict": Reader.records_by_id}
# The class that nearly all values have, where that says all of them, and what is made of them.
_QUICK: dict[str, tuple[type | None, Callable[[Any], Any] | None]] = {
    "str": (str, None),
    "int": (int, lambda value: _bounded(value, 0)),
    "Positive": (int, lambda value: _bounded(value, 1)),
    "bool": (bool, None),
    "datetime": (str, parse_instant),
    "Reason": (str, read_reason),
}
_FORMS: dict[type[Record], list[_Form]] = {}


def _form(kind: type[Record]) -> list[_Form]:
    """Return of each field: name, key, quick way, its default, how it is taken, and with what.

    The default is 0 for none, 1 for one, 2 for one that a null stands for, too.
    """
    known = vars(__import__(kind.__module__, fromlist=["_"]))
    form: list[_Form] = []
    for name, key in json_form(kind)[0]:
        usual, plain = kind._defaults[name], kind._kinds[name].removesuffix(" | None")
        quick = _QUICK.get(plain, (None, None))
        if plain in _TAKEN:
            take, least = _TAKEN[plain]
            usual = least if usual is None else usual
        else:
            holder, _, inner = plain.removesuffix("]").rpartition("[")
            of = known.get(inner.removeprefix("str, "))
            take = _HOLDERS.get(holder, Reader.record)
            if isinstance(of, type) and issubclass(of, StrEnum):
                take, quick = _chosen, (str, of)
            usual = (of, usual) if take is _chosen else of
        default = 0 if name in kind._required else 1 if plain == kind._kinds[name] else 2
        form.append((name, key, *quick, default, take, usual))
    _FORMS[kind] = form
    return form


def _bounded(value: int, least: int) -> int:
    if least <= value < 2**53:
        return value
    raise ValueError(value)


def _chosen(read: Reader, key: str, words: tuple[type[StrEnum], StrEnum | None]) -> StrEnum:
    return read.choice(key, *words)


# --- How deep a text is nested, known before any parser sees it


MOST_NESTED = 100
# Some front matter says a thing twice by an alias; ten of them can stand for millions.
_MOST_ALIASES = 9
_ALIAS = r"[\s\[,{:-]\*[^\s*]"
_ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class TooDeepError(ValueError):
    """A text is nested deeper than anything that is meant to be read."""

    def __init__(self) -> None:
        super().__init__(f"nested more than {MOST_NESTED} deep")


def read_json(text: str | bytes, **how: Any) -> Any:
    """Return what a JSON text says; `how` are the hooks of `json.loads`.

    Raises:
        TooDeepError: It is nested more than `MOST_NESTED` deep.
        ValueError: It is no JSON.
    """
    if _is_deep(text):
        raise TooDeepError
    return json.loads(text, **how)


def _is_deep(text: str | bytes) -> bool:
    if isinstance(text, str):
        if text.count("[") + text.count("{") <= MOST_NESTED:
            return False
        text = text.encode("utf-8", "surrogatepass")
    elif text.count(b"[") + text.count(b"{") <= MOST_NESTED:
        return False
    # What is left between every second pair of quotes stands in no string.
    bare = text.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]
    depth = 0
    for sign in b"".join(bare).translate(None, _ALL_BUT_BRACKETS):
        depth += 1 if sign & 2 else -1  # the bit in which what opens differs from what closes
        if depth > MOST_NESTED:
            return True
    return False


def bounded_yaml(text: str) -> str:
    """Return a text of YAML, such as front matter, that may be given to a parser.

    What it says in strings counts, too: front matter has few brackets.

    Raises:
        TooDeepError: It may be nested more than `MOST_NESTED` deep, or grow by its aliases.
    """
    indented = max((len(one) - len(one.lstrip(" \t-?:")) for one in text.splitlines()), default=0)
    opened = text.count("[") + text.count("{")
    if opened + indented > MOST_NESTED or len(re.findall(_ALIAS, text)) > _MOST_ALIASES:
        raise TooDeepError
    return text


def bounded_toml(text: str) -> str:
    """Return a text of TOML that may be given to a parser, which bounds brackets by itself.

    Raises:
        TooDeepError: A key has more than `MOST_NESTED` parts; each takes what all before it take.
    """
    for line in text.splitlines():
        run = 0
        for part in line.split(".") if line.count(".") > MOST_NESTED else ():
            run = run + 1 if part.strip() else 0
            if run > MOST_NESTED:
                raise TooDeepError
    return text


# --- Tables of what is said in each language (XC-012)

LANGUAGES = ("en", "fr")


def rows(text: str) -> dict[str, tuple[str, ...]]:
    r"""Read a table: each row is a key and its parts, with `||` between them.

    A line that is indented goes on with the row above it; an empty one, and one that begins with
    `#`, says nothing.

    >>> rows("fox || fox || renard\nlate || it is over\n    || c'est fini\n")
    {'fox': ('fox', 'renard'), 'late': ('it is over', "c'est fini")}
    """
    lines = re.sub("\n +", " ", text.strip()).split("\n")
    parts = (line.split(" || ") for line in lines if line and not line.startswith("#"))
    return {key: tuple(said) for key, *said in parts}


def by_language(text: str) -> dict[str, dict[str, str]]:
    """Return the words of each language, from a table of English and French."""
    table = rows(text).items()
    return {lang: {key: said[at] for key, said in table} for at, lang in enumerate(LANGUAGES)}
