"""Councils without a model: document 000's family, and the rehearsal of a question.

Their members answer by hand as far as the council knows; what they say is in `files/demo`, in the
form that the driver `scripted` reads.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from council.councils import model, rules, service, words
from council.councils.model import State
from council.kernel import ids
from council.kernel.errors import Unexpected
from council.kernel.page import one_line
from council.kernel.record import TYPE_CHECKING, Any
from council.runs.drivers import scripted
from council.setup import init

if TYPE_CHECKING:
    from council.app import App

FAMILY = ["henry", "sage", "nova", "blaise"]
CAST = ["ada", "bea", "carl"]
PAUSE = 0.25  # seconds between two answers of the demo on a terminal
Script = Callable[[State, str], tuple[str, str]]  # the text and the status of an answer


def demo(app: App, lang: str = "") -> dict[str, Any]:
    """Play document 000's family in a workspace of its own; return its root and minutes."""
    import tempfile  # late: slow to import

    lang = lang or app.env.get("LANG", "")[:2]
    lang = lang if lang in init.LANGUAGES else "en"
    root = tempfile.mkdtemp(prefix="council-demo-")
    init.init(root, [*FAMILY, "maman"], lang, {"PATH": ""})
    stage = type(app)(root, app.fixed, {k: v for k, v in app.env.items() if k != "COUNCIL_NAME"})
    topic, _, brief = _text(lang, "brief").removeprefix("# ").partition("\n\n")
    rows = {row[:2]: row for row in scripted.script(_text(lang, "family"))}

    def script(state: State, agent: str) -> tuple[str, str]:
        _, _, status, text = rows[agent, state.phase]
        if sys.stderr.isatty():
            time.sleep(PAUSE)
        line = words.load(f"texts/progress-{lang}.txt")["round"].format_map(vars(state))
        print(one_line(ids.cut(f"{line}: {agent}: {text.replace('#', '')}", 78)), file=sys.stderr)
        return text, status

    cast: dict[str, Any] = {"people": FAMILY, "agents": FAMILY, "config": {"synthesizer": "maman"}}
    opening = service.Opening(topic=topic, brief=brief.strip(), lang=lang, **cast)
    return play(stage, opening, script)


def rehearse(app: App, opening: service.Opening, seed: int = 0) -> dict[str, Any]:
    """Play a whole council on a question; who dissents follows from the seed."""
    opening.agents = opening.agents or CAST
    opening.people = list(dict.fromkeys([*opening.agents, *opening.people]))
    return play(app, opening, rehearsal(opening.lang or app.settings.language, seed))


def rehearsal(lang: str, seed: int) -> Script:
    """Return what the members of a rehearsal say: one dissents, the others agree."""
    rows = scripted.script(_text(lang if lang in init.LANGUAGES else "en", "rehearsal"))
    said = {row[:2]: (row[3], row[2]) for row in rows}

    def script(state: State, agent: str) -> tuple[str, str]:
        members, kind = sorted(state.participants), model.kind_of(state.phase)
        dissenter = members[int(ids.digest(f"seed {seed}")[:8], 16) % len(members)]
        side = "against" if agent == dissenter else "for"
        stances = [
            {"peer": one, "stance": "disagree" if dissenter in (one, agent) else "agree"}
            for one in members
            if one != agent
        ]
        letters = [one.letter for one in state.options] or ["new"]
        choice = letters[min(side == "against", len(letters) - 1)] if kind == "vote" else ""
        phase = "DELIBERATE" if kind in ("turn", "vote") else state.phase
        text, status = said["*" if kind == "synthesis" else side, phase]
        return words.fill(text, {"choice": choice, "stances": stances}).strip(), status

    return script


def play(app: App, opening: service.Opening, script: Script) -> dict[str, Any]:
    """Play a council from a script to its end; return what `convene` said, `root`, `minutes`."""
    made = service.convene(app, opening)
    name, minutes = made["name"], ""
    while not minutes:
        state = app.conversation(name).peek()
        agent = rules.asked(state)[0]
        text, status = script(state, agent)
        # The round is named, since the same words in the next round are an answer of their own.
        stated = service.Stated(status=status.lower(), mark=state.round().mark)
        done = service.respond(app, name, agent, text, stated)
        if done["outcome"] != "recorded":
            raise Unexpected("stuck", f"{agent}'s script has no further answer in {state.phase}")
        minutes = done["minutes"]
    return {**made, "root": app.root, "minutes": minutes}


def _text(lang: str, name: str) -> str:
    return words.template(f"{init.FILES}/demo/{lang}/{name}.md")
