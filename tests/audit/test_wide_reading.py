"""Effects read from one wide run: those of single impulses, or not believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ameles.audit import Instant, Verdict, exact, exact_loss, wide_reading
from ameles.audit.observation import Observer, effects_of, matrices_of
from ameles.audit.subjects import subjects
from ameles.audit.wide_reading import wide_effects
from ameles.core.noise import Noise
from ameles.mechanisms.catalogue import COUNTERS
from ameles.mechanisms.counters.gaussian.buffered import BufferedCounter
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.summed import SummedRun
from ameles.mechanisms.pan_private.counter import PanPrivateCounter, PanPrivateRun
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.mechanisms.snapshot import State
from tests.each import each

STEPS = 8


def effects(observer: Observer) -> Any:
    return effects_of(observer, observer.see((), [0] * observer.steps))


def shows_in_one_run_what_it_shows_in_many(recipe: CounterRecipe) -> None:
    observer = Observer(recipe, STEPS)
    wide = wide_effects(observer)
    assert (wide is None) == observer.encoded
    assert wide is None or wide == effects(observer)


def test_every_counter_shows_in_one_run_what_it_shows_in_many() -> None:
    # one of those with a decoder will do: the others search for their rates
    names = [kind.__name__ for kind in COUNTERS if not issubclass(kind, BufferedCounter)]
    subject = subjects(names, epsilon=1, horizon=STEPS)
    recipes = [recipe for recipe in subject if not recipe.bits]  # coins are no noise to be shifted
    each((str(recipe), shows_in_one_run_what_it_shows_in_many, (recipe,)) for recipe in recipes)


@pytest.mark.parametrize("kind", [PanPrivateCounter, PanPrivateTreeCounter, PanPrivatePlaceCounter])
@pytest.mark.parametrize("keys", [1, 5, 1000])
def test_states_and_announcements_are_read_too(
    kind: Any, keys: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = kind(epsilon=1, horizon=STEPS, intrusions="announced")
    view = (Instant(1, announced=0), Instant(2, between=True), Instant(4, added=True))
    observer = Observer(recipe, STEPS, view)
    expected = effects(observer)
    impulses = len(expected.noise) + STEPS
    monkeypatch.setattr(wide_reading, "MOST_DRAWN", keys * impulses)  # so many keys in a run
    assert wide_effects(observer) == expected


@dataclass(frozen=True, kw_only=True)
class PlainIsAnother(PanPrivateCounter):
    """Counts an input twice where there is one key alone."""

    step: int = 3

    def _run(self, state: State, noise: Noise) -> PanPrivateRun:
        return _DoublingRun(self, state, noise)


class _DoublingRun(PanPrivateRun):
    def _fold(self, row: Any) -> None:
        recipe: Any = self._recipe
        twice = recipe.width is None and self.t == recipe.step
        super()._fold(row * 2 if twice else row)


@pytest.mark.parametrize("step", [3, STEPS - 1])
def test_a_plain_counter_that_does_something_else_is_read_again(step: int) -> None:
    recipe = PlainIsAnother(epsilon=1, horizon=STEPS, step=step)
    observer = Observer(recipe, STEPS, (Instant(1),))
    guess = wide_effects(observer)
    # impulses of the first and the last input are tried, the others are mixed
    assert (guess is None) == (step == STEPS - 1)
    assert guess != effects(observer)
    assert matrices_of(observer, guess).data.tolist() == matrices_of(observer).data.tolist()
    views = [(Instant(step, added=True),)]
    assert exact_loss(recipe, views=views).verdict is Verdict.REFUTED


@dataclass(frozen=True, kw_only=True)
class Plain(SimpleOneCounter):
    def __post_init__(self) -> None:
        assert self.width is None


@dataclass(frozen=True, kw_only=True)
class Floats(SimpleOneCounter):
    def _run(self, state: State, noise: Noise) -> Any:
        return super()._run(state, noise) if self.width is None else _FloatRun(self, state, noise)


class _FloatRun(SummedRun):
    def feed(self, xs: Any) -> Any:
        return super().feed(xs).astype(np.float64)


@pytest.mark.parametrize("kind", [Plain, Floats])
def test_what_has_no_such_width_is_read_impulse_by_impulse(kind: Any) -> None:
    observer = Observer(kind(epsilon=1, horizon=STEPS), STEPS)
    assert wide_effects(observer) is None
    assert exact_loss(observer.recipe).verdict is Verdict.CERTIFIED


def test_a_whole_audit_takes_few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "_tried", lambda finding, *_: finding)
    runs = 0

    @dataclass(frozen=True, kw_only=True)
    class Counted(PanPrivateCounter):
        def _run(self, state: State, noise: Noise) -> PanPrivateRun:
            nonlocal runs
            runs += 1
            return PanPrivateCounter._run(self, state, noise)

    exact_loss(Counted(epsilon=1, horizon=32), views=[(Instant(3),)])
    assert 0 < runs < 63  # there are 63 draws, and 32 inputs
