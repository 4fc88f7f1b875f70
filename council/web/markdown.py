"""Texts of agents and people as HTML that can neither act nor draw over a page.

Markdown becomes HTML without raw HTML in it; of that only a short list of tags is kept, and
no attribute by which a text could reach the styles, the anchors or the scripts of the page.
No image is loaded: its text and its address are shown. A link leads to the web or to a mail
address and says behind its text where, so that no text lies about it. What takes too much
work to read as Markdown is shown as it was written.

Source: DL-073, DG-137, `trust.md` (text of others is data), SC-004.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import nh3
from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape

from council.core.plain_text import plain_text

# Of a text longer than this no Markdown is read, and of one longer than the second only the
# beginning is shown.
MARKDOWN_MAX_CHARS = 50_000
SHOWN_MAX_CHARS = 500_000
# What counts as too much work: steps in search of the ends of links, pieces, and one in another.
_STEPS_MAX = 500_000
_PIECES_MAX = 20_000
_DEPTH_MAX = 30
# More marks than this stand upon one letter in no script; a tower of them reaches other lines.
_MARKS_MAX = 8
_JOINERS = "\u200c\u200d"

_WEB = re.compile(r"https?://([\w.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?(?=[/?#]|$)", re.I | re.A)
_MAIL = re.compile(r"mailto:([^?#&\s]+@[a-z0-9.-]+)(?=\?|$)", re.I | re.A)
# The outline of the page has the first three.
_ABOVE = 3  # the level of the page's own heading over a text

TAGS = frozenset(
    (
        *("a", "blockquote", "br", "code", "em", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre"),
        *("s", "small", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
    )
)
ATTRIBUTES = {"*": set[str](), "a": {"href"}, "ol": {"start"}}
REL = "noopener noreferrer nofollow"


def html_of(text: str) -> Markup:
    """Return a text as a block of safe HTML, whatever stands in it.

    Control and direction characters become blanks. A text of more than `MARKDOWN_MAX_CHARS`
    signs, and one that takes too much work, is shown as it was written, in `<pre>`; of more
    than `SHOWN_MAX_CHARS` signs the rest is left out, marked `[…]`.
    """
    clean = plain_text(text[:SHOWN_MAX_CHARS].replace("\r\n", "\n"))
    if len(text) > SHOWN_MAX_CHARS:
        clean += " […]"
    try:
        made = _of_markdown(clean)
    except _TooMuchWorkError:
        made = f"<pre>{escape(clean)}</pre>"
    # A reference such as &#8238; has become a direction mark only now.
    return Markup(f'<div class="said" dir="auto">{without_towers(plain_text(made))}</div>')


class _TooMuchWorkError(Exception):
    """A text is made so that reading it as Markdown takes far longer than it is long."""


def _of_markdown(text: str) -> str:
    """Return the HTML of Markdown.

    Raises:
        _TooMuchWorkError: It is too long, too deep, or takes too many steps.
    """
    if len(text) > MARKDOWN_MAX_CHARS:
        raise _TooMuchWorkError
    return nh3.clean(
        _READER.render(text, {"steps": 0}),
        tags=set(TAGS),
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel=REL,
        clean_content_tags=set(),
    )


def without_towers(text: str) -> str:
    """Return a text in which few marks stand upon one letter, and few joiners in a row."""
    if text.isascii():
        return text
    kept: list[str] = []
    marks = 0
    for one in text:
        is_mark = one in _JOINERS or unicodedata.category(one).startswith("M")
        marks = marks + 1 if is_mark else 0
        if marks <= _MARKS_MAX:
            kept.append(one)
    return "".join(kept)


class _Inline(ParserInline):
    """Reads inside a line, counting its steps: links that do not end take the square of them."""

    def skipToken(self, state: StateInline) -> None:  # noqa: N802 - the name is the library's
        state.env["steps"] += 1
        if state.env["steps"] > _STEPS_MAX:
            raise _TooMuchWorkError
        super().skipToken(state)


def _leads_to(address: str) -> str:
    """Return the host of the web, or the mail address, that an address leads to; "" for others."""
    found = _WEB.match(address) or _MAIL.match(address)
    return found[1] if found else ""


def _bound(state: StateCore) -> None:
    """Refuse a text of too many pieces, or too deep: deeper ones the library would leave out."""
    if len(state.tokens) > _PIECES_MAX or any(one.level > _DEPTH_MAX for one in state.tokens):
        raise _TooMuchWorkError


def _settle(state: StateCore) -> None:
    """Lower the headings, note where links lead."""
    depth = _ABOVE
    for token in state.tokens:
        if token.type == "heading_open":  # no level is left out, so the outline of the page holds
            depth = min(int(token.tag[1]) + _ABOVE, depth + 1, 6)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{depth}"
        children = token.children or []
        opened = None
        for child in children:
            if child.level > _DEPTH_MAX:
                raise _TooMuchWorkError
            if child.type == "link_open":
                opened = child
            elif opened is not None and child.type == "link_close":
                if opened.markup != "autolink":
                    child.content = _leads_to(str(opened.attrs["href"]))
                opened = None
            elif opened is not None and opened.markup == "autolink":
                child.content = str(opened.attrs["href"])


class _Html(RendererHTML):
    def link_close(self, tokens: Sequence[Token], at: int, *_rest: object) -> str:
        """Say behind a link where it leads, unless its text is the address itself."""
        leads_to = tokens[at].content
        return f"</a> <small>({escape(leads_to)})</small>" if leads_to else "</a>"

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Show the text of an image and its address; nothing is loaded."""
        text = self.renderInlineAsText(tokens[idx].children or [], options, env)
        return f"{escape(text)} <code>{escape(str(tokens[idx].attrs['src']))}</code>"


class _Reader(MarkdownIt):
    def __init__(self) -> None:
        # Twice as deep as is shown: what is too deep is seen before anything is left out.
        bounds = {"html": False, "maxNesting": 2 * _DEPTH_MAX}
        super().__init__("js-default", bounds, renderer_cls=_Html)
        self.inline = _Inline()
        self.core.ruler.after("block", "bound", _bound)
        self.core.ruler.push("settle", _settle)

    def validateLink(self, url: str) -> bool:  # noqa: N802 - the name is the library's
        return bool(_leads_to(url))


_READER = _Reader()


def block_of(text: str, *, raised: bool = False) -> str:
    """Return the HTML of a text for a place on a page: wide tables scroll by themselves.

    `raised` takes its headings one level up, where no heading of ours stands right above it.
    """
    made = str(html_of(text)).replace("<table>", '<div class="scroll" tabindex="0"><table>')
    made = made.replace("</table>", "</table></div>")
    for level in (4, 5, 6) if raised else ():
        made = made.replace(f"<h{level}>", f"<h{level - 1}>")
        made = made.replace(f"</h{level}>", f"</h{level - 1}>")
    return made
