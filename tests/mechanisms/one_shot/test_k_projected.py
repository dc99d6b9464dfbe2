"""Projected answers: optimality, an error inequality on every sample, and the loss of the noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.audit import Verdict, enumerated_loss
from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Concentrated, Pure
from ameles.core.noise import Noise
from ameles.mechanisms.one_shot.k_projected import ProjectedQueries
from ameles.noise import System, Tape, Zero

ASKED = (np.arange(1, 21)[:, None] * np.arange(1, 13)[None, :]) % 3 == 0
TABLE = [400, 0, 0, 100, 0, 0, 0, 300, 0, 0, 0, 200]
PURE = ProjectedQueries(epsilon=1, universe=12, queries=20, rows=1000, neighbours="replace")
RHO = ProjectedQueries(rho="1/2", universe=12, queries=20, rows=1000, neighbours="replace")
EXACT = ASKED @ np.array(TABLE)


@pytest.mark.parametrize("recipe", [PURE, RHO, replace(PURE, symmetric=True)])
def test_without_noise_it_is_the_truth_up_to_the_gap(recipe: ProjectedQueries) -> None:
    answers = recipe.start(Zero()).step((ASKED, TABLE))
    assert ((answers - EXACT) ** 2).sum() <= recipe.gap


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("recipe", [PURE, RHO, replace(RHO, grid=3)])
def test_the_error_inequality_holds_on_every_sample(
    recipe: ProjectedQueries, symmetric: bool
) -> None:
    recipe = replace(recipe, symmetric=symmetric)
    exact = recipe.grid * EXACT
    for _ in range(15):
        tape = Tape(beyond=System())
        answers = recipe.start(tape).step((ASKED, TABLE))
        noise = np.array(tape.values)
        largest = np.abs(recipe.grid * (ASKED.T @ noise)).max()
        distance = float(((answers - exact) ** 2).sum())
        assert distance <= 2 * recipe.rows * largest + recipe.gap
        assert math.sqrt(distance) <= np.linalg.norm(noise) + math.sqrt(recipe.gap)
        # and the sharper one behind both: <a' - a, a' - a - nu> <= gap
        assert float((answers - exact) @ (answers - exact - noise)) <= recipe.gap * (1 + 1e-6)
        # false alarm 15 * 1e-9
        assert math.sqrt(distance) <= recipe.error.bound(1, 1e-9)


def test_projecting_helps_where_queries_are_many() -> None:
    asked = (np.arange(1, 301)[:, None] * np.arange(1, 13)[None, :] * 7919) % 5 < 2
    recipe = replace(RHO, queries=300)
    tape = Tape(beyond=System())
    answers = recipe.start(tape).step((asked, TABLE))
    exact = asked @ np.array(TABLE)
    # 300 noises of variance 300 against the 12 dimensions that a table has; by far
    assert ((answers - exact) ** 2).sum() < (np.array(tape.values) ** 2).sum() / 2


def test_the_noise_has_the_stated_law() -> None:
    tape = Tape()
    replace(PURE, grid=3).start(tape).step((ASKED, TABLE))
    assert set(tape.laws) == {("laplace", Fraction(60))}
    tape = Tape()
    RHO.start(tape).step((ASKED, TABLE))
    assert set(tape.laws) == {("gaussian", Fraction(20))}
    assert PURE.guarantee.loss == Pure(1)
    assert RHO.guarantee.loss == Concentrated("1/2")
    both = replace(PURE, delta="1e-6")
    assert both.guarantee.loss == Approx(1, "1e-6")
    # the classical sqrt(2 k ln(1.25/delta)) is larger
    assert 20 < float(both.variance) < 20 * 2 * math.log(1.25e6)


class PerQuery(ProjectedQueries):
    """Forgets that all queries are about the same row."""

    @property
    def largest_change(self) -> int:
        return self.grid


def seen(recipe: ProjectedQueries, exact: list[int]) -> Callable[[Noise], Hashable]:
    return lambda noise: tuple(recipe.measured(np.array(exact), noise) % 5)


def test_every_tape_of_the_noise() -> None:
    given: Any = {"epsilon": 2, "universe": 2, "queries": 2, "rows": 3, "neighbours": "replace"}
    for moved in ([1, 1], [1, -1], [0, 1]):
        recipe = ProjectedQueries(**given)
        finding = enumerated_loss(seen(recipe, [0, 0]), seen(recipe, moved), epsilon=2, modulus=5)
        assert finding.verdict is Verdict.CERTIFIED
    wrong = PerQuery(**given)
    finding = enumerated_loss(seen(wrong, [0, 0]), seen(wrong, [1, 1]), epsilon=2, modulus=5)
    assert finding.verdict is Verdict.REFUTED


def test_the_bound_is_chernoff_s() -> None:
    error = RHO.error
    log = math.log(24 / 0.01)
    assert error.largest_product(0.01) == pytest.approx(math.sqrt(2 * 20 * 20 * log))
    expected = math.sqrt(2000 * error.largest_product(0.01) + RHO.gap)
    plain = math.sqrt(20) * error.largest_noise(0.01) + math.sqrt(RHO.gap)
    assert plain < expected
    assert error.bound(1, 0.01) == pytest.approx(plain)
    crowd = replace(RHO, queries=5000)
    product = 2000 * crowd.error.largest_product(0.01) + crowd.gap
    assert crowd.error.bound(1, 0.01) == pytest.approx(math.sqrt(product))
    assert error.bound_all(2, 0.02) == error.bound(1, 0.01)
    # no two tables of 2 rows are further apart
    few = replace(RHO, rows=2)
    assert few.error.bound(1, 0.01) == 2 * math.sqrt(20)
    assert replace(few, symmetric=True).error.bound(1, 0.01) > 2 * math.sqrt(20)
    assert replace(few, symmetric=True).error.bound(1, 1e-99) == 4 * math.sqrt(20)


def test_the_bound_for_laplace_is_above_the_exact_tail() -> None:
    # one query, one element: the product is one Laplace variable
    recipe = replace(PURE, queries=1, universe=1, epsilon="1/10")
    a = math.exp(-1 / 10)
    for beta in (0.1, 1e-6):
        bound = recipe.error.largest_product(beta)
        exact = next(m for m in range(1000) if 2 * a ** (m + 1) / (1 + a) <= beta)
        assert exact <= bound <= 3 * exact


@pytest.mark.parametrize(
    "changes", [{"rho": 1}, {"epsilon": None}, {"epsilon": None, "rho": 1, "delta": "1e-6"}]
)
def test_one_loss_must_be_given(changes: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="Exactly one"):
        replace(PURE, **changes)


def test_answers_must_fit_into_64_bits() -> None:
    with pytest.raises(BadInput, match="64 bits"):
        replace(PURE, rows=2**40, grid=2**20)


def test_catalogue_49_erratum_three_constants_for_one_theorem() -> None:
    """The distance is at most f n max <A^i, nu>, where the lemma of the text has f = 4 for 2.

    nu has scale b = sqrt(8 k ln(1 / delta)) / epsilon, and a sum of k of them, with weights up to
    one, is below sqrt(8) b sqrt(k ln(2 |X| / beta)).  The rest of each constant is the same.
    """
    sums = math.sqrt(8) * math.sqrt(8)
    assert 2 * sums == pytest.approx(16)  # what the text prints, without its factor
    assert 4 * sums == pytest.approx(32)  # what its own lemma gives
    assert math.sqrt(192) == pytest.approx(13.86, abs=0.005)  # what its theorem prints
    # on a sample: with the factor 1 the inequality of the lemma holds, so the 2 is not needed
    tape = Tape(beyond=System())
    answers = PURE.start(tape).step((ASKED, TABLE))
    noise = np.array(tape.values)
    distance = float(((answers - EXACT) ** 2).sum())
    assert distance <= float((answers - EXACT) @ noise) + PURE.gap * (1 + 1e-6)
