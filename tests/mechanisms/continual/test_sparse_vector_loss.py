"""Sparse vector: its exact loss, by sums and by every tape, and the variants that lose more."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import binom

from ameles.audit.enumeration import Enumerated, enumerated_loss
from ameles.audit.finding import Verdict
from ameles.core.guarantee import Neighbours
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.continual.sparse_vector import SparseVector
from tests.mechanisms.continual.broken_vectors import Broken
from tests.mechanisms.continual.threshold_law import (
    log_at_least,
    log_below,
    log_below_then_above,
    log_mass,
    log_sum,
    rho_values,
    worst_loss,
)

HALVES = SparseVector(
    threshold_epsilon="0.5", query_epsilon="0.5", aboves=1, neighbours=Neighbours.REPLACE
)
# In base 2 both scales are 1, so that every weight is a fraction; the claim is 1 + 2 + 1.
WHOLE = SparseVector(threshold_epsilon=1, query_epsilon=2, aboves=1, neighbours=Neighbours.REPLACE)


@pytest.mark.parametrize(
    ("m", "loss"), [(0, 0.2257), (1, 0.4914), (10, 1.0), (1000, 1.0), (10_000, 1.0)]
)
def test_the_loss_of_the_catalogue(m: int, loss: float) -> None:
    # queries up to 5 away from the threshold; m = 0 tends to 1/4 as they go further
    lost = worst_loss(m, HALVES.threshold_scale, HALVES.query_scale, range(-5, 6))
    assert lost == pytest.approx(loss, abs=1e-4)
    assert lost <= 1 + 1e-12


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("m", [0, 3, 100])
def test_no_query_anywhere_loses_more(m: int, monotone: bool) -> None:
    relation = Neighbours.ADD_REMOVE
    recipe = SparseVector(
        threshold_epsilon=1, query_epsilon=1, aboves=1, monotone=monotone, neighbours=relation
    )
    scales = recipe.threshold_scale, recipe.query_scale
    if not monotone:
        assert worst_loss(m, *scales, range(-12, 13)) <= 2 + 1e-12
        return
    for below in range(-12, 13):
        for above in range(-12, 13):
            here = log_below_then_above(below, m, above, *scales)
            for moved in (0, 1):  # both may move, but the same way
                for also in (0, 1):
                    there = log_below_then_above(below + moved, m, above + also, *scales)
                    assert abs(here - there) <= 2 + 1e-12


def test_monotone_noise_is_too_small_where_queries_move_both_ways() -> None:
    recipe = SparseVector(
        threshold_epsilon=1,
        query_epsilon=1,
        aboves=1,
        monotone=True,
        neighbours=Neighbours.ADD_REMOVE,
    )
    scales = recipe.threshold_scale, recipe.query_scale
    assert worst_loss(1000, *scales, range(-5, 6)) == pytest.approx(3, abs=1e-6)


def enumerated(
    recipe: SparseVector, one: tuple[int, ...], other: tuple[int, ...], modulus: int = 7
) -> Enumerated:
    def heard(noise: Noise, queries: tuple[int, ...]) -> Hashable:
        replies = recipe.start(noise).feed(queries)
        return tuple((reply.said, (reply.answer or 0) % modulus) for reply in replies)

    loss = recipe.guarantee.loss
    assert isinstance(loss, Pure)
    return enumerated_loss(
        lambda noise: heard(noise, one),
        lambda noise: heard(noise, other),
        epsilon=loss.epsilon,
        modulus=modulus,
    )


NEIGHBOURS = [
    ((0, 0, 0), (1, 1, 1)),
    ((0, 0, 0), (1, 1, -1)),
    ((0, 1, 0), (1, 0, 1)),
    ((1, 0, 1), (0, 1, 0)),
]


@pytest.mark.parametrize(("one", "other"), NEIGHBOURS)
@pytest.mark.parametrize("answer", [0, 1])
def test_every_tape_of_the_code(one: tuple[int, ...], other: tuple[int, ...], answer: int) -> None:
    # with an answer there is one draw more, so fewer queries
    used = len(one) - answer
    recipe = replace(WHOLE, answer_epsilon=answer)
    finding = enumerated(recipe, one[:used], other[:used])
    assert finding.verdict is Verdict.CERTIFIED
    assert finding.loss > 0.5


@pytest.mark.parametrize("pairs", [10, 1000])
def test_without_a_cutoff_every_above_is_paid_again(pairs: int) -> None:
    # below and above in turn, queries at the threshold, moved apart by 1: at rho = 0 each costs
    # exactly 1 / scale = 1/4, nowhere more, so pairs / 2 is the limit; the claim is 1
    rho = rho_values(2.0)

    def law(below: int, above: int) -> float:
        compared = log_below(rho - below, 4.0) + log_at_least(rho - above, 4.0)
        return log_sum(log_mass(rho, 2.0) + pairs * compared)

    assert 0.9 * pairs / 2 < law(0, 0) - law(1, -1) <= pairs / 2


Q = math.exp(-1 / 10)


@pytest.mark.parametrize(
    ("at", "over", "delta"),
    [
        (1 / 2, 1 - Q / 2, 0.79),  # continuous noise, as on the slide
        (1 / (1 + Q), 1 - Q * Q / (1 + Q), 0.76),  # discrete: P(Z >= 0) and P(Z >= -1)
    ],
)
def test_without_a_cutoff_the_slide_has_a_large_delta(at: float, over: float, delta: float) -> None:
    # 1000 queries at the threshold or one above it, noise of scale 10: how many are above is
    # binomial, and delta is the part of its law that exp(1) times the other does not cover
    aboves = np.arange(1001)
    law, moved = binom.pmf(aboves, 1000, at), binom.pmf(aboves, 1000, over)
    uncovered = [np.maximum(one - math.e * two, 0).sum() for one, two in permutations((law, moved))]
    assert max(uncovered) == pytest.approx(delta, abs=0.005)


@pytest.mark.parametrize("m", [4, 6])
def test_fresh_noise_on_the_threshold_costs_one_over_its_scale_each_time(m: int) -> None:
    # P(rho > 0) / P(rho > 1) = 2 in base 2, so m bits for m times below; the claim is 3
    finding = enumerated(broken("fresh threshold"), (0,) * m, (1,) * m, modulus=5)
    assert finding.verdict is Verdict.REFUTED
    assert finding.loss >= m * 0.99


def test_fresh_noise_on_the_threshold_has_no_bound_at_all() -> None:
    scale = 10.0
    for m in (10, 1000):
        lost = m * (log_below(np.array(-20.0), scale) - log_below(np.array(-21.0), scale))
        assert float(lost) == pytest.approx(m / scale)


def test_the_compared_value_as_the_answer_is_caught() -> None:
    fair = replace(WHOLE, answer_epsilon=2)
    queries, moved = (0, 0), (1, -1)
    assert enumerated(fair, queries, moved).verdict is Verdict.CERTIFIED
    vector = replace(broken("same value"), answer_epsilon=2)
    assert enumerated(vector, queries, moved).verdict is Verdict.REFUTED


@pytest.mark.parametrize(("m", "least"), [(10, 2.4), (1000, 240.0)])
def test_the_compared_value_as_the_answer_loses_with_every_below(m: int, least: float) -> None:
    # an answer v says that rho <= v - T; there each "below" costs 1/4 of its own
    scale, shown = 4.0, -40
    rho = rho_values(2.0)
    rho = rho[rho <= shown]

    def seen(below: int) -> float:
        return log_sum(log_mass(rho, 2.0) + m * log_below(rho - below, scale))

    assert seen(0) - seen(1) > least


def broken(mistake: str) -> Broken:
    return Broken(
        threshold_epsilon=1,
        query_epsilon=2,
        aboves=1,
        neighbours=Neighbours.REPLACE,
        mistake=mistake,
    )
