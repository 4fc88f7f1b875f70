"""What an agent reads when another one calls it.

The request stands between marks that were drawn for this text, so that it
cannot pass for a word of ours; after it come the bounds and how to answer.

Source: P8-041, XC-012, `trust.md` (text of others is data).
"""

from __future__ import annotations

import json
import os

from council.core.delegation import delegation as rules
from council.operations.conversations.prompts import boundary, render_prompt
from council.operations.place import Place
from council.store.delegation.artifacts import content_path
from council.store.keys import run_key
from council.store.settings import language

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.core.agents import Agent
    from council.core.delegation.delegation import Call


def call_prompt(
    place: Place, agent: Agent, call: Call, schema: Any, trace: str, *, wrong: str = ""
) -> str:
    """Return the prompt of the run that answers a call.

    `wrong` says how its first answer broke the schema, "" where it is the first that is asked for.

    Raises:
        InvalidInputError: A template of the workspace is broken.
    """
    parts: dict[str, Any] = {
        "procedure": "delegation",
        "name": trace,
        "agent": agent.id,
        "label": agent.label,
        "role": agent.role,
        "caller": call.caller,
        "message": call.message,
        "refs": [
            {"id": one, "path": os.path.relpath(content_path(place.paths, one), place.root)}
            for one in call.refs
        ],
        "brief": os.path.relpath(f"{place.paths.briefs}/{call.brief}.json", place.root),
        "path": [*call.path, call.target],
        "depth": call.depth,
        "max_depth": call.limits[rules.DEPTH],
        "max_calls": call.limits[rules.CALLS],
        "max_tools": call.limits[rules.TOOL_CALLS],
        "seconds": f"{call.limits[rules.TIMEOUT] / 1000:g}",
        "summary_chars": rules.SUMMARY_CHARS,
        "schema": _as_json(schema),
        "wrong": wrong,
        "number": call.number,
    }
    return render_prompt(
        "call",
        parts,
        lang=language(place.settings, "", place.environ),
        root=place.root,
        checklist="",
        persona=agent.persona,
        boundary=boundary(run_key(place.paths), parts, avoid=agent.persona),
    )


def _as_json(schema: Any) -> str:
    return "" if schema is None else json.dumps(schema, ensure_ascii=False, indent=2)
