"""The tables of sentences: every row is whole, and a table that is missing is an error in words."""

from __future__ import annotations

import string
from pathlib import Path

import pytest

import council
from council.core.errors import InvalidStateError
from council.store.texts import texts

FILES = sorted((Path(council.__file__).parent / "texts").iterdir())
# A cause has a way out as well, which may be the same in both languages.
PARTS = {"causes": (3, 4)}


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_row_is_whole_and_stands_there_once(path: Path):
    lines = path.read_text(encoding="utf-8").splitlines()
    keys = [one.split(" || ")[0] for one in lines if one and one[0] not in "# "]
    table = texts(path.stem)

    assert path.suffix == ".txt"
    assert lines[0].startswith("# ")
    assert keys == list(table)
    for key, said in table.items():
        assert len(said) in PARTS.get(path.stem, (2,)), key
        assert all(said) and "||" not in "".join(said), key


@pytest.mark.req("XC-012")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_both_languages_fill_in_the_same_fields(path: Path):
    for key, said in texts(path.stem).items():
        for english, french in zip(said[::2], said[1::2], strict=False):
            # Some of one type say in French what the field would say in English.
            left = {"driver", "message", "type"} if ":" in key else set()
            assert fields(english) - fields(french) <= left, key
            assert fields(french) <= fields(english), key


def test_a_table_that_this_installation_lacks_is_an_error():
    with pytest.raises(InvalidStateError, match=r"lacks texts: .*/texts/poems\.txt is missing"):
        texts("poems")
