"""Versioned JSON: the same text for the same fields, and nothing else is read."""

from __future__ import annotations

import json
import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core import codec
from ameles.core.exceptions import BadInput, StoreRefused
from tests.each import together

names = st.text(max_size=8)
values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)
documents = st.dictionaries(
    names.filter(lambda name: name not in codec.RESERVED), values, max_size=3
)


@given(documents, st.integers(1, 1000))
def test_fields_come_back_as_they_were_written(fields: dict[str, Any], version: int) -> None:
    assert codec.read("note", version, codec.write("note", version, fields)) == fields


@given(documents)
def test_a_document_says_first_what_it_is(fields: dict[str, Any]) -> None:
    assert codec.write("note", 3, fields).startswith('{"ameles":"note","version":3')


@given(documents)
def test_a_document_is_plain_text_on_one_line(fields: dict[str, Any]) -> None:
    text = codec.write("note", 1, fields)
    assert text.isascii()
    assert "\n" not in text


@pytest.mark.parametrize("name", ["ameles", "version"])
def test_a_field_cannot_pretend_to_be_the_kind_or_the_version(name: str) -> None:
    with pytest.raises(BadInput, match=f"cannot have a field called {name}"):
        codec.write("note", 1, {name: 9})


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_json_has_no_word_for_is_not_written(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        codec.write("note", 1, {"number": number})


def test_an_older_version_is_read() -> None:
    assert codec.read("note", 3, codec.write("note", 1, {"a": 1})) == {"a": 1}


@pytest.mark.parametrize("version", [2, 3, 999])
def test_a_newer_version_is_refused_with_the_way_out(version: int) -> None:
    with pytest.raises(StoreRefused) as refused:
        codec.read("note", 1, codec.write("note", version, {}))
    assert str(refused.value).splitlines() == [
        f"error[store]: This note has version {version}; this program reads up to version 1.",
        "  why: a newer program wrote it",
        "  try: update ameles",
    ]


DAMAGED: list[Any] = [
    "",
    "canary",
    "null",
    "[]",
    "7",
    '"note"',
    "{}",
    '{"ameles":"note"}',
    '{"version":1}',
    '{"ameles":"canary","version":1}',
    '{"ameles":["note"],"version":1}',
    '{"ameles":"note","version":"1"}',
    '{"ameles":"note","version":1.0}',
    '{"ameles":"note","version":true}',
    '{"ameles":"note","version":null}',
    '{"ameles":"note","version":0}',
    '{"ameles":"note","version":-1}',
    '{"ameles":"note","version":NaN}',
    '{"ameles":"note","version":1,"canary":Infinity}',
    '{"ameles":"note","version":1,"canary":1,"canary":2}',
    '{"ameles":"note","version":1,"inner":{"canary":1,"canary":2}}',
    '{"ameles":"note","version":1,"canary":1}}',
    '{"ameles":"note","version":' + "9" * 5000 + "}",
    '{"ameles":"note","version":1,"canary":' + "9" * 5000 + "}",
    "[" * 100_000,
    '{"ameles":' * 100_000,
    b"\xff\xfe\xfa canary",
    None,
    7,
]


@together("text", DAMAGED)
def test_what_is_no_such_document_is_refused_without_repeating_it(text: Any) -> None:
    with pytest.raises(StoreRefused, match="This is not a note that Ameles can read") as refused:
        codec.read("note", 1, text)
    assert refused.value.tip
    assert "canary" not in "".join(traceback.format_exception(refused.value))


def test_a_refusal_does_not_carry_the_parser_error_which_holds_the_whole_text() -> None:
    with pytest.raises(json.JSONDecodeError) as held:
        json.loads("canary")
    assert held.value.doc == "canary"
    with pytest.raises(StoreRefused) as refused:
        codec.read("note", 1, "canary")
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_the_parser_alone_would_accept_two_values_for_one_field() -> None:
    # The planted alternative: json keeps the last of them and says nothing.
    assert json.loads('{"horizon":1,"horizon":2}') == {"horizon": 2}


@given(st.text() | st.text('{}[]":,0123456789.eE-ameles version note'))
def test_any_text_is_a_document_or_a_refusal(text: str) -> None:
    try:
        codec.read("note", 1, text)
    except StoreRefused:
        return
    assert json.loads(text)["ameles"] == "note"


@given(documents, st.data())
def test_a_truncated_document_is_refused(fields: dict[str, Any], data: st.DataObject) -> None:
    text = codec.write("note", 1, fields)
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(StoreRefused):
        codec.read("note", 1, text[:cut])
