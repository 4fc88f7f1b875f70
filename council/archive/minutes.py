"""Minutes as files: write them once, list, find and rate them.

`councils/minutes.py` makes their text. A file of `conseils/` is minutes if it names a conversation
and an outcome: in its front matter or, where that is spoilt, in the state block at the end.
"""

from __future__ import annotations

import os

from council.archive.artifacts import put
from council.kernel import codec, files, ids
from council.kernel.errors import Invalid, NotFound, Refusal, Usage
from council.kernel.page import decoded, plain
from council.kernel.record import Any

FOLDER = "conseils"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_NO_WORDS = ("yes", "no", "true", "false", "null", "on", "off", "y", "n")  # YAML means others
Row = dict[str, Any]


def write(root: str, front: Row, body: str, date: str, replace: bool = False) -> str:
    """Write the minutes of a conversation durably; return their path.

    A repeat finds the first file, and changes it only with `replace`. Other files are never
    overwritten: the second of a day and topic gets `-2`.
    """
    ident, count = str(front["conversation"]), 1
    name = ids.slug(str(front["topic"])) or ids.slug(ident)[:8]
    while True:
        old = next((row for row in rows(root) if row["conversation"] == ident), None)
        if old and not replace:  # perhaps another machine was quicker
            return str(old["path"])
        kept = {"ratings": old["ratings"]} if old and "ratings" in old else {}
        head = "\n".join(f"{key}: {_yaml(value)}" for key, value in {**front, **kept}.items())
        data = f"---\n{head}\n---\n\n{body}".encode("utf-8", "replace")
        path = f"{root}/{FOLDER}/{date}-{name}{f'-{count}' if count > 1 else ''}.md"
        path = str(old["path"]) if old else path
        if put(path, data, replace=bool(old)):
            return path
        count += 1


def rows(root: str, search: str = "", since: str = "") -> list[Row]:
    """Return the front matter of all minutes with `path` and `endedAt`, the newest end first.

    The words of `search` all have to occur in topic, brief, decision or what was said. What ended
    before `since`, a day or instant as text, is left out.
    """
    found: dict[str, Row] = {}
    names = [name for name in files.names(f"{root}/{FOLDER}") if name.endswith(".md")]
    for name in sorted(names, key=lambda name: (len(name), name)):
        row = _row(f"{root}/{FOLDER}/{name}") if name[0] != "." else {}
        ident = str(row.get("conversation", ""))
        if not ident or not row.get("outcome") or row["endedAt"] < since or ident in found:
            continue  # of the copies that sync tools make, the shortest name counts
        if not search or _has(row, search.casefold().split()):
            found[ident] = row
    return sorted(found.values(), key=lambda row: (row["endedAt"], row["path"]), reverse=True)


def find(root: str, which: str) -> Row:
    """Return the newest minutes of a file name, id, name, start of an id, or part of a title."""
    every, file = rows(root), os.path.basename(which).removesuffix(".md")
    for fits in (
        lambda row: file == os.path.basename(row["path"]).removesuffix(".md"),
        lambda row: which in (row["conversation"], row.get("name")),
        lambda row: len(which) > 3 and str(row["conversation"]).startswith(which),
        lambda row: which and which.casefold() in str(row.get("title")).casefold(),
    ):
        found = [row for row in every if fits(row)]
        named = [row for row in found if row.get("name") == which]
        if not named and len({row.get("title") for row in found}) > 1:
            names = [os.path.basename(row["path"]) for row in found]
            why, hint = f"{which!r} fits several minutes", f"name one: {', '.join(names[:5])}"
            raise Usage("ambiguous", why, hint, candidates=names)
        if found:
            return found[0]
    what, hint = f"nothing is called {which[:80]!r}", "council list; council list minutes"
    if which and os.path.isdir(f"{root}/memory/agents/{os.path.basename(which)}"):
        what, hint = f"{which} is an agent", f"council show {which}; what it owes: council status"
    raise NotFound("not-found", what, hint)


def block(path: str) -> Row:
    """Return the state block at the end of minutes, {} where there is none that can be read."""
    _, mark, rest = _text(path).rpartition("\n<!--council-state\n")
    found = _value(rest.partition("\n-->")[0]) if mark else {}
    return found if isinstance(found, dict) else {}


def rate(path: str, stars: int, by: str = "") -> dict[str, int]:
    """Rate minutes and return all ratings by person; one line changes, and no other byte."""
    text = (files.content(path) or b"").decode("utf-8", "surrogateescape")  # written back as it is
    ratings = _ratings(_row(path))
    if stars not in range(1, 6):
        raise Invalid("bad-stars", f"not a rating: {stars}", "give 1 to 5 stars")
    if not (head := _head(text.removeprefix("\ufeff"))):
        raise Invalid("no-front-matter", f"{path} has no front matter", "restore its first lines")
    ratings[by or f"person-{len(ratings) + 1}"] = stars
    lines = [line for line in head.split("\n") if not line.startswith("ratings:")]
    lines += [f"ratings: {', '.join(f'{who} {count}' for who, count in ratings.items())}"]
    changed = text.replace(head, "\n".join(lines), 1).encode("utf-8", "surrogateescape")
    put(path, changed, replace=True)
    return ratings


def stats(found: list[Row]) -> dict[str, float | None]:
    """Return document 003's four success measures; None where there is nothing to measure."""
    ended = [one for one in found if one["outcome"] != "cancelled"]
    held = [one for one in ended if one.get("procedure") == "deliberation"]
    agreed = [one for one in held if one.get("consensus") in ("strong", "soft")]
    measured: dict[str, list[Any]] = {
        "convergenceRate": [one in agreed for one in held],
        "roundsToConsensus": [one.get("rounds", 0) for one in agreed],
        "rating": [stars for one in found for stars in _ratings(one).values()],
        "diversity": [one.get("diversity", 0) for one in held],
    }
    means = {key: sum(map(float, n)) / len(n) if n else None for key, n in measured.items()}
    return {"minutes": len(found), "deliberations": len(held), **means}


def _ratings(row: Row) -> dict[str, int]:
    """Return the stars by person; the line is `ratings: anna 4, ben 5`."""
    pairs = [one.strip().rpartition(" ") for one in str(row.get("ratings", "")).split(",")]
    return {who: int(stars) for who, _, stars in pairs if who and stars in tuple("12345")}


def _row(path: str) -> Row:
    """Return what a list shows of a file, {} if it cannot be read."""
    try:
        text = _text(path)
    except Refusal:
        return {}
    kept = _value(_line(text, "frontMatter"))
    row: Row = kept if isinstance(kept, dict) else {}
    for line in _head(text).split("\n"):
        key, colon, value = line.partition(": ")
        if colon and key[:1].isalpha() and value[:1] not in ("{", "[", "|", ">"):
            row[key] = _value(value.strip())
    if str(row.get("decision", "")).endswith("…"):
        row["decision"] = _value(_line(text, "decision")) or row["decision"]
    return {**row, "path": path, "endedAt": str(row.get("ended") or row.get("date") or "")}


def _line(text: str, key: str) -> str:
    """Return the value of a key of the state block, which has one on a line, as JSON."""
    return text.rpartition(f'\n "{key}": ')[2].partition("\n")[0].rstrip(",") if key in text else ""


def _value(text: str) -> Any:
    """Return the value that JSON, or plain or quoted YAML on one line, names."""
    try:
        return codec.loads(text)
    except Invalid:
        return text[1:-1].replace("''", "'") if text[:1] == "'" else text


def _has(row: Row, words: list[str]) -> bool:
    whole = block(row["path"])
    parts = [row.get("title"), row.get("decision"), whole.get("brief")]
    parts += [one.get("text", "") for one in whole.get("entries", [])]
    return all(word in "\n".join(map(str, parts)).casefold() for word in words)


def _text(path: str) -> str:
    return plain(decoded(files.content(path) or b""))


def _head(text: str) -> str:
    """Return the front matter without its fences, "" where there is none."""
    opening, _, rest = text.partition("\n")
    head, mark, _ = rest.partition("\n---")
    return head if mark and opening.rstrip() == "---" else ""


def _yaml(value: Any) -> str:
    """Return a value as YAML on one line: a plain word, or JSON, which is YAML, too."""
    plain = isinstance(value, str) and value not in _NO_WORDS and value and not set(value) - _PLAIN
    plain = plain and (value[0].isalpha() or (value[0].isdigit() and "-" in value))
    signs = str(value) if plain else codec.dumps(value, spaced=True)
    return "".join(c if c.isprintable() or c > "\uffff" else f"\\u{ord(c):04x}" for c in signs)
