"""Which environment variables a run may see, and which of their values no log may show.

The variables of the caller come in as a mapping. What is not named here
or in the settings does not reach an agent, whatever the caller's shell holds.

Source: XC-017, `trust.md`, `cli.md` section 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from council.core import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.drivers.runs import Run

# Without these no program reaches its provider where a proxy, or a company's own certificate,
# stands in between.
NETWORK = (
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"),
    *("no_proxy", "all_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
    *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_USE_SYSTEM_CA"),
)
# OPENCLAW_SHELL says that a process may start no agents; it goes on to all that it starts (SC-006).
_OURS = ("COUNCIL_NOW", "OPENCLAW_SHELL")
ALLOWED = ("PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR", *_OURS, *NETWORK)
ALLOWED_PREFIX = "LC_"
MASK = "***"

# Shorter values are switches, not secrets; masking every "1" would make a log unreadable.
_MIN_SECRET_CHARS = 4
_MIN_LINE_CHARS = 8


def run_environment(
    base: Mapping[str, str], run: Run, extra_names: Iterable[str]
) -> dict[str, str]:
    """Return the whole environment of a run.

    Args:
        base: The environment of the caller.
        run: What is to be run.
        extra_names: The variables that settings or preset add.

    Source: XC-017.
    """
    seen = seen_by(base, extra_names)
    seen.update(
        COUNCIL_ROOT=run.root,
        COUNCIL_NAME=run.name,
        COUNCIL_AGENT=run.agent,
        COUNCIL_TASK_ID=run.task,
        COUNCIL_PHASE=run.phase,
        COUNCIL_TOUR=str(run.tour),
        COUNCIL_CWD=run.cwd or run.root,
        traceparent=run.traceparent or traceparent(run.conversation, run.task),
    )
    seen.update(run.variables)
    seen.pop("COUNCIL_TOKEN", None)
    if run.token:
        seen["COUNCIL_TOKEN"] = run.token
    if run.report_file:
        seen["COUNCIL_REPORT"] = run.report_file
    return seen


def seen_by(base: Mapping[str, str], extra_names: Iterable[str]) -> dict[str, str]:
    """Return the variables of the caller that a program may see; `extra_names` names further."""
    wanted = {*ALLOWED, *extra_names}
    return {
        name: value
        for name, value in base.items()
        if name in wanted or name.startswith(ALLOWED_PREFIX)
    }


def traceparent(conversation: str, task: str) -> str:
    """Return the W3C trace context of a run that names none: its conversation is the trace.

    Source: IO-002.
    """
    return events.traceparent(events.trace_of(conversation), task)


def secrets_of(environment: Mapping[str, str], secret_names: Iterable[str]) -> tuple[str, ...]:
    """Return the values that no log may show, the longest first.

    Of every other address in the environment, such as that of a proxy, it is what stands before
    the `@`. A value of several lines counts as a whole and by each of its longer lines,
    since programs indent or quote what they print.
    """
    secrets = {
        before
        for value in environment.values()
        if "://" in value and len(before := _user_of(value)) >= _MIN_SECRET_CHARS
    }
    for name in (*secret_names, "COUNCIL_TOKEN"):
        value = environment.get(name, "")
        if name in ALLOWED or len(value) < _MIN_SECRET_CHARS:
            continue
        secrets.add(value)
        secrets.update(
            line.strip() for line in value.splitlines() if len(line.strip()) >= _MIN_LINE_CHARS
        )
    return tuple(sorted(secrets, key=len, reverse=True))


def _user_of(address: str) -> str:
    """Return what stands between `//` and `@` in an address, "" for nothing."""
    user, found, _ = address.partition("://")[2].partition("/")[0].rpartition("@")
    return user if found else ""


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return `text` with every secret replaced by `***`.

    White space is not looked at, so a value wrapped over lines is found as
    well; so is a part of one at either end, where the text may have been cut.
    """
    places = [place for place, letter in enumerate(text) if not letter.isspace()]
    solid = "".join(text[place] for place in places)
    hidden: list[tuple[int, int]] = []
    for secret in ("".join(one.split()) for one in secrets):
        start = solid.find(secret) if secret else -1
        while start >= 0:
            hidden.append((start, start + len(secret)))
            start = solid.find(secret, start + len(secret))
        for size in range(len(secret) - 1, _MIN_SECRET_CHARS - 1, -1):
            if solid.startswith(secret[-size:]):
                hidden.append((0, size))
            if solid.endswith(secret[:size]):
                hidden.append((len(solid) - size, len(solid)))
    return _with_masks(text, sorted((places[start], places[end - 1] + 1) for start, end in hidden))


def _with_masks(text: str, hidden: list[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in hidden:
        if end <= at:
            continue
        if start >= at:
            parts += [text[at:start], MASK]
        at = end
    parts.append(text[at:])
    return "".join(parts)
