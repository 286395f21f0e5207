"""Numbers that no float holds are refused by their keys, wherever they stand; all other JSON is read as Python reads it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coplay.errors import UsageError
from coplay.files.numbers import UnheldError, loads_finite
from coplay.files.reading import parse_json, read_toml

UNHELD = [
    "1e999",
    "-1e999",
    "NaN",
    "Infinity",
    "-Infinity",
    "1" + "0" * 309,
    "-" + "9" * 310,
    "9" * 5000,
    "1" + "0" * 100_000,
]
HELD = ["1e-400", "-0.0", "1e308", "1" + "0" * 308, "0", "0e999", "1e-99999"]

SIGN = "here stands a number"

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@st.composite
def with_a_place(draw: st.DrawFn) -> tuple[Any, str]:
    """A value in which the sign stands somewhere, and its key."""
    value: Any = SIGN
    key = ""
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            name = draw(st.text("xyz", min_size=1, max_size=3))
            others = draw(st.dictionaries(st.text("abc", min_size=1, max_size=3), values, max_size=3))
            value, key = {**others, name: value}, f"{name}{'.' * bool(key and key[0] != '[')}{key}"
        else:
            before = draw(st.lists(values, max_size=3))
            value, key = [*before, value], f"[{len(before)}]{'.' * bool(key and key[0] != '[')}{key}"
    return value, key


@settings(max_examples=300, deadline=None)
@given(values)
def test_other_json_is_read_as_python_reads_it(value: Any) -> None:
    text = json.dumps(value)
    assert loads_finite(text) == json.loads(text) == value


@settings(max_examples=200, deadline=None)
@given(place=with_a_place(), number=st.sampled_from(UNHELD))
def test_a_number_that_no_float_holds_is_refused_by_its_key(place: tuple[Any, str], number: str) -> None:
    value, key = place
    text = json.dumps(value).replace(json.dumps(SIGN), number)
    with pytest.raises(UnheldError) as caught:
        loads_finite(text)
    words = str(caught.value)
    assert words.startswith(f"{key}: " if key else number[:10]) and len(words) < 200


@settings(max_examples=100, deadline=None)
@given(place=with_a_place(), number=st.sampled_from(HELD))
def test_the_largest_and_the_smallest_are_read(place: tuple[Any, str], number: str) -> None:
    text = json.dumps(place[0]).replace(json.dumps(SIGN), number)
    assert loads_finite(text) == json.loads(text)


@settings(max_examples=200, deadline=None)
@given(digits=st.integers(1, 700), first=st.integers(1, 9), before=st.text("ab ", max_size=70))
def test_long_rows_of_digits_are_numbers_only_outside_of_texts(digits: int, first: int, before: str) -> None:
    number = f"{first}" * digits
    assert loads_finite(json.dumps([before, number])) == [before, number]
    held = math.isfinite(float(number))
    text = f"[{json.dumps(before)}, {number}]"
    if held:
        assert loads_finite(text) == [before, int(number)]
    else:
        with pytest.raises(UnheldError, match=r"\[1\]: "):
            loads_finite(text)


def test_a_number_that_another_one_of_its_key_hides_does_no_harm() -> None:
    assert loads_finite('{"a": 1e999, "a": 1}') == {"a": 1}


def test_files_are_named() -> None:
    with pytest.raises(
        UsageError, match=r"^config\.json is damaged: .*rope\.theta\[1\]: 1e999 is too large for a number"
    ):
        parse_json('{"rope": {"theta": [1, 1e999]}}', "config.json")


@pytest.mark.parametrize(
    "number", ["inf", "-inf", "nan", "1e999", "1" + "0" * 400, "0x" + "f" * 400, "0b" + "1" * 2000]
)
def test_toml_names_the_key(tmp_path: Path, number: str) -> None:
    file = tmp_path / "it.toml"
    file.write_text(f"rounds = 3\n[settings]\nlisted = [1, {{ x = {number} }}]\n")
    with pytest.raises(UsageError, match=r"it\.toml: settings\.listed\[1\]\.x: .* (no finite|too large for a) number$"):
        read_toml(file)


@pytest.mark.parametrize("number", ["9" * 5000, "1" + "_000" * 2000])
def test_toml_of_more_digits_than_python_reads_names_the_line(tmp_path: Path, number: str) -> None:
    file = tmp_path / "it.toml"
    file.write_text(f"rounds = 3\nx = {number}\n")
    with pytest.raises(UsageError, match=r"it\.toml is not TOML: line 2: .*too large for a number$"):
        read_toml(file)
