"""Traces, as W3C Trace Context names them: from whatever starts council to the agents that it runs.

A *carrier* is what the environment carries: TRACEPARENT and TRACESTATE. Lower-case names are read
too. Ids follow from those of documents and runs, so every process and every export has the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from council.kernel.ids import digest

Carrier = dict[str, str]

NAMES = ("TRACEPARENT", "TRACESTATE")
_HEX = frozenset("0123456789abcdef")
_MOST = 512  # characters of a TRACESTATE that are passed on


def carried(environ: Mapping[str, str]) -> Carrier:
    """Return the carrier of an environment; {} where it names no valid parent."""
    for parent, state in (NAMES, tuple(map(str.lower, NAMES))):
        version, *ids, extra = [*environ.get(parent, "").split("-", 4), *[""] * 4][:5]
        parts = zip((version, *ids), (2, 32, 16, 2), strict=True)
        is_hex = all(len(part) == size and not set(part) - _HEX for part, size in parts)
        if is_hex and version != "ff" and not (version == "00" and extra) and all(
            one.strip("0") for one in ids[:2]
        ):  # fmt: skip
            text = environ.get(state, "")
            is_plain = 0 < len(text) <= _MOST and text.isascii() and text.isprintable()
            more = {NAMES[1]: text} if is_plain else {}
            return {NAMES[0]: "-".join(("00", *ids)), **more}
    return {}


def trace_id(ident: str, carrier: Carrier) -> str:
    """Return 32 hex digits: the carrier's trace, else that of a document; a UUID is its own."""
    own = ident.replace("-", "").lower()
    is_uuid = len(own) == 32 and not set(own) - _HEX and bool(own.strip("0"))
    return parent(carrier)[0] or (own if is_uuid else digest(ident)[:32])


def span_id(ident: str) -> str:
    """Return the 16 hex digits of a span: of a document, a round or a run, by its id."""
    return digest(f"span {ident}")[:16]


def parent(carrier: Carrier) -> tuple[str, str]:
    """Return trace and span of the carrier, "" each where it has none."""
    parts = carrier.get(NAMES[0], "---").split("-")
    return parts[1], parts[2]


def variables(ident: str, run: str, carrier: Carrier) -> Carrier:
    """Return the carrier for a run of a document: its spans are children of the run's."""
    flags = carrier.get(NAMES[0], "-01").rpartition("-")[2]
    return {**carrier, NAMES[0]: f"00-{trace_id(ident, carrier)}-{span_id(run)}-{flags}"}
