"""Messages whose payload is too long for DATA: it is published, and they refer to it.

Source: PR-536, XC-107, A-56.
"""

from __future__ import annotations

from council.core.delegation.artifacts import TEXT_TYPE, bytes_of, id_of_bytes, reference_to
from council.core.errors import InvalidInputError
from council.core.reporting.trace_context import trace_around
from council.operations.place import Place
from council.store.delegation.artifacts import publish
from council.wire.data import referred, render_data, with_parent
from council.wire.forms import DATA_CHARS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_BOUNDED = ("V4", "V5")


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
    data = _data_of(fields) if version in _BOUNDED else None
    room = DATA_CHARS - (len(with_parent("", pid)) + 1 if pid else 0)
    if data is None or len(data) <= room:
        return fields, []
    short, moved = referred(data, _reference_to, room)
    kept = {name: value for name, value in fields.items() if name not in ("flags", "pairs")}
    return {**kept, "data": short}, moved


def _reference_to(text: str) -> str:
    return reference_to(id_of_bytes(bytes_of(text)))


def _data_of(fields: Mapping[str, object]) -> str | None:
    if fields.get("data") is not None:
        return str(fields["data"])
    flags, pairs = fields.get("flags"), fields.get("pairs")
    try:
        return render_data(
            [str(one) for one in flags] if isinstance(flags, list | tuple) else [],
            {str(name): str(one) for name, one in pairs.items()} if isinstance(pairs, dict) else {},
        )
    except InvalidInputError:
        return None  # whoever builds it says what is wrong


def publish_all(place: Place, texts: list[str]) -> list[str]:
    """Publish texts that messages refer to; return their ids.

    Raises:
        CouncilError: One cannot be published.
    """
    if texts:
        place.refuse_newer_settings()
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
