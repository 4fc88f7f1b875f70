"""A random editor against the toy kind: nothing that was said or typed is lost."""

import pytest

from tests.kernel import toy
from tests.kernel.random_editor import Driver, play


class Toy(Driver):
    kind = toy

    def open(self, rng):
        return toy.opened(
            f"id{rng.randrange(10**6)}", *["ann", "bob", "eve"][: rng.randrange(1, 4)]
        )

    def command(self, rng, word, state):
        text = f"I say {word}" + rng.choice(("", "\n\n- cost\n", " <!--council:end-->\n# x"))
        return toy.answer(rng.choice(list(state.people)), text)

    def answers(self, state):
        return [entry["text"] for entry in state.entries]


@pytest.mark.parametrize("seed", range(30))
def test_random_edits_lose_nothing(tmp_path, seed):
    play(Toy(), seed, str(tmp_path), segment=1 << 20 if seed % 2 else 1500)


@pytest.mark.slow
@pytest.mark.parametrize("begin", range(100, 700, 100))
def test_many_random_edits(tmp_path, begin):
    seeds = range(begin, begin + 100)
    assert sum(play(Toy(), n, str(tmp_path), 40, (1500, 1 << 20)[n % 2]) for n in seeds) > 100
