"""How texts are shown and read back: nothing of a text can become a part of the page."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.kernel import page, reading
from tests.vectors.rows import tables_of


@pytest.mark.parametrize(("text", "seen"), tables_of("shown")["at level 4"])
def test_a_text_is_shown(text: str, seen: str) -> None:
    assert page.shown(text, 4) == seen
    assert reading.letters(seen) == reading.letters(text.replace("\x1b", ""))


ENCODINGS = ("utf-8-sig", "utf-16", "utf-32", "cp1252", "utf-16-le", "utf-16-be", "utf-32-be")


@pytest.mark.parametrize(
    ("data", "text"),
    [("Été".encode(), "Été"), *[("# Été €".encode(one), "# Été €") for one in ENCODINGS],
     ("🦉 Été ".encode() + b"tr\xe8s", "🦉 Été très"),  # one program's letter in a page of UTF-8
     (b"\x8f", "\ufffd"), (b"", "")],
)  # fmt: skip
def test_bytes_are_read_as_the_text_that_they_are(data: bytes, text: str) -> None:
    assert page.decoded(data) == text


HOSTILE = (
    "<!--council:end-->", "<!--council-state", "<!--\\council:end-->", "-->", "<script>", "</div>",
    "<div", "<!--", "<![CDATA[", "<?php", "```", "~~~", "    ", "\t", "> ", "- ", "1. ", "# ",
    "## Notes", "### Nova", "`", "``", "\\", "\\`", "[1]: x", "![a](b)", "[", "]", "word", "🦉",
    "===", "---", "-", "\n", "\n\n", " ", "Tour 2:", "- Nova (agent:nova): DONE", "&lt;b>", 
    "<a@b.c>", "\r\n", "\u2028", "*", "_", "|",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=8), max_size=30).map("".join)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.append(tag)

    def handle_comment(self, data: str) -> None:
        self.found.append("!")


def without_code(text: str) -> str:
    """Return a text without what is code in it, by a way of its own."""
    fenced = r"^ *(```+|~~~+)[^\n]*\n.*?^ *\1[`~]*[ \t]*(?:\n|\Z)"
    text = re.sub(fenced, "\n", text, flags=re.S | re.M)
    escape, span = r"\\[!-/:-@\[-`{-~]", r"(?:(?<!`)|(?<=\\`))(`+)(?!`)[^\n]*?(?<!`)\1(?!`)"
    return re.sub(f"{escape}|{span}", " ", text)  # in code a backslash is a backslash


@given(TEXTS)
def test_a_hostile_text_stays_a_text(text: str) -> None:
    seen = page.shown(text, 4)
    assert "<!--council" not in seen
    assert "\n\n## " not in without_code(f"\n\n{seen}")
    tags = Tags()
    tags.feed(without_code(seen))
    assert tags.found == []
    kept = page.shown(page.unescaped(seen), 4)
    assert page.digest(kept) == page.digest(seen)
    lines = page.quoted("entry", "1-nova", seen)
    (piece,) = reading.parse("\n\n".join(lines), {}, {})
    assert (piece.kind, piece.name) == ("entry", "1-nova")
    assert page.digest(piece.text()) == piece.digest
    assert reading.same(piece.text(), seen)


@given(TEXTS)
def test_escaping_is_undone(text: str) -> None:
    assert page.unescaped(page.escaped(text)) == text
    assert "<!--council" not in page.escaped(text)


@given(TEXTS)
def test_a_line_of_ours_stays_one_line(text: str) -> None:
    line = page.one_line(text)
    assert "\n" not in line and "<!--council" not in line
    words = reading.words(" ".join(text.split()))
    assert reading.letters(reading.words(line)) == reading.letters(words)


def test_a_heading_of_ours_ends_a_quote_whose_mark_is_gone():
    people = {"ann": "ann", "bob": "bob"}
    text = "<!--council:entry 1-ann abc-->\n\n> said\n\n### Bob\n\ntyped\n\n<!--council:end-->\n"
    pieces = reading.parse(f"## People\n\n### Ann\n\n{text}", {"people": "people "}, people)
    said = [(one.kind, one.who, one.text()) for one in pieces if one.kind != "heading"]
    assert said == [("entry", "ann", "said"), ("text", "bob", "typed")]
