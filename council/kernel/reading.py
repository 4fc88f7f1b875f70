"""How every kind's page is read: tolerant of what people type and of what tools reformat.

A page is split at marks and at headings that the kind knows; everything else is text. Texts are
compared by their letters, digits and emoji (`page.md`, section 6).
"""

from __future__ import annotations

import re
from html import unescape
from unicodedata import category, normalize

from council.kernel.codec import loads
from council.kernel.errors import Invalid
from council.kernel.page import plain, shown, unescaped
from council.kernel.record import Any, Record

_STYLES = dict.fromkeys((0xFE0E, 0xFE0F))  # how an emoji is drawn
QUOTED = ("brief", "entry", "message")
_MARK = r"<!--council:([a-z]+)((?: +[^\s>]+)*?) *-->"
_ONLY_MARKS = re.compile(rf"[ \t]*(?:{_MARK}[ \t]*)+$")
_MARKS = re.compile(_MARK)
_LAST_END = re.compile(r"(?<!\\)<!--council:end *-->[ \t]*$")
_FIRST = re.compile(r"[ \t]*(<!--council:(?:end|draft|notes)(?: [^\s>]+)? *-->)[ \t]*")
_HEADING = re.compile(r"\s*#{1,6}[\s\u00a0]*(.*?)[ \t#]*$")
_UNDERLINE = re.compile(r"\s*(?:=+|-+)\s*$")
_ITEM = re.compile(r"\s*(?:[-*+•●◦–−]|\d+[.)])[ \t\u00a0]+(?:\[[ xX]\]\s)?(.*)$")
QUOTE = re.compile(r"^[ \t]*> ?")
_FENCE = re.compile(r"[>\s]*(?:```+|~~~+).*$")
_DEFINITION = re.compile(r"[>\s]*\\?\[[^\]]+\]:")  # of a link or a note; tools move them
_COMMENT = re.compile(r"<!--(?!\\*council).*?-->", re.S)
_CONFLICT = ("<<<<<<< ", "||||||| ", ">>>>>>> ")  # how a merge marks both sides
_BLOCK = re.compile(
    r"(?:^|<!--council:end *-->)[ \t]*<!--council-state(.*?)(?:-->|\Z)", re.S | re.M
)
_CONTENTS = re.compile(
    r"^[ \t]*<!-- *(?:START|BEGIN|toc\b)[^\n]*?-->.*?<!-- *(?:END|tocstop\b)[^\n]*?-->"
    r"|^(?:&#10;)+|^[> \t]*<!-- end list -->\n",  # pandoc; comrak and cmark-gfm
    re.S | re.M,
)
_RAW = re.compile(r"^[> ]*```+ ?\{=html\}\n([> ]*<!--.*?-->\n)[> ]*```+$", re.S | re.M)  # pandoc
# A heading with the number and the attributes that a tool gave all of them, and so the second.
_GIVEN = re.compile(r"^(#+ )(\d[\d.]*[.:)]? )?(.*?)( \{[^}\n]*\})?$", re.M)


class Piece(Record, settled=True):
    """A part of a page: one of our headings, a region between marks, or lines outside of regions.

    `name` and `digest` are those of the region's mark; of a heading, `name` is its text.
    """

    kind: str  # `heading`, `text`, or that of the region
    section: str  # the key of the heading above it, "" before the first, `after` behind the block
    who: str = ""  # the key of the participant's heading above it
    name: str = ""
    digest: str = ""
    lines: list[str] = []  # without quote signs

    def text(self) -> str:
        """Return its lines as one text, without outer empty lines."""
        text = "\n".join(line if line.strip() else "" for line in self.lines)
        return text.strip("\n").rstrip(" \t")


def parse(page: str, sections: dict[str, str], people: dict[str, str]) -> list[Piece]:
    """Return the pieces of a page in their order.

    `sections` has our headings, `folded`, and the key of the section that each begins; the first is
    that of the title up to its colon. Where the key has a blank, the section may come repeatedly,
    and may have participants, whose headings and keys are `people`.
    """
    body, _, after = _split(page)
    lines = body.split("\n")
    pieces: list[Piece] = []
    section, who = "", ""
    seen: set[str] = set()

    def add(kind: str, text: list[str], name: str = "", digest: str = "") -> None:
        if kind != "text" or any(line.strip() for line in text):
            made = {"section": section, "who": who, "name": name, "digest": digest}
            pieces.append(Piece(kind=kind, lines=text, **made))

    def heading(at: int) -> tuple[str, str, str, int] | None:
        """Return section, participant, text and number of lines of one of our headings."""
        found = _HEADING.match(lines[at])
        under = at + 1 < len(lines) and lines[at].strip() and _UNDERLINE.match(lines[at + 1])
        text = found[1] if found else lines[at] if under else ""
        own, title = folded(words(text)), "" if section else folded(text.partition(":")[0])
        owner = people.get(own, "") if " " in section else ""
        key = section if owner else sections.get(own) or sections.get(title)
        if not key or (not owner and key in seen and " " not in key):
            return None
        return key, owner, text, 1 if found else 2

    def is_unquoted(at: int) -> bool:
        return lines[at].strip()[:1] not in ("", ">")

    marks = _marks(lines)
    text: list[str] = []
    at = code = 0
    while at < len(lines):
        here = marks.get(at)
        if who and at >= code:
            code = _behind_fence(lines, at, marks)
        if here is None and at >= code and (found := heading(at)):
            add("text", text)
            section, who, text = found[0], found[1], []
            seen.add(section)
            add("heading", [], found[2])
            at += found[3]
        elif here is None:
            text.append(lines[at])
            at += 1
        elif here[0] in ("end", "eof"):
            at += 1
            if here[0] == "eof":  # the page was doubled
                add("text", text)
                section, who, text, seen = "", "", [], set()
        else:
            add("text", text)
            text, kind, at = [], here[0], at + 1
            ends = next((n for n in range(at, len(lines)) if n in marks), len(lines))
            bare = (n for n in range(at, ends) if lines[n].lstrip()[:1] == "#")
            over = kind in QUOTED and any(heading(n) for n in bare)
            if over or marks.get(ends, ("",))[0] != "end":  # the end mark is gone
                is_end = is_unquoted if kind in QUOTED else heading
                ends = next((n for n in range(at, ends) if is_end(n)), ends)
            inside = lines[at:ends]
            if kind in QUOTED:
                inside = [QUOTE.sub("", ln) for ln in inside if not ln.startswith(_CONFLICT)]
            *name, digest = here[1] if kind in QUOTED and here[1] else (*here[1], "")
            add(kind, inside, " ".join(name), digest)
            at = ends
    add("text", text)
    section, who = "after", ""
    add("text", [line for line in after.split("\n") if not _ONLY_MARKS.match(line)])
    return pieces


def block_text(page: str) -> str:
    """Return the text of the state block of a page, "" where it has none."""
    return _split(page)[1]


def block_of(page: str) -> Any:
    """Return the state block of a page, None where there is none that can be read."""
    try:
        return loads(re.sub(r'\\(?!["\\/bfnrtu])', "", block_text(page)))  # pandoc writes `\[`
    except Invalid:
        return None


def _split(page: str) -> tuple[str, str, str]:
    """Return what is before the state block, its JSON, and what is behind it."""
    page = _RAW.sub(r"\1", _CONTENTS.sub("", plain(page.removeprefix("\ufeff"))))
    if (second := _GIVEN.search(page, page.find("\n#"))) and (second[2] or second[4]):
        page = _GIVEN.sub(r"\1\3", page)
    blocks = list(_BLOCK.finditer(page))
    if not blocks:
        return page, "", ""
    last = blocks[-1]
    before, after = page[: last.start()], page[last.end() :]
    if fence := re.search(r"^[ \t]*(```+|~~~+)[a-z]*\s*\Z", before, re.M):  # document 000 has one
        before, after = before[: fence.start()], after.replace(fence[1], "", 1)
    for old in reversed(blocks[:-1]):
        before = before[: old.start()] + before[old.end() :]
    return before, last[1], after


def _marks(lines: list[str]) -> dict[int, tuple[str, list[str]]]:
    """Return the marks by line, after giving each a line of its own in `lines`."""
    made: list[str] = []
    for line in lines:
        if _ONLY_MARKS.match(line):
            made += [found[0] for found in _MARKS.finditer(line)]
        elif found := _LAST_END.search(line):
            made += [line[: found.start()], "<!--council:end-->"]
        elif found := _FIRST.match(line):
            made += [found[1], line[found.end() :]]
        else:
            made.append(line)
    lines[:] = made
    return {
        at: (found[1], found[2].split())
        for at, line in enumerate(lines)
        if line[:12] == "<!--council:" and (found := _MARKS.fullmatch(line))
    }


def _behind_fence(lines: list[str], at: int, marks: dict[int, Any]) -> int:
    """Return the line behind the fence that a line begins, if it ends before the next mark."""
    sign, end = lines[at].strip()[:3], at + 1
    while sign in ("```", "~~~") and end < len(lines) and end not in marks:
        bare, end = lines[end].strip(), end + 1
        if bare[:3] == sign and not bare.strip(sign[0]):
            return end
    return at


def letters(text: str) -> str:
    """Return the letters, digits and emoji of a text, however accents are written."""
    signs = normalize("NFC", text).translate(_STYLES)
    return "".join([c for c in signs if c.isalnum() or (c > "\x7f" and category(c)[0] in "LMNS")])


def folded(text: str) -> str:
    """Return the letters of a heading or label without case."""
    return letters(text).casefold()


def same(one: str, other: str) -> bool:
    """Return whether two texts differ only in what tools change."""
    if one == other or letters(one) == letters(other):
        return True
    return any(_core(one, numbers) == _core(other, numbers) for numbers in (True, False))


def _core(text: str, numbers: bool) -> str:
    lines = _COMMENT.sub("", text).split("\n")
    kept = [ln for ln in lines if not (_FENCE.match(ln) or _DEFINITION.match(ln))]
    if not numbers:
        kept = [re.sub(r"^[>\s]*\d+[.)]\s", "", ln) for ln in kept]
    return letters(unescape("\n".join(kept)))


def item(line: str) -> str | None:
    """Return the words of a list item, None where a line is none."""
    found = _ITEM.match(line)
    return words(found[1]) if found else None


def words(line: str) -> str:
    """Return one of our lines as it was before backslashes and entities."""
    return unescaped(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", unescape(line))).strip()


def typed(lines: list[str], ours: set[str], starts: list[str]) -> str:
    """Return what a person typed among lines outside of regions.

    `ours` has the letters of every line that we print; lines of ours that carry a value begin with
    one of `starts`.
    """
    made: list[str] = []
    for part in re.split(r"\n[ \t]*\n", _COMMENT.sub("", "\n".join(lines))):
        rest = [ln for ln in part.split("\n") if ln.strip() and not ln.startswith(_CONFLICT)]
        if letters(words(part)) in ours:
            continue
        rest = [ln for ln in rest if not (own := letters(item(ln) or words(ln))) or own not in ours]
        rest = [ln for ln in rest if not (item(ln) or words(ln)).startswith(tuple(starts))]
        cut = _without_start("\n".join(rest), ours)
        if letters(cut):
            made.append(cut.rstrip())
    return "\n\n".join(made)


def _without_start(text: str, ours: set[str]) -> str:
    """Return a text without the sentence of ours that it begins with (a wrapped or joined one)."""
    text = normalize("NFC", text)
    whole = letters(text)
    first = max((s for s in ours if len(s) > 15 and whole.startswith(s)), key=len, default="")
    count = at = 0
    while count < len(first):
        count += len(letters(text[at]))
        at += 1
    return text[at:].lstrip(".*_:) \n") if at else text


def lines_of(text: str) -> list[str]:
    """Return the lines of a text; of an empty one there are none."""
    return text.split("\n") if text else []


def merged(old: list[str], new: list[str], now: list[str]) -> list[str]:
    """Return `now` with the lines that `new` has and `old` had not, without those that it lost.

    They come last. A line that grew in a buffer that was saved before replaces its beginning.
    """
    was, said, keys = ([letters(line) for line in lines] for lines in (old, new, now))
    if was in (said, keys):
        return now if was == said else new
    more = set(said) - {"", *was, *keys}
    fresh = [line for line, own in zip(new, said, strict=True) if own in ("", *more)]
    gone = {*was, *(own for own in keys if any(one.startswith(own) for one in more))}
    kept = [line for line, own in zip(now, keys, strict=True) if own not in gone - {"", *said}]
    parts = "\n".join(kept).strip("\n"), "\n".join(fresh if more else ()).strip("\n")
    return lines_of("\n\n".join(filter(None, parts)))


def difference(old: list[str], new: list[str]) -> list[list[Any]]:
    """Return what turns `old` into `new`: one splice, or none, as `[position, removed, lines]`."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return [[start, len(old) - end - start, new[start : len(new) - end]]] if old != new else []


def plain_text(seen: str, level: int = 4) -> str:
    """Return a text without the backslashes that the page put there, if it is shown the same."""
    text = unescaped(seen)
    bare = re.sub(r"\\(<|!\[|\[(?=[^\]]*\]:))", r"\1", text)
    return bare if shown(bare, level) == seen else text
