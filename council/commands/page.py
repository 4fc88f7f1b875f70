"""The page of a council while it goes on, for `ask --page` and `convene --page`.

Source: DL-072, `cli.md` section 2 (`ask`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from html import escape

from council.commands.output import shown
from council.core.conversations.conversation import Conversation
from council.operations.place import Place
from council.store.files import remove, replace
from council.store.texts import words_of


@contextmanager
def page_of(place: Place, state: Conversation, *, opens: bool) -> Iterator[None]:
    """Show the page of a council for as long as the block lasts.

    A server that runs goes on running; where there is none, one is started for this.

    Args:
        place: The workspace.
        state: The council.
        opens: Open a browser if there is a display, besides printing the link.
    """
    # -P: a module that lies in the workspace must not be imported for one of ours.
    command = [sys.executable, "-P", "-m", "council.web.starting", place.root]
    server = subprocess.Popen(
        [*command, f"/councils/{state.name}", str(os.getpid())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=dict(place.environ),
    )
    # The link is a secret, and other users can read the arguments of a browser.
    note = f"{place.paths.control}/open-page.html"
    try:
        with server:
            assert server.stdout is not None
            said = server.stdout.readline().decode("utf-8", "replace").strip()
            key = "page" if said.startswith("http://") else "no-page"
            sys.stderr.write(shown(words_of(state.lang, "ask")[key].format(said)) + "\n")
            if key == "page" and opens and has_display(place.environ):
                target = f'<meta http-equiv="refresh" content="0;url={escape(said)}">\n'
                replace(note, target.encode(), mode=0o600)
                import webbrowser

                webbrowser.open(f"file://{note}")
            try:
                yield
            finally:
                with suppress(ProcessLookupError):
                    server.terminate()
    finally:
        remove(note)


def has_display(environ: Mapping[str, str]) -> bool:
    """Return true if a browser could be seen where this runs."""
    if "CI" in environ:
        return False
    if sys.platform == "darwin":
        return "SSH_CONNECTION" not in environ
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))
