"""Text of agents and people as HTML: Markdown without markup of its own, images or odd links."""

from __future__ import annotations

from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markupsafe import Markup, escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from markdown_it.token import Token

LONGEST, BRACKETS = 60_000, 2000  # of a text that is read as Markdown: `[` takes quadratic time
DEEPEST = 19  # levels of quotations and lists
_SCHEMES = ("http://", "https://", "mailto:")
_JOINERS = "\n\t\u200c\u200d"  # of letters and of emoji; other invisible signs are left out


def plain(text: str) -> str:
    """Return a text without control, direction and other invisible characters."""
    if text.isprintable():
        return text
    kept = (c if c.isprintable() or c in _JOINERS else " " for c in text.replace("\r\n", "\n"))
    return "".join(kept)


@lru_cache(maxsize=2000)
def html(text: str, above: int = 3) -> Markup:
    """Return a text as safe HTML; its headings are below so many levels of the page."""
    clean = plain(text.strip())
    if len(clean) > LONGEST or clean.count("[") > BRACKETS:
        return Markup("<pre>{}</pre>").format(clean)
    try:
        env = {"above": above}
        tokens = _READER.parse(clean, env)
        if all(token.level < DEEPEST for token in tokens):  # what is deeper the library leaves out
            made = _READER.renderer.render(tokens, _READER.options, env)
            return Markup(plain(made))  # a reference such as &#8238; is a sign now
    except RecursionError:
        pass
    return Markup("<pre>{}</pre>").format(clean)


class _Renderer(RendererHTML):
    def heading_open(self, tokens: Sequence[Token], at: int, _: Any, env: Any) -> str:
        return f"<h{min(int(tokens[at].tag[1]) + env['above'], 6)}>"

    def heading_close(self, tokens: Sequence[Token], at: int, _: Any, env: Any) -> str:
        return f"</h{min(int(tokens[at].tag[1]) + env['above'], 6)}>\n"

    def link_open(self, tokens: Sequence[Token], at: int, *_: Any) -> str:
        address = escape(str(tokens[at].attrs["href"]))
        return f'<a href="{address}" rel="noopener noreferrer nofollow ugc" title="{address}">'

    def image(self, tokens: Sequence[Token], at: int, *_: Any) -> str:
        """Return the words of an image; nothing is loaded."""
        return str(escape(tokens[at].content or str(tokens[at].attrs["src"])))

    def th_open(self, *_: Any) -> str:
        return "<th>"  # its alignment would be a style, which the page refuses

    def td_open(self, *_: Any) -> str:
        return "<td>"

    def table_open(self, *_: Any) -> str:
        return '<div class="scroll" tabindex="0"><table>\n'

    def table_close(self, *_: Any) -> str:
        return "</table></div>\n"


def _reader() -> MarkdownIt:
    made = MarkdownIt("js-default", {"html": False, "linkify": False}, renderer_cls=_Renderer)
    made.validateLink = lambda url: url.lower().startswith(_SCHEMES)  # type: ignore[method-assign]
    return made


_READER = _reader()
