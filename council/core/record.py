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
    from typing import Any, Self, dataclass_transform
else:

    def dataclass_transform(**_options):
        """Stand in for the decorator that only type checkers read."""
        return lambda cls: cls


# Fields so annotated hold nothing that can change, so a copy need not look at them.
_UNCHANGING = frozenset(
    f"{name}{or_none}"
    for name in ("str", "int", "float", "bool", "datetime", "timedelta")
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
    that nobody changes a value once it is part of another one, so copies of
    that other one share it.

    Raises:
        TypeError: A required field is missing, or an unknown one is given.
    """

    _fields: tuple[str, ...] = ()
    _required: frozenset[str] = frozenset()
    _holders: tuple[str, ...] = ()
    _defaults: dict[str, object] = {}  # rebuilt for each subclass
    _growing: tuple[tuple[str, list[Any] | dict[Any, Any]], ...] = ()

    def __init_subclass__(cls, *, settled: bool = False) -> None:
        """Note the fields; the records of a `settled` class are shared between copies."""
        if settled:
            _PLAIN.add(cls)
        annotations = cls.__dict__.get("__annotations__", {})  # noqa: RUF063 - inspect is slow
        own = [name for name in annotations if not name.startswith("_")]
        cls._fields = cls._fields + tuple(own)
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
        question mark ends that, what is empty is null. Instants are written as files have them,
        records say themselves what they are (`to_record`).

        Raises:
            AttributeError: There is no such field or property.
        """
        made = {}
        for name, key, or_null in _SPECS.get(fields) or _spec(fields):
            value = getattr(self, name)
            value = value if value.__class__ in _JSON else _said(value)
            made[key] = value or None if or_null else value
        return made

    def copy(self, **changes: Any) -> Self:
        """Return a copy with `changes` applied, which shares only what nobody changes.

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
_SPECS: dict[str, tuple[tuple[str, str, bool], ...]] = {}


def _spec(fields: str) -> tuple[tuple[str, str, bool], ...]:
    """Return the names of fields, their keys, and whether what is empty is null."""
    found = []
    for one in fields.split():
        name, _, key = one.removesuffix("?").partition(":")
        first, *rest = name.split("_")
        camel = first + "".join(map(str.capitalize, rest))
        found.append((name, key or camel, one.endswith("?")))
    _SPECS[fields] = tuple(found)
    return _SPECS[fields]


def _said(value: Any) -> Any:
    if isinstance(value, str):
        return str(value)  # a word of a fixed list
    if isinstance(value, dict):
        return {key: _said(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_said(one) for one in value]
    if value.__class__ in _JSON:
        return value
    if isinstance(value, Record):
        return value.to_record()  # type: ignore[attr-defined]
    from council.core.times import render_instant

    return render_instant(value)


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
