"""What the agent of a call is told."""

from __future__ import annotations

from council.archive import artifacts
from council.delegation import model, rules
from council.delegation.model import State
from council.kernel import codec
from council.kernel.ids import digest
from council.kernel.record import TYPE_CHECKING

if TYPE_CHECKING:
    from council.app import App
    from council.runs.work import Work

_SHOWN = 20_000  # bytes of an artifact that stand in a prompt


def prompt(app: App, state: State, one: Work) -> str:
    """Return what the agent of a call is told."""
    made = state.call(one.tour)
    if made is None:
        return ""
    lang = app.settings.language if app.settings.language == "fr" else "en"
    soul = app.soul(made.to_agent_id)
    texts = {ident: _text_of(app, ident) for ident in made.artifact_ids}
    schema = "" if made.expected_schema is None else codec.encoded(made.expected_schema).decode()
    waiting_ = rules.waiting(state, made.to_agent_id)
    notes = [{"id": m.id, "who": m.from_agent_id, "text": m.message} for m in waiting_]
    code = digest(f"{state.mark}{made.message}{texts}{notes}")[:8]
    values = {
        **{"b": code, "agent": made.to_agent_id, "who": made.from_agent_id, "text": made.message},
        "name": soul.name if soul and soul.name else made.to_agent_id,
        **{"persona": soul.persona.strip() if soul else "", "schema": schema, "notes": notes},
        "artifacts": [{"id": ident, "text": text} for ident, text in texts.items() if text],
        **{"unread": [ident for ident, text in texts.items() if not text], "most": model.SUMMARY},
        "asked": made.asked,
    }
    return app.filled(f"prompts/{lang}/call.md", values)


def _text_of(app: App, ident: str) -> str:
    """Return an artifact as text, "" where it is none or too long for a prompt."""
    data = artifacts.fetch(app.root, ident)
    return data.decode("utf-8", "replace") if len(data) <= _SHOWN and b"\0" not in data else ""
