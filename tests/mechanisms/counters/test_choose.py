"""The chooser: the smallest computed error, for each objective, and refusals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Intrusions
from ameles.core.parameters import Whole
from ameles.mechanisms.catalogue import COUNTERS
from ameles.mechanisms.counters import choose
from ameles.mechanisms.counters.choose import compare, counter, covers, objective_of
from ameles.mechanisms.counters.deviations import points, worst_of
from ameles.mechanisms.counters.hats.counter import HatsCounter
from ameles.mechanisms.counters.hats.endless import EndlessHatsCounter
from ameles.mechanisms.counters.hybrid import HybridCounter
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.mechanisms.counters.simple_one import IndependentError, SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter


@pytest.mark.parametrize("horizon", [1, 7, 100, 4096, 10**6])
@pytest.mark.parametrize("optimise", ["mean", "worst", 1])
def test_rows_are_sorted_and_the_first_is_chosen(horizon: int, optimise: Any) -> None:
    rows = compare(epsilon=1, horizon=horizon, optimise=optimise)
    assert [row.objective for row in rows] == sorted(row.objective for row in rows)
    assert rows[0].ratio == 1
    assert rows[0].why == "the smallest error"
    assert counter(epsilon=1, horizon=horizon, optimise=optimise) == rows[0].recipe
    assert len({row.name for row in rows}) == len(rows)


def test_long_and_endless_streams_get_hats() -> None:
    assert isinstance(counter(epsilon=1, horizon=2**16), HatsCounter)
    endless = counter(epsilon=1)
    assert isinstance(endless, EndlessHatsCounter)
    assert endless.guarantee.horizon is None
    # with very large noise a hybrid is left
    assert isinstance(counter(epsilon="1e-6"), HybridCounter)


def test_the_guarantee_is_the_one_asked_for() -> None:
    recipe = counter(epsilon="1/3", horizon=500, width=7, contributions=4, bound=2, unit="user")
    guarantee = recipe.guarantee
    assert str(guarantee) == (
        "epsilon 1/3 for one user: streams that differ in up to 4 steps by at most 2 (L1), "
        "over 500 steps"
    )
    assert recipe.width == 7


def test_choosing_for_one_step_is_best_there() -> None:
    for step in (3, 77, 1000):
        chosen = counter(epsilon=1, horizon=1000, optimise=step)
        default = counter(epsilon=1, horizon=1000)
        assert chosen.error.std(step) <= default.error.std(step)


@pytest.mark.parametrize("wrong", ["median", 0, 101, -1, 2.5])
def test_unknown_objectives_are_refused(wrong: Any) -> None:
    with pytest.raises(BadInput, match="optimise"):
        compare(epsilon=1, horizon=100, optimise=wrong)


def test_points_are_all_steps_or_an_even_spread() -> None:
    assert points(5) == [1, 2, 3, 4, 5]
    many = points(10**6)
    assert many[-1] == 10**6
    assert len(many) > 1000
    gaps = [b - a for a, b in pairwise(many)]
    assert max(gaps) < 3 * 10**6 / len(many)


def test_the_objective_of_one_step_is_its_deviation() -> None:
    recipe = SiblingsCounter(epsilon=1, horizon=10)
    assert objective_of(recipe, [1, 2], 7) == recipe.error.std(7)


def test_the_choice_is_never_worse_than_siblings() -> None:
    # Hats need a dozen steps to pay
    for horizon in (*range(1, 65), 97, 365, 1000, 99_999):
        rows = compare(epsilon=1, horizon=horizon)
        siblings = next(row for row in rows if row.name == "SiblingsCounter")
        assert rows[0].mean <= siblings.mean
        assert rows[0].worst <= siblings.worst
        assert (rows[0].name == "HatsCounter") == (horizon >= 13)


def test_a_run_of_more_than_a_gibibyte_makes_room_for_one_that_is_nearly_as_good() -> None:
    best, *others = compare(epsilon=1, horizon=2**20, width=10**6)
    hats = next(row for row in others if row.name == "HatsCounter")
    assert best.name == "SiblingsCounter"
    assert best.recipe.memory <= 2**27 < hats.recipe.memory
    assert hats.ratio < 1
    assert isinstance(counter(epsilon=1, horizon=2**20, width=10**7), HatsCounter)


@pytest.mark.parametrize(
    ("power", "name", "mean"), [(10, "HatsCounter", 9.89), (20, "NormalisedCounter", 23.5)]
)
def test_laplace_wins_short_streams_and_gaussian_long_ones(
    power: int, name: str, mean: float
) -> None:
    # the crossover of the frontier, at (1, 1e-6)
    rows = compare(epsilon=1, delta="1e-6", horizon=2**power)
    assert rows[0].name == name
    assert rows[0].mean == pytest.approx(mean, rel=0.01)
    best_gaussian = next(row for row in rows if "Buffered" in row.name)
    assert power == 20 or best_gaussian.mean == pytest.approx(3.11 * 4.531, rel=0.01)


def test_without_delta_no_gaussian_noise_is_considered() -> None:
    assert not any("Gaussian" in row.name for row in compare(epsilon=1, horizon=1000))


def test_endless_streams_have_a_gaussian_candidate_with_delta() -> None:
    names = [row.name for row in compare(epsilon=1, delta="1e-6")]
    assert "SegmentedCounter" in names


def test_refusals_count_only_if_all_refuse() -> None:
    # too long for the square root, which keeps all its noise
    names = [row.name for row in compare(epsilon=1, delta="1e-6", horizon=2**18)]
    assert "ToeplitzCounter" not in names
    with pytest.raises(BadInput, match="epsilon"):
        compare(epsilon=-1, horizon=10)


@pytest.mark.parametrize(
    ("name", "worst"),
    [
        ("BinaryCounter", 96.2),
        ("HonakerCounter", 71.3),
        ("TwoLevelCounter", 63.9),
        ("KAryCounter", 43.8),
        ("EldersCounter", 34.4),
        ("SiblingsCounter", 26.2),
        ("HatsCounter", 21.07),
    ],
)
def test_the_worst_step_is_found_among_many(name: str, worst: float) -> None:
    # the frontier's worst standard deviations at T = 2^16, which no sample of steps hits
    rows = {row.name: row for row in compare(epsilon="1/100", horizon=2**16)}
    assert rows[name].worst == pytest.approx(100 * worst, rel=0.005)


# Where the state may be seized --------------------------------------------------------------


@pytest.mark.parametrize("horizon", [1, 2, 7, 100, 2**16, None])
@pytest.mark.parametrize("intrusions", ["one", "announced", "every"])
def test_the_guarantee_covers_the_intrusions_that_were_asked_for(
    horizon: int | None, intrusions: str
) -> None:
    rows = compare(epsilon="1/3", horizon=horizon, intrusions=intrusions, contributions=2)
    asked = Intrusions(intrusions)
    for row in rows:
        guarantee = row.recipe.guarantee
        assert covers(guarantee.intrusions, asked)
        assert (guarantee.horizon, guarantee.contribution.steps) == (horizon, 2)
    assert [row.objective for row in rows] == sorted(row.objective for row in rows)
    assert counter(epsilon="1/3", horizon=horizon, intrusions=asked, contributions=2) == (
        rows[0].recipe
    )


@pytest.mark.parametrize("horizon", [1, 2, 3, 5, 8, 16, 50, 1000, None])
@pytest.mark.parametrize("epsilon", ["1/10", 1, 5])
def test_more_protection_is_never_cheaper(horizon: int | None, epsilon: Any) -> None:
    best = [
        compare(epsilon=epsilon, horizon=horizon, intrusions=intrusions)[0].objective
        for intrusions in Intrusions
    ]
    assert best == sorted(best)


def test_what_survives_more_may_serve_for_less() -> None:
    # for few steps a noise on each is best, and it survives everything
    for intrusions in ("one", "announced", "every"):
        assert isinstance(counter(epsilon=1, horizon=8, intrusions=intrusions), SimpleTwoCounter)
    names = [row.name for row in compare(epsilon=1, horizon=1024, intrusions="one")]
    assert names == [
        "PanPrivatePlaceCounter",
        "PanPrivateTreeCounter",
        "SimpleTwoCounter",
        "PanPrivateCounter",
    ]
    assert [row.name for row in compare(epsilon=1, horizon=1024, intrusions="every")] == [
        "SimpleTwoCounter"
    ]


def test_the_order_of_protection() -> None:
    order = [Intrusions.NONE, Intrusions.ONE, Intrusions.ANNOUNCED, Intrusions.EVERY]
    for place, given in enumerate(order):
        assert [covers(given, asked) for asked in order] == [i <= place for i in range(4)]


@pytest.mark.parametrize(
    ("horizon", "mean"), [(2**10, 20.3), (2**16, 40.1), (2**20, 56.1), (None, 72.7)]
)
def test_the_errors_of_the_best_counter_whose_state_may_be_seized_once(
    horizon: int | None, mean: float
) -> None:
    best = compare(epsilon=1, horizon=horizon, intrusions="one")[0]
    known = PanPrivateTreeCounter if horizon is None else PanPrivatePlaceCounter
    assert isinstance(best.recipe, known)
    assert best.mean == pytest.approx(mean, rel=0.005)


def test_the_arity_suits_the_objective() -> None:
    usual, worst, early = (
        counter(epsilon=1, horizon=1000, intrusions="one", optimise=optimise)
        for optimise in ("mean", "worst", 40)
    )
    every = points(1000)
    assert worst_of(worst, 1000, every) <= worst_of(usual, 1000, every)
    assert early.error.std(40) < usual.error.std(40)
    endless = counter(epsilon=1, intrusions="one", optimise=40)
    assert endless.error.std(40) < counter(epsilon=1, intrusions="one").error.std(40)


@pytest.mark.parametrize("wrong", ["two", "", 1, None])
def test_unknown_intrusions_are_refused(wrong: Any) -> None:
    with pytest.raises(BadInput, match="'none', 'one', 'announced' or 'every'"):
        compare(epsilon=1, horizon=8, intrusions=wrong)


@pytest.mark.parametrize("wrong", [{"epsilon": -1}, {"delta": "much"}, {"width": 0}], ids=str)
def test_parameters_are_refused_as_without_intrusions(wrong: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"epsilon": 1, "horizon": 8, "intrusions": "one"}
    with pytest.raises(BadInput, match=f"'{next(iter(wrong))}' parameter must be"):
        compare(**{**asked, **wrong})


def test_noise_that_is_too_rare_for_a_float() -> None:
    rows = compare(epsilon=1000)
    assert rows[0].ratio == 1
    assert all(row.ratio >= 1 for row in rows)


@dataclass(frozen=True, kw_only=True)
class Newest(SimpleOneCounter):
    """A counter that the catalogue has just got, and that is better than all others."""

    @property
    def error(self) -> IndependentError:
        return IndependentError(Fraction(1, 100))


@dataclass(frozen=True, kw_only=True)
class Unasked(Newest):
    choosable: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class Demanding(Newest):
    """Has a parameter that nobody is asked for."""

    colour: Whole = Whole(1, 7)


@dataclass(frozen=True, kw_only=True)
class Surviving(Newest):
    survives: ClassVar[Intrusions] = Intrusions.ONE


def test_a_counter_of_the_catalogue_is_considered_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def best(**asked: Any) -> str:
        return type(counter(epsilon=1, **asked)).__name__

    for kind in (Newest, Unasked, Demanding, Surviving):
        monkeypatch.setattr(choose, "COUNTERS", (*COUNTERS, kind))
        chosen = kind in (Newest, Surviving)
        assert best(horizon=1024) == (kind.__name__ if chosen else "HatsCounter")
        assert best() == "EndlessHatsCounter"  # which these cannot do
        seized = best(horizon=1024, intrusions="one")
        assert seized == ("Surviving" if kind is Surviving else "PanPrivatePlaceCounter")
        assert best(horizon=1024, intrusions="announced") == "PanPrivatePlaceCounter"


def test_counters_for_streams_without_end_are_for_those_alone() -> None:
    names = {type(row.recipe).__name__ for row in compare(epsilon=1, delta="1e-6", horizon=64)}
    others = {
        "HybridCounter",
        "EndlessHatsCounter",
        "SegmentedCounter",
        "TreeCounter",
        "GaussianStepsCounter",
    }
    assert names & others == set()
    assert len([row for row in compare(epsilon=1) if "HybridCounter" in row.name]) == 3
