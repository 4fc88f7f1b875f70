"""Any bytes through the codec and the taking-in of edits: `python -m tests.faults.fuzz_codec S`.

With `atheris` the coverage of the code leads the way for S seconds. The last
line of the output says how many inputs were tried. A failure ends the process
with its traceback and the input.
"""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import Any

_MOST_BYTES = 4096


def _instrumented() -> AbstractContextManager[Any]:
    try:
        import atheris
    except ImportError:
        return nullcontext()
    return atheris.instrument_imports(include=["council.store", "council.core"])


with _instrumented():
    from council.core.conversations.answers import respond
    from council.core.conversations.conversation import Conversation
    from council.core.errors import CouncilError
    from council.store.statefile import handwritten, marks, statefile
    from council.store.statefile.edits import take_in
    from tests.core.conversations.samples import convened

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
LATER = datetime(2026, 2, 8, 20, 5, tzinfo=UTC)


def state_with(text: str) -> Conversation:
    """Return a conversation in which sage has said `text`."""
    state = convened("sage", "nova", sealed_phases=False)
    state.topic = "Any words?"
    return respond(state, "sage", text, now=NOW).state


BASE = statefile.render(state_with("I say so.\n\n## Heading\n<!--council-state\n{}\n-->"))
_PIECES = (
    marks.brief_text("A brief.").encode(),
    b"<!--council-state\n",
    b"\n-->\n",
    b"<!--council:",
    b"[Tour 1]: ",
    b"- Sage (agent:sage): AGREED\n",
    b"### Sage\n",
    b'"status": "RESPONDED"',
    b'"rev": 99',
    b"\r\n",
    b"\xef\xbb\xbf",
    b"\xe2\x80\x8f",
)


def check(data: bytes) -> None:
    """Hold the codec to what it promises for any input.

    Raises:
        AssertionError: A promise is broken.
    """
    kind, rest = data[:1], data[1:]
    if not kind or kind[0] % 3 == 0:
        _any_text(rest.decode("utf-8", "replace"))
    elif kind[0] % 3 == 1:
        _edited(rest)
    else:
        _said(rest.decode("utf-8", "replace"))


def _any_text(text: str) -> None:
    """Any text is read with faults listed, or refused in words; what is read can be written."""
    page = statefile.parse(text)
    assert all(isinstance(fault, str) for fault in page.faults)
    for read in (_imported, _loaded):
        try:
            state, found = read(text)
        except CouncilError:
            continue
        again = statefile.render(state, found)
        back = statefile.load(again, "its own rendering")[0]
        assert [one.text for one in back.entries] == [one.text for one in state.entries]
    _taken(text)


def _imported(text: str) -> tuple[Conversation, statefile.Page]:
    return handwritten.import_page(text, "active", NOW)


def _loaded(text: str) -> tuple[Conversation, statefile.Page]:
    return statefile.load(text, "a file")


def _edited(data: bytes) -> None:
    """A file of ours into which something was put, or of which something was cut."""
    source = BASE.encode("utf-8")
    at = int.from_bytes(data[:2], "big") % (len(source) + 1)
    cut = data[2:3] and data[2]
    put = data[4:]
    if data[3:4] and data[3] % 2:
        put = _PIECES[data[3] // 2 % len(_PIECES)] + put
    text = source[:at] + put + source[at + (cut or 0) :]
    _taken(text.decode("utf-8", "replace"))


def _taken(text: str) -> None:
    """Whatever was saved over a file of ours: what was said stands once and unchanged."""
    try:
        taken = take_in(BASE, text, BASE, now=LATER, nonce="n")
    except CouncilError:
        return
    said = [one.text for one in statefile.load(BASE, "ours")[0].entries]
    stands = [one.text for one in taken.state.entries]
    assert stands[: len(said)] == said, "a contribution was changed or lost"
    again = statefile.render(taken.state, taken.page)
    back, page = statefile.load(again, "what was taken in")
    assert page.complete
    assert [one.text for one in back.entries] == stands
    once_more = take_in(again, again, again, now=LATER, nonce="n")
    assert statefile.render(once_more.state, once_more.page) == again, "it is not at rest"


def _said(text: str) -> None:
    """Any contribution comes out as it went in, and breaks out of nothing."""
    try:
        state = state_with(text)
    except CouncilError:
        return
    shown = statefile.render(state)
    back, page = statefile.load(shown, "its own rendering")
    assert [one.text for one in back.entries] == [text]
    assert not page.faults, page.faults
    assert statefile.render(back, page) == shown


def seeds() -> list[bytes]:
    """Return inputs from which to start."""
    source = BASE.encode("utf-8")
    texts = [source, *_PIECES, b"".join(_PIECES), source + source, source[: len(source) // 2]]
    return [bytes([kind]) + text for kind in range(3) for text in texts]


def main() -> int:
    """Fuzz for as many seconds as the first argument says; return the exit code."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    worse = sys.argv[2] if len(sys.argv) > 2 else ""
    if worse:
        from tests.faults import bad_stores

        getattr(bad_stores, worse)()
    ends_at = time.monotonic() + seconds
    for data in seeds():
        check(data)
    return _led(seconds) if "atheris" in sys.modules else _unled(ends_at)


def _led(seconds: int) -> int:
    import atheris

    tried = 0

    def one_input(data: bytes) -> None:
        nonlocal tried
        tried += 1
        if tried % 100 == 0:
            print(f"inputs: {tried}", flush=True)
        check(data)

    options = [f"-max_total_time={seconds}", f"-max_len={_MOST_BYTES}", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *options, "-artifact_prefix=/dev/null"], one_input)
    atheris.Fuzz()
    return 0


def _unled(ends_at: float) -> int:
    import random

    chance, pool, tried = random.Random(1), seeds(), 0
    while time.monotonic() < ends_at:
        data = bytearray(chance.choice(pool))
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(4)] = chance.choice(
                (bytes([chance.randrange(256)]), chance.choice(_PIECES), b"")
            )
            data = data or bytearray(1)
        try:
            check(bytes(data))
        except Exception:
            print(f"the input: {bytes(data)!r}", file=sys.stderr)
            raise
        tried += 1
    print(f"inputs: {tried}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
