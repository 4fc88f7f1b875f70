"""Words of a fixed list as values: `enum.StrEnum`, without `enum`.

Importing `enum` costs a process about half of what the interpreter itself
costs to start, and commands that run all day need nothing of it but this:
members that are strings, equal only to their word and alone of their kind.
Type checkers see the real one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from enum import StrEnum as StrEnum  # noqa: PLC0414 - others take it from here
else:

    class _Kinds(type):
        """The class of such classes: it makes the members, finds and lists them."""

        def __new__(mcs, name, bases, space):
            words = {
                key: value
                for key, value in space.items()
                if isinstance(value, str) and not key.startswith("_")
            }
            rest = {key: value for key, value in space.items() if key not in words}
            made = super().__new__(mcs, name, bases, rest)
            made._known = {}
            for key, value in words.items():
                member = str.__new__(made, value)
                member.name, member.value = key, value
                made._known[value] = member
                type.__setattr__(made, key, member)
            return made

        def __call__(cls, value):
            try:
                return cls._known[value]
            except (KeyError, TypeError):
                raise ValueError(f"{value!r} is not a valid {cls.__name__}") from None

        def __setattr__(cls, name, value):
            if not name.startswith("_"):
                raise AttributeError(f"{cls.__name__} is a fixed list")
            type.__setattr__(cls, name, value)

        def __iter__(cls):
            return iter(cls._known.values())

        def __len__(cls):
            return len(cls._known)

        def __contains__(cls, value):
            return value in cls._known

    class StrEnum(str, metaclass=_Kinds):
        """A word of a fixed list."""

        __str__ = str.__str__

        def __repr__(self):
            return f"<{type(self).__name__}.{self.name}: {self.value!r}>"

        def __copy__(self):
            return self

        def __deepcopy__(self, memo):
            return self

        def __reduce__(self):
            return type(self), (str(self),)
