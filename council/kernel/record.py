"""The base of every value: a record with named, typed fields and a JSON form.

`dataclasses` would cost each command as much start-up as the interpreter itself (it imports
`inspect`), so this class does what the product needs of it. Type checkers see dataclasses.

In JSON a field's key is its name in camel case. Unknown keys of a JSON object are kept in `extra`
and written back, so a file of a newer version loses nothing.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any as Any
    from typing import Self, dataclass_transform
else:
    Any = object  # other modules import it from here: `typing` is slow to import

    def dataclass_transform(**_options):
        """Stand in for the decorator that only type checkers read."""
        return lambda cls: cls


from council.kernel.errors import Invalid

_PLAIN = {"str": str, "int": int, "float": float, "bool": bool}
_WORDS = {str: "text", int: "whole number", bool: "boolean", list: "list", dict: "object"}
_SCALARS = frozenset((str, int, float, bool, type(None)))


@dataclass_transform(kw_only_default=True)
class Record:
    """A value made of the annotated attributes of its class.

    A field's kind is `str`, `int`, `float`, `bool`, `Any` (plain JSON), a record class, or
    `list[kind]`, `dict[str, kind]`, `kind | None` of these. Defaults that are lists, dicts or
    records are copied for every new value. Records of a class declared `settled=True` are never
    changed once they are part of another record, so copies share them.
    """

    extra: dict[str, Any]
    _kinds: dict[str, str] = {}
    _defaults: dict[str, Any] = {}
    _copied: tuple[str, ...] = ()
    _keys: dict[str, str] = {}
    _names: dict[str, str] = {}
    _settled = False

    def __init_subclass__(cls, *, settled: bool = False) -> None:
        """Note the fields, their kinds, keys and defaults."""
        annotations = cls.__dict__.get("__annotations__", {})
        own = {k: str(v) for k, v in annotations.items() if k[0] != "_" and k != "extra"}
        cls._kinds = {**cls._kinds, **own}
        cls._defaults = {**cls._defaults, **{k: getattr(cls, k) for k in own if k in cls.__dict__}}
        cls._copied = tuple(k for k, v in cls._defaults.items() if v.__class__ not in _SCALARS)
        cls._keys = {name: camel(name) for name in cls._kinds}
        cls._names = {key: name for name, key in cls._keys.items()}
        cls._settled = settled

    def __init__(self, **values: Any) -> None:
        own = self.__dict__
        own["extra"] = {}
        own.update(self._defaults)
        own.update(values)
        for name in self._copied:
            if name not in values:
                own[name] = copied(own[name])
        if len(own) != len(self._kinds) + 1:
            missing = [name for name in self._kinds if name not in own]
            unknown = [name for name in values if name not in self._kinds]
            raise TypeError(f"{type(self).__name__}: missing {missing}, unknown {unknown}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self._kinds)
        return f"{type(self).__name__}({inside})"

    def copy(self, **changes: Any) -> Self:
        """Return a deep copy with `changes` applied; settled records are shared."""
        if unknown := changes.keys() - self._kinds.keys():
            raise TypeError(f"{type(self).__name__} has no {', '.join(unknown)}")
        twin = object.__new__(type(self))
        twin.__dict__.update({**copied(self.__dict__), **changes})
        return twin

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object, keys in the order of the fields, unknown keys at its end."""
        own = self.__dict__
        return {**{key: _written(own[name]) for name, key in self._keys.items()}, **own["extra"]}

    def row(self, always: tuple[str, ...], never: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return a JSON object of the fields `always`, and of others that are not as by default."""
        own, apart = self.__dict__, {*always, *never}
        more = [name for name, v in self._defaults.items() if name not in apart and own[name] != v]
        return {self._keys[name]: _written(own[name]) for name in (*always, *more)}

    @classmethod
    def from_json(cls, data: dict[str, Any], where: str = "") -> Self:
        """Return the record that a JSON object stands for; `where` names it in errors.

        A required key that is missing, or a value of the wrong kind: Invalid (`bad-value`).
        """
        if data.__class__ is not dict:
            raise Invalid("bad-value", f"{where or cls.__name__}: not an object")
        values, extra = {}, {}
        for key, value in data.items():
            name = cls._names.get(key)
            if name is None:
                extra[key] = value
                continue
            kind = cls._kinds[name]
            if value.__class__ is not _PLAIN.get(kind):
                value = _read(kind, cls.__module__, value, f"{where}.{key}" if where else key)
            values[name] = value
        for name in cls._kinds.keys() - cls._defaults.keys() - values.keys():
            raise Invalid("bad-value", f"{where or cls.__name__}: {cls._keys[name]} is missing")
        made = cls(**values)
        made.extra = extra
        return made


def camel(name: str) -> str:
    """Return a field's key: `last_action` is `lastAction`."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def copied(value: Any) -> Any:
    """Return a deep copy of plain JSON and records; settled records are shared."""
    kind = value.__class__
    if kind in _SCALARS:
        return value
    if kind is list:
        return [v if v.__class__ in _SCALARS else copied(v) for v in value]
    if kind is dict:
        return {k: v if v.__class__ in _SCALARS else copied(v) for k, v in value.items()}
    return value if getattr(kind, "_settled", True) else value.copy()


def _written(value: Any) -> Any:
    kind = value.__class__
    if kind in _SCALARS:
        return value
    if kind is list:
        return [_written(v) for v in value]
    return {k: _written(v) for k, v in value.items()} if kind is dict else value.to_json()


def _read(kind: str, module: str, value: Any, where: str) -> Any:
    """Return a value of a kind, checked; record classes are those that the module knows."""
    if kind[-7:] == " | None":
        return None if value is None else _read(kind[:-7], module, value, where)
    if kind[:5] == "list[":
        return [_read(kind[5:-1], module, item, where) for item in _check(value, list, where)]
    if kind[:10] == "dict[str, ":
        rows = _check(value, dict, where).items()
        return {key: _read(kind[10:-1], module, item, f"{where}.{key}") for key, item in rows}
    if kind == "Any" or kind[:8] == "Literal[":
        return value
    if kind == "float" and value.__class__ is int:
        return float(value)
    if kind in _PLAIN:
        return _check(value, _PLAIN[kind], where)
    return vars(sys.modules[module])[kind].from_json(value, where)


def _check(value: Any, kind: Any, where: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        wanted = _WORDS.get(kind, "number")
        raise Invalid("bad-value", f"{where}: {str(value)[:40]!r} is no {wanted}")
    return value
