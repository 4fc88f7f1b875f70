"""The glossary of `council explain`."""

import pytest

from council.cli import printing
from council.councils import model
from council.observe import explain


@pytest.mark.parametrize(
    ("which", "means", "fix"),
    [("Round", "every participant is asked once", ""), ("challenge", "exact quotations", ""),
     ("old-format", "version 0.2", "cda4bd19"),
     ("refused-key", "failed for this reason", "API_KEY")],
)  # fmt: skip
def test_a_word_or_code_has_a_meaning_and_its_cure(which, means, fix):
    made = explain.word(which)
    assert means in made["next"][0]
    assert fix in " ".join(one["fix"] for one in made["hindrances"])
    assert made["next"][0] in printing.text(printing.Said(data=made, reply="explain"))


def test_every_phase_and_status_is_in_the_glossary():
    words = [model.COLLECT, model.CHALLENGE, model.RESOLVE, model.SYNTHESIZE, model.DELIBERATE]
    words += [model.VOTE, model.WAITING, *model.ANSWERED, model.ACTIVE, model.CONVERGED]
    assert explain.word("quux") is None
    words += ["nobody-left", "no-clock"]
    words += [f"max_{one}" for one in ("runs", "tokens", "usd", "runs_per_day", "usd_per_day")]
    for one in [*words, model.TIMEOUT, model.CANCELLED]:
        assert explain.word(one)["kind"] == "word", one
