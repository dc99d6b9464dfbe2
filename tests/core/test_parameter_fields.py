"""Parameters as fields of frozen dataclasses."""

from __future__ import annotations

import copy
import math
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.parameters import (
    Bound,
    Contributions,
    Parameter,
    Whole,
)
from tests.core.parameters import Example

from .transport import sent

EXAMPLE = Example(epsilon="0.1", horizon=8)


def test_defaults_are_checked_and_converted_as_given_values_are() -> None:
    assert EXAMPLE.half == Fraction(1, 2)
    assert (EXAMPLE.limit, EXAMPLE.width, EXAMPLE.steps, EXAMPLE.bound) == (None, None, 1, 1)


def test_a_default_out_of_range_is_found_when_it_is_used() -> None:
    @dataclass(frozen=True)
    class Wrong:
        count: Whole = Whole(1, 5, 6)

    with pytest.raises(BadInput, match="'count'"):
        Wrong()


def test_a_field_without_a_default_is_required() -> None:
    make: Any = Example
    with pytest.raises(TypeError, match="epsilon"):
        make(horizon=8)


def test_dataclasses_sees_the_same_fields_that_were_declared() -> None:
    names = [each.name for each in fields(Example)]
    assert names == ["epsilon", "half", "horizon", "limit", "width", "steps", "bound"]


def test_a_field_cannot_be_assigned_or_deleted() -> None:
    writable: Any = EXAMPLE
    with pytest.raises(FrozenInstanceError):
        writable.epsilon = 2
    with pytest.raises(FrozenInstanceError):
        del writable.epsilon
    assert EXAMPLE.epsilon == Fraction(1, 10)


def test_replace_converts_and_checks_again() -> None:
    assert replace(EXAMPLE, epsilon=0.2).epsilon == Fraction(1, 5)
    with pytest.raises(BadInput, match="'epsilon'"):
        replace(EXAMPLE, epsilon=0)


def test_equal_parameters_make_equal_objects_with_equal_hashes() -> None:
    eight: Any = np.int64(8)
    same = Example(epsilon=Decimal("0.1"), horizon=eight, half=0.5)
    assert same == EXAMPLE
    assert hash(same) == hash(EXAMPLE)
    assert len({same, EXAMPLE}) == 1


@pytest.mark.parametrize("name", [each.name for each in fields(Example)])
def test_any_other_parameter_makes_another_object(name: str) -> None:
    other: Any = {name: "1/7" if name in ("epsilon", "half") else 5}
    assert replace(EXAMPLE, **other) != EXAMPLE


def test_the_repr_shows_every_field_at_its_exact_value() -> None:
    assert repr(EXAMPLE) == (
        "Example(epsilon=Fraction(1, 10), half=Fraction(1, 2), horizon=8, limit=None, "
        "width=None, steps=1, bound=1)"
    )


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, sent])
def test_a_copy_is_equal_and_as_frozen(again: Any) -> None:
    made = again(EXAMPLE)
    assert made == EXAMPLE
    assert hash(made) == hash(EXAMPLE)
    with pytest.raises(FrozenInstanceError):
        made.epsilon = 2


def test_a_half_built_object_lacks_the_attribute_in_the_usual_way() -> None:
    hollow = object.__new__(Example)
    assert not hasattr(hollow, "epsilon")
    assert getattr(hollow, "half", "unset") == "unset"


def test_two_objects_of_one_class_do_not_share_values() -> None:
    first, second = Example(epsilon=1, horizon=1), Example(epsilon=2, horizon=2)
    assert (first.horizon, second.horizon) == (1, 2)


def test_a_subclass_inherits_its_parameters_and_may_add_some() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Further(Example):
        depth: Whole = Whole(1, 9, 2)

    further = Further(epsilon="1/3", horizon=4)
    assert (further.epsilon, further.depth) == (Fraction(1, 3), 2)
    with pytest.raises(BadInput, match="'depth'"):
        replace(further, depth=10)


def test_an_inherited_whole_number_is_an_int_for_mypy_too() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Heir(Example):
        def most(self) -> int:
            return min(self.steps * self.bound, self.horizon)

    assert Heir(epsilon=1, horizon=8, steps=5, bound=2).most() == 8


def test_a_field_that_is_no_parameter_is_not_checked() -> None:
    # The planted alternative: without the descriptor, nonsense is held without a word.
    @dataclass(frozen=True)
    class Trusting:
        epsilon: float = field(default=math.nan)

    assert math.isnan(Trusting().epsilon)


def test_a_parameter_needs_its_own_check() -> None:
    abstract: Any = Parameter
    with pytest.raises(TypeError, match="abstract"):
        abstract()


@pytest.mark.parametrize("kind", [Contributions, Bound])
def test_a_unit_changes_one_step_by_one_at_least(kind: type[Contributions | Bound]) -> None:
    field = kind()
    field.name = "change"
    assert field.check(1) == 1
    for wrong in (0, -1):
        with pytest.raises(BadInput, match=r"'change' parameter must be a whole number from 1 to"):
            field.check(wrong)
