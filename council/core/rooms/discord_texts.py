"""What is said on Discord and what is said here, each in the words of the other.

A message of ours becomes one or more *fragments*: Discord takes 2,000 characters at once. Each
begins with who speaks, since all are posted by one account, and none is cut inside a visible
character; a block of code that is cut goes on in the next one. The same message always has
the same fragments, so one that lies there already is known by its text.

What people wrote there is data with noise: what moves a screen goes, mentions become names,
what cannot be read here, such as a file, becomes a line that names it.

Source: DG-081, DG-088, `trust.md` (Text of others is data).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256

from council.core.plain_text import belongs_together, plain_line, plain_text
from council.core.times import render_instant

MOST_CHARS = 2000
# Of a text that is longer only so much is posted; all of it stands in the log.
MOST_FRAGMENTS = 20
SIGNAL = "➡️"
NO_TEXT = "[a message without a text]"
_NAME_CHARS = 80
_MARKUP = re.compile(r"<(@!?|@&|#|a?:\w{1,40}:|t:)(\d{1,20})(?::\w)?>")
_MENTION = re.compile(r"(?<![\w@<])@([\w.-]*\w)")
_ENDS = ("\n\n", "\n", ". ", "! ", "? ", "… ", " ")
_FENCE = "```"


class Hindered(Exception):  # noqa: N818 - it is no fault of the program
    """Discord cannot be reached, or refuses.

    Attributes:
        cause: Which cause of `texts/causes.txt` it is.
        said: What stands in its sentence.
        seconds: How long to let it rest, 0 to try again with the next heartbeat.
        is_of_message: Whether it is that one message which is refused.
    """

    def __init__(
        self, cause: str, said: str = "", seconds: float = 0.0, is_of_message: bool = False
    ) -> None:
        super().__init__(cause)
        self.cause, self.said = cause, said
        self.seconds, self.is_of_message = seconds, is_of_message


def heading(name: str, emoji: str = "") -> str:
    """Return the line that says who speaks, with nothing in the name that Discord would obey."""
    plain = "".join(one for one in plain_line(name) if one not in "*_`~|\\<>@")
    return f"{emoji} **{plain.strip()[:_NAME_CHARS]}**".strip()


def fragments(text: str, head: str, accounts: Mapping[str, str]) -> list[str]:
    """Return what is posted for a message.

    Args:
        text: What was said.
        head: The line that says who speaks, "" for the moderator.
        accounts: The accounts on Discord of agents, by id: `@id` becomes a mention.
    """

    def mention(found: re.Match[str]) -> str:
        account = accounts.get(found[1], "")
        return f"<@{account}>" if account.isdecimal() else found[0]

    plain = _MENTION.sub(mention, plain_text(text.replace("\r\n", "\n"))).strip()
    room = MOST_CHARS - len(f"{head} (99/99)\n".encode("utf-16-le")) // 2
    pieces = _pieces(plain, room) or ["(…)"]
    if len(pieces) > MOST_FRAGMENTS:
        left = sum(map(len, pieces[MOST_FRAGMENTS - 1 :]))
        more = f"[… {left} more characters stand in the log of the room]"
        pieces[MOST_FRAGMENTS - 1 :] = [more]
    if not head or len(pieces) == 1:
        return [f"{head}\n{one}".lstrip("\n") for one in pieces]
    of = len(pieces)
    return [f"{head} ({at}/{of})\n{one}" for at, one in enumerate(pieces, 1)]


def _pieces(text: str, room: int) -> list[str]:
    """Cut a text where it may be cut: after a paragraph, line, sentence or word."""
    found: list[str] = []
    fence = ""
    while text:
        at = _cut(text, room - len(fence) - len(_FENCE) - 1)
        piece, text = fence + text[:at].rstrip(), text[at:].lstrip("\n")
        if not piece.strip():
            continue
        fence = ""
        for line in piece.split("\n"):
            if line.lstrip().startswith(_FENCE):
                fence = "" if fence else f"{line.strip()[:_NAME_CHARS]}\n"
        found.append(f"{piece}\n{_FENCE}" if fence and text else piece)
    return found


def _cut(text: str, room: int) -> int:
    """Return where the first piece of a text ends; Discord counts in units of UTF-16."""
    most = min(room, len(text))
    while (over := len(text[:most].encode("utf-16-le")) // 2 - room) > 0:
        most -= max(1, over // 2)
    if most == len(text):
        return most
    for end in _ENDS:
        at = text.rfind(end, most // 2, most)
        if at > 0:
            return at + len(end)
    at = most
    while at > 1 and belongs_together(text[at - 1], text[at]):
        at -= 1
    # A letter with marks without end is cut; else each of its marks would be a fragment.
    return at if at > most // 2 else most


def is_same(there: str, ours: str) -> bool:
    """Return true if a message of our account is this fragment; white space may be lost."""
    return "".join(there.split()) == "".join(ours.split())


def nonce_of(channel_id: str, begun: str, number: int, part: int) -> str:
    """Return what makes a fragment count once there, however often it is sent."""
    return sha256(f"{channel_id}/{begun}/{number}/{part}".encode()).hexdigest()[:24]


def as_said(content: str, names: Mapping[str, str], also: Sequence[str]) -> str:
    """Return a message of Discord as it is kept here.

    Args:
        content: Its text.
        names: What to call accounts that it mentions.
        also: What else it holds, a line each: files, stickers, cards.
    """

    def readable(found: re.Match[str]) -> str:
        kind, number = found[1], found[2]
        if kind in ("@", "@!"):
            return f"@{names.get(number, number)}"
        if kind == "t:":
            try:
                return render_instant(datetime.fromtimestamp(int(number), UTC))
            except (ValueError, OverflowError, OSError):
                return number
        if kind in ("@&", "#"):
            return f"#{number}" if kind == "#" else f"@role-{number}"
        return f":{kind.split(':')[1]}:"

    text = _MARKUP.sub(readable, plain_text(content.replace("\r\n", "\n"))).strip()
    lines = [text, *(f"[{plain_line(one)}]" for one in also)]
    return "\n".join(one for one in lines if one) or NO_TEXT


def shown_name(name: str) -> str:
    """Return a name as one short line."""
    return " ".join(plain_line(name).split())[:_NAME_CHARS]
