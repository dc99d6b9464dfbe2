"""Statistical queries, learners and marginals: exact laws, sample sizes, and what they learn."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from ameles.core.exceptions import BadInput, BudgetExceeded
from ameles.core.guarantee import Intrusions
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.local import (
    CentralQueries,
    LocalQueries,
    MarginalResponse,
    MeanResponse,
    ParityLearner,
    central_sample_size,
    finite_class_learner,
    learn_conjunction,
    local_sample_size,
    pac_sample_size,
    statistical_query_bound,
)
from ameles.mechanisms.local.learners import wrong_labels
from ameles.mechanisms.local.marginals import parity_masks
from ameles.mechanisms.local.parity import correlations, solution
from ameles.noise import System, Zero
from ameles.noise.enumeration import law_of

MEANS = (MeanResponse(largest=1, odds=3), MeanResponse(largest=3, odds="3/2"))
MARGINALS = (
    MarginalResponse(attributes=2, ways=1, odds=3),
    MarginalResponse(attributes=3, ways=2, odds="3/2"),
)


@pytest.mark.parametrize("recipe", [*MEANS, *MARGINALS])
def test_the_law_of_the_code_is_the_table(recipe: Any) -> None:
    def report(value: Any, noise: Noise) -> int:
        return int(recipe.start(noise).step(value))

    for value, row in zip((*range(recipe.values), None), recipe.table.rows, strict=True):
        assert law_of(partial(report, value), modulus=3) == dict(enumerate(row))
    assert recipe.table.ratio == recipe.ratio == recipe.odds


def test_values_beyond_the_range_are_moved_to_its_end() -> None:
    recipe = MeanResponse(largest=3, odds=3)
    assert recipe.listed([-5, 0, 2, 3, 99, None, 10**40]).tolist() == [0, 0, 2, 3, 3, 0, 3]
    large = np.array([2**64 - 1], dtype=np.uint64)
    assert recipe.listed(large).tolist() == [3]


def test_the_deviation_of_a_mean_is_bounded_by_what_is_said() -> None:
    # Exact: 40 users of one value, whose bits are coins of one chance.
    recipe = MeanResponse(largest=4, odds=3)
    for value in range(5):
        m = float(recipe.chance(value))
        exact = math.sqrt(40 * m * (1 - m)) / float(recipe.p - recipe.q)
        assert exact <= recipe.error.std(40) * (1 + 1e-9)
        estimate = recipe.error.estimate(np.array([round(40 * m)]), 40)
        assert estimate.standard_errors[0] == pytest.approx(exact)
        assert estimate.low[0] <= 10 * value <= estimate.high[0]


def test_known_sample_sizes() -> None:
    # catalogue 32
    given: dict[str, Any] = {"queries": 20, "tolerance": 0.05, "beta": 0.05}
    sizes = [local_sample_size(**given, epsilon=e) for e in (0.5, 1, math.log(3))]
    assert sizes == [22_288, 6_261, 5_348]
    assert central_sample_size(**given, epsilon=0.1) == math.ceil(40 * math.log(800) / 0.005)
    assert central_sample_size(**given, epsilon=100) == math.ceil(800 * math.log(1600))
    # catalogue 33
    sizes = [pac_sample_size(hypotheses=1000, alpha=0.1, beta=0.05, epsilon=e) for e in (1, 0.001)]
    assert sizes == [math.ceil(800 * math.log(80_000)), math.ceil(40_000 * math.log(40_000))]


@pytest.mark.parametrize("name", ["tolerance", "beta"])
def test_what_is_no_probability_is_refused(name: str) -> None:
    for size in (central_sample_size, local_sample_size):
        given: dict[str, Any] = {"queries": 2, "tolerance": 0.1, "beta": 0.1, "epsilon": 1, name: 1}
        with pytest.raises(BadInput):
            size(**given)
    for given in ({"alpha": 1.0, "beta": 0.1}, {"alpha": 0.1, "beta": 0.0}):
        with pytest.raises(BadInput):
            pac_sample_size(hypotheses=2, epsilon=1, **given)
    with pytest.raises(BadInput):
        statistical_query_bound(bits=3, tolerance=0.5)
    for epsilon in (0.0, -1.0, math.inf, math.nan):
        for size in (central_sample_size, local_sample_size):
            with pytest.raises(BadInput, match="epsilon"):
                size(queries=2, tolerance=0.1, beta=0.1, epsilon=epsilon)
        with pytest.raises(BadInput, match="epsilon"):
            pac_sample_size(hypotheses=2, alpha=0.1, beta=0.1, epsilon=epsilon)


def test_a_local_group_of_the_known_size_answers_within_the_tolerance() -> None:
    # Exact: reports of a population of mean f are coins of chance q + (p - q) f.
    n = local_sample_size(queries=20, tolerance=0.05, beta=0.05, epsilon=1)
    recipe = MeanResponse(epsilon=1)
    p, q = float(recipe.p), float(recipe.q)
    for f in (0.0, 0.3, 0.5, 1.0):
        chance = q + (p - q) * f
        low, high = n * (q + (p - q) * (f - 0.05)), n * (q + (p - q) * (f + 0.05))
        missed = binom.cdf(math.ceil(low) - 1, n, chance) + binom.sf(math.floor(high), n, chance)
        assert missed <= 0.05 / 20


def test_oracles_tell_the_mean_and_end() -> None:
    examples = [(1, 0), (1, 1), (0, 1), (0, 0)]
    central = CentralQueries(examples, epsilon=1, queries=2, noise=Zero(), grid=4)
    assert central(lambda one: 4 * one[0]) == 0.5
    # moved into the range, also what no 64 bits hold: an error would tell of an example
    assert central(lambda one: 10**30 if one[1] else -(10**30)) == 0.5
    with pytest.raises(BudgetExceeded, match="2 queries"):
        central(lambda one: 1)
    assert central.guarantee.loss == Pure(1)
    assert central.guarantee.contribution.steps == 2
    local = LocalQueries(examples, epsilon=1, group=2, noise=Zero())
    local(lambda one: one[0])
    local(lambda one: one[0])
    assert local.answered == 4
    with pytest.raises(BudgetExceeded, match="4 users"):
        local(lambda one: one[0])
    assert local.guarantee.loss == Pure(1)
    assert local.guarantee.intrusions is Intrusions.NONE  # the examples are in this process


def test_central_noise_is_that_of_all_queries() -> None:
    # One query of m gets epsilon / m: the ratio of neighbours in base 2 is 2^(1/m) at most.
    def answer(examples: list[int], noise: Noise) -> float:
        oracle = CentralQueries(examples, epsilon=2, queries=2, noise=noise)
        return round(oracle(lambda one: one) * 2) % 5

    one = law_of(partial(answer, [0, 1]), modulus=5)
    other = law_of(partial(answer, [1, 1]), modulus=5)
    assert max(one[seen] / other[seen] for seen in one) <= 2


def conjunctions(count: int, noise: Any) -> list[tuple[tuple[int, ...], int]]:
    bits = noise.uniform(2, (count, 5)) | (noise.uniform(3, (count, 5)) > 0)
    return [(tuple(row), int(row[1] and row[4])) for row in bits.tolist()]


def test_a_learner_of_statistical_queries_runs_on_both_oracles() -> None:
    # Tolerance 0.04, beta 1e-6: false alarm below 1e-5 for both.
    alpha, bits = 0.4, 5
    given: dict[str, Any] = {"queries": bits, "tolerance": alpha / 10, "beta": 1e-6, "epsilon": 2}
    group = local_sample_size(**given)
    examples = conjunctions(bits * group, System())
    local = LocalQueries(examples, epsilon=2, group=group, noise=System.direct())
    learnt = learn_conjunction(local, bits=bits, alpha=alpha)
    assert {1, 4} <= set(learnt)
    assert local.answered == len(examples)
    wrong = sum(all(x[i] for i in learnt) != bool(y) for x, y in examples) / len(examples)
    assert wrong <= alpha
    few = examples[: central_sample_size(**given)]
    assert len(few) < len(examples)
    central = CentralQueries(few, epsilon=2, queries=bits, noise=System())
    assert {1, 4} <= set(learn_conjunction(central, bits=bits, alpha=alpha))


def test_a_finite_class_is_learnt_privately() -> None:
    # All 32 conjunctions of 5 bits; excess of at most 2 ln(32 / 1e-6) / epsilon wrong labels.
    examples = conjunctions(4000, System())
    x = np.array([one for one, _ in examples])
    y = np.array([label for _, label in examples])
    sets = [s for size in range(6) for s in itertools.combinations(range(5), size)]
    predictions = np.array([x[:, list(s)].all(axis=1) for s in sets]).astype(np.int64)
    wrong = wrong_labels(predictions, y)
    assert wrong[sets.index((1, 4))] == 0
    learner = finite_class_learner(hypotheses=len(sets), epsilon=1)
    chosen = learner.start(System()).step((-wrong).tolist())
    assert wrong[chosen] <= 2 * math.log(32 / 1e-6)
    assert learner.guarantee.neighbours.value == "replace"


ROWS = [(x, y, label) for x, y, label in itertools.product((0, 1), repeat=3)]


@pytest.mark.parametrize("odds", ["3", "3/2"])
def test_parities_are_learnt_within_the_promise(odds: str) -> None:
    # Exact laws of the real code on all 64 pairs of examples, and all neighbours of each.
    learner = ParityLearner(bits=2, examples=2, odds=odds)

    def learnt(rows: Any, noise: Noise) -> Any:
        return learner.start(noise).step(rows)

    pairs = list(itertools.product(ROWS[::2] + ROWS[1::4], repeat=2))
    laws = {rows: law_of(partial(learnt, rows), modulus=3) for rows in pairs}
    worst = Fraction(1)
    for one, other in itertools.permutations(pairs, 2):
        if one[0] == other[0] or one[1] == other[1]:
            for seen in laws[one].keys() | laws[other].keys():
                p, q = laws[one].get(seen, Fraction(0)), laws[other].get(seen, Fraction(0))
                assert q, "an outcome that only one of two neighbours can have"
                worst = max(worst, p / q)
    assert Fraction(1) < worst <= learner.ratio == Fraction(odds)
    assert all(law[None] >= Fraction(1, 2) for law in laws.values())


def test_a_parity_learner_that_never_keeps_silent_is_caught() -> None:
    # Without the silent half an inconsistent pair says nothing, and its neighbour never does.
    def learnt(rows: Any, noise: Noise) -> Any:
        kept = noise.bernoulli(Fraction(1, 2), 2)
        return solution(np.array(rows)[kept], noise.uniform(2, 2))

    agree = law_of(partial(learnt, [(1, 0, 1), (1, 0, 1)]), modulus=3)
    differ = law_of(partial(learnt, [(1, 0, 1), (1, 0, 0)]), modulus=3)
    assert None in differ
    assert None not in agree


def test_solutions_are_uniform_over_all_that_agree() -> None:
    rows = np.array([[1, 1, 0, 1], [0, 1, 1, 0], [1, 0, 1, 1]])
    solved = [solution(rows, np.array(free)) for free in itertools.product((0, 1), repeat=3)]
    every = itertools.product((0, 1), repeat=3)
    agree = [s for s in every if ((rows[:, :3] @ s + rows[:, 3]) % 2 == 0).all()]
    assert {s: solved.count(s) for s in agree} == dict.fromkeys(agree, 8 // len(agree))
    assert solution(np.array([[1, 0, 0, 1], [1, 0, 0, 0]]), np.zeros(3, int)) is None
    assert solution(np.empty((0, 4), int), np.array([1, 0, 1])) == (1, 0, 1)


def test_a_parity_of_60_bits_is_learnt() -> None:
    # At epsilon 1 about 46% of 400 examples are kept: 60 unknowns are determined but for a chance
    # of 2^-100; it says nothing with 1/2, so never in 40 runs with 1e-12.
    secret = np.arange(60) % 3 == 0
    x = System().uniform(2, (400, 60))
    rows = np.column_stack([x, (x @ secret) % 2])
    learner = ParityLearner(bits=60, examples=400, epsilon=1)
    said = [learner.start(System()).step(rows) for _ in range(40)]
    assert {one for one in said if one is not None} == {tuple(secret.astype(int).tolist())}
    assert learner.error.bound(1, 0.01) < 0.5
    assert ParityLearner(bits=60, examples=3, epsilon=1).error.bound(1, 0.01) == 1


def test_no_statistical_query_tells_many_parities_apart() -> None:
    # By brute force: of 2^7 parities a query is further than tau from its mean for at most
    # 1 / (4 tau^2); also for queries that are parities themselves.
    bits, tau = 7, 0.1
    inputs = np.arange(1 << bits)
    one_parity = np.array([(np.bitwise_count(inputs & 77) & 1) ^ label ^ 1 for label in (0, 1)])
    queries = [System().uniform(2, (2, 1 << bits)) for _ in range(20)]
    for query in [*queries, one_parity]:
        means = correlations(query, bits)
        silent = query.mean()
        assert (np.abs(means - silent) > tau).sum() <= 1 / (4 * tau**2)
    assert statistical_query_bound(bits=7, tolerance=0.1) == 5
    assert statistical_query_bound(bits=60, tolerance=0.001) > 10**12


@pytest.mark.parametrize("chosen", [(0,), (2, 0), (1, 3)])
def test_marginals_are_unbiased(chosen: tuple[int, ...]) -> None:
    # In numbers: the mean over the exact table of what a report adds to each cell.
    recipe = MarginalResponse(attributes=4, ways=2, odds=3)
    for value, row in enumerate(recipe.table.rows[:-1]):
        shares = sum(
            float(p) * recipe.marginal(np.array([report]), chosen).shares
            for report, p in enumerate(row)
        )
        cell = sum((value >> one & 1) << i for i, one in enumerate(chosen))
        assert shares == pytest.approx(np.eye(1 << len(chosen))[cell])


def test_marginals_are_within_their_half_widths() -> None:
    # 45 marginals of 4 cells at 1e-8: false alarm below 1e-5
    recipe = MarginalResponse(attributes=10, ways=2, epsilon=2)
    values = System().uniform(1 << 10, 20_000) & System().uniform(1 << 10, 20_000)
    reports = recipe.start(System.direct()).feed(values)
    for pair in itertools.combinations(range(10), 2):
        marginal = recipe.marginal(reports, pair, beta=1e-8)
        cells = (values >> pair[0] & 1) + 2 * (values >> pair[1] & 1)
        truth = np.bincount(cells, minlength=4) / len(values)
        assert (np.abs(marginal.shares - truth) <= marginal.half_width).all()
        assert marginal.standard_error < marginal.half_width
        assert marginal.shares.sum() == pytest.approx(1)
    assert recipe.marginal(reports[:0], (0,)).half_width == 1


def test_the_deviation_of_a_marginal_is_bounded() -> None:
    recipe = MarginalResponse(attributes=3, ways=2, odds=3)
    row = np.array([float(p) for p in recipe.table.rows[5]])
    cells = np.array([recipe.marginal(np.array([r]), (0, 2)).shares for r in range(len(row))])
    variance = row @ cells**2 - (row @ cells) ** 2
    assert (np.sqrt(variance) <= recipe.error.std(1)).all()
    assert recipe.error.bound(100, 0.05) < recipe.error.bound_all(100, 0.05)


def test_what_is_no_marginal_is_refused() -> None:
    recipe = MarginalResponse(attributes=4, ways=2, odds=3)
    chosen: Any
    for chosen in ((), (0, 0), (0, 1, 2), (4,), (-1,), ("0",)):
        with pytest.raises(BadInput):
            recipe.marginal(np.array([0]), chosen)
    for given in ({"attributes": 2, "ways": 3}, {"attributes": 60, "ways": 5}):
        with pytest.raises(BadInput):
            MarginalResponse(odds=3, **given)
    assert parity_masks(3, 2).tolist() == [1, 2, 4, 3, 5, 6]
