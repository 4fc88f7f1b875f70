"""JSON without the package `json`: the same texts, the same values, the same refusals."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core import quick_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(VALUES)
def test_values_are_written_as_json_writes_them(value: object):
    for ascii_only in (True, False):
        for between in ((", ", ": "), (",", ":")):
            given_form = {"ensure_ascii": ascii_only, "separators": between}
            assert quick_json.dumps(value, **given_form) == json.dumps(value, **given_form)
    assert quick_json.dumps(value, indent=1) == json.dumps(value, indent=1)


@given(VALUES, st.sampled_from(["", " ", "\n\t\r "]))
def test_what_was_written_is_read_from_text_and_from_bytes(value: object, around: str):
    text = around + json.dumps(value) + around

    assert quick_json.loads(text) == value
    assert quick_json.loads(text.encode()) == value


@given(st.text(alphabet='{}[]",:0123456789.eE+-truefalsn \n\\u', max_size=12))
def test_any_text_is_read_or_refused_like_json_does(text: str):
    try:
        expected = json.loads(text)
    except ValueError as refusal:
        with pytest.raises(type(refusal)) as refused:
            quick_json.loads(text)
        assert str(refused.value) == str(refusal)
    else:
        assert quick_json.loads(text) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe1\x00",
        b"\xef\xbb\xbf1",
        b"\x00\x00\x001",
        '"é"'.encode("utf-16"),
        b'"\xff"',
        b"",
        b"  ",
        b'"\xed\xa0\x80"',
    ],
)
def test_bytes_that_are_not_plain_are_read_or_refused_like_json_does(data: bytes):
    try:
        expected = json.loads(data)
    except ValueError as refusal:
        with pytest.raises(type(refusal)):
            quick_json.loads(data)
    else:
        assert quick_json.loads(data) == expected


def test_constants_are_read_as_the_caller_wants():
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not wanted")

    assert math.isnan(quick_json.loads("NaN"))
    assert quick_json.loads("[-Infinity]") == [-math.inf]
    with pytest.raises(ValueError, match="NaN is not wanted"):
        quick_json.loads('{"a": NaN}', parse_constant=refuse)


def test_what_is_no_json_value_is_refused():
    with pytest.raises(TypeError, match="set is not JSON"):
        quick_json.dumps({"a": {1, 2}})
    with pytest.raises(RecursionError):
        quick_json.loads("[" * 100_000)


@pytest.mark.parametrize("text", ["{", '{"a" 1}', '["a", ]', '"open', "", "nul", "[1] 2"])
def test_a_process_that_never_loaded_json_refuses_what_is_none(text: str):
    script = (
        "import sys\n"
        "from council.core import quick_json\n"
        "assert quick_json.loads('[1]') == [1] and 'json' not in sys.modules\n"
        "try:\n    quick_json.loads(sys.argv[1])\n"
        "except ValueError as refusal:\n    print(refusal)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, text], capture_output=True, text=True, check=True
    )
    with pytest.raises(json.JSONDecodeError) as refused:
        json.loads(text)
    assert done.stdout.strip() == str(refused.value)
