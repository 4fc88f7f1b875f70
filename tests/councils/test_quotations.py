"""What an answer quotes, and whether it was said."""

import pytest

from council.councils.hearing import quotations

SAID = [
    ("", "Decide by Friday."),
    ("sage", "No **bot**: see the list.\n\nThe cloud is not free."),
    ("nova", "It’s cheap – and small."),
]
NAMES = {"sage": "Sage", "nova": "Nova"}


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("I agree with all of it.", []),
        ('@sage says "see the list", and it is right.', [("see the list", "sage", True)]),
        ('@sage: "the cloud is free" is wrong.', [("the cloud is free", "sage", False)]),
        ("> No bot: see the list.\n\nWhy not?", [("No bot: see the list.", "sage", True)]),
        (
            '> No bot: see the list.\n\nNobody looks, and "the cloud is free" is wrong.',
            [("No bot: see the list.", "sage", True)],  # what nobody is credited with may be a name
        ),
        ("@nova wrote “it's cheap - and small”.", [("it's cheap - and small", "nova", True)]),
        ('Sage said "It’s cheap – and small."', [("It’s cheap – and small.", "nova", True)]),
        ('@sage: "no bot […] is not free"', [("no bot […] is not free", "sage", True)]),
        ('I would call it "a small local script".', []),
        ('@sage: "no" and "yes"', []),
        ("> Nobody ever said this.", [("Nobody ever said this.", "", False)]),
        ("> Decide by Friday.", [("Decide by Friday.", "", True)]),
    ],
)
def test_quotations(text: str, quoted: list[tuple[str, str, bool]]) -> None:
    assert [(q.text, q.of, q.found) for q in quotations(text, SAID, NAMES)] == quoted


def test_hostile_texts_are_bounded() -> None:
    for piece in ('"', "> a\n\n", '@sage "a b c" ', "“", '@sage: "'):
        assert len(quotations(piece * (200_000 // len(piece)), SAID, NAMES)) <= 100
