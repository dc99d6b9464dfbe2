"""Intervals of answers that are no counts: medians, common keys, thresholds, synthetic rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT
from ameles.core.loss import Pure
from ameles.mechanisms.continual.sparse_vector import above_threshold
from ameles.mechanisms.one_shot.permute_and_flip import PermuteAndFlip
from ameles.noise import System, Tape
from ameles.query import Answer, Query
from ameles.query.choosing import MedianEnding, MostCommonEnding, median_ending
from ameles.query.ending import AnswerRow, Ending
from ameles.query.look import looking
from ameles.query.synthetic import synthetic_ending
from ameles.query.thresholds import threshold_ending
from tests.noise.sources import Stream
from tests.query.tables import table

CELLS = [250, 90, 10, 50]
KEYS = {"region": ["a", "b"], "household": ["1", "2"]}
TABLES = [[0, 0, 9, 0, 0], [3, 0, 0, 0, 3], [1, 2, 3, 4, 5], [40, 1, 1, 1, 30], [0, 0, 0, 0, 0]]
PEOPLE = cache(table)  # when it is needed: threads of DuckDB do not survive a fork


class FixedRun:
    """A run that keeps what it is given, and chooses the first."""

    def __init__(self) -> None:
        self.given: Any = None

    def step(self, x: Any) -> int:
        self.given = x
        return 0


def scores_of(ending: Ending, counts: Sequence[int]) -> tuple[Any, AnswerRow, Any]:
    """The scores that an ending gives to its mechanism, what it publishes, and its recipe."""
    people = [(1, 1, age, "abcde"[age]) for age, count in enumerate(counts) for _ in range(count)]
    query, run = table(people), FixedRun()
    given: dict[str, Any] = {"column": "region", "keys": list("abcde")}
    if isinstance(ending, MedianEnding):
        given = {"column": "age", "lower": 0, "upper": 4}
    recipe = query.recipe(ending.name, epsilon="1/2", **given)
    stub: Any = run
    with looking(query.relation) as look:
        (row,) = ending.answer(look, recipe, stub)
    return run.given, row, recipe


def flipped(scores: Sequence[int], rate: float) -> list[float]:
    """The exact law of permute and flip: a uniform one of the candidates whose coins are heads."""
    gaps = [max(scores) - score for score in scores]
    law = [0.0] * len(gaps)
    for coins in product((0, 1), repeat=len(gaps)):
        chance = 1.0
        for gap, heads in zip(gaps, coins, strict=True):
            p = math.exp(-rate * gap)
            chance *= p if heads else 1 - p
        for place, heads in enumerate(coins):
            law[place] += chance / sum(coins) if heads else 0
    return law


def off_the_middle(counts: Sequence[int], value: int) -> int:
    """How many rows must be added to make this value a median, tried one by one."""
    for more in range(1000):
        for low in range(more + 1):
            below, above = sum(counts[:value]) + low, sum(counts[value + 1 :]) + more - low
            rows = sum(counts) + more
            if 2 * below <= rows and 2 * above <= rows:
                return more
    raise AssertionError


@pytest.mark.parametrize("counts", TABLES)
def test_a_median_is_as_many_rows_off_the_middle_as_its_interval_says(counts: list[int]) -> None:
    ending = median_ending(column="age", lower=0, upper=4)
    scores, row, recipe = scores_of(ending, counts)
    off = [off_the_middle(counts, value) for value in range(5)]
    assert [-score for score in scores.tolist()] == off
    assert min(off) == 0
    bound = recipe.error.bound(1, 0.05)
    assert (row.low, row.high) == (0, bound)
    law = flipped(scores.tolist(), float(recipe.rate))
    assert sum(p for p, many in zip(law, off, strict=True) if many <= bound) >= 0.95


@pytest.mark.parametrize("counts", TABLES)
def test_another_key_has_at_most_so_many_rows_more(counts: list[int]) -> None:
    ending, _ = table()._ending("most_common", {"column": "region", "keys": "abcde", "epsilon": 1})
    assert isinstance(ending, MostCommonEnding)
    scores, row, recipe = scores_of(ending, counts)
    law = flipped(scores.tolist(), float(recipe.rate))
    behind = [max(counts) - count for count in counts]
    bound = recipe.error.bound(1, 0.05)
    assert (row.low, row.high) == (0, bound)
    assert sum(p for p, many in zip(law, behind, strict=True) if many <= bound) >= 0.95


def test_the_interval_is_as_narrow_as_the_worst_case_allows() -> None:
    recipe = table().recipe("most_common", column="region", keys=list("abcde"), epsilon="1/2")
    bound = int(recipe.error.bound(1, 0.05))
    assert isinstance(recipe, PermuteAndFlip)
    assert 1 - flipped([bound, 0, 0, 0, 0], float(recipe.rate))[0] > 0.05


@pytest.fixture(scope="module")
def cells() -> Any:
    """A table of 400 rows in 4 cells."""
    counted = zip(product("ab", (1, 2)), CELLS, strict=True)
    rows = [(1, home, 1, region) for (region, home), count in counted for _ in range(count)]
    return table(rows)


@pytest.mark.parametrize("ways", [1, 2])
def test_counts_of_synthetic_cells_are_in_their_intervals(cells: Query, ways: int) -> None:
    # 20 tables of 4 cells, from the same stream in every run; all cells of a table are right
    # together with 95%, and the bound of multiplicative weights is far from being reached.
    asked: dict[str, Any] = {"keys": KEYS, "rows": 400, "ways": ways, "rounds": 4}
    ending, recipe = synthetic_ending(**asked), cells.recipe("synthetic", epsilon=400, **asked)
    noise, wrong = System(entropy=Stream("synthetic cells")), 0
    with looking(cells.relation) as look:
        for _ in range(20):
            run: Any = recipe.start(noise)
            rows: list[Any] = list(ending.answer(look, recipe, run))
            low, value, high = np.array([[row.low, row.value, row.high] for row in rows]).T
            assert ((low >= 0) & (low <= value) & (value <= high) & (high <= 400)).all()
            wrong += int(((low > CELLS) | (high < CELLS)).any())
    assert wrong <= 1
    assert (high < 400).any()
    assert (low > 0).any() == (ways == 2)


def test_marginals_bound_their_cells() -> None:
    ending = synthetic_ending(keys=KEYS, rows=10, ways=1)
    made_up = np.array([4.0, 3.0, 2.0, 1.0])
    low, high = ending._intervals(ending.marginals(), made_up, 0.5)
    assert low.tolist() == [0, 0, 0, 0]
    assert high == pytest.approx([6.5, 4.5, 3.5, 3.5], abs=1e-5)
    both = synthetic_ending(keys=KEYS, rows=10)
    low, high = both._intervals(both.marginals(), made_up, 0.5)
    assert low == pytest.approx([3.5, 2.5, 1.5, 0.5], abs=1e-5)
    assert high == pytest.approx([4.5, 3.5, 2.5, 1.5], abs=1e-5)


def test_the_answer_says_what_its_interval_is_about() -> None:
    visits = table()
    median = visits.noisy_median("age", lower=0, upper=120, epsilon=1)
    assert "95% interval of rows that it is off the middle by" in str(median)
    common = visits.most_common("region", keys=["north", "south"], epsilon=1)
    assert "95% interval of rows by which another key may have more" in str(common)
    keys = {"region": ["north", "south"]}
    synthetic = visits.synthetic(keys, rows=8, ways=1, epsilon=1)
    assert "95% interval, if there are 8 rows" in str(synthetic)
    for answer in (median, common, synthetic):
        assert Answer.from_json(answer.to_json(), repeated=False) == answer
    assert "interval_of" not in visits.noisy_count(epsilon=1).to_json()
    with pytest.raises(BadInput, match="no numbers with intervals"):
        median.plot()
    assert synthetic.plot() is not None


def thresholds(counts: Sequence[int], drawn: Sequence[int], threshold: int) -> list[AnswerRow]:
    """The rows of ``above_threshold`` about these counts, with these draws."""
    ending = threshold_ending(conditions=["true"] * len(counts), threshold=threshold, aboves=2)
    look: Any = SimpleNamespace(relation=PEOPLE().relation, totals=lambda *_: np.array(counts))
    recipe = ending.recipe(PEOPLE().relation, EVENT, Pure(4))
    return [*ending.answer(look, recipe, recipe.start(Tape(drawn)))]


def test_the_interval_of_a_threshold_is_the_counts_that_the_noise_allows() -> None:
    lone = above_threshold(
        epsilon=4, aboves=2, threshold=20, monotone=True, neighbours="add-remove", horizon=1
    )
    wrong = int(lone.error.bound_all(1, 0.05))
    assert 0 < wrong < 19
    outside = set()
    for noise in range(-wrong - 1, wrong + 2):
        for count in range(20 - wrong - 2, 20 + wrong + 3):
            for rho, nu in ((0, noise), (-noise, 0)):
                (row,) = thresholds([count], [rho, nu], 20)
                assert row.low is not None
                if not row.low <= count <= (math.inf if row.high is None else row.high):
                    outside.add(abs(noise))
    assert outside == {wrong + 1}, "one more is too much, so the interval is not wider than needed"


def test_a_threshold_says_nothing_after_it_halted_and_no_count_is_below_zero() -> None:
    rows = thresholds([30, 2, 30, 4], [], 3)
    assert [row.value for row in rows] == ["above", "below", "above", "halted"]
    assert [row.low for row in rows] == [0, 0, 0, None]
    assert rows[0].high is rows[3].high is None
    assert rows[1].high is not None
    words = [row.interval_in_words for row in rows]
    assert words == ["0 or more", f"0 to {rows[1].high}", "0 or more", ""]
    answer = table().above_threshold(["age > 3"], threshold=3, epsilon=1)
    assert answer.interval_of == "the number of its rows"
    assert "95% interval of the number of its rows" in str(answer)
