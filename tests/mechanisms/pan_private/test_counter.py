"""The pan-private counter: its draws, its epochs, its announcements, its refusals."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.guarantee import Intrusions
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.pan_private.counter import PanPrivateCounter, PanPrivateRun
from ameles.mechanisms.pan_private.step_costs import most_noises
from ameles.mechanisms.snapshot import unpack
from ameles.noise import System, Tape, Zero
from ameles.noise.arrays import IntArray
from tests import checks
from tests.each import together
from tests.test_catalogue import VARIANTS


def started(recipe: PanPrivateCounter, noise: Any) -> PanPrivateRun:
    run = recipe.start(noise)
    assert isinstance(run, PanPrivateRun)
    return run


@together("check", checks.CHECKS)
@together("variant", VARIANTS)
@together("intrusions", ["one", "announced"])
def test_every_check_without_a_horizon(
    variant: str, check: Callable[[CounterRecipe], None], intrusions: str
) -> None:
    check(PanPrivateCounter(**{**VARIANTS[variant], "horizon": None}, intrusions=intrusions))


def test_the_counter_is_noisy_before_the_first_event_and_intervals_in_their_release() -> None:
    tape = Tape()
    run = started(PanPrivateCounter(epsilon=1, horizon=8), tape)
    drawn = [len(tape.draws)]
    for _ in range(8):
        run.add(1)
        drawn.append(len(tape.draws))
        run.release()
        drawn.append(len(tape.draws))
    # one; then at steps 1, 2, ... as many as intervals start there, always in the release
    assert np.diff(drawn).tolist() == [0, 3, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1]
    assert {draw.scale for draw in tape.draws} == {Fraction(4)}


def test_every_release_has_the_same_number_of_noises() -> None:
    recipe = PanPrivateCounter(epsilon=1, horizon=16)
    tape = Tape()
    recipe.start(tape).feed([0] * 16)
    rows = np.array([recipe.start(Tape.impulse(i)).feed([0] * 16) for i in range(len(tape.draws))])
    assert set(np.unique(rows)) == {0, 1}
    assert rows.sum(axis=0).tolist() == [5] * 16


@pytest.mark.parametrize(
    ("horizon", "scale"), [(1, 2), (2, 2), (3, 3), (4, 3), (1000, 11), (1024, 11), (1025, 12)]
)
def test_the_first_law_pays_for_the_next_power_of_two(horizon: int, scale: int) -> None:
    given: dict[str, Any] = {"epsilon": "1/2", "horizon": horizon, "contributions": 2, "bound": 3}
    recipe = PanPrivateCounter(**given, law=1)
    assert recipe.scale == 12 * scale
    assert recipe.guarantee.horizon == horizon
    assert PanPrivateCounter(**given).scale == 6 * most_noises(horizon, 2)
    # announcements end trees at any step, so both laws are the same
    assert PanPrivateCounter(**given, intrusions="announced").scale == 12 * max(scale, 3)


def test_an_epoch_starts_with_noise_before_its_first_event() -> None:
    tape = Tape()
    run = started(PanPrivateCounter(epsilon=1), tape)
    run.feed([0] * 3)
    before = len(tape.draws)
    run.add(1)
    assert len(tape.draws) == before
    run.release()
    # the last interval of the first epoch, then the counter's noise for the second
    assert [draw.scale for draw in tape.draws[before:]] == [3, 4]
    assert {draw.scale for draw in tape.draws[:before]} == {3}
    run.feed([0] * 8)
    assert tape.draws[-1].scale == 5


def test_an_announcement_is_followed_by_fresh_noise_and_a_new_tree() -> None:
    recipe = PanPrivateCounter(epsilon=1, horizon=8, intrusions="announced")
    tape = Tape()
    run = started(recipe, tape)
    run.feed([1, 1, 1])
    run.add(1)
    before = len(tape.draws)
    run.announce()
    assert len(tape.draws) == before + 1
    assert run.release() == 4
    assert len(tape.draws) == before + 1 + 3
    assert recipe.guarantee.intrusions is Intrusions.ANNOUNCED


def test_an_announcement_overwrites_the_noise_of_open_intervals() -> None:
    # Who sees the state next could take it away from releases that were published with it.
    recipe = PanPrivateCounter(epsilon=1, horizon=8, intrusions="announced")
    run = started(recipe, Tape([1000 + i for i in range(40)]))
    run.feed([1, 1, 1])
    place, _, before = unpack(run.snapshot(), recipe.fingerprint).parts
    assert place.tolist() == [3, 3]
    assert before.any()
    run.announce()
    place, _, after = unpack(run.snapshot(), recipe.fingerprint).parts
    assert place.tolist() == [0, 3]
    assert not after.any()


def test_feed_equals_step_after_an_announcement() -> None:
    recipe = PanPrivateCounter(epsilon=1, horizon=40, intrusions="announced", width=2)
    script = Tape(beyond=System()).laplace(Fraction(9), 400).tolist()
    one, other = started(recipe, Tape(script)), started(recipe, Tape(script))
    xs = np.arange(80).reshape(40, 2)
    for run in (one, other):
        run.feed(xs[:5])
        run.announce()
    assert one.feed(xs[5:]).tolist() == [other.step(x).tolist() for x in xs[5:]]
    states = [unpack(run.snapshot(), recipe.fingerprint).parts for run in (one, other)]
    assert all(np.array_equal(a, b) for a, b in zip(*states, strict=True))


def test_a_long_feed_equals_steps() -> None:
    recipe = PanPrivateCounter(epsilon=1, width=3)
    script = Tape(beyond=System()).laplace(Fraction(9), 6000).tolist()
    xs = np.arange(600).reshape(200, 3) % 5
    fed, stepped = started(recipe, Tape(script)), started(recipe, Tape(script))
    assert fed.feed(xs).tolist() == [stepped.step(x).tolist() for x in xs]


class Failing(Zero):
    """Noise that fails after so many calls."""

    def __init__(self, left: int) -> None:
        self.left = left

    def laplace(self, scale: Fraction, size: Any) -> IntArray:
        if not self.left:
            raise OSError("no entropy")
        self.left -= 1
        return super().laplace(scale, size)


@pytest.mark.parametrize(("horizon", "calls"), [(None, 0), (None, 1), (8, 0)])
def test_a_release_that_fails_has_not_happened(horizon: int | None, calls: int) -> None:
    # without a horizon the fourth release also draws for the next epoch
    noise = Failing(1 + 3)
    run = started(PanPrivateCounter(epsilon=1, horizon=horizon), noise)
    for _ in range(3):
        run.step(1)
    run.add(1)
    before = run.snapshot()
    noise.left = calls
    with pytest.raises(OSError, match="no entropy"):
        run.release()
    assert run.snapshot() == before


def test_a_feed_that_fails_counts_the_steps_that_are_over() -> None:
    noise = Failing(1 + 2)  # the counter's, and those of the first epoch
    run = started(PanPrivateCounter(epsilon=1), noise)
    with pytest.raises(OSError, match="no entropy"):
        run.feed([1] * 12)
    assert run.t == 4
    noise.left = 10
    assert run.step(1) == 5


def test_a_step_without_events_is_a_step() -> None:
    run = started(PanPrivateCounter(epsilon=1, horizon=4), Zero())
    assert [run.release(), run.step(2), run.release()] == [0, 2, 2]


def test_several_events_of_one_step_add_up() -> None:
    run = started(PanPrivateCounter(epsilon=1, horizon=4), Zero())
    for _ in range(3):
        run.add(1)
    assert run.release() == 3
