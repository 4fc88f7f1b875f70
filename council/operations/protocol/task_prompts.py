"""What a worker, or the orchestrator's agent, is given to read for a task.

A program gets the line and nothing else. A model or a person gets the prompt
of a worker, what was said before, what the line refers to, and the line last.

Source: PR-536, PR-545, PR-553, PR-556, PR-558, PR-593, PR-594, issue 6, `cli.md` section 5.
"""

from __future__ import annotations

from council.core.agents import Agent
from council.core.events import traceparent
from council.core.protocol.answering import readable
from council.core.protocol.exchange import Exchange
from council.core.protocol.exchange_due import RunDue, Split, Work
from council.core.protocol.messages import USER
from council.core.protocol.orchestrator import Part
from council.core.protocol.registry import capabilities_in
from council.operations.protocol.payloads import meaning_of, payload_of
from council.operations.protocol.roster import Roster
from council.wire.carried import line_of
from council.wire.data import references_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    Material = list[tuple[str, str]]

_SPLIT = (
    (
        "Split the request of the user, which stands in the material, into tasks for the workers "
        "above. Print one line for each task and nothing else:\n\n"
        "    - [capability, capability] what is to be done\n\n"
        "If one worker can do all of it, print one line."
    ),
    (
        "Répartis la demande de l’utilisateur, citée plus haut, en tâches pour les workers "
        "ci-dessus. Écris une ligne par tâche et rien d’autre :\n\n"
        "    - [capability, capability] ce qu’il faut faire\n\n"
        "Si un seul worker peut tout faire, écris une seule ligne."
    ),
)
_COMPOSE = (
    (
        "Write the answer to the user from the results in the material. Print the answer and "
        "nothing else."
    ),
    (
        "Rédige la réponse à l’utilisateur d’après les résultats cités plus haut. Écris la "
        "réponse et rien d’autre."
    ),
)
_BY_HAND = (
    "\nTo answer, send one line: council msg send '{line}'\n",
    "\nPour répondre, envoie une ligne : council msg send '{line}'\n",
)


def prompt_of(roster: Roster, exchange: Exchange, action: RunDue, agent: Agent) -> str:
    """Return all that an agent reads for a run.

    Raises:
        InvalidInputError: A template of the workspace is broken.
    """
    if not isinstance(action, Work):
        return _orchestrator_prompt(roster, exchange, action, agent)
    posted = exchange.posted_as(action.message)
    assert posted is not None  # what an agent has to act on is kept
    line = line_of(posted.message, roster.version_of(action.worker)) + "\n"
    if _reads_lines(agent):
        return line
    from council.operations.protocol.protocol_prompts import worker_prompt

    refused, material = _refusal(exchange, action), _material(roster, exchange, action)
    about = {"line": line, "refused": refused, "lang": exchange.lang}
    prompt = worker_prompt(roster.place, roster.registry, action.worker, material=material, **about)
    return prompt + (_how_to_answer(exchange, action) if agent.driver == "manual" else "")


def _reads_lines(agent: Agent) -> bool:
    """Return true if an agent is a program of the protocol, and no model and no person."""
    if agent.driver == "command":
        return bool(agent.settings.argv)
    return agent.driver == "scripted"


def _refusal(exchange: Exchange, action: Work) -> str:
    """Return what was wrong with what a worker said before, "" for nothing (HR-015)."""
    asked = exchange.posted_as(action.message)
    if asked is None or asked.message.kind != "E":
        return ""
    return exchange.values.get(asked.message.pair("see").removeprefix("#CTX:"), "")


def _how_to_answer(exchange: Exchange, action: Work) -> str:
    depth = exchange.tasks[action.task].hop(action.hop).depth
    budget = exchange.tasks[action.task].hop(action.hop).left
    first = (
        f"M{action.message + 1}|{action.worker}>O1|S|{action.task}|{action.priority}|D|-|{depth}"
    )
    left = "-" if budget is None else f"B{budget}"
    words = _BY_HAND[exchange.lang == "fr"]
    return words.format(line=f"{first}|{exchange.context}|{left}|result=…")


def _material(roster: Roster, exchange: Exchange, action: Work) -> Material:
    """Return what was said before in a worker's part, and what its line refers to."""
    found: Material = []
    for posted in exchange.posted:
        message = posted.message
        if (
            posted.hop == action.hop
            and message.task == action.task
            and message.number != action.message
        ):
            title = f"{message.id} {message.sender} to {message.receiver}: {message.kind}"
            found.append((title, message.data))
    asked = exchange.posted_as(action.message)
    data = [asked.message.data] if asked is not None else []
    for reference in references_in(" ".join([*data, *(text for _, text in found)])):
        text = meaning_of(roster.place, exchange, reference)
        is_ours = text == _refusal(exchange, action)
        if text and not is_ours and reference.text not in (title for title, _ in found):
            found.append((reference.text, text))
    return found


def _orchestrator_prompt(roster: Roster, exchange: Exchange, action: RunDue, agent: Agent) -> str:
    from council.operations.protocol.protocol_prompts import orchestrator_prompt

    words = _SPLIT if isinstance(action, Split) else _COMPOSE
    material: Material = []
    if isinstance(action, Split):
        material.append((USER, exchange.tasks[action.task].text))
    else:
        material.append((USER, exchange.request))
        for task in exchange.tasks.values():
            if task.told:
                continue
            told = (
                readable(exchange, task.result, lambda one: payload_of(roster.place, one))
                or f"{task.code} {task.reason}".strip()
            )
            material.append((f"{task.id}: {task.text}", told or str(task.state)))
    return orchestrator_prompt(
        roster.place,
        roster.registry,
        agent=agent.id,
        asked=words[exchange.lang == "fr"],
        material=material,
        lang=exchange.lang,
    )


def variables_of(roster: Roster, exchange: Exchange, action: RunDue) -> dict[str, str]:
    """Return what a run finds in its environment besides what every run does."""
    found = {"COUNCIL_CONTEXT": exchange.context}
    if isinstance(action, Work):
        found["COUNCIL_PROTOCOL_ID"] = action.worker
        entry = roster.registry.get(action.worker)
        if entry is not None:
            found["COUNCIL_MAX_DEPTH"] = str(entry.serves_below)
            found["COUNCIL_CAPABILITIES"] = ",".join(entry.capabilities)
    return found


def traceparent_of(exchange: Exchange, action: RunDue) -> str:
    """Return the trace context of a run."""
    return traceparent(exchange.trace_id, action.run)


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
