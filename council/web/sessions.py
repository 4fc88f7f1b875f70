"""Who may ask: the token of programs, links that open the page once, sessions of a browser.

Sessions are derived from the one token of the workspace, so a server that is started again knows
them; links belong to one start of the server. Each process that may read both makes links. Pure:
the caller says what time it is.

Source: DL-066, DG-132.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64encode

LINK_S = 15 * 60
SESSION_S = 30 * 24 * 60 * 60


class Sessions:
    """What one server accepts.

    Args:
        token: The token of the workspace.
        start: A word of this start of the server; links of other starts are void.
    """

    def __init__(self, token: str, start: str) -> None:
        self._token = token.encode()
        self._start = start
        self._used: dict[str, int] = {}

    def is_token(self, given: str) -> bool:
        """Return true if a program gave the token."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token)

    def link(self, now_s: int) -> str:
        """Return a word that opens one session, within a quarter of an hour."""
        return self._signed(f"link {self._start}", now_s + LINK_S)

    def session_for(self, link: str, now_s: int) -> str:
        """Return a new session for a link, which is used up by that; "" for one that is void."""
        ends_s = self._ends(f"link {self._start}", link)
        if not now_s < ends_s or link in self._used:
            return ""
        self._used = {one: at for one, at in self._used.items() if at > now_s} | {link: ends_s}
        return self._signed("session", now_s + SESSION_S)

    def is_session(self, session: str, now_s: int) -> bool:
        """Return true if a browser gave a session that holds."""
        return now_s < self._ends("session", session)

    def form_token(self, session: str) -> str:
        """Return what a form of that session must bring along; "" is who gave the token."""
        return self._mac("form", session)

    def is_form_token(self, given: str, expected: str) -> bool:
        """Return true if a form brought what it must."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())

    def _signed(self, kind: str, ends_s: int) -> str:
        said = f"{secrets.token_urlsafe(9)}.{ends_s}"
        return f"{said}.{self._mac(kind, said)}"

    def _ends(self, kind: str, given: str) -> int:
        """Return when a word ends, in seconds since 1970; 0 for one that is none of ours."""
        said, _, mac = given.rpartition(".")
        ends = said.rpartition(".")[2]
        is_ours = hmac.compare_digest(
            mac.encode("utf-8", "replace"), self._mac(kind, said).encode()
        )
        return int(ends) if is_ours and ends.isascii() and ends.isdigit() else 0

    def _mac(self, kind: str, said: str) -> str:
        what = f"{kind}\0{said}".encode("utf-8", "replace")
        # 128 bits; a link must fit into a line.
        digest = hmac.digest(self._token, what, "sha256")[:16]
        return urlsafe_b64encode(digest).rstrip(b"=").decode()
