"""The policies of agents on the disk: `policy.json` in the folder of each.

Source: P8-002, P8-059.
"""

from __future__ import annotations

import os

from council.core.delegation.delegation import Policy, policy_of
from council.store import files
from council.store.documents.stored import understood

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.paths import Workspace

POLICY_FILE = "policy.json"


def policy_path(workspace: Workspace, agent: str) -> str:
    """Return the file of an agent's policy."""
    return os.path.join(workspace.agent(agent), POLICY_FILE)


def read_policy(workspace: Workspace, agent: str) -> Policy:
    """Return the policy of an agent; without a file everybody may and nothing is loosened.

    Raises:
        InvalidStateError: The file cannot be understood; the agent cannot be reached until it is.
        CouncilError: The system refuses.
    """
    path = policy_path(workspace, agent)
    standing = files.read_stable(path)
    if standing is None:
        return Policy(agent=agent)
    where = os.path.relpath(path, workspace.root)
    record = understood(standing.data, where, "correct it; until then nobody reaches the agent")
    return policy_of(agent, record, where)
