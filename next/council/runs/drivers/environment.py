"""Which environment variables a run sees.

What is not named here, by the preset or in the agent's `env` does not reach its program.
"""

from __future__ import annotations

import os

from council.runs.drivers.output import RunPlace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
CERTIFICATES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"),
    *("CURL_CA_BUNDLE", "NODE_USE_SYSTEM_CA"),
)
ALLOWED = frozenset((*PROXIES, *CERTIFICATES, *(name.lower() for name in PROXIES), "COUNCIL_NOW"))
ALLOWED |= {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "TZ"}
_PATH = "/usr/local/bin:/usr/bin:/bin"


def of_run(place: RunPlace, names: Iterable[str]) -> dict[str, str]:
    """Return the whole environment of a run; `names` are those of settings and preset."""
    seen = seen_by(place.environ, names)
    seen.update(place.variables)
    seen.update(
        COUNCIL_ROOT=place.root,
        COUNCIL_AGENT=place.agent,
        COUNCIL_TASK_ID=place.id,
        COUNCIL_CWD=place.root,
        COUNCIL_REPORT=f"{place.folder}/report",
    )
    seen.pop("COUNCIL_TOKEN", None)
    seen.update({"COUNCIL_TOKEN": place.token} if place.token else {})
    for name in ("traceparent", "tracestate"):  # some read the one case, some the other
        if name in seen or name.upper() in seen:
            seen[name] = seen[name.upper()] = seen.get(name.upper()) or seen[name]
    return seen


def seen_by(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return the variables of the caller that a program may see.

    HOME comes from the password database and PATH from the usual folders where a clock gave none.
    """
    wanted = ALLOWED.union(names)
    seen = {k: v for k, v in environ.items() if k in wanted or k.startswith("LC_")}
    if not seen.get("HOME"):
        import pwd  # late: only a bare clock needs it

        try:
            seen["HOME"] = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            seen["HOME"] = "/"
    seen["PATH"] = seen.get("PATH") or _PATH
    return seen
