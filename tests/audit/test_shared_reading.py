"""Views that are read together: the same matrices as alone, in far fewer runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from ameles.audit import Instant, exact, exact_loss
from ameles.audit.instant import View, views_of
from ameles.audit.observation import Effects, Observer, effects_of, matrices_of
from ameles.audit.shared_reading import SharedReading
from ameles.audit.trials import Trials
from ameles.core.noise import Noise
from ameles.mechanisms.pan_private.counter import PanPrivateCounter, PanPrivateRun
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.mechanisms.snapshot import State
from ameles.noise import Zero
from tests.mechanisms.pan_private.twins import DrawsTooEarly

STEPS = 4


class ShyRun(PanPrivateRun):
    """Counts the next input twice if somebody has looked."""

    _seen = False

    def snapshot(self) -> bytes:
        self._seen = True
        return super().snapshot()

    def _fold(self, row: Any) -> None:
        super()._fold(row * 2 if self._seen else row)
        self._seen = False


@dataclass(frozen=True, kw_only=True)
class Shy(PanPrivateCounter):
    def _run(self, state: State, noise: Noise) -> PanPrivateRun:
        return ShyRun(self, state, noise)


def as_lists(recipe: Any, view: View, likely: Effects | None) -> Any:
    matrices = matrices_of(Observer(recipe, STEPS, view), likely)
    return matrices.noise.tolist(), matrices.data.tolist(), matrices.draws, matrices.laws


@pytest.mark.parametrize(
    "kind", [PanPrivateCounter, PanPrivateTreeCounter, PanPrivatePlaceCounter, DrawsTooEarly, Shy]
)
def test_each_view_has_its_own_matrices(kind: Any) -> None:
    recipe = kind(epsilon=1, horizon=STEPS)
    views = views_of(recipe.guarantee, recipe.start(Zero()), STEPS)
    shared = SharedReading(recipe, STEPS, views)
    assert all(shared.of(view) is not None for view in views)
    for view in views:
        assert as_lists(recipe, view, shared.of(view)) == as_lists(recipe, view, None), view


def test_a_look_that_is_noticed_is_found_as_if_it_were_the_only_one() -> None:
    # twice the input for the noise of one, in whatever company the look is
    recipe = Shy(epsilon=1, horizon=2)
    views = [(Instant(0),), (Instant(1),), (Instant(2),)]
    alone = [exact_loss(recipe, views=[view]).exact for view in views]
    assert exact_loss(recipe, views=views).exact == max(x for x in alone if x is not None)


def changed(effects: Effects, how: str) -> Effects:
    noise, data = [list(one) for one in effects.noise], [list(one) for one in effects.data]
    match how:
        case "a draw by 1":
            noise[-1][-1] += 1
        case "an input by 1":
            data[0][0] += 1
        case "two draws exchanged":
            noise[0], noise[1] = noise[1], noise[0]
        case "effects that cancel in a sum of equals":
            noise[0][-1] += 1
            noise[1][-1] -= 2
            noise[2][-1] += 1
        case "a draw too few":
            noise.pop()
        case "a number too few":
            noise, data = [one[:-1] for one in noise], [one[:-1] for one in data]
    return Effects(noise, data)


@pytest.mark.parametrize(
    "how",
    [
        "a draw by 1",
        "an input by 1",
        "two draws exchanged",
        "effects that cancel in a sum of equals",
        "a draw too few",
        "a number too few",
    ],
)
def test_a_wrong_guess_is_not_believed(how: str) -> None:
    recipe, view = PanPrivateCounter(epsilon=1, horizon=STEPS), (Instant(1),)
    observer = Observer(recipe, STEPS, view)
    effects = effects_of(observer, observer.see((), [0] * STEPS))
    assert as_lists(recipe, view, changed(effects, how)) == as_lists(recipe, view, effects)


def test_what_is_told_to_the_run_is_never_shared() -> None:
    recipe = PanPrivateCounter(epsilon=1, horizon=STEPS, intrusions="announced")
    quiet, told = (Instant(1),), (Instant(1, announced=0),)
    twice = (Instant(2), Instant(2))
    others: list[View] = [(Instant(2),), (Instant(3),)]
    shared = SharedReading(recipe, STEPS, [quiet, *others, told, twice, ()])
    assert shared.of(quiet) is not None
    assert [shared.of(view) for view in (told, twice, ())] == [None, None, None]
    assert SharedReading(recipe, STEPS, [quiet, told, twice]).of(quiet) is None  # too few


def test_a_view_more_costs_a_few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "trials_of", lambda *given: Trials())  # which run it much more often
    runs = 0

    @dataclass(frozen=True, kw_only=True)
    class Counted(PanPrivateCounter):
        def _run(self, state: State, noise: Noise) -> PanPrivateRun:
            nonlocal runs
            runs += 1
            return PanPrivateCounter._run(self, state, noise)

    exact_loss(Counted(epsilon=1, horizon=8))
    # 25 views; one alone takes a run for each of 15 draws and 8 inputs, and more to check them
    assert runs < 25 * (15 + 8)
