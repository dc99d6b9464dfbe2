"""Private multiplicative weights: truth without noise, its loss, its error, and its mistakes."""

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
from ameles.core.guarantee import Neighbours
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.continual.noisy_threshold import Reply, Said
from ameles.mechanisms.interactive.multiplicative_weights import (
    MultiplicativeWeights,
    MultiplicativeWeightsRun,
)
from ameles.mechanisms.interactive.tuned_weights import multiplicative_weights
from ameles.mechanisms.snapshot import State
from ameles.noise import System, Tape, Zero

SMALL = MultiplicativeWeights(
    universe=4,
    rows=100,
    threshold=10,
    updates=2,
    rate=1,
    threshold_epsilon="1/4",
    query_epsilon=1,
    answer_epsilon="1/2",
)
# In base 2 all scales are 1, so that every weight is a fraction.
WHOLE = replace(
    SMALL, universe=2, rows=4, threshold=1, updates=1, threshold_epsilon=1, query_epsilon=2
)
WHOLE = replace(WHOLE, answer_epsilon=1)
FIRST, EVEN = [1, 0, 0, 0], [True, False, True, False]


def test_without_noise_an_answer_is_the_truth_or_near_it() -> None:
    run = SMALL.start(Zero())
    assert run.step((FIRST, 34)) == Reply(Said.BELOW, 25)
    assert run.step((FIRST, 35)) == Reply(Said.ABOVE, 35)
    exact = replace(SMALL, threshold=1, updates=99).start(Zero())
    for query, answer in ((FIRST, 61), (EVEN, 80), (FIRST, 61), (EVEN, 80)):
        assert exact.step((query, answer)).answer == answer


def test_each_noise_has_its_scale_and_is_drawn_when_it_is_needed() -> None:
    tape = Tape([7, 0, 40, -3, 0])
    run = replace(SMALL, grid=3).start(tape)
    assert run.step((EVEN, 150)).said is Said.BELOW
    assert run.step((EVEN, 150)) == Reply(Said.ABOVE, 147)
    rho, nu, fresh = Fraction(12), Fraction(12), Fraction(12)
    assert [draw.scale for draw in tape.draws] == [rho, nu, nu, fresh]
    assert [draw.value for draw in tape.draws] == [7, 0, 40, -3]
    assert [SMALL.threshold_scale, SMALL.query_scale, SMALL.answer_scale] == 3 * [Fraction(4)]


def test_the_threshold_s_noise_is_added_to_the_threshold() -> None:
    assert SMALL.start(Tape([5])).step((FIRST, 39)).said is Said.BELOW
    assert SMALL.start(Tape([5])).step((FIRST, 40)).said is Said.ABOVE
    assert SMALL.start(Tape([-5])).step((FIRST, 30)).said is Said.ABOVE


def test_after_the_last_update_it_halts_and_looks_at_nothing() -> None:
    tape = Tape()
    run = SMALL.start(tape)
    replies = run.feed([(FIRST, 90), (EVEN, 0), (EVEN, 50), (FIRST, 25)])
    assert [reply.said for reply in replies] == [Said.ABOVE, Said.ABOVE, Said.HALTED, Said.HALTED]
    assert run.halted
    assert tape.count == 1 + 2 * 2
    assert replies[-1].answer is None


def test_the_threshold_s_noise_is_forgotten_at_the_halt() -> None:
    run = SMALL.start(Tape([7]))
    run.feed([(FIRST, 90), (EVEN, 0)])
    assert run._parts()[0].tolist() == [0, 2]


@pytest.mark.parametrize("answer", [90, 10])
def test_an_update_moves_the_hypothesis_to_the_answer(answer: int) -> None:
    run = SMALL.start(Zero())
    run.step((EVEN, answer))
    up = math.exp(1 if answer > 50 else -1)
    expected = np.where(EVEN, up, 1.0) / (2 * up + 2)
    assert np.allclose(run.hypothesis, expected)
    # on a grid of 4, a value of 2 is half a query
    run = replace(SMALL, grid=4).start(Zero())
    run.step(([2, 0, 2, 0], 2 * answer * 2))
    half = math.exp(0.5 if answer > 50 else -0.5)
    assert np.allclose(run.hypothesis, np.where(EVEN, half, 1.0) / (2 * half + 2))


def test_the_sign_comes_from_what_was_published() -> None:
    # truly 90, published as 10: the hypothesis must not show that the truth is above it
    run = SMALL.start(Tape([0, 0, -80]))
    assert run.step((EVEN, 90)) == Reply(Said.ABOVE, 10)
    assert run.hypothesis[0] < 1 / 4
    same = SMALL.start(Tape([0, 0, -40]))
    assert same.step((EVEN, 90)) == Reply(Said.ABOVE, 50)
    assert np.allclose(same.hypothesis, 1 / 4)


def test_equal_replies_give_equal_hypotheses() -> None:
    # neighbours whose noises differ such that the replies are the same
    one, other = SMALL.start(Tape([0, 0, 3, 0, -2])), SMALL.start(Tape([0, 1, 4, 0, -2]))
    asked = [(FIRST, 60, 59), (EVEN, 20, 20)]
    for query, truth, moved in asked:
        assert one.step((query, truth)) == other.step((query, moved))
        assert (one.hypothesis == other.hypothesis).all()


def test_the_guarantee_is_about_a_replaced_row() -> None:
    promise = replace(SMALL, grid=5, horizon=7).guarantee
    assert promise.loss == Pure("1.75")
    assert promise.neighbours is Neighbours.REPLACE
    assert (promise.contribution.bound, promise.contribution.steps, promise.horizon) == (5, 7, 7)


def test_an_answer_that_no_table_has_is_moved() -> None:
    assert SMALL.start(Zero()).step((FIRST, 10**30)).answer == 100
    assert SMALL.start(Zero()).step((FIRST, -5)).answer == 0


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (FIRST, "must be a pair"),
        ((FIRST, 3, 4), "must be a pair"),
        (([1, 0, 0], 3), "must be 4 booleans"),
        (([1.0, 0, 0, 0], 3), "must be 4 booleans"),
        (([[1], [2, 3], 0, 0], 3), "must be 4 booleans"),
        (([2, 0, 0, 0], 3), "from 0 to 1"),
        (([-1, 0, 0, 0], 3), "from 0 to 1"),
        ((FIRST, 3.0), "whole number"),
    ],
)
def test_what_a_step_takes(bad: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        SMALL.start(Zero()).step(bad)


# The loss ------------------------------------------------------------------------------------


class NeverHalts(MultiplicativeWeightsRun):
    @property
    def halted(self) -> bool:
        return False


class ShowsTheGap(MultiplicativeWeightsRun):
    """Publishes how far the hypothesis is, without noise of its own."""

    def _step(self, given: Any) -> Reply:
        reply = super()._step(given)
        return Reply(reply.said, given[1])


def program(
    run: type[MultiplicativeWeightsRun], recipe: MultiplicativeWeights, answers: tuple[int, ...]
) -> Callable[[Noise], Hashable]:
    def play(noise: Noise) -> Hashable:
        replies = run(recipe, State(bytes(16), 0, ()), noise).feed(
            [([1, 0], answer) for answer in answers]
        )
        return tuple((reply.said, (reply.answer or 0) % 5) for reply in replies)

    return play


def loss(
    run: type[MultiplicativeWeightsRun], one: tuple[int, ...], other: tuple[int, ...]
) -> Verdict:
    finding = enumerated_loss(
        program(run, WHOLE, one), program(run, WHOLE, other), epsilon=4, modulus=5
    )
    return finding.verdict


PAIRS = [((2, 3), (3, 2)), ((3, 1), (2, 2))]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_every_tape_of_the_code(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    assert loss(MultiplicativeWeightsRun, one, other) is Verdict.CERTIFIED


@pytest.mark.parametrize("run", [NeverHalts, ShowsTheGap])
def test_every_tape_finds_the_mistakes(run: type[MultiplicativeWeightsRun]) -> None:
    assert Verdict.REFUTED in {loss(run, one, other) for one, other in PAIRS}


# ln P of m lazy answers, then an update: hidden threshold 4 + Lap(1), noise Lap(1) on each answer
AT = np.linspace(1e-3, 30, 30_000)
LOG_THRESHOLD = -np.abs(AT - 4)


def log_lazy(gap: float) -> Any:
    """ln P(|gap + nu| < t) at each threshold t > 0."""
    far = np.abs(AT - gap)
    below = np.where(gap <= AT, 1 - np.exp(-far) / 2, np.exp(-far) / 2)
    return np.log(below - np.exp(-AT - gap) / 2)


def log_sum(terms: Any) -> float:
    top = float(terms.max())
    return top + math.log(float(np.exp(terms - top).sum()))


@pytest.mark.parametrize(("m", "lost"), [(10, 0.12), (100, 0.51), (1000, 1.79), (10_000, 13.9)])
def test_the_compared_value_loses_with_every_query(m: int, lost: float) -> None:
    # a published gap of 6 says that the threshold is at most 6
    seen = AT <= 6
    one, other = ((LOG_THRESHOLD + m * log_lazy(gap))[seen] for gap in (0, 1))
    assert log_sum(one) - log_sum(other) == pytest.approx(lost, abs=0.05)


@pytest.mark.parametrize("m", [1000, 10_000])
def test_fresh_noise_does_not(m: int) -> None:
    losses = []
    for gap in range(1, 12):
        laws = [
            LOG_THRESHOLD
            + m * log_lazy(lazy)
            + np.log(np.maximum(-np.expm1(log_lazy(last)), 1e-300))
            for lazy, last in ((0, gap), (1, gap - 1))
        ]
        losses.append(log_sum(laws[0]) - log_sum(laws[1]))
    assert max(losses) == pytest.approx(1.867, abs=0.001)


# The error -----------------------------------------------------------------------------------


def test_an_update_lowers_the_relative_entropy_as_stated() -> None:
    # Hoeffding's lemma: eta * gap - eta^2 / 8; here for a table far from uniform
    table = np.array([0.7, 0.1, 0.1, 0.1])
    for rate in ("0.1", "0.5", 1, 2):
        run = replace(SMALL, rate=rate).start(Zero())
        before = run.hypothesis
        run.step((FIRST, 70))
        drop = float((table * np.log(run.hypothesis / before)).sum())
        eta = float(Fraction(rate))
        assert eta * 0.45 - eta**2 / 8 <= drop <= eta * 0.45


def test_the_error_is_made_of_the_noises_quantiles() -> None:
    def tail(scale: float, m: float) -> float:
        a = math.exp(-1 / scale)
        return 2 * math.pow(a, m + 1) / (1 + a)

    error = SMALL.error
    for steps, beta in ((1, 0.3), (1000, 0.01)):
        near = error.comparison(steps, beta)
        rho = next(m for m in range(10**4) if tail(4, m) <= beta / 3)
        nu = next(m for m in range(10**4) if tail(4, m) <= beta / 3 / steps)
        assert near == rho + nu
        assert error.bound_all(steps, beta) == max(10 + near + 1, error.release(2, beta))
    assert error.bound(5, 0.3) == error.bound_all(1, 0.3)
    loud = replace(SMALL, answer_epsilon="1/1000")
    assert loud.error.bound(1, 0.1) == loud.error.release(1, 0.1) > 1000


@pytest.mark.parametrize(("rows", "grid"), [(10_000, 1), (1_000_000, 1), (300_000, 8)])
def test_the_tuned_recipe_does_not_halt(rows: int, grid: int) -> None:
    recipe = multiplicative_weights(
        epsilon="0.7", universe=256, rows=rows, horizon=500, grid=grid, beta=0.01
    )
    assert recipe.guarantee.loss == Pure("0.7")
    assert recipe.error.most_updates(500, 0.01) < recipe.updates
    assert recipe.error.bound_all(500, 0.01) < rows * grid
    for other in (recipe.updates // 2, recipe.updates * 2):
        assert (
            recipe.error.bound_all(500, 0.01)
            <= replace(recipe, updates=other).error.bound_all(500, 0.01)
            or replace(recipe, updates=other).error.most_updates(500, 0.01) > other
        )
    assert replace(recipe, threshold=1).error.most_updates(500, 0.01) == math.inf
    assert replace(recipe, rate=4).error.most_updates(500, 0.01) == math.inf
    loud = replace(recipe, answer_epsilon="1e-6")
    assert loud.error.most_updates(500, 0.01) == math.inf


def test_answers_are_as_close_as_stated() -> None:
    # 300 queries on a table far from uniform; false alarm 1e-6
    recipe = multiplicative_weights(epsilon=4, universe=256, rows=10**6, horizon=300, beta=1e-6)
    table = np.zeros(256, dtype=np.int64)
    table[:8] = 125_000
    run = recipe.start(System())
    masks = (np.arange(256)[None, :] // (1 + np.arange(300)[:, None] % 61)) % 2 == 0
    bound, updates = recipe.error.bound_all(300, 1e-6), 0
    for mask in masks:
        truth = int(table[mask].sum())
        reply = run.step((mask, truth))
        assert reply.answer is not None
        assert abs(reply.answer - truth) <= bound
        updates += reply.said is Said.ABOVE
    assert 0 < updates <= recipe.error.most_updates(300, 1e-6)
    assert run.hypothesis[:8].sum() > 0.5


def test_a_universe_may_have_one_element() -> None:
    run = replace(SMALL, universe=1).start(Zero())
    assert run.step(([True], 95)) == Reply(Said.BELOW, 100)


@pytest.mark.parametrize(
    ("widest", "scale"), [("query_epsilon", "query_scale"), ("answer_epsilon", "answer_scale")]
)
def test_noise_must_fit_into_64_bits(widest: str, scale: str) -> None:
    given: dict[str, Any] = {widest: Fraction(2 if widest == "query_epsilon" else 1, 2**10)}
    large = replace(SMALL, grid=2**20, updates=2**26 - 1, **given)
    assert 64 * getattr(large, scale) == 2**62 - 2**36
    with pytest.raises(BadInput, match="noise that does not fit into 64 bits"):
        replace(large, updates=2**26)


def test_the_tuned_recipe_leaves_out_what_does_not_fit() -> None:
    # with the most updates that are tried, the noise would not fit, or the threshold
    recipe = multiplicative_weights(epsilon="1e-5", universe=2, rows=2**40, horizon=1, grid=2**20)
    assert recipe.updates < 2**20
    assert 64 * recipe.query_scale < 2**62
    with pytest.raises(BadInput, match="64 bits"):
        replace(recipe, updates=2**30)


def test_what_no_recipe_can_have_is_refused() -> None:
    with pytest.raises(BadInput, match="'beta'"):
        multiplicative_weights(epsilon=1, universe=2, rows=10, horizon=1, beta=2)
