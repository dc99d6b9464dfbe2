"""Hats: the identity of the proof on the code, the frontier, planted mistakes, limits."""

from __future__ import annotations

import math
import threading
import tracemalloc
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.audit import exact_loss
from ameles.audit.finding import Verdict
from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.mechanisms.counters.hats import cells as hats_cells
from ameles.mechanisms.counters.hats import kernel as hats_kernel
from ameles.mechanisms.counters.hats.bounds import copies_quantiles, node_quantiles
from ameles.mechanisms.counters.hats.counter import HatsCounter
from ameles.mechanisms.counters.hats.draws import NodeDraws
from ameles.mechanisms.counters.hats.kernel import add_up, add_up_rows, settle, settle_rows
from ameles.mechanisms.counters.hats.process import HatsProcess
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.mechanisms.counters.summed import Process
from ameles.mechanisms.laplace.mixture import VARIED
from ameles.noise import System, Tape, Zero, kernels, threads
from ameles.noise.arrays import IntArray
from tests.mechanisms.counters.figures import mean_and_worst
from tests.mechanisms.counters.hats.hats_identity import check_identity, drawing
from tests.mechanisms.counters.twins import scattered


def deep(horizon: int, *, offset: int = 1, width: int | None = None) -> HatsCounter:
    """A counter with three small levels above the single steps."""
    knots = max(1, -(-(horizon - offset * 6) // 12))
    return HatsCounter(
        epsilon=1,
        horizon=horizon,
        width=width,
        radices=(3, 2, 2),
        offset=offset,
        tops=tuple(range(300, 300 - knots, -1)),
        lows=(400, 312, 312),
    )


@pytest.mark.parametrize("horizons", [range(1, 129), (365, 401, 1000, 1025)], ids=str)
def test_noise_that_follows_the_hats_hides_every_item(horizons: Iterable[int]) -> None:
    for horizon in horizons:
        recipe = HatsCounter(epsilon=1, horizon=horizon)
        check_identity(recipe.shape, horizon)


@pytest.mark.parametrize("offset", [0, 1, 2])
def test_the_same_with_many_levels(offset: int) -> None:
    for horizon in (1, 5, 12, 37, 100):
        check_identity(deep(horizon, offset=offset).shape, horizon)


@pytest.mark.parametrize("horizon", [1, 2, 7, 16, 31])
def test_the_audit_finds_the_loss_exactly(horizon: int) -> None:
    found = exact_loss(HatsCounter(epsilon=1, horizon=horizon))
    assert found.verdict is Verdict.CERTIFIED
    # a stream of one step needs no hat, which has the smallest share that there is
    assert found.exact == (1 if horizon > 1 else Fraction(1023, 1024))


@pytest.mark.parametrize(
    ("power", "mean", "worst"), [(10, 9.95, 11.5), (16, 18.2, 21.2), (20, 24.4, 28.2)]
)
def test_the_goals_of_the_frontier(power: int, mean: float, worst: float) -> None:
    error = HatsCounter(epsilon=1, horizon=2**power).error
    steps = np.unique(np.array(scattered(4000, 2 ** (power - 1))) + 2 ** (power - 1) + 1)
    deviations = error.stds(steps[steps <= 2**power])
    assert math.sqrt(float((deviations**2).mean())) <= mean
    assert deviations.max() <= worst
    assert deviations.max() <= error.worst_std <= 1.25 * deviations.max()


@pytest.mark.parametrize("horizon", [16, 50, 100, 365])
def test_it_is_better_than_siblings(horizon: int) -> None:
    hats = mean_and_worst(HatsCounter(epsilon=1, horizon=horizon), horizon)
    siblings = mean_and_worst(SiblingsCounter(epsilon=1, horizon=horizon), horizon)
    assert hats < siblings


@pytest.mark.parametrize("recipe", [deep(40), HatsCounter(epsilon=2, horizon=90)], ids=["deep", ""])
def test_the_law_is_that_of_the_weights_of_the_code(recipe: HatsCounter) -> None:
    steps, unit = recipe.horizon, recipe.resolution
    tape = Tape()
    recipe.start(tape).feed([0] * steps)
    scales = [draw.scale for draw in tape.draws if isinstance(draw.scale, Fraction)]
    columns = [recipe.start(Tape([0] * i + [unit])).feed([0] * steps) for i in range(len(scales))]
    weights = np.array(columns).T / unit
    variances = 0.5 / np.sinh(0.5 / np.array([float(scale) for scale in scales])) ** 2
    expected = (weights**2 * variances).sum(axis=1)
    for t in (1, 2, steps // 2, steps - 1, steps):
        law = recipe.error.law(t)
        assert law.std**2 == pytest.approx(expected[t - 1], rel=1e-9)
        assert recipe.error.std(t) ** 2 == pytest.approx(expected[t - 1] + 1 / 12, rel=1e-9)
        assert recipe.error.bounds(np.array([t]), 0.05)[0] == recipe.error.bound(t, 0.05)
        for before in (0, 1, t // 2):
            past = weights[before - 1] if before else 0
            expected_between = ((weights[t - 1] - past) ** 2 * variances).sum()
            between = recipe.error.between(before, t)
            assert between.std**2 == pytest.approx(expected_between, rel=1e-9, abs=1e-12)


def test_the_measured_deviation_is_that_of_the_law() -> None:
    # 20,000 counters: the deviation of a sample deviation is at most sqrt((6 - 1) / 4n) = 0.8% for
    # sums of Laplace variables, so 4% is 5 of them
    recipe = HatsCounter(epsilon=1, horizon=64, width=20_000)
    noise = recipe.start(System()).feed(np.zeros((64, 20_000), dtype=np.int64))
    for t in (1, 20, 41, 64):
        assert float(noise[t - 1].std()) == pytest.approx(recipe.error.std(t), rel=0.04)
        assert abs(float(noise[t - 1].mean())) < 5 * recipe.error.std(t) / math.sqrt(20_000)


@pytest.mark.parametrize("width", [1, 2, 5])
def test_steps_and_bulk_and_resumed_runs_have_the_same_noise(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for recipe in (deep(80, width=width), HatsCounter(epsilon=1, horizon=70, width=width)):
        tape = Tape(scattered(600 * width, 10**6))
        expected = recipe.process(tape, None).take(recipe.horizon).tolist()
        monkeypatch.setattr(hats_cells, "TOGETHER", 30)
        process = recipe.process(Tape(tape.values), None)
        taken: list[list[int]] = []
        for end in (1, 2, 9, 10, 31, 32, 33, recipe.horizon):
            taken += process.take(end - len(taken)).tolist()
        assert taken == expected
        rest, one = Tape(tape.values), recipe.process(Zero(), None)
        for step in range(recipe.horizon):
            one = recipe.process(rest, one.state())
            assert one.take(1).tolist() == [expected[step]]
        monkeypatch.undo()


class Genuine(Tape):
    """A tape that says it is the operating system's noise."""

    genuine = True


def test_noise_of_the_system_has_the_same_scales_in_another_order() -> None:
    for recipe in (deep(90), HatsCounter(epsilon=1, horizon=500)):
        tapes = Tape(), Genuine()
        for tape in tapes:
            recipe.process(tape, None).take(recipe.horizon)
        scales = [Counter(str(draw.scale) for draw in tape.draws) for tape in tapes]
        assert scales[0] == scales[1]


def test_the_loop_settles_as_numpy_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def settled(loop: Any, parts: Sequence[tuple[int, int]] = ((0, 7),)) -> list[int]:
        numbers = np.arange(3 * 7 + 2 * 4 * 7 + 7, dtype=np.int64) * 7919 % 10_007 - 5_000
        rows, sums, before = np.split(numbers, [21, 77])
        factors, unit = np.array([[1024, 0, 0], [512, -77, 300]]), 3 << 10
        weights = np.array([5, -3, 1000]), np.array([0, 8, -512])
        given = rows.reshape(3, 7), sums.reshape(2, 4, 7), before, factors, *weights, unit
        for first, end in parts:
            loop(*given, first, end)
        settled_numbers: list[int] = numbers.tolist()
        return settled_numbers

    expected = settled(settle_rows)
    assert settled(kernels.compiled(settle)) == expected
    monkeypatch.setattr(hats_kernel, "AT_A_TIME", 3)
    monkeypatch.setattr(hats_kernel, "ROW_AT_A_TIME", 2)
    assert settled(settle) == settled(settle_rows) == expected
    # counters are settled alone or together
    for parts in (((0, 3), (3, 7)), ((6, 7), (0, 1), (1, 6))):
        assert settled(settle, parts) == settled(settle_rows, parts) == expected


# 49 * (1 / 49) is below 1 in floats; with a unit of 7 the first guess is off by hundreds.
@pytest.mark.parametrize("unit", [7, 1024, 3 << 10, 49 << 10, 193536 << 10])
def test_the_loop_divides_rightly_at_every_size(unit: int) -> None:
    # Amounts around multiples of the unit, up to where 64 bits end: there the guesses are off.
    most = ((1 << 63) - 1) // unit
    wholes = [*range(-3, 4), most // 3, most // 3 + 1, most - 2, -most // 3, -most + 2]
    amounts = [whole * unit + off for whole in wholes for off in (-1, 0, 1, unit // 2, unit - 1)]
    rows = np.zeros((1, len(amounts)), dtype=np.int64)
    sums = np.zeros((1, 4, len(amounts)), dtype=np.int64)
    sums[0, 0] = np.array(amounts) - unit // 2  # which the loop adds, to round
    before, nothing = np.zeros(len(amounts), dtype=np.int64), np.zeros(1, dtype=np.int64)
    weights = np.array([[1, 0, 0]]), nothing, nothing
    kernels.compiled(settle)(rows, sums, before, *weights, unit, 0, len(amounts))
    assert rows[0].tolist() == [amount // unit for amount in amounts]


def test_the_loop_adds_up_as_numpy_does() -> None:
    def added(loop: Any) -> list[list[int]]:
        rows, falling = np.full((3, 7), -1, dtype=np.int64), np.arange(7) * 100
        drawn = np.arange(12, dtype=np.int64).reshape(3, 4) ** 2
        loop(drawn, rows, falling, 2)
        return [*rows.tolist(), falling.tolist()]

    expected = [
        [-1, -1, 0, 1, 4, 9, -1],
        [-1, -1, 16, 26, 40, 58, -1],
        [-1, -1, 80, 107, 140, 179, -1],
        [0, 100, 296, 434, 584, 746, 600],
    ]
    assert added(kernels.compiled(add_up)) == added(add_up) == added(add_up_rows) == expected


class ByNode(Zero):
    """Noise that a node's place in its call decides, the same for all counters."""

    def laplace(self, scale: Fraction, size: Any) -> IntArray:
        nodes, counters = size
        return np.repeat(np.arange(nodes) * 7919 % 101 - 50, counters).reshape(size)


class GenuineByNode(ByNode):
    genuine = True


class Noted(threading.Thread):
    started = 0

    def start(self) -> None:
        Noted.started += 1
        super().start()


@pytest.fixture(params=[1, 3])
def cores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """As on a machine with so many cores, where every counter is worth a compiled loop in a thread
    of its own; threads must have been there."""
    monkeypatch.setattr(hats_cells, "WORTH_COMPILING", 1)
    monkeypatch.setattr(threads, "LEAST", 1)
    monkeypatch.setattr(threads, "cores", lambda: request.param)
    monkeypatch.setattr(threads, "Thread", Noted)
    Noted.started = 0
    yield request.param
    assert (Noted.started > 0) == (request.param > 1)


@pytest.mark.parametrize("at_a_time", [1, 2, 7])
@pytest.mark.usefixtures("cores")
def test_counters_drawn_part_by_part_have_the_noise_of_those_drawn_together(
    at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = deep(30, width=7)
    monkeypatch.setattr(hats_cells, "DRAWN", at_a_time * recipe.shape.radices[0])
    together, parts = (recipe.process(noise, None) for noise in (ByNode(), GenuineByNode()))
    for _ in range(recipe.horizon):
        assert parts.take(1).tolist() == together.take(1).tolist()


def test_threads_have_the_noise_of_one_on_the_same_tape(cores: int) -> None:
    recipe = deep(30, width=7)
    tape, other = (Tape(scattered(3000, 10**6)) for _ in range(2))
    process = recipe.process(tape, None)
    released = [process.take(1).tolist()[0] for _ in range(recipe.horizon)]
    assert released == recipe.process(other, None).take(recipe.horizon).tolist()
    assert tape.draws == other.draws


def test_numpy_alone_stays_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hats_cells, "WORTH_COMPILING", 1)
    monkeypatch.setattr(threads, "LEAST", 1)
    monkeypatch.setattr(threads, "cores", lambda: 3)
    monkeypatch.setattr(threads, "Thread", None)
    monkeypatch.setattr(kernels, "available", lambda: False)
    process = deep(30, width=7).process(GenuineByNode(), None)
    assert len([process.take(1) for _ in range(30)]) == 30


# Planted mistakes ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Small(HatsCounter):
    """Nodes have more than their shares."""

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return HatsProcess(noise, self.shape, self.scale * Fraction(3, 4), self.columns, state)


class Flattened(NodeDraws):
    """The noise of all levels is as fine as that of single steps."""

    def draw(self, level: int, first: int, count: int) -> IntArray:
        return super().draw(0 if level == 1 else level, first, count)


@dataclass(frozen=True, kw_only=True)
class Coarse(HatsCounter):
    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return drawing(Flattened, self.shape, self.scale, noise)


class Reused(NodeDraws):
    """One noise for all single steps that are drawn together."""

    def draw(self, level: int, first: int, count: int) -> IntArray:
        drawn = super().draw(level, first, count)
        return drawn if level else np.repeat(drawn[:1], len(drawn), axis=0)


@dataclass(frozen=True, kw_only=True)
class Lazy(HatsCounter):
    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return drawing(Reused, self.shape, self.scale, noise)


@pytest.mark.parametrize("kind", [Small, Coarse, Lazy])
def test_planted_mistakes_are_caught_by_the_audit(kind: type[HatsCounter]) -> None:
    found = exact_loss(kind(epsilon=1, horizon=7))
    assert found.verdict is Verdict.REFUTED


# Limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"radices": ()},
        {"offset": 5},
        {"tops": (300, 301)},
        {"tops": (300,)},
        {"lows": (600, 600)},
        {"lows": (1024,)},
    ],
    ids=str,
)
def test_shapes_that_are_none_are_refused(wrong: dict[str, Any]) -> None:
    right: dict[str, Any] = {"radices": (4, 4), "offset": 2, "tops": (300, 200), "lows": (512, 512)}
    HatsCounter(epsilon=1, horizon=40, **right)
    with pytest.raises(BadInput, match="not those of a Hats counter"):
        HatsCounter(epsilon=1, horizon=40, **{**right, **wrong})


def test_other_refusals() -> None:
    with pytest.raises(BadInput, match="together, or none"):
        HatsCounter(epsilon=1, horizon=40, radices=(4, 4))
    wrong: Any = 4
    with pytest.raises(BadInput, match="a list of whole numbers"):
        HatsCounter(epsilon=1, horizon=40, radices=wrong)
    with pytest.raises(BadInput, match="64 bits"):
        HatsCounter(epsilon=1e-9, horizon=10**6, bound=100)


@pytest.mark.parametrize("horizon", [1, 8, 365, 2**40])
def test_the_memory_is_never_exceeded(horizon: int) -> None:
    recipe = HatsCounter(epsilon=1, horizon=horizon, width=3)
    run = recipe.start(Zero())
    held = 0
    for _ in range(min(horizon, 30)):
        run.feed([[1, 1, 1]] * min(horizon // 30 or 1, 40))
        held = max(held, sum(part.size for part in run._parts()))
    assert held + 3 * recipe.ahead <= recipe.memory


def test_steps_far_apart_have_only_the_nodes_around_them() -> None:
    """The total of a year of seconds: its law once had a place for each of them."""
    error = HatsCounter(epsilon=1, horizon=10**9).error
    tracemalloc.start()
    law = error.between(10**9 - 31_536_000, 10**9)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20
    assert len(law.parts) < 2000
    # both ends have noise, some of which they share
    ends = [error.std(10**9 - 31_536_000), error.std(10**9)]
    assert max(ends) < law.std < math.hypot(*ends)


def test_a_bound_of_one_copy_is_that_of_the_noise_and_one_for_its_rounding() -> None:
    """``node_quantiles`` needs no whole number more where many nodes vary."""
    nodes = HatsCounter(epsilon="1/20", horizon=64).error._nodes(np.arange(1, 64, 9))
    single = node_quantiles(nodes, 0.05)
    copies = copies_quantiles(nodes, [((1.0, 1),), ((1.0, 2),), ((2.0, 1),)], 0.05)
    many = sum((level.weights != 0).sum(axis=1) for level in nodes) >= VARIED
    assert many.any()
    assert not many.all()
    assert (copies[:, 0] - single).tolist() == many.astype(float).tolist()
    assert (copies[:, 0] < copies[:, 1]).all()
    # twice the noise: ceil(2 x) + 1 against ceil(x) + 1
    assert (np.abs(copies[:, 2] - 2 * copies[:, 0] + 1.5) <= 1).all()
