"""Mechanisms by name, with parameters that make sense."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest

from ameles.audit.subjects import dyadic, names, subjects, variants
from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Concentrated, Pure
from ameles.core.parameters import Epsilon
from ameles.mechanisms.catalogue import COUNTERS
from ameles.mechanisms.counters.gaussian.binary import GaussianBinaryCounter
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter


@pytest.mark.parametrize("horizon", [1, 2, 7, 64])
def test_every_mechanism_can_be_audited_by_name(horizon: int) -> None:
    recipes = subjects(epsilon="1/2", horizon=horizon)
    assert {type(recipe).__name__ for recipe in recipes} == {kind.__name__ for kind in COUNTERS}
    assert all(recipe.width is None for recipe in recipes)


def test_names_select_and_keep_the_order_of_the_catalogue() -> None:
    wanted = names()[1::-1]
    assert [type(recipe).__name__ for recipe in subjects(wanted, horizon=4)] == names()[:2]


def test_an_unknown_name_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(BadInput, match="no mechanism called Nope") as refusal:
        subjects(["Nope", "SimpleOneCounter"], horizon=4)
    assert "SimpleOneCounter" in str(refusal.value)


@dataclass(frozen=True, kw_only=True)
class NeedsMore(SimpleOneCounter):
    colour: Epsilon = Epsilon()


@dataclass(frozen=True, kw_only=True)
class InRhoToo(SimpleOneCounter):
    epsilon: Epsilon = Epsilon(1)
    rho: Fraction = Fraction(0)


def test_parameters_that_cannot_be_made_up_are_named() -> None:
    with pytest.raises(BadInput, match="NeedsMore needs colour"):
        variants(NeedsMore, epsilon=Fraction(1), horizon=4)


def test_both_currencies_are_audited() -> None:
    one, other = variants(InRhoToo, epsilon=Fraction(3), horizon=4)
    assert isinstance(one, InRhoToo)
    assert isinstance(other, InRhoToo)
    assert (one.loss, one.rho) == (Pure(3), Fraction(0))
    assert (other.loss, other.rho) == (Pure(1), Fraction(9, 2))


@pytest.mark.parametrize("horizon", [1, 8])
def test_a_delta_goes_with_epsilon(horizon: int) -> None:
    approx, concentrated = variants(GaussianBinaryCounter, epsilon=Fraction(1), horizon=horizon)
    assert approx.loss == Approx(1, "1e-6")
    assert concentrated.loss == Concentrated("1/2")


@pytest.mark.parametrize("kind", [PanPrivateCounter, PanPrivateTreeCounter])
def test_each_kind_of_intrusion_is_audited_with_and_without_an_end(
    kind: type[CounterRecipe],
) -> None:
    recipes = variants(kind, epsilon=Fraction(1), horizon=8)
    assert [(each.intrusions.value, each.guarantee.horizon) for each in recipes] == [
        ("one", 8),
        ("one", None),
        ("announced", 8),
        ("announced", None),
    ]


def test_dyadic_intervals_end_within_the_horizon() -> None:
    assert dyadic(3) == ((1, 1), (2, 2), (3, 3), (1, 2))
    assert dyadic(1) == ((1, 1),)
