"""Matrices from the code: what they are, and what is not taken for one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.audit import Instant, Verdict, exact_loss
from ameles.audit.observation import NotLinear, Observer, matrices_of
from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.noise import Tape
from ameles.noise.arrays import IntArray
from tests.audit.weighted import RoundedCounter, WeightedCounter, unit


def test_rows_are_differences_of_releases() -> None:
    matrices = matrices_of(Observer(SimpleOneCounter(epsilon=1, horizon=3), 3))
    assert matrices.noise.tolist() == [[1, 0, 0], [-1, 1, 0], [0, -1, 1]]
    assert matrices.data.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert matrices.laws == (("laplace", Fraction(3)),) * 3
    assert not matrices.rounded
    assert matrices.whole


def test_draws_that_nobody_sees_are_left_out() -> None:
    # one by one, noise is taken ahead up to the horizon
    matrices = matrices_of(Observer(BinaryCounter(epsilon=1, horizon=64), 2, stepping=True))
    assert matrices.draws == (0, 1)


def test_states_are_seen_where_asked() -> None:
    recipe = SimpleTwoCounter(epsilon=1)
    view = (Instant(0), Instant(0, added=True), Instant(2))
    observer = Observer(recipe, 2, view)
    # state before, state with 1 added, release, release, state: of each the sum, and twice the
    # number of its noises, one more in an open step
    assert observer.see([5, 7], [1, 1]) == [0, 0, 6, 3, 6, 14, 14, 4]


def test_an_event_may_come_after_the_intruder() -> None:
    recipe = SimpleTwoCounter(epsilon=1)
    observer = Observer(recipe, 2, (Instant(1, between=True),))
    # release; state after an event that counts nothing; release with the step's own event
    assert observer.see([5, 7, 100], [1, 2]) == [6, 13, 5, 115]


def test_announcements_are_made_between_what_is_seen() -> None:
    recipe = PanPrivateCounter(epsilon=1, horizon=2, intrusions="announced")
    # noises: counter; tree of two levels at step 1; at the announcement; tree at step 2
    draws, inputs = [100, 1, 2, 1000, 3, 4], [10, 20]
    # position, depth, counter, two open noises: before and after the announcement
    before, after = [1, 2, 110, 0, 2], [0, 2, 1110, 0, 0]
    at_once = Observer(recipe, 2, (Instant(1, announced=0), Instant(1)))
    assert at_once.see(draws, inputs) == [113, *before, *after, 1137]
    late = Observer(recipe, 2, (Instant(0, announced=1), Instant(1)))
    start = [0, 2, 100, 0, 0]
    assert late.see(draws, inputs) == [*start, 113, *after, 1137]
    within = Observer(recipe, 2, (Instant(1, added=True, announced=0),))
    assert within.see(draws, inputs) == [113, 1, 2, 130, 0, 2, 1137]


def test_instants_that_never_come_are_refused() -> None:
    with pytest.raises(BadInput, match="In 2 steps there is no instant after step 3"):
        Observer(SimpleTwoCounter(epsilon=1), 2, (Instant(3),))


def test_fractions_are_seen_whole() -> None:
    matrices = matrices_of(Observer(RoundedCounter(epsilon=1, horizon=1), 1))
    assert matrices.noise.tolist() == [[3, 5]]
    assert matrices.data.tolist() == [[8]]


@dataclass(frozen=True, kw_only=True)
class Independent(WeightedCounter):
    def weights(self) -> list[list[Any]]:
        return unit(self.horizon)

    def scale(self) -> Fraction:
        return self.horizon / self.claim


@dataclass(frozen=True, kw_only=True)
class Shown(Independent):
    """Shows something else than count plus noise; a function of it would be private."""

    kind: str = "floor"

    def shown(self, count: int, noise: Any) -> Any:
        match self.kind:
            case "floor":
                return max(0, count + noise)
            case "infinite":
                return float("inf")
            case "text":
                return str(count + noise)
        return count * noise


@pytest.mark.parametrize("kind", ["floor", "infinite", "text", "product"])
def test_what_is_not_linear_gets_no_number(kind: str) -> None:
    finding = exact_loss(Shown(epsilon=1, horizon=3, kind=kind))
    assert finding.verdict is Verdict.NOT_LINEAR
    assert (finding.exact, finding.worst, finding.computed) == (None, None, "unknown")


@dataclass(frozen=True, kw_only=True)
class FineNoise(Independent):
    """Noise on a grid so fine that an impulse is rounded away."""

    def scale(self) -> Fraction:
        return (self.horizon << 30) / self.claim

    def shown(self, count: int, noise: Any) -> Any:
        return count + (noise + (1 << 29) >> 30)


@pytest.mark.parametrize("horizon", [1, 4])
def test_noise_that_no_impulse_shows_is_not_taken_for_none(horizon: int) -> None:
    assert exact_loss(FineNoise(epsilon=1, horizon=horizon)).verdict is Verdict.NOT_LINEAR


@dataclass(frozen=True, kw_only=True)
class Coin(Independent):
    def draw(self, noise: Noise, count: int) -> IntArray:
        return noise.bernoulli(Fraction(1, 2), count).astype(np.int64)


def test_coins_are_for_enumeration() -> None:
    finding = exact_loss(Coin(epsilon=1, horizon=2))
    assert finding.verdict is Verdict.NOT_LINEAR
    assert "bernoulli" in finding.how


@dataclass(frozen=True, kw_only=True)
class Adaptive(Independent):
    """Draws again when the first noise is positive."""

    def draw(self, noise: Noise, count: int) -> IntArray:
        drawn = noise.laplace(self.scale(), count)
        if drawn[0] > 0:
            drawn[0] = noise.laplace(self.scale(), 1)[0]
        return drawn


def test_draws_that_depend_on_draws_are_seen() -> None:
    with pytest.raises(NotLinear, match="earlier draws"):
        matrices_of(Observer(Adaptive(epsilon=1, horizon=2), 2))


def test_views_of_another_size_are_seen() -> None:
    observer = Observer(Independent(epsilon=1, horizon=2), 2)
    observer.see((), [0, 0])
    with pytest.raises(NotLinear, match="how much is seen"):
        observer.see((), [0])


def test_an_observer_plays_the_tape_that_it_is_given() -> None:
    recipe = BinaryCounter(epsilon=1, horizon=4)
    draws, inputs = [3, -1, 4, 1], [1, 5, 9, 2]
    assert Observer(recipe, 4).see(draws, inputs) == recipe.start(Tape(draws)).feed(inputs).tolist()
