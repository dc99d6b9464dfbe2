"""The transformation's loss: every view of the real code, sums over the real noise, mutants."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from ameles.core.noise import Noise
from ameles.mechanisms.continual.transformation import Continual, ContinualRun, Halted
from ameles.mechanisms.snapshot import State
from tests.mechanisms.continual.figure_two import worst_loss
from tests.mechanisms.continual.scripted import Scripted
from tests.mechanisms.continual.views import bits_lost

# In base 2, with epsilon 4, one update and 4 steps: scales 1/2 on the threshold, 1 elsewhere, so
# that all weights are fractions.  With threshold 1 and answers 0 and 1 each decision is possible
# on both sides, whatever noise was seen; values -1 to 2 are in reach from both answers.
EPSILON, MODULUS, VALUES = 4, 5, range(-1, 3)


def figure(
    answers: tuple[int, ...], kind: type[Continual] = Continual, changes: int = 1
) -> Continual:
    return kind(
        algorithm=Scripted(answers=answers),
        epsilon=EPSILON,
        horizon=4,
        changes=changes,
        jump=0,
        sensitivity=1,
        threshold=1,
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((0, 0, 0, 0), (1, 1, 1, 1)),
        ((0, 1, 0, 1), (1, 0, 1, 0)),
        ((0, 0, 1, 1), (1, 1, 0, 0)),
    ],
)
def test_every_view_of_the_code_is_within_the_claim(
    one: tuple[int, ...], other: tuple[int, ...]
) -> None:
    lost = bits_lost(figure(one), figure(other), MODULUS, VALUES)
    assert 0.25 * EPSILON < lost <= 2.5 * EPSILON


@pytest.mark.parametrize(("publishes_halt", "loss"), [(False, 1.084), (True, 1.229)])
def test_the_real_noise_at_the_printed_scales(publishes_halt: bool, loss: float) -> None:
    # values within 12 and answers within 3, threshold 0: the figures of the catalogue
    lost = worst_loss(threshold=0, window=12, answers=3, publishes_halt=publishes_halt)
    assert lost == pytest.approx(loss, abs=0.001)


@pytest.mark.parametrize("threshold", [0, 4, 16])
def test_answers_further_away_lose_more_but_never_the_claim(threshold: int) -> None:
    near = worst_loss(threshold=threshold, window=18, answers=3, publishes_halt=False)
    far = worst_loss(threshold=threshold, window=18, answers=18, publishes_halt=False)
    halt = worst_loss(threshold=threshold, window=18, answers=18, publishes_halt=True)
    assert near < far < halt <= 2.5 + 1 / 4
    assert far <= 2.5


@dataclass(frozen=True, kw_only=True)
class KeepsTheAnswer(Continual):
    """Compares with the answer at the last update, as the figure's text can be read."""

    def _run(self, state: State, noise: Noise) -> ContinualRun:
        return _KeepingRun(self, state, noise)


class _KeepingRun(ContinualRun):
    def __init__(self, recipe: Continual, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        if len(self._public) == 2:
            self._public = np.append(self._public, 0)

    def _decide(self, answer: int) -> int | Halted:
        last, updates, kept = (int(value) for value in self._public)
        self._public = np.array([kept, updates])
        decided = super()._decide(answer)
        updated = int(self._public[1]) > updates
        published = decided if updated and isinstance(decided, int) else last
        self._public = np.array([published, self._public[1], answer if updated else kept])
        return decided if isinstance(decided, Halted) else published


@dataclass(frozen=True, kw_only=True)
class PublishesTheAnswer(Continual):
    """New values without noise of their own."""

    def _run(self, state: State, noise: Noise) -> ContinualRun:
        return _BareRun(self, state, noise)


class _BareRun(ContinualRun):
    def _decide(self, answer: int) -> int | Halted:
        updates = int(self._public[1])
        decided = super()._decide(answer)
        if int(self._public[1]) > updates and not isinstance(decided, Halted):
            self._public[0] = decided = answer
        return decided


@pytest.mark.parametrize("mutant", [KeepsTheAnswer, PublishesTheAnswer])
def test_an_exact_answer_in_the_state_or_outside_is_caught(mutant: type[Continual]) -> None:
    one, other = (0, 0, 0, 0), (1, 1, 1, 1)
    assert bits_lost(figure(one, mutant), figure(other, mutant), MODULUS, VALUES) == math.inf
