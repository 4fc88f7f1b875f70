"""Texts of others on a page: what stays of them, and that no text can act, load or lie."""

from __future__ import annotations

import time
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from council.web.markdown import ATTRIBUTES, MARKDOWN_MAX_CHARS, REL, SHOWN_MAX_CHARS, TAGS, html_of
from tests.examples import examples
from tests.web.hostile import hostile_texts

DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
VOID = ("br", "hr")


class Parsed(HTMLParser):
    """What an HTML parser finds: tags with attributes, the text, and what is open at the end."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.odd: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.odd.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.odd.append(data)

    def handle_decl(self, decl: str) -> None:
        self.odd.append(decl)

    def handle_pi(self, data: str) -> None:
        self.odd.append(data)

    def unknown_decl(self, data: str) -> None:
        self.odd.append(data)


def held(html: str) -> Parsed:
    """Hold a block of HTML against what may stand in one, and return what is in it."""
    found = Parsed(html)
    assert (found.odd, found.open) == ([], []), "a tag that is not closed, or none of ours"
    assert found.tags[0] == ("div", {"class": "said", "dir": "auto"})
    assert html.count('<div class="said"') == 1
    for tag, attributes in found.tags[1:]:
        assert tag in TAGS
        assert attributes.keys() <= ATTRIBUTES.get(tag, set()) | ({"rel"} if tag == "a" else set())
        if tag == "a":
            assert attributes["rel"] == REL
            assert str(attributes["href"]).lower().startswith(("http://", "https://", "mailto:"))
    assert all(one.isprintable() or one in "\n\t\u200c\u200d" for one in html)
    return found


def test_no_hostile_text_leaves_more_than_harmless_tags() -> None:
    for text in hostile_texts():
        held(html_of(text))


# Words that Markdown and HTML are made of, so that chance puts them together.
PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            (
                *(
                    "# ",
                    "> ",
                    "- ",
                    "*",
                    "**",
                    "_",
                    "`",
                    "```",
                    "~~~",
                    "|",
                    "---",
                    "[",
                    "]",
                    "(",
                    ")",
                ),
                *("![", "](", "]:", "<", ">", "</", "<a ", "<script>", "<img onerror=", "&#106;"),
                *("&#8238;", "javascript:", "https://x.org", "data:", '"', "'", "\\", "\n", "\n\n"),
                *("\t", "1. ", "<!--", "-->", "{{", "x", " "),
            )
        ),
        st.characters(),
    ),
    max_size=60,
).map("".join)


@given(st.one_of(PIECES, st.text(st.characters(), max_size=200)))
@settings(max_examples=examples(300), deadline=None)
@example("\ud800")
def test_whatever_a_text_is_only_allowed_tags_and_attributes_come_of_it(text: str) -> None:
    held(html_of(text))


def test_the_usual_markdown_looks_as_its_author_meant_it() -> None:
    text = (
        "# One\n\n## Two\n\n### Three\n\nSome *words* **of** `code` ~~gone~~.\n\n"
        "- open\n- done\n\n3. third\n\n> quoted\n\n|a|b|\n|-|-|\n|1|2|\n\n"
        "```py\nif a < b:\n```\n"
    )
    html = html_of(text)
    for part in (
        "<h4>One</h4>",
        "<h5>Two</h5>",
        "<h6>Three</h6>",
        "<em>words</em>",
        "<strong>of</strong>",
        "<s>gone</s>",
        "<li>open</li>",
        "<li>done</li>",
        '<ol start="3">',
        "<blockquote>",
        "<td>2</td>",
        "<pre><code>if a &lt; b:\n</code></pre>",
    ):
        assert part in html


def test_a_box_is_drawn_only_at_the_beginning_of_an_item() -> None:
    assert "<p>[x] said</p>\n</blockquote>" in html_of("> [x] said")
    assert "<li>a [x] b</li>" in html_of("- a [x] b")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[https://bank.test](https://evil.test/a)", "https://bank.test (evil.test)"),
        ("[a][b]\n\n[b]: HTTPS://Evil.test 'bank.test'", "a (Evil.test)"),
        ("[me](mailto:eve@evil.test?subject=x)", "me (eve@evil.test)"),
        ("[](https://evil.test)", " (evil.test)"),
        ("[bank](https://bаnk.test)", "bank (xn--bnk-6cd.test)"),  # with a Cyrillic letter
        ("<https://bаnk.test/ü>", "https://xn--bnk-6cd.test/%C3%BC"),
        ("[local](http://[::1]:80/)", "local ([::1])"),
    ],
)
def test_a_link_says_where_it_leads(text: str, shown: str) -> None:
    found = held(html_of(text))
    assert [tag for tag, _ in found.tags].count("a") == 1
    assert found.text.strip() == shown.strip()


@pytest.mark.parametrize(
    "address",
    [
        "/dirigent",
        "#top",
        "//evil.test",
        "ftp://evil.test",
        "https://bank.test@evil.test",
        "https://bank.test\\@evil.test",
        "https:evil.test",
        "https://evil.test%2e",
        "https://",
        "mailto:",
        "javascript:boom()",
    ],
)
def test_what_leads_elsewhere_or_hides_where_is_shown_and_is_no_link(address: str) -> None:
    found = held(html_of(f"[here]({address}) <{address}>"))
    assert "a" not in [tag for tag, _ in found.tags]
    assert found.text.count(address.replace("\\", "")) == 2


def test_an_image_is_shown_as_its_text_and_its_address() -> None:
    found = held(html_of('![two *cats*](https://evil.test/cats.png "title")'))
    assert "img" not in [tag for tag, _ in found.tags]
    assert found.text.strip() == "two cats https://evil.test/cats.png"


def test_no_direction_mark_survives_as_a_sign_or_as_a_reference() -> None:
    for one in DIRECTIONS:
        for text in (f"a{one}b", f"a&#{ord(one)};b", f"a&#x{ord(one):x};b", f"`a{one}b`"):
            assert not set(html_of(text)) & set(DIRECTIONS), text


def test_marks_do_not_grow_into_towers_and_letters_keep_those_they_need() -> None:
    html = html_of("e" + "\u0301" * 5000 + " " + "&#769;" * 300 + " " + "\u200d" * 4000)
    assert html.count("\u0301") <= 18
    assert html.count("\u200d") <= 9
    for word in (
        "việt".encode().decode(),
        "v\u0069\u0302\u0323t",
        "क्ष्म्य",
        "👩\u200d👧\u200d👦",
        "🏳️\u200d🌈",
    ):
        assert word in html_of(word)


def test_nothing_is_lost_that_is_too_deep_or_too_long_for_markdown() -> None:
    for text in (
        "> " * 10_000 + "the end",
        "- " * 40 + "the end",
        "*" * 4000 + "the end" + "*" * 4000,
    ):
        html = html_of(text)
        assert "<pre>" in html
        assert "the end" in html
    long = "x *y* " * (MARKDOWN_MAX_CHARS // 6 + 1) + "the end"
    assert "<pre>x *y* x" in html_of(long)
    assert "the end</pre>" in html_of(long)
    assert html_of("x" * (SHOWN_MAX_CHARS + 1)).endswith("x […]</pre></div>")


TABLE = "|" + "a|" * 300 + "\n|" + "-|" * 300 + "\n" + "|\n" * 24_000
QUICK = ("*a **a ", "*a**", "[a](b", "<", "&", "`a``", "a\n", "|", "[a]: https://x.org '\n")


@pytest.mark.parametrize("text", ["[" * 40_000, "![" * 20_000, "[a][" * 10_000, TABLE])
def test_what_takes_the_square_of_its_length_is_shown_as_it_was_written(text: str) -> None:
    assert html_of(text).startswith('<div class="said" dir="auto"><pre>' + text[:10])


def test_no_text_takes_long_to_show() -> None:
    began = time.process_time()
    for one in (*QUICK, TABLE, "["):
        html_of((one * (MARKDOWN_MAX_CHARS // len(one)))[:MARKDOWN_MAX_CHARS])
    html_of("*[> " * 2_500_000)
    # About 3 s where nothing else runs.
    assert time.process_time() - began < 20
