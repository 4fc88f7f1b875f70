#!/usr/bin/env bash
# markdown-it-py 4.3.0, Markdown quoted more than twenty levels deep, as long mail threads are.
#
# Guess: what is nested too deeply is shown as text, or refused with an error.
# Seen: blocks below the preset's `maxNesting` (20) are left out of the HTML without a word, so a
# reader sees an empty quotation. The text is valid CommonMark; the limit has to be checked before.
. "$(dirname "$0")/_setup.sh" markdown-it-py==4.3.0

"$python" - <<'PY'
import sys
from markdown_it import MarkdownIt

found = {}
for depth in (5, 30):
    html = MarkdownIt("commonmark").render("> " * depth + "said long ago\n")
    found[depth] = "said long ago" in html
    print(f"{depth} levels: the words are {'there' if found[depth] else 'gone'}")
sys.exit(found != {5: True, 30: False})
PY
