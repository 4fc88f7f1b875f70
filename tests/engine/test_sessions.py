"""What a command and its link say to each other, and a link that does not answer."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from council.core.errors import (
    IN_DOUBT,
    CouncilError,
    LockTimeoutError,
    StaleError,
    UnreachableError,
)
from council.store.engine import sessions

SAID = {"url": "postgresql://db.example/council"}
_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXT | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(_TEXT.filter(lambda one: one != "$"), inner),
)


@pytest.mark.req("EN-003", "EN-007")
@given(_VALUES)
@example(bytes(range(256)) * 4096)
def test_every_value_comes_as_it_was_sent(value: Any):
    one, other = socket.socketpair()
    with one, other:
        sender = threading.Thread(target=sessions.send, args=(one, [value]))
        sender.start()
        assert sessions.received(other) == [value]
        sender.join()
        one.close()
        assert sessions.received(other) is None


@pytest.mark.req("EN-003")
@pytest.mark.parametrize(
    "error",
    [
        LockTimeoutError("a/lock", "another", 2.0),
        StaleError("den", 3, 4),
        UnreachableError("postgresql://db.example/council", "it is off"),
        CouncilError("no", "yes", context="C1"),
    ],
)
def test_a_refusal_is_the_same_behind_a_link(tmp_path: Path, error: CouncilError):
    with answering(tmp_path, {"error": sessions.told(error)}):
        linked = sessions.Linked(str(tmp_path), SAID)
        with pytest.raises(type(error)) as raised:
            linked.clock()

    assert vars(raised.value) == vars(error) and str(raised.value) == str(error)
    assert raised.value.to_record() == error.to_record()


@pytest.mark.req("EN-003")
def test_a_link_that_goes_away_under_a_change_leaves_it_in_doubt(tmp_path: Path):
    for verb, is_change in (("commit", True), ("clock", False)):
        folder = tmp_path / verb
        folder.mkdir()
        with answering(folder, None):
            linked = sessions.Linked(str(folder), SAID)
            with pytest.raises(UnreachableError) as raised:
                getattr(linked, verb)()
        assert raised.value.hint.startswith(IN_DOUBT) == is_change


class answering:  # noqa: N801
    """A socket that greets, and gives one answer to all that is asked."""

    def __init__(self, folder: Path, answer: dict[str, Any] | None) -> None:
        self._answer = answer
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / sessions.SOCKET))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        client, _ = self._listener.accept()
        with client:
            for answer in ({"is": None}, self._answer):
                sessions.received(client)
                sessions.send(client, answer)


@pytest.mark.req("EN-003", "EN-008")
def test_a_link_that_does_not_even_greet_is_given_up_soon(tmp_path: Path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / sessions.SOCKET))
        listener.listen()
        began = time.monotonic()
        with pytest.raises(UnreachableError, match="council link does not answer"):
            sessions.opened(str(tmp_path), SAID)

    assert time.monotonic() - began < 8
