"""Distinct users in a table that may be seized: the count, its interval, the choice, the words."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import USER, Intrusions, user_window
from ameles.core.loss import Approx, Pure
from ameles.measures import seized_distinct
from ameles.measures.collisions import users_hitting
from ameles.measures.distinct import Distinct
from ameles.measures.measure import Terms
from ameles.measures.seized_distinct import counted, seized_recipe, users_fit
from ameles.measures.table_choice import hashed_bits, reach, table_of
from ameles.mechanisms.continual.afresh import Afresh
from ameles.mechanisms.continual.estimators.distinct import ExactDistinct, NoisyDistinct
from ameles.mechanisms.continual.renewed import Renewed
from ameles.mechanisms.continual.transformation import CODE, Continual
from ameles.noise import System

MEASURE = Distinct(name="d", measure="distinct", table=4000)


def terms(horizon: int | None = 30, window: int | None = None) -> Terms:
    return Terms(
        unit=USER if window is None else user_window(window),
        per_step=1,
        max_steps=1,
        horizon=horizon,
        window=None,
        intrusions=Intrusions.ONE,
    )


def recipe(steps: int, cells: int = 4000, epsilon: Any = 1) -> Any:
    return seized_recipe(
        cells=cells, epsilon=Fraction(epsilon), steps=steps, horizon=steps, windows=False
    )


def test_the_mechanism_is_the_one_with_the_smaller_reach() -> None:
    assert isinstance(recipe(30), Afresh)
    assert isinstance(recipe(5000), Continual)
    assert isinstance(recipe(1), Afresh)
    windows = MEASURE.recipe(terms(None, 7), Pure(1))
    assert isinstance(windows, Renewed)
    assert windows.window == 7
    for steps in (1, 30, 5000):
        assert recipe(steps).guarantee.loss == Pure(1)
    assert windows.guarantee.loss == Pure(1)


def test_no_other_split_of_epsilon_is_better() -> None:
    best = reach(recipe(30), 30)
    for part in range(1, 10):
        table = NoisyDistinct(users=4000, epsilon=Fraction(part, 10), neighbours="user-presence")
        other = Afresh(algorithm=table, epsilon=1 - Fraction(part, 10), horizon=30, sensitivity=1)
        assert best <= reach(other, 30)


@pytest.mark.parametrize("users", [0, 100, 4000, 9000])
def test_collisions_are_put_back(users: int) -> None:
    hits = 4000 * -math.expm1(users * math.log1p(-1 / 4000))
    assert users_hitting(np.array([hits]), 4000) == pytest.approx([users], abs=1e-6)
    assert users_hitting(np.array([-7.0]), 4000) == [-7]
    assert users_fit(100_000) == 300_000


# 400 runs of one step each; false alarm 1e-6.  Interval: 95%, by bounds that are on the safe side.
def missed(kind: Any, users: int, *, narrowed: float = 1.0, runs: int = 400) -> int:
    """How often the interval misses the number of users, hashed at random."""
    recipe: Any = kind
    table = table_of(recipe)
    noise = System.direct()
    wrong = 0
    for _ in range(runs):
        run = recipe.start(noise)
        run.add(noise.uniform(table.users, users))
        told = counted(recipe, np.array([[run.release()]]), 1)
        middle, low, high = (float(part[0, 0]) for part in (told.value, told.low, told.high))
        wrong += not (
            middle - narrowed * (middle - low) <= users <= middle + narrowed * (high - middle)
        )
    return wrong


def gaussian(steps: int) -> Any:
    return seized_recipe(
        cells=4000,
        epsilon=Fraction(1),
        delta=Fraction(1, 10**6),
        steps=steps,
        horizon=steps,
        windows=False,
    )


def test_with_a_delta_long_streams_have_gaussian_noise() -> None:
    short, long = gaussian(1), gaussian(1000)
    assert isinstance(short, Afresh)
    assert short.variance is None
    assert isinstance(long, Afresh)
    assert long.variance is not None
    assert reach(long, 1000) < reach(recipe(1000), 1000) / 4
    assert long.guarantee.loss == Approx(1, "1e-6")


def test_the_interval_with_gaussian_noise_holds() -> None:
    assert missed(gaussian(100), 1000) <= binom.isf(1e-6, 400, 0.05)


def test_a_third_of_it_is_caught() -> None:
    assert missed(gaussian(100), 1000, narrowed=1 / 3) > binom.isf(1e-6, 400, 0.05)


@pytest.mark.parametrize("users", [0, 300, 4000])
def test_the_interval_holds(users: int) -> None:
    assert missed(recipe(5), users) <= binom.isf(1e-6, 400, 0.05)


def test_an_interval_of_a_third_is_caught() -> None:
    assert missed(recipe(5), 300, narrowed=1 / 3) > binom.isf(1e-6, 400, 0.05)


def test_without_the_collisions_a_full_table_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seized_distinct, "users_hitting", lambda hits, cells: hits)
    assert missed(recipe(5, epsilon=4), 4000, runs=50) == 50


def test_the_interval_of_the_transformation_holds() -> None:
    # 30 runs of 40 steps through which users come one after the other; each run counts as one
    # failure if its last interval misses; false alarm 1e-6
    recipe = Continual(
        algorithm=NoisyDistinct(users=4000, epsilon=4, neighbours="user-presence"),
        epsilon=4,
        horizon=40,
        changes=20,
        jump=200,
        sensitivity=1,
        threshold=300,
    )
    wrong = 0
    for _ in range(30):
        run = recipe.start(System.direct())
        for step in range(40):
            run.add(np.arange(50 * step, 50 * step + 50))
            told = run.release()
        users = counted(recipe, np.array([[told]]), 40)
        # 2,000 cells were hit: as many as 2,772 users would hit
        wrong += not users.low[0, 0] <= 2772 <= users.high[0, 0]
    assert wrong <= binom.isf(1e-6, 30, 0.05)


def test_labels() -> None:
    kind = recipe(5000)
    told = counted(kind, np.array([[0], [CODE], [4000]]), 1)
    assert told.label is not None
    assert told.label[:, 0].tolist() == ["full" if reach(kind, 1) > 3999 else "", "halted", "full"]
    assert np.isnan(told.value[1, 0])
    assert np.isnan(told.high[1, 0])
    few = counted(recipe(5), np.array([[0]]), 1)
    assert few.label is not None
    assert few.label[0, 0] == ""
    assert few.value.dtype == np.int64


def test_full_is_where_the_interval_ends_beyond_all_cells_but_one() -> None:
    narrowly = 0
    for cells in range(4000, 4040, 2):
        kind = recipe(5, cells)
        gamma, half = table_of(kind).gamma, reach(kind, 1)
        most = int((cells - 1 - half) * gamma)  # the largest answer whose interval ends before that
        told = counted(kind, np.array([[most]]), 1), counted(kind, np.array([[most + 1]]), 1)
        assert [str(one.label[0, 0]) for one in told if one.label is not None] == ["", "full"]
        narrowly += most / gamma + half > cells - 2
    assert narrowly, "no answer comes so near that one cell more or less matters"


def test_a_count_is_of_those_who_came_after_a_restart_if_it_began_before() -> None:
    windows: Any = MEASURE.recipe(terms(None, 7), Pure(1))

    def labels(*ended: int) -> list[str]:
        told = counted(windows, np.zeros((3, 1), dtype=np.int64), 8, ended)
        assert told.label is not None
        return [str(label) for label in told.label[:, 0]]

    # steps 8 to 10 are in the window that began with step 8
    assert labels() == ["", "", ""]
    assert labels(6) == ["", "", ""], "what ended in the window before"
    assert labels(7) == ["restarted"] * 3, "step 8 was open, and has lost what it had"
    assert labels(8) == ["", "restarted", "restarted"], "step 8 was released before"
    assert labels(7, 9) == ["restarted"] * 3


def test_the_hash_is_in_the_error() -> None:
    table = table_of(recipe(30))
    plain, hashed = hashed_bits(table, 0.0), hashed_bits(table, 1.0)
    more = math.sqrt(1 + table.gamma**2)
    assert hashed.spread(0.1) == pytest.approx(plain.spread(0.1) * more)
    # a little more than that of normal laws, because of the hash no law is known
    assert plain.bound(1, 0.1) * more <= hashed.bound(1, 0.1) <= plain.bound(1, 0.1) * more * 1.05
    assert hashed.bound_all(10, 0.1) == hashed.bound(1, 0.01)


def test_shares_and_forecast() -> None:
    on = terms()
    assert MEASURE.variance(on, Pure(1)) > 0
    assert MEASURE.half_widths(recipe(30), on, np.array([1, 30])).tolist() == [
        reach(recipe(30), 1),
        reach(recipe(30), 30),
    ]
    assert "compared with the table" in MEASURE.forecast_of(on)


def test_others_have_no_table() -> None:
    with pytest.raises(BadInput, match="NoisyTable"):
        table_of(Afresh(algorithm=_exact(), epsilon=1, horizon=1, sensitivity=1))
    with pytest.raises(BadInput, match="Continual"):
        table_of(_exact())


def _exact() -> Any:
    return ExactDistinct(users=9)
