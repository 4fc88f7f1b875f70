"""The folder of an agent: its persona, its policy, and places for what it keeps.

    SOUL.md      who it is: written by `souls`
    policy.json  who may call it
    skills/      what it has learnt to do
    memory/      what it wants to remember
    tasks/       what it is asked, while a person or a tool answers for it
    notes/       whatever else
    agent/       state of its runs, from the first one on
    sessions/    what passed between it and other agents, from the first time on

The last two may lie elsewhere (`[paths] run_state`).

Source: P8-002, P8-004.
"""

from __future__ import annotations

import json
import os

from council.core.delegation.policies import new_policy
from council.store import files
from council.store.delegation.policies import policy_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.paths import Workspace

PARTS = ("skills", "memory", "tasks", "notes")


def make(workspace: Workspace, agent: str) -> list[str]:
    """Make what is missing of an agent's folder but its persona; return the files it wrote.

    Raises:
        CouncilError: The id is not legal, or the system refuses.
    """
    home = workspace.agent(agent)
    made = []
    for path in (home, *(os.path.join(home, part) for part in PARTS)):
        files.make_folder(path)
    policy = policy_path(workspace, agent)
    if not os.path.lexists(policy):
        text = json.dumps(new_policy(), indent=2) + "\n"
        if files.write_new(policy, text.encode("ascii")):
            made.append(policy)
    return made


def make_run_state(workspace: Workspace, agent: str) -> str:
    """Make the folders of what an agent's runs leave behind; return that of its own state.

    Raises:
        CouncilError: The system refuses.
    """
    state = workspace.agent_state(agent)
    for path in (state, workspace.sessions(agent)):
        if not os.path.isdir(path):
            files.make_folder(path)
    return state
