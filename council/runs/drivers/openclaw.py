"""The driver that has an agent of OpenClaw take one turn, in a session for each conversation.

What came of a turn is read from the structure of OpenClaw's report, since failed turns may end with
exit code 0. The agent's shell is the gateway's and knows nothing of the run, so what it needs is
left in a file for our plugin (`setup/files/openclaw`).
"""

from __future__ import annotations

import os

from council.agents.readers import Listener, Said
from council.agents.settings import AgentSettings
from council.kernel import codec, files
from council.kernel.errors import Refusal
from council.kernel.ids import digest
from council.kernel.record import Any
from council.runs.drivers import Output, RunPlace
from council.runs.drivers.command import run_program

_FOLDER = "memory/shared/.council/openclaw"
_SECRETS = ("OPENCLAW_GATEWAY_TOKEN", "OPENCLAW_GATEWAY_PASSWORD")
_NODE = ("NODE_COMPILE_CACHE", "NODE_OPTIONS", "NODE_USE_ENV_PROXY")
_BROKEN_OFF = ("toolUse", "error", "aborted", "timeout", "restart")
_SLACK = 20.0  # seconds for the gateway to end the turn itself


def run(agent: AgentSettings, prompt: str, place: RunPlace) -> Output:
    """Have the agent of that id take one turn; return its answer, or why there is none."""
    trace = place.variables.get("COUNCIL_TRACE") or place.id.rsplit(".", 3)[0]
    mine = trace if len(trace) == 36 else f"{trace}-{digest(place.root)[:8]}"  # no UUID
    key, limit = f"agent:{agent.id}:council:{mine}".lower(), place.seconds
    argv = ["openclaw", "agent", "--agent", agent.id, "--session-key", key, "--json", "--timeout"]
    argv += [str(max(1, int(limit - min(_SLACK, limit / 4)))), "--message-file"]
    argv += [f"{place.folder}/prompt.md", *(("--model", agent.model) if agent.model else ())]
    seen = (name for name in place.environ if name.startswith("OPENCLAW_"))
    env, report = place.environment((*seen, *_NODE, *agent.env)), _Report()
    shell = {name: one for name, one in env.items() if name.startswith(("COUNCIL_", "TRACE"))}
    note = f"{place.root}/{_FOLDER}/{digest(key)}.json"
    os.makedirs(os.path.dirname(note), mode=0o700, exist_ok=True)
    files.replace(note, codec.encoded(shell), 0o600)
    try:
        how: Any = {"reads_stdin": False, "by_tool": agent.answer == "tool"}
        output = run_program(argv, prompt, report, env, place, (*_SECRETS, *agent.env), **how)
    finally:
        files.remove(note)
    return output.copy(code="timed-out") if report.said.reason == "timeout" else output


class _Report(Listener):
    """Reads the one JSON object that OpenClaw prints at its end, over several lines."""

    def __init__(self) -> None:
        super().__init__("text")
        self.is_plain = False

    def hear(self, data: bytes, *, last: bool = False) -> None:
        self._rest += data
        text = self._rest.decode("utf-8", "replace") if last else ""
        begin = 0 if text[:1] == "{" else text.find("\n{") + 1
        try:
            self.said = _said(codec.loads(text[begin:])) if "{" in text else Said()
        except (Refusal, AttributeError, TypeError, ValueError):
            self.said = Said(fault="OpenClaw's report cannot be read")


def _said(report: dict[str, Any]) -> Said:
    """Return what a report of `openclaw agent --json` says."""
    result, status = report.get("result") or {}, report.get("status")
    meta, shown = result.get("meta") or {}, result.get("payloads") or []
    errors = " ".join(one.get("text") or "" for one in shown if one.get("isError"))
    texts = (one for one in shown if not (one.get("isError") or one.get("isReasoning")))
    text, stop = [one.get("text") or "" for one in texts], str(meta.get("stopReason") or "")
    said = Said(text="\n\n".join(filter(None, text)), reason=stop)
    fault = (report.get("error") or meta.get("error") or {}).get("message") or errors
    if status != "ok":
        said.reason, said.fault = str(status or ""), fault or "it failed"
    elif meta.get("error") or meta.get("aborted") or stop in _BROKEN_OFF:
        said.fault = f"{fault or 'the turn was broken off'} ({stop or 'aborted'})"
    elif not said.text.strip():
        said.fault = errors
    said.is_over = not said.fault
    said.code = "bad-settings" if said.fault.startswith("Unknown agent id") else ""
    use = (meta.get("agentMeta") or {}).get("usage") or {}
    said.input = sum(use.get(name) or 0 for name in ("input", "cacheRead", "cacheWrite"))
    said.tokens = use.get("total") or said.input + (use.get("output") or 0) or None
    said.usd = (use.get("cost") or {}).get("total")
    return said
