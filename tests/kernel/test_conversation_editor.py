"""The random editor against real conversations, of both procedures and in both languages."""

import pytest

from council.councils import decisions, kind
from council.councils.hearing import Stated, Understood
from council.councils.model import Config, Heard, Participant, State
from tests.kernel.random_editor import AT, Driver, play


class Conversations(Driver):
    kind = kind
    marks = tuple(
        (f"): {a}", f"): {b}") for a, b in (("WAITING", "RESPONDED"), ("WAITING", "DONE"))
    )

    def open(self, rng):
        names = ["ann", "bob", "eve"][: rng.randrange(2, 4)]
        order, blind = rng.choice(("parallel", "rotate")), rng.random() < 0.5
        given = {
            "conversation_id": f"id-{rng.randrange(10**6)}",
            "procedure": rng.choice(("council", "deliberation")),
            "lang": rng.choice(("en", "fr")),
            "config": Config(blind=blind, timeout=10**6, order=order),
            "participants": {one: Participant(name=one.title(), emoji="🦉") for one in names},
        }
        more = {"name": "d", "topic": "A topic", "brief": "The brief"}
        new = State(**given, **more)
        return lambda state: decisions.opened(state, new, at=AT)

    def command(self, rng, word, state):
        agent = rng.choice(list(state.participants))
        task = f"{state.conversation_id}.{state.tour}"
        end = rng.choice(("", "\n\n- cost\n", " <!--council:end-->\n# x", "\n\n```\ncode"))
        said, stated = Understood(text=f"I say {word}{end}", heard=Heard()), Stated(task=task)
        return lambda now: decisions.respond(now, agent, said, stated, at=AT)

    def answers(self, state):
        return [entry.text for entry in state.entries]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_random_edits_lose_nothing(tmp_path, seed):
    play(Conversations(), seed, str(tmp_path), 30, 1 << 20 if seed % 2 else 1500)
