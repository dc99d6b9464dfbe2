"""Recipes: one text per recipe, and the recipe back from its text."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field, fields, make_dataclass, replace
from enum import Enum, IntEnum
from fractions import Fraction
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.parameters import Bound, Epsilon, Horizon, Law, OptionalHorizon, Width, refuse
from ameles.core.recipe import Recipe, recipe_from_dict, recipe_from_json

from .transport import sent


@dataclass(frozen=True, kw_only=True)
class Tally(Recipe):
    epsilon: Epsilon = Epsilon()
    horizon: Horizon = Horizon()
    width: Width = Width()
    bound: Bound = Bound()


@dataclass(frozen=True, kw_only=True)
class Count(Recipe):
    """The same parameters under another name."""

    epsilon: Epsilon = Epsilon()
    horizon: Horizon = Horizon()
    width: Width = Width()
    bound: Bound = Bound()


@dataclass(frozen=True, kw_only=True)
class Outer(Recipe):
    """A recipe that holds others, as a counter without a horizon holds counters with one."""

    version: ClassVar[int] = 3

    epsilon: Epsilon = Epsilon()
    horizon: OptionalHorizon = OptionalHorizon()
    inner: Recipe
    others: tuple[Recipe, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Recipe):
            raise refuse("inner", "a recipe", self.inner)


KNOWN: dict[str, type[Recipe]] = {"Tally": Tally, "Count": Count, "Outer": Outer}

TALLY = Tally(epsilon=0.1, horizon=8)
OUTER = Outer(epsilon="1/3", inner=TALLY, others=(TALLY, Count(epsilon=1, horizon=2)))

# Version 1 as it was first written.  This text lies in people's ledgers: it never changes.
TALLY_TEXT = (
    '{"ameles":"recipe","version":1,"recipe":"Tally",'
    '"epsilon":"1/10","horizon":8,"width":null,"bound":1}'
)

tallies = st.builds(
    Tally,
    epsilon=st.fractions(Fraction(1, 10**9), 1000, max_denominator=10**20),
    horizon=st.integers(1, 2**40),
    width=st.none() | st.integers(1, 2**31),
    bound=st.integers(1, 2**40),
)
outers: st.SearchStrategy[Recipe] = st.recursive(
    tallies,
    lambda inner: st.builds(
        Outer,
        epsilon=st.fractions(Fraction(1, 1000), 1000),
        inner=inner,
        others=st.tuples() | st.tuples(inner),
    ),
    max_leaves=3,
)


def test_a_recipe_is_written_as_it_always_was() -> None:
    assert TALLY.to_json() == TALLY_TEXT


def test_a_recipe_is_read_as_it_always_was() -> None:
    assert recipe_from_json(TALLY_TEXT, KNOWN) == TALLY


def test_the_text_does_not_depend_on_how_parameters_were_written() -> None:
    again = Tally(bound=1, horizon=8, epsilon=Fraction("0.1"), width=None)
    assert again.to_json() == TALLY.to_json() == sent(TALLY).to_json()


def test_a_fingerprint_is_a_digest_of_the_text() -> None:
    assert TALLY.fingerprint == hashlib.sha256(TALLY_TEXT.encode()).digest()
    assert len(TALLY.fingerprint) == 32


CHANGES: dict[str, Any] = {"epsilon": "1/7", "horizon": 9, "width": 1, "bound": 2}


@pytest.mark.parametrize("name", [each.name for each in fields(Tally)])
def test_a_change_of_any_parameter_changes_the_fingerprint(name: str) -> None:
    assert replace(TALLY, **{name: CHANGES[name]}).fingerprint != TALLY.fingerprint


# Few values, so that equal pairs come up as well as different ones.
few = st.builds(
    Tally,
    epsilon=st.sampled_from([1, "1", 1.0, "0.5", "1/2"]),
    horizon=st.integers(1, 2),
    width=st.none() | st.just(1),
)


@given(few, few)
def test_recipes_are_equal_exactly_when_their_fingerprints_are(one: Tally, other: Tally) -> None:
    assert (one == other) == (one.fingerprint == other.fingerprint)


def test_another_class_with_the_same_parameters_has_another_fingerprint() -> None:
    assert Count(epsilon=0.1, horizon=8).fingerprint != TALLY.fingerprint


def test_another_version_has_another_fingerprint() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Later(Tally):
        version: ClassVar[int] = 2

    later = Later(epsilon=0.1, horizon=8)
    Later.__name__ = "Tally"
    assert later.to_json() == TALLY_TEXT.replace('"version":1', '"version":2')
    assert later.fingerprint != TALLY.fingerprint


def test_a_change_inside_a_nested_recipe_changes_the_fingerprint() -> None:
    other = replace(OUTER, inner=replace(TALLY, bound=2))
    assert other.fingerprint != OUTER.fingerprint


def test_a_nested_recipe_carries_its_name_and_version() -> None:
    assert OUTER.to_dict()["inner"] == {
        "recipe": "Tally",
        "version": 1,
        "epsilon": "1/10",
        "horizon": 8,
        "width": None,
        "bound": 1,
    }


@given(outers)
def test_a_recipe_comes_back_from_json(recipe: Recipe) -> None:
    assert recipe_from_json(recipe.to_json(), KNOWN) == recipe


@given(outers)
def test_a_recipe_comes_back_from_plain_data(recipe: Recipe) -> None:
    plain = json.loads(json.dumps(recipe.to_dict()))
    again = recipe_from_dict(plain, KNOWN)
    assert again == recipe
    assert hash(again) == hash(recipe)
    assert type(again) is type(recipe)


def test_a_class_reads_its_own_parameters() -> None:
    parameters: dict[str, Any] = {"epsilon": "1/10", "horizon": 8}
    assert Tally.from_dict(parameters) == TALLY


def test_reading_does_not_change_what_was_read() -> None:
    plain = OUTER.to_dict()
    recipe_from_dict(plain, KNOWN)
    assert plain == OUTER.to_dict()


UNREADABLE: list[Any] = [
    {},
    {"horizon": 8},
    {"epsilon": "1/10"},
    {"epsilon": "1/10", "horizon": 8, "unknown": 1},
    {"epsilon": "0", "horizon": 8},
    {"epsilon": "1/10", "horizon": "8"},
    {"epsilon": ["1/10"], "horizon": 8},
    {"epsilon": "1e999999999", "horizon": 8},
    {"self": 1, "epsilon": "1/10", "horizon": 8},
    [],
    None,
    "epsilon",
]


@pytest.mark.parametrize("parameters", UNREADABLE, ids=str)
def test_parameters_that_do_not_fit_are_refused(parameters: Any) -> None:
    with pytest.raises(StoreRefused, match="not a recipe that Ameles can read"):
        Tally.from_dict(parameters)


@pytest.mark.parametrize(
    "problem", [TypeError, ValueError, KeyError, AttributeError, OverflowError, ZeroDivisionError]
)
def test_a_class_that_stumbles_over_stored_parameters_refuses_them(
    problem: type[Exception],
) -> None:
    @dataclass(frozen=True)
    class Stumbling(Recipe):
        size: int

        def __post_init__(self) -> None:
            raise problem

    with pytest.raises(StoreRefused, match="not a recipe that Ameles can read"):
        Stumbling.from_dict({"size": 1})


def test_a_recipe_in_the_place_of_a_number_is_refused() -> None:
    with pytest.raises(StoreRefused):
        recipe_from_dict({**TALLY.to_dict(), "horizon": TALLY.to_dict()}, KNOWN)


@pytest.mark.parametrize("inner", [None, 1, "Tally", [], {}, {"recipe": "Tally"}], ids=str)
def test_a_nested_recipe_that_is_none_is_refused(inner: Any) -> None:
    with pytest.raises(StoreRefused):
        recipe_from_dict({**OUTER.to_dict(), "inner": inner}, KNOWN)


@pytest.mark.parametrize("name", [None, 1, [], {}])
def test_a_recipe_without_a_name_is_refused(name: Any) -> None:
    with pytest.raises(StoreRefused, match="not a recipe"):
        recipe_from_dict({**TALLY.to_dict(), "recipe": name}, KNOWN)


def test_a_recipe_of_an_unknown_class_is_refused_with_the_way_out() -> None:
    with pytest.raises(StoreRefused, match="mechanism that this program does not have") as refused:
        recipe_from_json(TALLY_TEXT, {"Count": Count})
    assert refused.value.tip == "update ameles"
    assert "Tally" not in str(refused.value)


def test_a_newer_recipe_is_refused_by_the_version_of_its_own_class() -> None:
    # Outer reads up to 3; that must not let a Tally of version 2 in.
    with pytest.raises(StoreRefused, match="has version 2; this program reads up to version 1"):
        recipe_from_json(TALLY_TEXT.replace('"version":1', '"version":2'), KNOWN)


def test_a_newer_recipe_inside_another_is_refused() -> None:
    plain = OUTER.to_dict()
    plain["inner"]["version"] = 2
    with pytest.raises(StoreRefused, match="has version 2"):
        recipe_from_dict(plain, KNOWN)


def test_an_older_version_is_handed_to_the_class() -> None:
    older = {**OUTER.to_dict(), "version": 1}
    assert recipe_from_dict(older, KNOWN) == OUTER


def test_recipes_nested_without_end_are_refused() -> None:
    text = '{"ameles":"recipe","version":3,"recipe":"Outer","inner":'
    deeper = '{"version":3,"recipe":"Outer","inner":'
    with pytest.raises(StoreRefused):
        recipe_from_json(text + deeper * 700 + "1" + "}" * 701, KNOWN)


@given(st.text() | st.integers(0, len(TALLY_TEXT) - 1).map(lambda cut: TALLY_TEXT[:cut]))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(StoreRefused):
        recipe_from_json(text, KNOWN)


# --- parameters of other types ---------------------------------------------------------


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 2


@dataclass(frozen=True)
class Free(Recipe):
    """A field that checks nothing, to see what can be written."""

    value: Any


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None),
        (True, True),
        (7, 7),
        (0.5, 0.5),
        ("text", "text"),
        (Fraction(1, 3), "1/3"),
        (Colour.RED, "red"),
        (Level.HIGH, 2),
        ((1, Fraction(1, 3), (Colour.RED, None)), [1, "1/3", ["red", None]]),
        ((), []),
    ],
)
def test_what_a_parameter_may_be(value: Any, plain: Any) -> None:
    assert json.loads(Free(value).to_json())["value"] == plain


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, 1j, b"bytes", {}, {1}, [1], print, object(), (1, [2])],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_written_is_refused_by_name(value: Any) -> None:
    with pytest.raises(BadInput, match="The 'value' parameter must be a finite number, a string"):
        Free(value).to_json()


@pytest.mark.parametrize("name", ["recipe", "version", "ameles"])
def test_a_parameter_cannot_take_the_name_of_what_describes_it(name: str) -> None:
    # The planted defect: a class whose parameter would overwrite its own description.
    clash = make_dataclass("Clash", [(name, int, 7)], bases=(Recipe,), frozen=True)()
    with pytest.raises(BadInput, match=f"cannot have a parameter called {name}"):
        clash.to_json()


def test_what_is_computed_from_parameters_is_not_one() -> None:
    @dataclass(frozen=True)
    class Squared(Recipe):
        side: int
        area: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "area", self.side**2)

    square = Squared(3)
    assert "area" not in square.to_dict()
    assert recipe_from_json(square.to_json(), {"Squared": Squared}) == square


@dataclass(frozen=True, kw_only=True)
class Renoised(Recipe):
    """A class whose noise has come to have another law."""

    version: ClassVar[int] = 2

    epsilon: Epsilon = Epsilon()
    law: Law = Law(2)


def test_a_law_is_the_version_of_the_text() -> None:
    known = {"Renoised": Renoised}
    new, old = Renoised(epsilon=1), Renoised(epsilon=1, law=1)
    assert new.to_json() == '{"ameles":"recipe","version":2,"recipe":"Renoised","epsilon":"1"}'
    # as the class wrote it before there was another law
    assert old.to_json() == '{"ameles":"recipe","version":1,"recipe":"Renoised","epsilon":"1"}'
    assert new.fingerprint != old.fingerprint
    for recipe in (new, old):
        assert recipe_from_json(recipe.to_json(), known) == recipe
    for text in (
        new.to_json().replace('"version":2', '"version":3'),
        new.to_json().replace("}", ',"law":1}'),
    ):
        with pytest.raises(StoreRefused):
            recipe_from_json(text, known)
