"""Hats for windows: the identity of the proof on the code, the frontier, planted mistakes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.audit import exact_loss
from ameles.audit.finding import Verdict
from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.measures.counter_choice import Span, chosen, mean_variance
from ameles.mechanisms.counters.hats import cells as hats_cells
from ameles.mechanisms.counters.hats import process as hats_process
from ameles.mechanisms.counters.hats.bounds import LevelNodes
from ameles.mechanisms.counters.hats.draws import NodeDraws
from ameles.mechanisms.counters.hats.window import HatsWindowCounter
from ameles.mechanisms.counters.hats.window_error import HatsWindowError
from ameles.mechanisms.counters.summed import Process
from ameles.noise import System, Tape, Zero
from ameles.noise.arrays import IntArray
from tests.mechanisms.counters.hats.hats_identity import check_identity, drawing
from tests.mechanisms.counters.twins import scattered


def deep(window: int = 20, **given: Any) -> HatsWindowCounter:
    """A counter with three small levels above the single steps."""
    shares = (300, 300, 200, 224)
    return HatsWindowCounter(epsilon=1, window=window, radices=(3, 2, 2), shares=shares, **given)


@pytest.mark.parametrize("window", [1, 2, 7, 24, 60, 200, 1440])
def test_noise_that_follows_the_hats_hides_every_item(window: int) -> None:
    recipe = HatsWindowCounter(epsilon=1, window=window)
    for steps in (1, 2, 29, 97, 128) if window < 1440 else (401,):
        check_identity(recipe.shape, steps)


def test_the_same_with_many_levels() -> None:
    for steps in range(1, 129, 3):
        check_identity(deep().shape, steps)


@pytest.mark.parametrize("horizon", [1, 5, 12])
def test_the_audit_finds_the_loss(horizon: int) -> None:
    recipe = HatsWindowCounter(
        epsilon=1, horizon=horizon, window=8, radices=(4,), shares=(512, 512)
    )
    found = exact_loss(recipe)
    assert found.verdict is Verdict.CERTIFIED
    assert found.upper == 1
    assert horizon == 1 or found.lower > Fraction(3, 4)


@pytest.mark.parametrize(
    ("window", "goal"), [(24, 5.9), (60, 7.5), (200, 10.3), (1440, 14.8), (10080, 20.1)]
)
def test_the_goals_of_the_frontier(window: int, goal: float) -> None:
    recipe = chosen(Span(window=window, horizon=None), epsilon=Fraction(1), width=1)
    assert isinstance(recipe, HatsWindowCounter)
    seen = math.sqrt(mean_variance(recipe, Span(window=window, horizon=20 * window)))
    assert seen <= 1.03 * goal


def test_short_windows_have_fresh_noise() -> None:
    for window, name in (
        (1, "SimpleTwoCounter"),
        (6, "SimpleTwoCounter"),
        (24, "HatsWindowCounter"),
    ):
        for horizon in (None, 1000):
            recipe = chosen(Span(window=window, horizon=horizon), epsilon=Fraction(1), width=3)
            assert type(recipe).__name__ == name
            assert recipe.width == 3


def weights_of(recipe: HatsWindowCounter, steps: int) -> tuple[Any, Any]:
    """How much of each draw is in each count, from the code, and the variance of each draw."""
    tape = Tape()
    recipe.start(tape).feed([0] * steps)
    unit = recipe.resolution
    columns = [
        recipe.start(Tape([0] * i + [unit])).feed([0] * steps) for i in range(len(tape.draws))
    ]
    scales = [float(draw.scale) for draw in tape.draws if isinstance(draw.scale, Fraction)]
    return np.array(columns).T / unit, 0.5 / np.sinh(0.5 / np.array(scales)) ** 2


@pytest.mark.parametrize(
    "recipe", [deep(), HatsWindowCounter(epsilon=2, window=30)], ids=["deep", "found"]
)
def test_the_law_is_that_of_the_weights_of_the_code(recipe: HatsWindowCounter) -> None:
    steps = 80
    weights, variances = weights_of(recipe, steps)
    error = recipe.error
    pairs = [(0, 1), (0, 80), (1, 2), (10, 11), (40, 70), (11, 75), (50, 80), (3, 4)]
    for before, t in pairs:
        moved = weights[t - 1] - (weights[before - 1] if before else 0)
        expected = float((moved**2 * variances).sum())
        assert error.between(before, t).std ** 2 == pytest.approx(expected, rel=1e-9)
    befores, afters = np.array(pairs).T
    together = error.between_bounds(befores, afters, 0.05)
    assert together.tolist() == [error.between(*pair).quantile(0.05) for pair in pairs]
    assert error.std(7) ** 2 == pytest.approx(error.law(7).std ** 2 + 1 / 12)
    assert error.bounds(np.array([7, 50]), 0.1).tolist() == [error.bound(t, 0.1) for t in (7, 50)]
    for t in range(1, steps + 1):
        assert error.worst_law(t).std >= error.law(t).std


@pytest.mark.parametrize("window", [1, 24, 61])
def test_differences_repeat_themselves_with_the_cells_of_the_top_level(
    window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = HatsWindowCounter(epsilon="1/4", window=24).error
    span = error.shape.spans[-1]
    after = np.concatenate([np.arange(1, 12 * span), 10**12 + np.arange(2 * span)])
    before = np.maximum(after - window, 0)
    asked = list[int]()
    known = HatsWindowError._nodes_between

    def counted(self: HatsWindowError, some: IntArray, then: IntArray) -> list[LevelNodes] | None:
        asked.append(len(some))
        return known(self, some, then)

    monkeypatch.setattr(HatsWindowError, "_nodes_between", counted)
    together = error.between_bounds(before, after, 0.05)
    assert asked == [window + 3 * span]  # those that begin with the stream, and three cells
    pairs = zip(before.tolist(), after.tolist(), strict=True)
    each = [error.between_bounds(np.array([x]), np.array([t]), 0.05)[0] for x, t in pairs]
    assert together.tolist() == each
    assert error.between(7 * span, 7 * span + 3) == error.between(8 * span, 8 * span + 3)
    assert error.between(0, 7 * span) != error.between(0, 8 * span)


def test_far_differences_are_found_one_by_one_and_grow_like_a_walk() -> None:
    error = deep().error
    near, far = error.between(0, 10**6), error.between(0, 4 * 10**6)
    assert far.std == pytest.approx(2 * near.std, rel=1e-3)
    both = error.between_bounds(np.array([0, 5]), np.array([10**6, 29]), 0.05)
    assert both.tolist() == [near.quantile(0.05), error.between(5, 29).quantile(0.05)]


def test_the_measured_deviation_of_windows_is_that_of_the_law() -> None:
    # 10,000 counters: the deviation of a sample deviation is at most sqrt((6 - 1) / 4n) = 1.2% for
    # sums of Laplace variables, so 6% is 5 of them
    recipe = HatsWindowCounter(epsilon="1/4", window=24, width=10_000)
    counts = recipe.start(System()).feed(np.zeros((60, 10_000), dtype=np.int64))
    for t in (24, 37, 60):
        noise = counts[t - 1] - (counts[t - 25] if t > 24 else 0)
        law = recipe.error.between(t - 24, t)
        assert float(noise.std()) == pytest.approx(law.std, rel=0.06)
        assert float((abs(noise) > law.quantile(0.05)).mean()) < 0.062  # 5 standard errors


@pytest.mark.parametrize("width", [1, 3])
def test_steps_and_bulk_and_resumed_runs_have_the_same_noise(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for recipe in (deep(width=width), HatsWindowCounter(epsilon=1, window=30, width=width)):
        tape = Tape(scattered(800 * width, 10**6))
        expected = recipe.process(tape, None).take(90).tolist()
        monkeypatch.setattr(hats_cells, "TOGETHER", 30)
        process = recipe.process(Tape(tape.values), None)
        taken: list[list[int]] = []
        for end in (1, 2, 9, 10, 31, 32, 33, 90):
            taken += process.take(end - len(taken)).tolist()
        assert taken == expected
        rest, one = Tape(tape.values), recipe.process(Zero(), None)
        for step in range(90):
            one = recipe.process(rest, one.state())
            assert one.take(1).tolist() == [expected[step]]
            assert len(one.state()) + width * (1 + recipe.ahead) <= recipe.memory + width
        monkeypatch.undo()


# Planted mistakes ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Small(HatsWindowCounter):
    """Too little noise."""

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return hats_process.HatsProcess(
            noise, self.shape, self.scale * Fraction(3, 4), self.columns, state
        )


class Reused(NodeDraws):
    """The noise of a top node is that of the one before."""

    def draw(self, level: int, first: int, count: int) -> IntArray:
        drawn = super().draw(level, first, count)
        return drawn * (0 if level == 1 and first > 1 else 1)


@dataclass(frozen=True, kw_only=True)
class Lazy(HatsWindowCounter):
    """Later nodes of the top level have no noise."""

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return drawing(Reused, self.shape, self.scale, noise)


@pytest.mark.parametrize("kind", [Small, Lazy])
def test_planted_mistakes_are_caught_by_the_audit(kind: type[HatsWindowCounter]) -> None:
    recipe = kind(epsilon=1, horizon=10, window=8, radices=(4,), shares=(512, 512))
    assert exact_loss(recipe).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "wrong",
    [
        {"radices": (3, 2)},
        {"shares": (300, 300)},
        {"radices": (3, 1), "shares": (1, 1, 1)},
        {"radices": (3, 2), "shares": (500, 500, 25)},
        {"radices": (3, 2), "shares": (500, 500)},
        {"radices": (), "shares": (500,)},
    ],
)
def test_shapes_that_are_none_are_refused(wrong: dict[str, Any]) -> None:
    HatsWindowCounter(epsilon=1, window=8, radices=(3, 2), shares=(500, 500, 24))
    with pytest.raises(BadInput):
        HatsWindowCounter(epsilon=1, window=8, **wrong)


def test_noise_that_does_not_fit_is_refused() -> None:
    with pytest.raises(BadInput, match="64 bits"):
        HatsWindowCounter(epsilon=1e-9, window=10**6)
