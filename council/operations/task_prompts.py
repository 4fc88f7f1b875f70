"""What a worker, or the orchestrator's agent, is given to read for a task.

A program gets the line and nothing else. A model gets the prompt of a worker,
what the line refers to, and the line last.

Source: PR-558, PR-593, PR-594, issue 6, `cli.md` section 5.
"""

from __future__ import annotations

from council.core.agents import Agent
from council.core.exchange import Exchange
from council.core.exchange_owed import Compose, Split, Work
from council.core.registry import capabilities_in
from council.core.splitting import Part
from council.core.trace_context import traceparent
from council.operations.crew import Crew
from council.wire.carried import line_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    Owed = Work | Split | Compose


def prompt_of(
    crew: Crew, exchange: Exchange, owed: Owed, agent: Agent, *, by_hand: bool = False
) -> str:
    """Return all that an agent reads for a run."""
    if isinstance(owed, Work):
        return line_for(crew, exchange, owed)
    return exchange.request


def line_for(crew: Crew, exchange: Exchange, owed: Work) -> str:
    """Return the message that a worker has to act on, in the version that it reads."""
    posted = exchange.posted_as(owed.message)
    assert posted is not None  # what somebody has to act on is kept
    return line_of(posted.message, crew.version_of(owed.worker)) + "\n"


def variables_of(crew: Crew, exchange: Exchange, owed: Owed) -> dict[str, str]:
    """Return what a run finds in its environment besides what every run does."""
    found = {"COUNCIL_CONTEXT": exchange.context}
    if isinstance(owed, Work):
        found["COUNCIL_PROTOCOL_ID"] = owed.worker
        entry = crew.registry.get(owed.worker)
        if entry is not None:
            found["COUNCIL_MAX_DEPTH"] = str(entry.serves_below)
            found["COUNCIL_CAPS"] = ",".join(entry.capabilities)
    return found


def traceparent_of(exchange: Exchange, owed: Owed) -> str:
    """Return the trace context of a run."""
    return traceparent(exchange.trace_id, owed.run)


def parts_in(text: str) -> list[Part]:
    """Return the tasks that the orchestrator's agent splits a request into.

    One a line: `- [web_search, summarize] what is to be done`; other lines are left out.
    """
    parts = []
    for line in text.splitlines():
        head, bracket, rest = line.strip().lstrip("-*0123456789. ").partition("]")
        if not bracket or not head.startswith("["):
            continue
        caps = capabilities_in(one.strip() for one in head[1:].split(","))
        if rest.strip():
            parts.append(Part(text=rest.strip(), caps=caps))
    return parts
