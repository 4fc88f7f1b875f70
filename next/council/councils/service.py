"""The verbs of conversations: one function each, with what `json.md` names as its result.

The command line, HTTP and MCP call these and decide nothing themselves. A verb finds who speaks and
how that is known, lets a pure decision say what happens, and then starts what became due.
"""

from __future__ import annotations

import os
import time

from council.councils import decisions, kind
from council.councils.model import Entry, Event, State
from council.kernel import times
from council.kernel.errors import Invalid, NotFound, Refusal, Refused, Usage
from council.kernel.ids import digest, is_name
from council.kernel.record import Any, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import timedelta

    from council.app import App
    from council.kernel.document import Change

DEFAULT = "active"
POLL = 0.1  # seconds between two looks of `wait`
_QUIET = ("answered", "amended", "late", "guided", "noted", "draft.set")  # wake nobody by themselves


# --- Who, and where


def named(app: App, which: str = "") -> str:
    """Return the name of the open conversation that a word means; "" is the only one, or active.

    Raises:
        NotFound: None fits, or it is over.
        Usage: Several fit (`ambiguous`), with `candidates`.
    """
    which = which or app.env.get("COUNCIL_NAME", "") or DEFAULT * app.conversation(DEFAULT).exists()
    if is_name(which) and app.conversation(which).exists():
        return which
    return app.find(which)


def who(app: App, given: str) -> str:
    """Return who speaks: `--as`, else COUNCIL_AGENT, else the agent whose folder one is in.

    Raises:
        Usage: None of these says (`who`).
    """
    found = given or app.env.get("COUNCIL_AGENT", "") or _of_folder(app)
    if not found:
        raise Usage("who", "who are you?", "say --as ID, or set COUNCIL_AGENT")
    return found.strip().lower()


def person(app: App, given: str) -> str:
    """Return who speaks as a person: like `who`, else the login name."""
    return given or app.env.get("COUNCIL_AGENT", "") or app.env.get("USER", "") or "person"


def _of_folder(app: App) -> str:
    try:
        folder = os.path.realpath(os.getcwd())
    except OSError:
        return ""
    above = os.path.realpath(f"{app.root}/memory/agents") + "/"
    return folder.removeprefix(above).partition("/")[0] if folder.startswith(above) else ""


def most_bytes(app: App) -> int:
    """Return how long a text may be."""
    from council.agents import settings  # late: `wait` and `context` do not ask

    return settings.quick(app.root).max_text_bytes


def _origin(app: App, state: State, agent: str) -> str:
    """Return how it is known that an agent speaks: `verified` by a run's token, or `claimed`.

    Raises:
        Refused: The token is another agent's, or of no run here; or claims are refused.
    """
    token = app.env.get("COUNCIL_TOKEN", "")
    if token:
        mine = digest(token)
        run = next((one for one in state.runs.by_id.values() if one.token == mine), None)
        if run is None:
            raise Refused("unknown-run", f"this run is not one of {state.name}", "print your answer")
        if run.agent != agent:
            raise Refused("not-you", f"this run is {run.agent}'s, not {agent}'s", "leave out --as")
        return "verified"
    from council.agents import settings  # late: see above

    if settings.quick(app.root).trust == "strict":
        raise Refused(
            "not-verified",
            f"trust is strict: {agent} has to speak from a run of its own",
            'answer on the page, or set trust = "open" in council.toml',
        )
    return "claimed"


# --- Opening


class Opening(Record):
    """What `convene` is told of a new conversation; empty values take the settings'."""

    topic: str
    brief: str = ""
    name: str = ""
    procedure: str = ""
    mode: str = ""
    agents: list[str] = []
    people: list[str] = []
    roles: dict[str, str] = {}
    order: str = ""
    phases: list[str] = []
    timeout: int = 0
    max_rounds: int = 0
    threshold: int | None = None
    options: list[str] = []
    coordinator: str = ""
    synthesizer: str = ""
    blind: bool | None = None
    anonymous: bool = False
    advocate: str = ""
    sign_off: str = ""
    max_runs: int | None = None
    max_tokens: int | None = None
    max_usd: float | None = None
    lang: str = ""


