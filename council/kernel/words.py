"""Sentences: the templates of `prompts/` and `texts/`.

A template has no logic but this: `{name}`, or a field such as `{state.topic}`, is filled in, with
`{name:form}` as a form of the caller (or the value itself) writes it, and a list with commas.
`{?name} line` and `{!name} line` are kept where it is set or not set, `{?name=word} line` where it
is that word, `{*name} line` is repeated for each row: a dict, a record, or `{it}`; `{*name*}` goes
over the values of a dict, each with its `key`. With nothing behind it, the lines up to `{/}` are
meant; blocks do not nest.
"""

from __future__ import annotations

import os

from council.kernel.record import Any, Record

PACKAGE = os.path.dirname(os.path.dirname(__file__))
Forms = dict[str, Any]


def template(name: str) -> str:
    """Return a file of the package, such as `prompts/en/turn.md`."""
    with open(f"{PACKAGE}/{name}", encoding="utf-8") as file:
        return file.read()


def table(name: str) -> dict[str, Any]:
    """Return a table of the package, such as `agents/presets.toml`."""
    import tomllib  # late: quick commands need no parser

    return tomllib.loads(template(name))


def load(name: str) -> dict[str, str]:
    """Return the lines `key = words` of a file, up to a line `====`; `#` begins a remark."""
    lines = template(name).partition("\n====\n")[0].split("\n")
    rows = (line.partition(" = ") for line in lines if line[:1] not in ("#", ""))
    return {key: words for key, _, words in rows}


def near(word: str, known: list[str]) -> str:
    """Return the known word that is most like another one, "" where none is."""
    from difflib import get_close_matches  # late: slow to import, and only for mistakes

    return "".join(get_close_matches(word, known, n=1, cutoff=0.75))


def unknown(where: str, key: str, known: list[str]) -> str:
    """Return a key that is not known, with the known one that is most like it."""
    like = near(key, known)
    return f"{where}{key}; did you mean {like}?" if like else f"{where}{key}"


def fill(template: str, values: dict[str, Any], forms: Forms | None = None) -> str:
    """Return a template with its values filled in; of several empty lines it keeps one.

    A form is a function, or words around `{it}`; of what is not set nothing is written.
    """
    made, last = list[str](), ""
    _fill(template.split("\n"), values, {} if forms is None else forms, made)
    while made and not last:  # a page may be large: the whole of it is made once
        last = made.pop().rstrip("\n")
    return "\n".join([*made, last, ""]).lstrip("\n") or "\n"


def _fill(lines: list[str], values: dict[str, Any], forms: Forms, made: list[str]) -> None:
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line[:2] in ("{?", "{!", "{*"):
            name, _, rest = line[2:].partition("}")
            name, _, word = name.partition("=")
            end = at if rest else lines.index("{/}", at)
            body, at = ([rest[1:]], at) if rest else (lines[at:end], end + 1)
            value: Any = values.get(name.rstrip("*"))
            if line[1] == "*":
                for row in value or ():
                    own = _own(row) if name[-1] != "*" else {"key": row, **_own(value[row])}
                    _fill(body, {**values, **own}, forms, made)
            elif (value == word if word else bool(value)) is (line[1] == "?"):
                _fill(body, values, forms, made)
        elif line or (made and made[-1]):
            made.append(line.format_map(_Values(values, forms)) if "{" in line else line)


def _own(row: Any) -> dict[str, Any]:
    of = vars(row) if isinstance(row, Record) else row
    return of if of.__class__ is dict else {"it": row}


class _Values:
    """Values, or the fields of one, as the places of a template ask for them."""

    def __init__(self, of: Any, forms: Forms) -> None:
        self._of, self._forms = of, forms

    def __getitem__(self, name: str) -> _Values:
        return _Values(self._of[name], self._forms)

    def __getattr__(self, name: str) -> _Values:
        return _Values(getattr(self._of, name), self._forms)

    def __format__(self, form: str) -> str:
        of, write = self._of, self._forms.get(form)
        many = of if isinstance(of, list) else [of]
        if callable(write):
            return ", ".join(write(one) for one in many if one not in (None, ""))
        it = ", ".join(map(str, of)) if many is of else of
        return format(it, form) if write is None else write.format(it=it) if of else ""
