"""Built-in prompts, which the install made modules of, rendered without the template engine.

Loading Jinja costs more than all the rest of a command, and what the built-in
templates need of it is little: values, loops, includes, a few filters. Here
is that little. `.ci/make_prompts.py` makes the modules and refuses a template
that needs more. Templates that people wrote into a workspace never come here:
those are rendered in the sandbox of the engine.

Source: SC-001, `architecture.md` section 4 (no heavy import on the way of `context`).
"""

from __future__ import annotations

from council.operations.conversations import kept_prompts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, NoReturn

    Filters = dict[str, Callable[..., Any]]
    Rendering = Callable[..., Iterator[str]]

_OF_A_DICT = frozenset(dir(dict))


def render(names: Sequence[str], language: str, values: Mapping[str, Any], ours: Filters) -> str:
    """Render the first of the named templates that there is.

    Args:
        names: The names, the best first; one of them must be built in.
        language: One of `kept_prompts.LANGUAGES`.
        values: What the template may name.
        ours: The filters of the product.

    Raises:
        InvalidStateError: This installation has no prompts.
        Exception: A value is not what the template takes it for.
    """
    prompts = kept_prompts.made()[1]
    modules = {
        name: f"{language}_{name.removesuffix('.md.j2').replace('-', '_')}" for name in names
    }
    name = next(name for name in names if modules[name] in prompts)
    module = __import__(f"{kept_prompts.MADE}.{modules[name]}", fromlist=("TEMPLATES",))
    return _Environment(module.TEMPLATES, ours).render(name, dict(values))


class UnknownError(Exception):
    """A template names what is not there."""


def _refuse(*_: object, **__: object) -> NoReturn:
    raise UnknownError


class _Absent:
    """A value that is not there: `default` may take its place, anything else is refused."""

    def __init__(self, *_: object, **__: object) -> None:
        """Take what the engine would need to say what is missing."""

    __str__ = __iter__ = __bool__ = __len__ = __eq__ = __hash__ = __contains__ = _refuse
    __getattr__ = __getitem__ = __call__ = __add__ = __radd__ = __lt__ = __gt__ = _refuse


class _Missing:
    """What a name has that nobody gave a value."""


MISSING = _Missing()


class Loop:
    """A loop whose body asks where it stands."""

    def __init__(self, items: Iterable[Any], _undefined: object) -> None:
        self._items = list(items)
        self.length = len(self._items)
        self.index0 = -1

    def __iter__(self) -> Iterator[tuple[Any, Loop]]:
        for item in self._items:
            self.index0 += 1
            yield item, self

    @property
    def index(self) -> int:
        """The place of this pass, from 1."""
        return self.index0 + 1

    @property
    def first(self) -> bool:
        """True in the first pass."""
        return self.index0 == 0

    @property
    def last(self) -> bool:
        """True in the last pass."""
        return self.index == self.length


class _Context:
    """The values that a template sees, and those that it sets."""

    eval_ctx = None

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values
        self.vars: dict[str, Any] = {}
        self.exported_vars: set[str] = set()

    def resolve_or_missing(self, name: str) -> Any:
        if name in self.vars:
            return self.vars[name]
        return self._values.get(name, MISSING)

    def get_all(self) -> dict[str, Any]:
        return {**self._values, **self.vars}

    def call(self, target: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("_loop_vars", None)
        kwargs.pop("_block_vars", None)
        return target(*args, **kwargs)


class _Template:
    """One template, ready to run."""

    def __init__(self, root: Rendering, environment: _Environment) -> None:
        self.root_render_func = lambda context: root(context, environment=environment)

    def new_context(
        self, values: dict[str, Any], _shared: bool, local: Mapping[str, Any]
    ) -> _Context:
        return _Context({**values, **{k: v for k, v in local.items() if v is not MISSING}})


class _Environment:
    """What compiled templates ask of the engine."""

    undefined = _Absent
    concat = "".join

    def __init__(self, templates: Mapping[str, Rendering], ours: Filters) -> None:
        self._templates = templates
        self.filters: Filters = {
            "default": lambda value, other="": other if isinstance(value, _Absent) else value,
            "format": lambda text, *values: text % values,
            "join": lambda _, parts, between="": between.join(map(str, parts)),
            "length": len,
            "sort": _sorted,
            **ours,
        }

    def render(self, name: str, values: dict[str, Any]) -> str:
        return "".join(self._templates[name](_Context(values), environment=self))

    def get_template(self, name: str, _parent: str) -> _Template:
        return _Template(self._templates[name], self)

    def getattr(self, value: Any, name: str) -> Any:
        if type(value) is dict and name not in _OF_A_DICT:  # nearly always, and twice as quick
            return self.getitem(value, name)
        try:
            return getattr(value, name)
        except AttributeError:
            return self.getitem(value, name)

    def getitem(self, value: Any, name: Any) -> Any:
        try:
            return value[name]
        except (LookupError, TypeError):
            return _Absent()


def nothing(*_: object, **__: object) -> str:
    """Return what an `if` without `else` says."""
    return ""


def unchanged(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that the engine would mark as its own."""
    return function


def joined(parts: Iterable[object]) -> str:
    """Return the parts as one text."""
    return "".join(map(str, parts))


def _sorted(_: object, items: Iterable[Any], *, attribute: str) -> list[Any]:
    return sorted(items, key=lambda one: one[attribute])
