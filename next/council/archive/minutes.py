"""Minutes as files: write them once, list, find and rate them.

`councils/minutes.py` makes their text. A file of `conseils/` is minutes if its front matter names a
conversation and an outcome; where a formatter has spoilt that, the copy in the state block at the
end counts. Other files that people keep there are passed over.
"""

from __future__ import annotations

import os

from council.archive.artifacts import put, read
from council.kernel import codec, files, ids
from council.kernel.errors import Invalid, NotFound, Refusal, Usage
from council.kernel.record import Any

FOLDER = "conseils"
BLOCK = "<!--council-state"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_WORDS_OF_YAML = ("yes", "no", "true", "false", "null", "on", "off", "y", "n")


def write(root: str, front: dict[str, Any], body: str, date: str) -> str:
    """Write the minutes of a conversation durably; return their path.

    A repeat finds the first file by its conversation id. No other file is overwritten: the second
    of a day and subject gets `-2`.

    Args:
        root: The workspace.
        front: The front matter; `conversation` and `topic` name the file.
        body: All below it.
        date: `YYYY-MM-DD`.

    Raises:
        Refusal: The disk refuses.
    """
    ident = str(front["conversation"])
    stem = f"{date}-{ids.slug(str(front['topic'])) or ids.slug(ident)[:8]}"
    head = "\n".join(f"{key}: {_yaml(value)}" for key, value in front.items())
    data = f"---\n{head}\n---\n\n{body}".encode("utf-8", "replace")
    for row in rows(root):
        if row["conversation"] == ident:
            return str(row["path"])
    count, path = 1, f"{root}/{FOLDER}/{stem}.md"
    while not put(path, data):
        count += 1
        path = f"{root}/{FOLDER}/{stem}-{count}.md"
    return path


def rows(root: str, search: str = "", since: str = "") -> list[dict[str, Any]]:
    """Return the front matter of all minutes with `path` and `endedAt`, the newest end first.

    Args:
        root: The workspace.
        search: Words that all have to occur in topic, brief, decision or what was said.
        since: A day or instant as text; what ended earlier is left out.
    """
    found: dict[str, dict[str, Any]] = {}
    names = sorted(files.names(f"{root}/{FOLDER}"), key=lambda name: (len(name), name))
    for name in names:  # of the copies that sync tools make, the shortest name counts
        path = f"{root}/{FOLDER}/{name}"
        row = _row(path) if name.endswith(".md") and name[0] != "." else {}
        ident = row.get("conversation")
        if not ident or not row.get("outcome") or ident in found or row["endedAt"] < since:
            continue
        if not search or _has(path, row, search.casefold().split()):
            found[str(ident)] = row
    return sorted(found.values(), key=lambda row: (row["endedAt"], row["path"]), reverse=True)


def find(root: str, which: str) -> dict[str, Any]:
    """Return the row of the minutes that a file name, id, name or part of a title means.

    Of several councils of one name or one title it is the newest.

    Raises:
        NotFound: None fit (`no-minutes`).
        Usage: Several fit (`ambiguous`), with `candidates`.
    """
    every, wanted = rows(root), which.casefold()
    file = os.path.basename(which).removesuffix(".md")
    for fits in (
        lambda row: os.path.basename(row["path"]).removesuffix(".md") == file,
        lambda row: which in (row["conversation"], row.get("name")),
        lambda row: len(which) > 3 and row["conversation"].startswith(which),
        lambda row: wanted in str(row.get("title", "")).casefold(),
    ):
        found = [row for row in every if which and fits(row)]
        if len({(row.get("name"), row.get("title")) for row in found}) > 1 and not any(
            row.get("name") == which for row in found
        ):
            names = [os.path.basename(row["path"]) for row in found]
            hint = f"name one: {', '.join(names[:5])}"
            raise Usage("ambiguous", f"{which!r} fits several minutes", hint, candidates=names)
        if found:
            return found[0]
    raise NotFound("no-minutes", f"no minutes of {which!r}", "council list minutes")


def block(path: str) -> dict[str, Any]:
    """Return the state block at the end of minutes, {} where there is none that can be read."""
    _, mark, rest = _text(path).rpartition(f"\n{BLOCK}\n")
    try:
        found = codec.loads(rest.partition("\n-->")[0], path) if mark else {}
    except Invalid:
        return {}
    return found if isinstance(found, dict) else {}


def rate(path: str, stars: int, by: str = "") -> dict[str, int]:
    """Add a rating to minutes; return all of them by person, a later one in place of the earlier.

    One line of the front matter changes, and no other byte.

    Raises:
        Invalid: The stars are not 1 to 5 (`bad-stars`), or there is no front matter.
        Refusal: The disk refuses.
    """
    text = _text(path)
    head = _head(text)
    if stars not in range(1, 6):
        raise Invalid("bad-stars", f"not a rating: {stars}", "give 1 to 5 stars")
    if not head:
        raise Invalid("no-front-matter", f"{path} has no front matter", "restore its first lines")
    old = _values(head).get("ratings")
    ratings = dict(old) if isinstance(old, dict) else {}
    ratings[by or f"person-{len(ratings) + 1}"] = stars
    kept: list[str] = []
    inside = False  # the old ratings, perhaps with one person a line
    for line in head.split("\n"):
        inside = line.startswith("ratings:") or (inside and line[:1] in (" ", "\t"))
        kept += [] if inside else [line]
    changed = "\n".join([*kept, f"ratings: {_yaml(ratings)}"])
    put(path, text.replace(head, changed, 1).encode("utf-8", "surrogateescape"), replace=True)
    return ratings


def _row(path: str) -> dict[str, Any]:
    """Return what a list shows of a file, {} if it is no minutes."""
    try:
        row = _values(_head(_text(path)))
        if not row.get("conversation") or str(row.get("decision", "")).endswith("…"):
            whole = block(path)
            row = {**whole.get("frontMatter", {}), **row}
            row["decision"] = whole.get("decision") or row.get("decision", "")
    except Refusal:
        return {}
    return {**row, "path": path, "endedAt": str(row.get("ended") or row.get("date") or "")}


def _has(path: str, row: dict[str, Any], words: list[str]) -> bool:
    whole = block(path)
    said = [str(one.get("text", "")) for one in whole.get("entries", [])]
    parts = [row.get("title"), row.get("topic"), row.get("decision"), whole.get("brief"), *said]
    text = "\n".join(str(part) for part in parts) if whole else _text(path)
    return all(word in text.casefold() for word in words)


def _text(path: str) -> str:
    return (read(path) or b"").decode("utf-8", "surrogateescape")


def _head(text: str) -> str:
    """Return the front matter without its fences, "" where there is none."""
    opening, _, rest = text.removeprefix("\ufeff").partition("\n")
    head, mark, _ = rest.partition("\n---")
    return head if mark and opening.rstrip() == "---" else ""


def _yaml(value: Any) -> str:
    """Return a value as YAML on one line: a plain word, or JSON, which is YAML too."""
    is_word = isinstance(value, str) and value and not set(value) - _PLAIN
    if is_word and value not in _WORDS_OF_YAML and ("-" in value[1:] or value[0].isalpha()):
        return str(value)
    return codec.dumps(value, spaced=True)


def _values(head: str) -> dict[str, Any]:
    """Return front matter as JSON values, also where a formatter has rewritten it."""
    found: dict[str, Any] = {}
    for line in head.replace("\r", "").split("\n"):
        key, colon, value = line.partition(": ")
        try:
            found[key] = codec.loads(value)
        except Invalid:
            found[key] = value
            if (line and not colon) or set(value) - _PLAIN:
                return _of_yaml(head)
    return {key: value for key, value in found.items() if key}


def _of_yaml(head: str) -> dict[str, Any]:
    import yaml  # late: the front matter as we write it needs no parser

    try:
        found = yaml.safe_load(head)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    plain = (str, int, float, list, dict)  # a date or time without quotes becomes text again
    return {
        str(key): value if isinstance(value, plain) else str(value).replace("+00:00", "Z")
        for key, value in (found if isinstance(found, dict) else {}).items()
    }
