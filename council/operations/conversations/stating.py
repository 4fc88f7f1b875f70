"""Stating: a turn or vote given in parts, made into the text that stands in the file.

An agent that gives `--position`, `--stance` and `--confidence` gets the same text as
an agent that writes the form by hand; its structure is read from that text.

Source: DL-011, DL-017, DL-025, `cli.md` section 2.
"""

from __future__ import annotations

from council.core.conversations.conversation import Conversation
from council.core.conversations.handles import handles
from council.core.conversations.procedures import PROCEDURES
from council.core.errors import RefusedError, UsageError
from council.core.reading_answers.rendering import render_turn
from council.core.reading_answers.stances import STANCES
from council.core.reading_answers.turns import Response
from council.core.record import Record

_SETS_OFF = ":：-‐‑‒–—―−"


class Stated(Record):
    """What was stated by options; the agents of `stances` are named as they were given."""

    position: str = ""
    stances: list[Response] = []
    confidence: int = 0


def stated(position: str, stances: list[str], confidence: str) -> Stated:
    """Read the options.

    Args:
        position: The position; "" for none.
        stances: Each as `PEER=STANCE` or `PEER=STANCE:COMMENT`; a dash may stand for the colon.
        confidence: A whole number from 1 to 5; "" for none.

    Raises:
        UsageError: A stance is none of the three, or is towards no one.
    """
    read = []
    for given in stances:
        peer, equals, rest = given.partition("=")
        stance, comment = _cut(rest.strip())
        if not equals or not peer.strip() or stance not in STANCES:
            raise UsageError(
                f"--stance {given!r} is not PEER=STANCE or PEER=STANCE:COMMENT",
                f"a stance is one of: {', '.join(STANCES)}",
            )
        read.append(Response(agent=peer.strip().lstrip("@"), stance=stance, comment=comment))
    return Stated(
        position=position.strip(), stances=read, confidence=int(confidence) if confidence else 0
    )


def _cut(rest: str) -> tuple[str, str]:
    """Return the stance and the comment that a colon or any kind of dash sets off."""
    at = next((at for at, letter in enumerate(rest) if letter in _SETS_OFF), len(rest))
    return rest[:at].strip().lower(), rest[at:].lstrip(_SETS_OFF + " \t\u00a0\u202f").strip()


def composed(state: Conversation, agent: str, parts: Stated, reasoning: str, *, phase: str) -> str:
    """Return the text of a turn or vote of `agent` that states `parts`, in answer to `phase`.

    Sent again for a round that is closed by now it must be the same text (DL-087).

    Raises:
        RefusedError: The phase under way asks for a text.
        UsageError: A stance is towards no participant.
    """
    form = PROCEDURES[state.procedure].phase(phase).form
    if form == "text":
        raise RefusedError(
            f"{phase} asks for a text, not for a position with stances",
            "leave --position, --stance and --confidence out",
        )
    known = handles(state, agent)
    for one in parts.stances:
        if one.agent.casefold() not in known:
            raise UsageError(
                f"--stance names {one.agent!r}, who does not take part",
                f"name one of: {', '.join(peer for peer in state.participants if peer != agent)}",
            )
    return render_turn(
        position=parts.position,
        responses=parts.stances,
        reasoning=reasoning,
        confidence=parts.confidence,
        vote=form == "vote",
        lang=state.lang,
    )
