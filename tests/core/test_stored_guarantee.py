"""A guarantee as it is stored: written as ever, read back exactly, refused if anything is odd."""

from __future__ import annotations

import itertools
import json
import traceback
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import StoreRefused
from ameles.core.guarantee import (
    Guarantee,
    Neighbours,
)
from ameles.core.loss import Pure
from tests.core.guarantees import EVERY, GUARANTEE, event
from tests.each import together

# Version 1 as it was first written.  This text lies in people's stores: it never changes.
VERSION_1 = (
    '{"ameles":"guarantee","version":1,'
    '"loss":{"currency":"approx","epsilon":"1/10","delta":"1/1000000"},'
    '"unit":{"kind":"user-window","window":30},'
    '"neighbours":"user-presence",'
    '"contribution":{"steps":5,"bound":2,"norm":"L2"},'
    '"horizon":365,'
    '"intrusions":"one"}'
)


def test_version_1_is_written_as_it_always_was() -> None:
    assert GUARANTEE.to_json() == VERSION_1


def test_version_1_is_read_as_it_always_was() -> None:
    assert Guarantee.from_json(VERSION_1) == GUARANTEE


def test_every_combination_comes_back_from_json() -> None:
    assert [Guarantee.from_json(each.to_json()) for each in EVERY] == EVERY
    assert len({each.to_json() for each in EVERY}) == len(EVERY)


@given(st.fractions(min_value=0), st.integers(1, 2**40), st.none() | st.integers(1, 2**40))
def test_every_number_comes_back_from_json(
    amount: Fraction, bound: int, horizon: int | None
) -> None:
    contribution = replace(GUARANTEE.contribution, bound=bound)
    made = replace(GUARANTEE, loss=Pure(amount), contribution=contribution, horizon=horizon)
    assert Guarantee.from_json(made.to_json()) == made
    assert Guarantee.from_dict(made.to_dict()) == made


def test_plain_data_is_not_shared_with_the_guarantee() -> None:
    GUARANTEE.to_dict()["contribution"]["steps"] = 99
    assert GUARANTEE.to_json() == VERSION_1


def test_a_newer_version_is_refused_with_the_way_out() -> None:
    with pytest.raises(StoreRefused, match="has version 2; this program reads up to") as refused:
        Guarantee.from_json(VERSION_1.replace('"version":1', '"version":2'))
    assert refused.value.tip == "update ameles"


Path = tuple[str, ...]
FIELDS: list[Path] = [
    ("ameles",),
    ("version",),
    ("loss",),
    ("loss", "currency"),
    ("loss", "epsilon"),
    ("loss", "delta"),
    ("unit",),
    ("unit", "kind"),
    ("unit", "window"),
    ("neighbours",),
    ("contribution",),
    ("contribution", "steps"),
    ("contribution", "bound"),
    ("contribution", "norm"),
    ("horizon",),
    ("intrusions",),
]
OBJECTS: list[Path] = [(), ("loss",), ("unit",), ("contribution",)]


def at(document: dict[str, Any], path: Path) -> dict[str, Any]:
    for name in path:
        document = document[name]
    return document


def leaves(document: dict[str, Any], path: Path = ()) -> list[Path]:
    paths = []
    for name, value in document.items():
        paths.append((*path, name))
        if isinstance(value, dict):
            paths += leaves(value, (*path, name))
    return paths


def test_these_are_all_the_fields_of_the_document() -> None:
    assert leaves(json.loads(VERSION_1)) == FIELDS


@pytest.mark.parametrize("path", FIELDS, ids=".".join)
def test_a_missing_field_is_refused(path: Path) -> None:
    document = json.loads(VERSION_1)
    del at(document, path[:-1])[path[-1]]
    with pytest.raises(StoreRefused):
        Guarantee.from_json(json.dumps(document))


@pytest.mark.parametrize("path", [("unit", "window"), ("horizon",)], ids=".".join)
def test_none_is_written_down_and_not_left_out(path: Path) -> None:
    document = json.loads(replace(event(Neighbours.STEP), horizon=None).to_json())
    owner = at(document, path[:-1])
    assert owner.pop(path[-1]) is None
    with pytest.raises(StoreRefused):
        Guarantee.from_json(json.dumps(document))


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: ".".join(path) or "top")
def test_an_unknown_field_is_refused(path: Path) -> None:
    document = json.loads(VERSION_1)
    at(document, path)["canary"] = 1
    with pytest.raises(StoreRefused):
        Guarantee.from_json(json.dumps(document))


WRONG: list[Any] = [None, True, 0, -1, 0.5, 1e308, "canary", "", [], ["canary"], {}, {"canary": 1}]


@together(
    ("path", "value"),
    [
        (path, value)
        for path, value in itertools.product(FIELDS, WRONG)
        if path != ("horizon",) or value is not None  # None: a stream without an end
    ],
)
def test_a_field_of_the_wrong_type_is_refused_and_not_repeated(path: Path, value: Any) -> None:
    document = json.loads(VERSION_1)
    at(document, path[:-1])[path[-1]] = value
    with pytest.raises(StoreRefused, match="not a guarantee that Ameles can read") as refused:
        Guarantee.from_json(json.dumps(document))
    assert "canary" not in "".join(traceback.format_exception(refused.value))


def test_a_chained_error_would_repeat_the_value() -> None:
    # The planted alternative: what enum says, and a traceback would show, without "from None".
    with pytest.raises(ValueError, match="canary"):
        Neighbours("canary")


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
) | st.sampled_from(["pure", "event", "user", "step", "L1", "none", "1/3", "7", 7, 1])


@st.composite
def mutants(draw: st.DrawFn) -> dict[str, Any]:
    """The document after one to three changes: a value, a field less, a field more."""
    document: dict[str, Any] = json.loads(VERSION_1)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(leaves(document) or [("horizon",)]))
        owner = at(document, path[:-1])
        match draw(st.sampled_from(["replace", "delete", "add"])):
            case "replace":
                owner[path[-1]] = draw(json_values)
            case "delete":
                del owner[path[-1]]
            case "add":
                owner[draw(st.text(max_size=8) | st.just("window"))] = draw(json_values)
    return document


def meaning(document: dict[str, Any]) -> dict[str, Any]:
    """A document in which 0.1 and 1/10 are the same amount."""
    loss = {
        name: value if name == "currency" else Fraction(value)
        for name, value in document["loss"].items()
    }
    return {**document, "loss": loss}


def same(one: Any, other: Any) -> bool:
    """Equal, and of equal types all the way down: True is not 1 and 1.0 is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return type(one) is type(other) and bool(one == other)


@given(mutants())
def test_a_changed_document_is_refused_or_means_every_word_it_says(
    document: dict[str, Any],
) -> None:
    try:
        made = Guarantee.from_json(json.dumps(document))
    except StoreRefused:
        return
    assert same(meaning(json.loads(made.to_json())), meaning(document))


def test_a_reader_that_ignores_fields_would_be_seen() -> None:
    # The planted alternative: a document with a field that the reader dropped.
    document = json.loads(VERSION_1)
    assert not same(meaning(document), meaning({**document, "also": 1}))
    assert not same(meaning(document), meaning({**document, "horizon": 365.0}))


@given(st.integers(0, len(VERSION_1) - 1))
def test_a_truncated_document_is_refused(cut: int) -> None:
    with pytest.raises(StoreRefused):
        Guarantee.from_json(VERSION_1[:cut])


@given(st.integers(0, len(VERSION_1) - 1), st.characters() | st.sampled_from('0123456789,:"{}'))
def test_a_flipped_character_is_refused_or_means_what_it_says(place: int, new: str) -> None:
    text = VERSION_1[:place] + new + VERSION_1[place + 1 :]
    try:
        made = Guarantee.from_json(text)
    except StoreRefused:
        return
    assert same(meaning(json.loads(made.to_json())), meaning(json.loads(text)))


@pytest.mark.parametrize(
    "amount", ["1e999999999", "1/0", "9" * 5000, "nan", "-1", " ", "1/3/5", "0x1"]
)
def test_an_amount_that_would_not_end_is_refused(amount: str) -> None:
    with pytest.raises(StoreRefused):
        Guarantee.from_json(VERSION_1.replace('1/10"', f'{amount}"'))


def test_a_value_nested_too_deep_to_print_is_refused() -> None:
    # Deep enough that repr would run out of stack, shallow enough for the parser.
    deep = "[" * 900 + "]" * 900
    with pytest.raises(StoreRefused):
        Guarantee.from_json(VERSION_1.replace('"user-window"', deep))


def test_another_kind_of_document_is_refused() -> None:
    with pytest.raises(StoreRefused, match="not a guarantee"):
        Guarantee.from_json(VERSION_1.replace('"guarantee"', '"recipe"'))
