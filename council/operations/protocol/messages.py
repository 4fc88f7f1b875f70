"""What messages need of a workspace: language, limits, signatures, side-cars, room for payloads.

Everything else about messages is decided in `wire`, without any workspace.

Source: PR-536, PR-589, PR-590, PR-609, XC-107, A-56, `cli.md` section 2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from council.core.delegation.artifacts import TEXT_TYPE, bytes_of, id_of_bytes, reference_to
from council.core.errors import ConflictError, InvalidInputError, NotFoundError, RefusedError
from council.core.events import trace_around
from council.core.record import Record
from council.operations.delegation.permitted import permitted
from council.operations.place import Place, open_place, own_agent
from council.store.delegation.artifacts import publish
from council.store.protocol.sidecars import add_to_sidecar, read_sidecar
from council.store.protocol.signatures import Nonces, key_path, make_key, read_key
from council.store.settings import Settings, language
from council.wire import signing
from council.wire.building import NO_SESSION, payload_in
from council.wire.conversion import Converted, convert
from council.wire.data import referred, with_parent
from council.wire.forms import DATA_CHARS
from council.wire.identifiers import is_digits
from council.wire.messages import parse
from council.wire.parsed import Parsed

_BOUNDED = ("V4", "V5")


def place_if_any(root: str, now: str, environ: Mapping[str, str]) -> Place | None:
    """Return the workspace a command means, None where it means none and none is found.

    Raises:
        NotFoundError: The one that was named does not exist.
        CouncilError: Its settings are wrong.
    """
    try:
        return open_place(root, now, environ)
    except NotFoundError:
        if root or environ.get("COUNCIL_ROOT"):
            raise
        return None


def most_bytes(place: Place | None) -> int:
    """Return how long a message may be."""
    return (place.settings if place else Settings()).max_text_bytes


def language_of(place: Place | None, option: str, environ: Mapping[str, str]) -> str:
    """Return the language to explain in: `en` or `fr`.

    Raises:
        UsageError: The option names a language we do not speak.
    """
    return language(place.settings if place else Settings(), option, environ)


class Signed(Record):
    """A signed message and the pair that it used up."""

    _keys = "session:sid"

    text: str
    session: str
    nonce: str


def sign(
    place: Place, message: Parsed, *, signer: str = "", session: str = "", key_file: str = ""
) -> Signed:
    """Sign a V5 message with the next nonce of its session.

    Args:
        place: Where the key and the nonces lie.
        message: Its reading as V5.
        signer: Who signs: a protocol id, or an agent that has joined; "" takes the sender of
            the message, in a run the agent that it is of.
        session: The session, `S` and digits; "" takes the context of the message if it is such
            a one, else `S0`.
        key_file: The file of the key; "" is the one of the workspace, made if need be.

    Raises:
        RefusedError: The signer is not the sender of the message.
        InvalidStateError: The registry that says who the signer is cannot be understood.
        ConflictError: The session has no nonce left.
        InvalidMessageError: The message is no valid V5, or too long with the signature.
    """
    _may_sign(place, signer, message.require_valid().fields["from"])
    if not session:
        context = message.fields.get("ctx") or NO_SESSION
        session = context if is_digits(context[1:]) else NO_SESSION
    given = permitted(key_file, place.environ)
    key = read_key(given) if given else make_key(key_path(place.paths))
    with Nonces(place.paths) as nonces:
        nonce = signing.next_nonce(nonces.last(session))
        if nonce is None:
            raise ConflictError(f"session {session} has used all its nonces", "open a new one")
        signed = signing.sign(message.text, key, session, nonce)
        nonces.give(session, nonce)
    return Signed(text=signed, session=session, nonce=nonce)


def _may_sign(place: Place, signer: str, sender: str) -> None:
    """Let an agent sign what it sends itself; an agent signs as the id that it joined with."""
    if not place.is_in_run and signer in ("", sender):
        return
    who = own_agent(place) if place.is_in_run else signer
    from council.store.protocol.protocol_registry import load

    entry = load(place.paths).of_agent(who)
    own = entry.id if entry is not None and entry.is_here else ""
    if own != sender.partition(".")[0] or signer not in ("", who, own, sender):
        raise RefusedError(f"{own or who} cannot sign a message of {sender}", f"sign as {sender}")


def verify(
    place: Place, messages: Sequence[Parsed], *, key_file: str = ""
) -> list[signing.Verdict]:
    """Judge the signatures of V5 messages in order, and use up the pairs of those that hold.

    A message with faults is no V5 message, whatever it is signed with (`faulty`).

    Raises:
        NotFoundError: There is no key.
        InvalidStateError: The note of what was used cannot be understood.
    """
    key = read_key(permitted(key_file, place.environ) or key_path(place.paths))
    verdicts = []
    with Nonces(place.paths) as nonces:
        for found in messages:
            verdict = signing.Verdict(reason="faulty", faults=tuple(found.errors))
            if not found.errors:
                verdict = signing.verify(found.text, key, nonces)
            if verdict.used:
                nonces.add(*verdict.used)
            verdicts.append(verdict)
    return verdicts


class Sidecar:
    """The side-car of one run of conversions: what goes away is kept, what comes back is found.

    Args:
        path: The file; "" keeps nothing.
        to: The version that is converted to.

    Raises:
        InvalidInputError: The file holds something else.
    """

    def __init__(self, path: str, to: str) -> None:
        self._path = path
        # Of several conversations, messages may come out alike: they come back in their order.
        self._by_text: dict[str, deque[dict[str, Any]]] = {}
        self._by_task: dict[tuple[str, ...], dict[str, Any]] = {}
        for one in read_sidecar(path) if path else ():
            if one["version"] == to:
                self._by_text.setdefault(one["converted"], deque()).append(one)
                for key in _keys_of(parse(one["converted"], one["convertedVersion"])):
                    self._by_task[key] = one
        self._kept: list[dict[str, Any]] = []

    def convert(self, message: Parsed, to: str, *, lossy: bool, structural: bool) -> Converted:
        """Convert a message; one that comes back, or answers one that went away, is restored.

        Raises:
            InvalidMessageError: The message has faults.
            ConversionRefusedError: The target has no place for what the message holds.
        """
        original = self._original_of(message)
        made = convert(message, to, lossy=lossy, structural=structural, sidecar=original)
        if self._path and original is None:
            self._kept.append(made.sidecar)
        return made

    def save(self) -> None:
        """Add what was kept since the last time to the file.

        Raises:
            CouncilError: The system refuses.
        """
        if self._kept:
            add_to_sidecar(self._path, self._kept)
            self._kept = []

    def _original_of(self, message: Parsed) -> dict[str, Any] | None:
        alike = self._by_text.get(message.text.rstrip("\r\n"))
        if alike:
            return alike.popleft() if len(alike) > 1 else alike[0]
        for key in _keys_of(message):
            if key in self._by_task:
                return self._by_task[key]
        return None


def _keys_of(message: Parsed) -> list[tuple[str, ...]]:
    """Return by what an answer finds the message it answers: task and both ends, then the task."""
    fields = message.fields
    task = fields.get("tid") or fields.get("task")
    if not task:
        return []
    ends = sorted((fields.get("from", ""), fields.get("to", "")))
    return [(message.version, task, *ends), (message.version, task)]


def shortened_fields(
    fields: Mapping[str, object], version: str, pid: str = ""
) -> tuple[Mapping[str, object], list[str]]:
    """Return the fields of a message with references for what DATA has no room for.

    Args:
        fields: The fields, with `data` as text or made of `flags` and `pairs`.
        version: The version it is written in; only V4 and V5 bound DATA.
        pid: What will be put before DATA, "" for nothing.

    Returns:
        The fields, and the texts that `publish_all` has to publish before they are sent.
    """
    try:
        data = payload_in(fields) if version in _BOUNDED else None
    except InvalidInputError:
        data = None  # the code that builds it says what is wrong
    room = DATA_CHARS - (len(with_parent("", pid)) + 1 if pid else 0)
    if data is None or len(data) <= room:
        return fields, []
    short, moved = referred(data, lambda text: reference_to(id_of_bytes(bytes_of(text))), room)
    kept = {name: value for name, value in fields.items() if name not in ("flags", "pairs")}
    return {**kept, "data": short}, moved


def publish_all(place: Place, texts: list[str]) -> list[str]:
    """Publish texts that messages refer to; return their ids.

    Raises:
        CouncilError: One cannot be published.
    """
    if texts:
        place.begin_writing()
    return [
        publish(
            place.paths,
            bytes_of(text),
            content_type=TEXT_TYPE,
            publisher=place.environ.get("COUNCIL_AGENT", ""),
            trace=trace_around(place.environ),
            now=place.now(),
        ).artifact_id
        for text in texts
    ]
