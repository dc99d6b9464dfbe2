"""The check of syntax agrees with the parser of Python, except that it has no limits."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import NoReturn

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ameles.service.ingest.json_syntax import is_json

PARTS = ["{", "}", "[", "]", ",", ":", '"a"', '"a":', "1", "-0.5e+3", "01", "true", "nul"]
PARTS += [" ", "\n", "\r\t", "\x0b", r'"\u00e9\n"', r'"\x"', '"', "\\", "{}", "[ ]", '{"a":1}', "é"]


def parsed(text: str) -> bool:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    with suppress(ValueError):
        json.loads(text, parse_constant=refuse)
        return True
    return False


@given(st.lists(st.sampled_from(PARTS), max_size=10))
@example(["[", "1", ",", '"a":', "1", "]"])
@example(['{"a":1}', ",", "1", "}"])
@example(["{", '"a"', "]"])
@example(["1", "{}"])
@settings(max_examples=1000)
def test_the_check_agrees_with_a_parser(parts: list[str]) -> None:
    text = "".join(parts)
    assert is_json(text.encode()) == parsed(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(JSON, st.integers(0, 60), st.sampled_from([*PARTS, ""]), st.sampled_from([None, 1]))
def test_it_agrees_about_valid_texts_with_a_change(
    value: object, place: int, part: str, indent: int | None
) -> None:
    text = json.dumps(value, indent=indent)
    changed = text[:place] + part + text[place + 1 :]
    assert is_json(text.encode()) == parsed(text)
    assert is_json(changed.encode()) == parsed(changed)


@pytest.mark.parametrize("levels", [1, 1_000, 300_000])
def test_any_depth_is_read(levels: int) -> None:
    deep = b'[{"a":' * levels + b"1" + b"}]" * levels
    assert is_json(deep)
    assert not is_json(deep[:-1])
    assert not is_json(deep + b"]")
    assert not is_json(deep.replace(b"1}", b"1]"))
