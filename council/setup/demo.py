"""Councils without a model: document 000's family, and the rehearsal of a question.

Their members answer by hand as far as the council knows; what they say is in `files/demo`, in the
form that the driver `scripted` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from council.councils import model, rules, service
from council.councils.model import State
from council.kernel import ids, words
from council.kernel.errors import Unexpected
from council.kernel.record import TYPE_CHECKING, Any
from council.runs import drivers
from council.setup import init

if TYPE_CHECKING:
    from council.app import App

FAMILY = ["henry", "sage", "nova", "blaise"]
CAST = ["ada", "bea", "carl"]
Script = Callable[[State, str], tuple[str, str]]  # the text and the status of an answer


def family(app: App, lang: str) -> Iterator[State]:
    """Play document 000's family in a new workspace; see `play`."""
    lang = lang if lang == "fr" else "en"
    init.init(app.root, [*FAMILY, "maman"], lang, {"PATH": ""})
    topic, _, brief = _text(lang, "brief").removeprefix("# ").partition("\n\n")
    said = drivers.script(_text(lang, "family"))
    cast: dict[str, Any] = {"people": FAMILY, "agents": FAMILY, "config": {"synthesizer": "maman"}}
    opening = service.Opening(topic=topic, brief=brief.strip(), lang=lang, **cast)
    return play(app, opening, lambda state, agent: said[agent, state.phase])


def rehearse(app: App, opening: service.Opening, seed: int = 0) -> Iterator[State]:
    """Play a council on a question; one dissents, as follows from the seed, the others agree."""
    opening.agents = opening.agents or CAST
    opening.people = list(dict.fromkeys([*opening.agents, *opening.people]))
    said = drivers.script(_text(opening.lang or app.settings.language or "en", "rehearsal"))

    def script(state: State, agent: str) -> tuple[str, str]:
        members, kind = sorted(state.participants), model.kind_of(state.phase)
        dissenter = members[int(ids.digest(f"seed {seed}")[:8], 16) % len(members)]
        side = "against" if agent == dissenter else "for"
        peers = {one: "disagree" if dissenter in (one, agent) else "agree" for one in members}
        stances = [{"peer": one, "stance": peers[one]} for one in members if one != agent]
        letters = [one.letter for one in state.options] or ["new"]
        choice = letters[min(side == "against", len(letters) - 1)] if kind == "vote" else ""
        phase = "DELIBERATE" if kind in ("turn", "vote") else state.phase
        text, status = said["*" if kind == "synthesis" else side, phase]
        return words.fill(text, {"choice": choice, "stances": stances}).strip(), status

    return play(app, opening, script)


def play(app: App, opening: service.Opening, script: Script) -> Iterator[State]:
    """Play a council from a script to its end; yield its state before each answer, and then."""
    made = service.convene(app, opening)
    while app.is_open(made["name"]):
        yield (state := app.conversation(made["name"]).peek())
        agent = rules.asked(state)[0]
        text, status = script(state, agent)
        # The round is named, since the same words in the next round are an answer of their own.
        stated = service.Stated(status=status.lower(), task=f"{state.conversation_id}.{state.tour}")
        if service.respond(app, made["name"], agent, text, stated)["outcome"] != "recorded":
            raise Unexpected("stuck", f"{agent}'s script has no further answer in {state.phase}")
    yield app.closed(made["conversationId"]).peek()


def _text(lang: str, name: str) -> str:
    return words.template(f"{init.FILES}/demo/{lang}/{name}.md")
