"""Text of agents and people as HTML: Markdown without markup of its own, images or odd links."""

from __future__ import annotations

from contextlib import suppress
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
    clean, env, made = plain(text.strip()), {"above": above}, ""
    if len(clean) <= LONGEST and clean.count("[") <= BRACKETS:
        with suppress(RecursionError):
            tokens = _READER.parse(clean, env)
            if all(one.level < DEEPEST for one in tokens):  # the library leaves out what is deeper
                made = _READER.renderer.render(tokens, _READER.options, env)
    whole = made or not clean
    # A reference such as &#8238; is a sign by now.
    return Markup(plain(made)) if whole else Markup("<pre>{}</pre>").format(clean)


class _Renderer(RendererHTML):
    def heading_open(self, tokens: Sequence[Token], at: int, _: Any, env: Any) -> str:
        return f"<h{min(int(tokens[at].tag[1]) + env['above'], 6)}>"

    def heading_close(self, tokens: Sequence[Token], at: int, _: Any, env: Any) -> str:
        return f"</h{min(int(tokens[at].tag[1]) + env['above'], 6)}>\n"

    def link_open(self, tokens: Sequence[Token], at: int, *_: Any) -> str:
        address = escape(str(tokens[at].attrs["href"]))
        return f'<a href="{address}" rel="noopener noreferrer nofollow ugc" title="{address}">'

    def th_open(self, *_: Any) -> str:
        return "<th>"  # its alignment would be a style, which the page refuses

    def td_open(self, *_: Any) -> str:
        return "<td>"


_READER = MarkdownIt("js-default", {"html": False, "linkify": False}, renderer_cls=_Renderer)
_READER.disable("image")
_READER.validateLink = lambda url: url.lower().startswith(_SCHEMES)  # type: ignore[method-assign]
