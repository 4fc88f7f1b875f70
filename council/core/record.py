"""The base of every value: a record with named, typed fields.

It decides how values are built, compared, copied and shown, and nothing else.
It exists because ``dataclasses`` costs a process about as much start-up time
as the interpreter itself (it imports ``inspect``), and the commands that
agents run all day pay that price each time. Type checkers see the records as
dataclasses.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any as Any  # noqa: PLC0414 - others take it from here
    from typing import Self, dataclass_transform
else:
    Any = object  # all modules take it from here: `typing` costs a third of the start of Python

    def dataclass_transform(**_options):
        """Stand in for the decorator that only type checkers read."""
        return lambda cls: cls


Positive = int
# Fields so annotated are in JSON what they are here.
_IN_JSON = ("str", "int", "Positive", "float", "bool")
# Fields so annotated hold nothing that can change, so a copy need not visit them.
_UNCHANGING = frozenset(
    f"{name}{or_none}"
    for name in (*_IN_JSON, "datetime", "timedelta")
    for or_none in ("", " | None")
)


# What nearly every value is and nothing can change; asked first, because a
# long conversation has tens of thousands of them.
_PLAIN: set[type] = {str, int, float, bool, type(None)}


@dataclass_transform(kw_only_default=True)
class Record:
    """A value made of the annotated attributes of its class.

    A default that is a list or a dict is copied for every new value. Fields
    without a default must be given by name. A class that is `settled` promises
    that no code changes a value once it is part of another one, so copies of
    that other one share it.

    Its JSON object has a key in camel case for each field, in their order. `_keys` names the
    exceptions: `name:key` for another key, `name:-` for a field that is not in the object (where
    it is the first one, it is the key under which the object stands); behind it `?` where what is
    empty is null, and `~` where it is left out. Unknown keys of a file are kept in `extra`,
    where a class has that field. `Reader.make` reads what `to_record` writes.

    Raises:
        TypeError: A required field is missing, or an unknown one is given.
    """

    _fields: tuple[str, ...] = ()
    _required: frozenset[str] = frozenset()
    _holders: tuple[str, ...] = ()
    _form: tuple[Any, ...] = ()
    _kinds: dict[str, str] = {}
    _defaults: dict[str, object] = {}  # rebuilt for each subclass
    _growing: tuple[tuple[str, list[Any] | dict[Any, Any]], ...] = ()
    _keys: str = ""

    def __init_subclass__(cls, *, settled: bool = False) -> None:
        """Note the fields; the records of a `settled` class are shared between copies."""
        if settled:
            _PLAIN.add(cls)
        annotations = cls.__dict__.get("__annotations__", {})  # noqa: RUF063 - inspect is slow
        own = [name for name in annotations if not name.startswith("_")]
        cls._fields, cls._form = cls._fields + tuple(own), ()
        cls._kinds = {**cls._kinds, **annotations}
        holders = [name for name in own if str(annotations[name]) not in _UNCHANGING]
        cls._holders = cls._holders + tuple(holders)
        # What is needed stands among the defaults, too: so each value has the order of the fields.
        own_defaults = {name: cls.__dict__.get(name) for name in own}
        cls._defaults = {**cls._defaults, **own_defaults}
        cls._required = frozenset(
            name
            for name in cls._fields
            if (name not in cls.__dict__ if name in own else name in cls._required)
        )
        cls._growing = tuple(
            (name, default)
            for name, default in cls._defaults.items()
            if isinstance(default, list | dict)
        )

    def __init__(self, **values: object) -> None:
        given = self.__dict__
        given.update(self._defaults)
        given.update(values)
        for name, default in self._growing:
            if name not in values:
                given[name] = default.copy()
        if len(given) != len(self._fields) or not values.keys() >= self._required:
            self._refuse(values)

    def _refuse(self, values: dict[str, object]) -> None:
        """Say which of the values are missing or unknown."""
        kind = type(self).__name__
        for name in self._fields:
            if name in self._required and name not in values:
                raise TypeError(f"{kind} needs {name}")
        unknown = ", ".join(name for name in values if name not in self._fields)
        raise TypeError(f"{kind} has no {unknown}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self._fields)
        return f"{type(self).__name__}({inside})"

    def as_json(self, fields: str) -> dict[str, Any]:
        """Return fields as a JSON object has them, in the order in which they are named.

        The key of a field is its name in camel case, or what stands behind a colon. Where a
        question mark ends that, what is empty is null, and with a `~` it is left out. Instants
        are written as files have them, records say themselves what they are (`to_record`).

        Raises:
            AttributeError: There is no such field or property.
        """
        made = {}
        for name, key, mark in _SPECS.get(fields) or _spec(fields):
            value = getattr(self, name)
            if value.__class__ not in _JSON:
                value = _said(value)
            if mark and not value:
                if mark == "~":
                    continue
                value = None
            made[key] = value
        return made

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of the value; what is unknown stands at its end."""
        own = self.__dict__
        keys, others, marks = self._form or json_form(type(self))
        made: dict[str, Any] = {key: own[name] for name, key in keys}
        for key in others:
            value = made[key]
            if value.__class__ not in _JSON:
                write = _WRITERS.get(value.__class__) or _writer_of(value.__class__)
                made[key] = write(value)
        for key, mark in marks:
            if not made[key]:
                made[key] = None
                if mark == "~":
                    del made[key]
        extra = own.get("extra")
        return {**made, **extra} if extra else made

    def copy(self, **changes: Any) -> Self:
        """Return a copy with `changes` applied, which shares only what is never changed.

        Raises:
            TypeError: A field to change is unknown.
        """
        for name in changes:
            if name not in self._fields:
                raise TypeError(f"{type(self).__name__} has no {name}")
        twin: Self = _twin(self)
        twin.__dict__.update(changes)
        return twin


_JSON = frozenset((str, int, float, bool, type(None)))
_WRITERS: dict[type, Callable[[Any], Any]] = {}
_SPECS: dict[str, tuple[tuple[str, str, str], ...]] = {}


def json_form(kind: type[Record]) -> tuple[Any, ...]:
    """Return how the JSON object of a class is made, and keep it.

    The names and keys of its fields; the keys of those whose values must be written; the keys of
    those of which empty ones are null or left out, with the mark that says so.
    """
    exceptions = {one.rstrip("?~").partition(":")[0]: one for one in kind._keys.split()}
    named = [exceptions.get(name, name) for name in kind._fields if name != "extra"]
    fields = _spec(" ".join(one for one in named if not one.endswith(":-")))
    kind._form = (
        tuple((name, key) for name, key, _ in fields),
        tuple(key for name, key, _ in fields if kind._kinds[name] not in _IN_JSON),
        tuple((key, mark) for _, key, mark in fields if mark),
    )
    return kind._form


def _spec(fields: str) -> tuple[tuple[str, str, str], ...]:
    """Return the names of fields, their keys, and the mark that says what becomes of empty ones."""
    found = []
    for one in fields.split():
        name, _, key = one.rstrip("?~").partition(":")
        first, *rest = name.split("_")
        camel = first + "".join(map(str.capitalize, rest))
        found.append((name, key or camel, one[-1] if one[-1] in "?~" else ""))
    _SPECS[fields] = tuple(found)
    return _SPECS[fields]


def _said(value: Any) -> Any:
    return (_WRITERS.get(value.__class__) or _writer_of(value.__class__))(value)


def _said_list(values: Any) -> list[Any]:
    return [one if one.__class__ in _JSON else _said(one) for one in values]


def _said_dict(values: dict[str, Any]) -> dict[str, Any]:
    return {key: one if one.__class__ in _JSON else _said(one) for key, one in values.items()}


def _writer_of(kind: type) -> Callable[[Any], Any]:
    """Return how values of a class are written, and keep it for the next one."""
    if issubclass(kind, str):
        write: Callable[[Any], Any] = str  # a word of a fixed list
    elif issubclass(kind, dict):
        write = _said_dict
    elif issubclass(kind, list | tuple):
        write = _said_list
    elif issubclass(kind, Record):
        write = kind.to_record
    else:
        from council.core.times import render_instant as write
    _WRITERS[kind] = write
    return write


def _twin(record: Any) -> Any:
    """Return a copy of a record, without changes."""
    twin = object.__new__(record.__class__)
    own = twin.__dict__
    own.update(record.__dict__)
    for name in record._holders:
        value = own[name]
        kind = value.__class__
        if kind in _PLAIN:
            continue
        if value:
            own[name] = _copied(value)
        elif kind is dict or kind is list:  # mostly it is an empty one
            own[name] = kind()
    return twin


def _copied(value: Any) -> Any:
    kind = value.__class__
    if kind is dict:
        return {
            key: item if item.__class__ in _PLAIN else _copied(item) for key, item in value.items()
        }
    if kind is list:
        return [item if item.__class__ in _PLAIN else _copied(item) for item in value]
    if isinstance(value, Record):
        return _twin(value)
    if isinstance(value, dict | list):  # what stands in for one comes out as a plain one
        return _copied(dict(value) if isinstance(value, dict) else list(value))
    _PLAIN.add(kind)  # such as an enumeration: asked first from now on
    return value
