"""Guarantees: complete, said in words, and exactly what was stored or refused."""

from __future__ import annotations

import copy
import itertools
import json
import traceback
from dataclasses import FrozenInstanceError, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.guarantee import (
    EVENT,
    USER,
    Contribution,
    Guarantee,
    Intrusions,
    Neighbours,
    Norm,
    Unit,
    user_window,
)
from ameles.core.loss import Approx, Concentrated, Loss, Pure

from .transport import sent

GUARANTEE = Guarantee(
    loss=Approx("0.1", "1e-6"),
    unit=user_window(30),
    neighbours=Neighbours.USER_PRESENCE,
    contribution=Contribution(steps=5, bound=2, norm=Norm.L2),
    horizon=365,
    intrusions=Intrusions.ONE,
)

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

LOSSES: list[Loss] = [Pure("1/3"), Approx(1, "1e-9"), Concentrated("0.005")]
EVERY = [
    Guarantee(
        loss=loss,
        unit=unit,
        neighbours=neighbours,
        contribution=Contribution(steps=steps, bound=3, norm=norm),
        horizon=horizon,
        intrusions=intrusions,
    )
    for loss, unit, neighbours, steps, norm, horizon, intrusions in itertools.product(
        LOSSES,
        [EVENT, USER, user_window(7)],
        Neighbours,
        [1, 4],
        Norm,
        [None, 1, 365],
        Intrusions,
    )
]

# --- construction ----------------------------------------------------------------------


def test_no_field_has_a_default() -> None:
    for each in fields(Guarantee):
        given_fields: dict[str, Any] = {
            other.name: getattr(GUARANTEE, other.name)
            for other in fields(Guarantee)
            if other.name != each.name
        }
        with pytest.raises(TypeError, match=each.name):
            Guarantee(**given_fields)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss", 1),
        ("loss", None),
        ("unit", "event"),
        ("neighbours", "step"),
        ("contribution", 1),
        ("horizon", 0),
        ("horizon", -1),
        ("horizon", True),
        ("horizon", 8.0),
        ("horizon", "8"),
        ("horizon", 2**40 + 1),
        ("intrusions", "none"),
        ("intrusions", Norm.L1),
    ],
)
def test_a_field_of_another_type_is_refused_by_name(name: str, value: Any) -> None:
    changed: dict[str, Any] = {name: value}
    with pytest.raises(BadInput, match=f"The '{name}' parameter must be"):
        replace(GUARANTEE, **changed)


@pytest.mark.parametrize(
    ("name", "value"),
    [("steps", 0), ("steps", 1.0), ("bound", -1), ("bound", None), ("norm", "L1")],
)
def test_a_contribution_is_checked(name: str, value: Any) -> None:
    changed: dict[str, Any] = {name: value}
    with pytest.raises(BadInput, match=f"The '{name}' parameter must be"):
        replace(GUARANTEE.contribution, **changed)


@pytest.mark.parametrize("kind", ["", "row", None, [], "user_window"])
def test_a_unit_is_one_of_three(kind: Any) -> None:
    with pytest.raises(BadInput, match="must be event, user or user-window"):
        Unit(kind)


@pytest.mark.parametrize(("kind", "window"), [("event", 7), ("user", 7), ("user-window", None)])
def test_a_window_goes_with_the_kind_that_has_one(kind: str, window: int | None) -> None:
    with pytest.raises(BadInput, match="'window' of a unit goes with") as refused:
        Unit(kind, window)
    assert refused.value.tip == "user_window(30)"


@pytest.mark.parametrize("length", [0, -1, 2.0, True, "7", 2**40 + 1])
def test_a_window_is_a_number_of_steps(length: Any) -> None:
    with pytest.raises(BadInput, match="The 'window' parameter must be a whole number"):
        user_window(length)


def test_integers_of_numpy_are_held_as_plain_ones_and_can_be_stored() -> None:
    seven: Any = np.int64(7)
    mixed = Guarantee(
        loss=Pure(1),
        unit=user_window(seven),
        neighbours=Neighbours.STEP,
        contribution=Contribution(steps=seven, bound=seven, norm=Norm.L1),
        horizon=seven,
        intrusions=Intrusions.NONE,
    )
    for held in (mixed.unit.window, mixed.contribution.steps, mixed.horizon):
        assert type(held) is int
    assert Guarantee.from_json(mixed.to_json()) == mixed


def test_json_alone_cannot_write_integers_of_numpy() -> None:
    # The planted alternative: what a field kept as given would do to the ledger.
    with pytest.raises(TypeError, match="int64"):
        json.dumps({"horizon": np.int64(7)})


def test_a_guarantee_is_frozen() -> None:
    writable: Any = GUARANTEE
    for each in fields(Guarantee):
        with pytest.raises(FrozenInstanceError):
            setattr(writable, each.name, None)


def test_a_guarantee_survives_copies_and_pipes() -> None:
    assert GUARANTEE == copy.copy(GUARANTEE) == copy.deepcopy(GUARANTEE) == sent(GUARANTEE)
    assert hash(GUARANTEE) == hash(sent(GUARANTEE))


# --- words -----------------------------------------------------------------------------


def event(neighbours: Neighbours, intrusions: Intrusions = Intrusions.NONE) -> Guarantee:
    return Guarantee(
        loss=Pure(1),
        unit=EVENT,
        neighbours=neighbours,
        contribution=Contribution(steps=1, bound=1, norm=Norm.L1),
        horizon=365,
        intrusions=intrusions,
    )


@pytest.mark.parametrize(
    ("neighbours", "words"),
    [
        (Neighbours.ADD_REMOVE, "one event: added or removed, changing 1 step by at most 1 (L1)"),
        (Neighbours.REPLACE, "one event: replaced, changing 1 step by at most 1 (L1)"),
        (Neighbours.STEP, "one event: streams that differ in 1 step by at most 1 (L1)"),
        (Neighbours.USER_PRESENCE, "one event: present or absent, changing 1 step by"),
        (Neighbours.USER_SUBSTITUTION, "one event: replaced by another, changing 1 step by"),
    ],
)
def test_the_words_for_each_relation(neighbours: Neighbours, words: str) -> None:
    assert words in str(event(neighbours))


def test_every_relation_was_put_into_words_above() -> None:
    assert len({str(event(neighbours)) for neighbours in Neighbours}) == len(Neighbours) == 5


@pytest.mark.parametrize(
    ("intrusions", "end"),
    [
        (Intrusions.NONE, "over 365 steps"),
        (Intrusions.ONE, "over 365 steps; the state may be seized once"),
        (
            Intrusions.ANNOUNCED,
            "over 365 steps; the state may be seized any number of times, if announced",
        ),
        (Intrusions.EVERY, "over 365 steps; the state may be seized after every step"),
    ],
)
def test_the_words_for_each_intrusion(intrusions: Intrusions, end: str) -> None:
    assert str(event(Neighbours.STEP, intrusions)).endswith(end)


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        (EVENT, "one event"),
        (USER, "one user"),
        (user_window(30), "one user within 30 steps"),
        (user_window(1), "one user within 1 step"),
    ],
)
def test_the_words_for_each_unit(unit: Unit, words: str) -> None:
    assert f"for {words}: " in str(replace(GUARANTEE, unit=unit))


@pytest.mark.parametrize(
    ("horizon", "words"),
    [(None, "without end"), (1, "over 1 step"), (2, "over 2 steps")],
)
def test_the_words_for_each_horizon(horizon: int | None, words: str) -> None:
    assert str(replace(event(Neighbours.STEP), horizon=horizon)).endswith(f", {words}")


def test_a_longer_contribution_says_up_to() -> None:
    assert "changing up to 5 steps by at most 2 (L2)" in str(GUARANTEE)


def test_different_guarantees_have_different_words() -> None:
    assert len({str(each) for each in EVERY}) == len(EVERY)


# --- storage ---------------------------------------------------------------------------


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
    found = []
    for name, value in document.items():
        found.append((*path, name))
        if isinstance(value, dict):
            found += leaves(value, (*path, name))
    return found


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


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (path, value)
        for path, value in itertools.product(FIELDS, WRONG)
        if path != ("horizon",) or value is not None  # None: a stream without an end
    ],
    ids=lambda part: ".".join(part) if isinstance(part, tuple) else str(part),
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


@pytest.mark.parametrize("unit", [EVENT, USER, user_window(30)])
def test_a_unit_is_found_by_its_tag(unit: Unit) -> None:
    assert Unit.tagged(unit.tag) == unit


@pytest.mark.parametrize(
    "tag", ["", "person", "event:3", "user-window", "user-window:", "user-window:x", "user:30"]
)
def test_other_tags_are_refused(tag: str) -> None:
    with pytest.raises(BadInput):
        Unit.tagged(tag)
