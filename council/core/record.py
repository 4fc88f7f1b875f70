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
    _holders: tuple[str, ...] = ()
    _defaults: dict[str, object] = {}  # noqa: RUF012 - rebuilt for each subclass

    def __init_subclass__(cls, *, settled: bool = False) -> None:
        """Note the fields; the records of a `settled` class are shared between copies."""
        if settled:
            _PLAIN.add(cls)
        annotations = cls.__dict__.get("__annotations__", {})  # noqa: RUF063 - inspect is slow
        own = [name for name in annotations if not name.startswith("_")]
        cls._fields = cls._fields + tuple(own)
        holders = [name for name in own if str(annotations[name]) not in _UNCHANGING]
        cls._holders = cls._holders + tuple(holders)
        cls._defaults = {
            **cls._defaults,
            **{name: cls.__dict__[name] for name in own if name in cls.__dict__},
        }

    def __init__(self, **values: object) -> None:
        given = self.__dict__
        for name in self._fields:
            if name in values:
                given[name] = values.pop(name)
            elif name in self._defaults:
                default = self._defaults[name]
                given[name] = default.copy() if isinstance(default, list | dict) else default
            else:
                raise TypeError(f"{type(self).__name__} needs {name}")
        if values:
            raise TypeError(f"{type(self).__name__} has no {', '.join(values)}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self._fields)
        return f"{type(self).__name__}({inside})"

    def copy(self, **changes: Any) -> Self:
        """Return a copy with `changes` applied, which shares only what nobody changes.

        Raises:
            TypeError: A field to change is unknown.
        """
        for name in changes:
            if name not in self._fields:
                raise TypeError(f"{type(self).__name__} has no {name}")
        twin = object.__new__(type(self))
        own = twin.__dict__
        own.update(self.__dict__)
        for name in self._holders:
            value = own[name]
            if value.__class__ not in _PLAIN:
                own[name] = _copied(value)
        own.update(changes)
        return twin


def _copied(value: Any) -> Any:
    if value.__class__ in _PLAIN:
        return value
    if isinstance(value, list):
        return [item if item.__class__ in _PLAIN else _copied(item) for item in value]
    if isinstance(value, dict):
        return {
            key: item if item.__class__ in _PLAIN else _copied(item) for key, item in value.items()
        }
    if isinstance(value, Record):
        return value.copy()
    _PLAIN.add(value.__class__)  # such as an enumeration: asked first from now on
    return value
