"""Trying agents: one line of prompt, outside of any conversation.

A probe takes a place like any run and obeys a halt; it counts against no cap.
An agent that answers is cured of its rest.

Source: `cli.md` sections 2 and 5 (`doctor --probe`).
"""

from __future__ import annotations

import os

from council.core.agents import ANSWER_TOOL, Agent
from council.core.errors import CouncilError
from council.core.times import render_duration
from council.drivers.command import run as run_driver
from council.drivers.runs import Run
from council.operations.examining.causes import Finding, cause, wrong
from council.operations.heartbeat.gate import is_halted, note_success
from council.operations.place import Place
from council.operations.reporting.run_logs import reason_with_output
from council.store.agents import agent as agent_of
from council.store.agents import known_agents
from council.store.files import make_folder, remove, replace
from council.store.slots import Slots

PROMPT = "This is a test of the connection. Answer with the single word: ready\n"
_SHOWN_CHARS = 60


def probe(place: Place) -> list[Finding]:
    """Run each agent that is a program once and say what came back."""
    agents = [
        agent_of(place.root, place.settings, agent_id)
        for agent_id in known_agents(place.root, place.settings)
    ]
    return [_probed(place, one) for one in agents if one.driver == "command"]


def _probed(place: Place, agent: Agent) -> Finding:
    if is_halted(place):
        fix = "council resume --all, then try again"
        return _failed(agent, "not tried: halted", fix)
    if place.host_guard:
        return _failed(agent, f"not tried: {place.host_guard}", "try from another shell")
    slot = Slots(place.paths.places, place.settings.max_runs).take(agent.id)
    if slot is None:
        return Finding(what=agent.id, found="not tried: it runs, or all places are taken")
    try:
        return _run(place, agent)
    finally:
        slot.release()


def _failed(agent: Agent, said: str, fix: str) -> Finding:
    return wrong(cause("probe", "", agent.id, message=said, hint=fix))


def _run(place: Place, agent: Agent) -> Finding:
    task = f"probe-{agent.id}"
    log, prompt_file = place.paths.run_file(task, "log"), place.paths.run_file(task, "prompt.md")
    limit = min(place.settings.timeout_of(agent.settings), place.settings.run_timeout)
    try:
        make_folder(place.paths.runs, mode=0o700)
        replace(prompt_file, PROMPT.encode("utf-8"), mode=0o600)
    except CouncilError as error:
        return _failed(agent, error.message, error.hint)
    remove(log)
    wanted = Run(
        agent=agent.id,
        conversation="probe",
        name="probe",
        task=task,
        phase="PROBE",
        tour=0,
        prompt=PROMPT,
        prompt_file=prompt_file,
        cwd=place.root,
        root=place.root,
        workspace=agent.workspace,
        timeout=limit,
        max_text_bytes=place.settings.max_text_bytes,
        model=agent.model,
        log_file=log,
    )
    answer = run_driver(agent.driver, wanted, agent.settings, place.environ)
    remove(prompt_file)
    if not answer.ok:
        shown = os.path.relpath(log, place.root)
        reason = reason_with_output(place, task, answer.reason)
        fix = f"see {shown}; correct [agents.{agent.id}], or its program, keys and network"
        if answer.timed_out:
            fix = f"it had {render_duration(limit)}; {fix}"
        return _failed(agent, f"failed: {reason}", fix)
    note_success(place, agent.id, "")
    if agent.settings.answer == ANSWER_TOOL:
        said = "ran; whether it can call `council respond` shows in a council"
        return Finding(what=agent.id, found=said)
    line = " ".join(answer.text.split())
    short = line if len(line) <= _SHOWN_CHARS else line[: _SHOWN_CHARS - 1] + "…"
    return Finding(what=agent.id, found=f"answered: {short}")
