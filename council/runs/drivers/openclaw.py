"""The driver that has an agent of OpenClaw take one turn, in a session for each conversation.

What came of a turn is read from the structure of OpenClaw's report, since failed turns may end with
exit code 0. The agent's shell is the gateway's and knows nothing of the run, so what it needs is
left in a file for our plugin (`setup/files/openclaw`).
"""

from __future__ import annotations

import os

from council.agents.readers import Said
from council.agents.settings import AgentSettings
from council.kernel import codec, files
from council.kernel.errors import Refusal
from council.kernel.ids import digest
from council.kernel.record import Any
from council.runs.drivers import Output, RunPlace, command

_FOLDER = "memory/shared/.council/openclaw"
_BROKEN_OFF = ("toolUse", "error", "aborted", "timeout", "restart")
_SLACK = 20.0  # seconds for the gateway to end the turn itself


def run(agent: AgentSettings, prompt: str, place: RunPlace) -> Output:
    """Have the agent of that id take one turn; return its answer, or why there is none."""
    trace = place.variables.get("COUNCIL_TRACE") or place.id.rsplit(".", 3)[0]
    mine = trace if len(trace) == 36 else f"{trace}-{digest(place.root)[:8]}"  # no UUID
    key, limit = f"agent:{agent.id}:council:{mine}".lower(), place.seconds
    seconds, env = max(1, int(limit - min(_SLACK, limit / 4))), place.environment(())
    shell = {name: one for name, one in env.items() if name.startswith(("COUNCIL_", "TRACE"))}
    note = f"{place.root}/{_FOLDER}/{digest(key)}.json"
    os.makedirs(os.path.dirname(note), mode=0o700, exist_ok=True)
    files.replace(note, codec.encoded(shell), 0o600)
    try:
        return command.run(agent, prompt, place, _said, session=key, seconds=str(seconds))
    finally:
        files.remove(note)


def _said(text: str) -> Said:
    """Return what the one JSON object says that OpenClaw prints at its end, over several lines."""
    if "{" not in text:
        return Said()
    try:
        return _reported(codec.loads(text[0 if text[0] == "{" else text.find("\n{") + 1 :]))
    except (Refusal, AttributeError, TypeError, ValueError):
        return Said(fault="OpenClaw's report cannot be read")


def _reported(report: dict[str, Any]) -> Said:
    """Return what a report of `openclaw agent --json` says."""
    result, status = report.get("result") or {}, report.get("status")
    meta, shown = result.get("meta") or {}, result.get("payloads") or []
    errors = " ".join(one.get("text") or "" for one in shown if one.get("isError"))
    texts = (one for one in shown if not (one.get("isError") or one.get("isReasoning")))
    text, stop = [one.get("text") or "" for one in texts], str(meta.get("stopReason") or "")
    said = Said(text="\n\n".join(filter(None, text)), reason=stop)
    fault = (report.get("error") or meta.get("error") or {}).get("message") or errors
    if status != "ok":
        said.fault, said.code = fault or "it failed", "timed-out" * (status == "timeout")
    elif meta.get("error") or meta.get("aborted") or stop in _BROKEN_OFF:
        said.fault = f"{fault or 'the turn was broken off'} ({stop or 'aborted'})"
    elif not said.text.strip():
        said.fault = errors
    said.is_over = not said.fault
    said.code = "bad-settings" if said.fault.startswith("Unknown agent id") else said.code
    use = (meta.get("agentMeta") or {}).get("usage") or {}
    said.input = sum(use.get(name) or 0 for name in ("input", "cacheRead", "cacheWrite"))
    said.tokens = use.get("total") or said.input + (use.get("output") or 0) or None
    said.usd = (use.get("cost") or {}).get("total")
    return said
