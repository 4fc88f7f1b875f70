"""Traces, as W3C Trace Context names them: from whatever starts council to the agents that it runs.

A *carrier* is what the environment carries: TRACEPARENT and TRACESTATE. Lower-case names are read
too. Ids follow from those of documents and runs, so every process and every export has the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from council.kernel.ids import digest

Carrier = dict[str, str]

NAMES = ("TRACEPARENT", "TRACESTATE")
_MOST = 512  # characters of a TRACESTATE that are passed on
# Version 00 ends with the flags, later ones may go on; no id is all zeros.
_FORM = r"(?!ff|00-.{53})[\da-f]{2}-((?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2})(-.*)?"


def carried(environ: Mapping[str, str]) -> Carrier:
    """Return the carrier of an environment; {} where it names no valid parent."""
    for parent, state in (NAMES, tuple(map(str.lower, NAMES))):
        if parent in environ:
            import re  # late: few are called within a trace

            if found := re.fullmatch(_FORM, environ[parent], re.A | re.S):
                text = environ.get(state, "")
                is_plain = 0 < len(text) <= _MOST and text.isascii() and text.isprintable()
                return {NAMES[0]: f"00-{found[1]}", **({NAMES[1]: text} if is_plain else {})}
    return {}


def trace_id(ident: str, carrier: Carrier) -> str:
    """Return 32 hex digits: the carrier's trace, else that of a document; a UUID is its own."""
    own = ident.replace("-", "").lower()
    is_uuid = len(own) == 32 and not own.strip("0123456789abcdef") and own.strip("0")
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
