"""From one-shot to continual: an estimator that publishes at every step, at a fixed loss.

Theorem      Dwork-Naor-Pitassi-Rothblum 2010, Fig 2, corrected (catalogue 14): the loss is
             epsilon_0 + 2.5 epsilon, epsilon_0 that of seizing the algorithm's state once.
             Threshold: the L intervals that cover all steps but the seized one shift by rho,
             epsilon.  Comparisons: 2 rho for each of k + 1 updates (the last is the halt), rho for
             the seized step, epsilon (2k + 3) / (2k + 2).  Values: rho for each of k, as the halt
             publishes none, epsilon k / (2k + 2)
Neighbours   the algorithm's, where its answers differ by at most ``sensitivity`` (rho) at each step
Noise        discrete Laplace: rho L / epsilon on the threshold, L = ceil(log2 T), for each interval
             of a dyadic tree without root; 2 rho (k + 1) / epsilon on comparisons and values
Error        the jump d, twice the allowances of comparison and threshold and once that of a value,
             and the algorithm's own error (``transformation_error``)
Memory       the algorithm's state, the last value, the number of updates, L threshold noises

It publishes its last value until the algorithm's answer has moved away from it, ``changes``
times at the most; from the next time on it publishes "halted", at every step.  The state may be
seized once if the algorithm's may: no trace of an answer, and no noise of a step or of an ended
interval, is left after the step.  Values are whole numbers, in units of the
algorithm's grid: answers are rounded to it, and the sensitivity in units is rounded up.
The number of steps taken is in the state: steps are those of a public clock.

>>> from ameles.mechanisms.continual.estimators.distinct import ExactDistinct
>>> from ameles.noise import Zero
>>> recipe = continual(ExactDistinct(users=9), horizon=8, epsilon=100, changes=2, jump=1,
...                    sensitivity=1)
>>> run = recipe.start(Zero())
>>> [run.step(user) for user in [3, 3, 4, 5, 6, 7, 8]]
[0, 0, 2, 2, 4, 4, HALTED]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np

from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Exact, Whole, exact, refuse
from ameles.mechanisms.continual.estimators.estimator import Estimator, EstimatorRun, grid_units
from ameles.mechanisms.continual.nested import OuterRun
from ameles.mechanisms.continual.published_answers import PublishedAnswers, check_sensitivity
from ameles.mechanisms.continual.transformation_error import ContinualError, Scales
from ameles.mechanisms.pan_private.erase import only
from ameles.mechanisms.run import Turn
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray
from ameles.noise.sampler import wrapped

# What publishing loses, in epsilons of the theorem.
PRICE = Fraction(5, 2)


class Halted(Enum):
    """What a run publishes at every step after its last allowed change."""

    HALTED = "halted"

    def __repr__(self) -> str:
        return "HALTED"


HALTED: Final = Halted.HALTED

# The same as a 64-bit number; no meaningful value is this small.
CODE: Final = -(1 << 63)


@dataclass(frozen=True, kw_only=True)
class Continual(PublishedAnswers["ContinualRun"]):
    """An estimator that is published at every step; ``continual`` chooses the threshold.

    ``jump``, ``sensitivity`` and ``threshold`` are in units of the algorithm's grid.  ``epsilon``
    is that of the theorem: the loss is 2.5 times it and what the algorithm's state reveals.

    >>> from ameles.mechanisms.continual.estimators.distinct import ExactDistinct
    >>> recipe = continual(ExactDistinct(users=9), horizon=8, epsilon=100, changes=2, jump=1,
    ...                    sensitivity=1)
    >>> isinstance(recipe, Continual), recipe.threshold, str(recipe.guarantee.loss)
    (True, 1, 'epsilon 250')
    """

    epsilon: Epsilon = Epsilon()
    # With one step there is no interval, so no noise on the threshold (catalogue 14, erratum vi).
    horizon: Whole = Whole(2, 2**40)
    changes: Whole = Whole(0, 2**32)
    jump: Whole = Whole(0, 2**60)
    sensitivity: Whole = Whole(1, 2**40)
    threshold: Whole = Whole(0, 2**61)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sensitivity(self.algorithm, self.sensitivity)

    @property
    def levels(self) -> int:
        """How many intervals of the threshold's noise are open at a time."""
        return (self.horizon - 1).bit_length()

    @cached_property
    def threshold_scale(self) -> Fraction:
        """The scale of the noise of one interval of the threshold."""
        return self.sensitivity * self.levels / self.epsilon

    @cached_property
    def decision_scale(self) -> Fraction:
        """The scale of the noise on each comparison and on each new value."""
        return 2 * self.sensitivity * (self.changes + 1) / self.epsilon

    @property
    def published_loss(self) -> Pure:
        """2.5 epsilon; a secret state adds nothing to it (erratum vii)."""
        return Pure(PRICE * self.epsilon)

    @property
    def widest(self) -> Fraction:
        """The larger of what is drawn for a comparison, and of all open intervals together."""
        return max(self.decision_scale, self.levels * self.threshold_scale)

    @property
    def scales(self) -> Scales:
        """The noises, for the error."""
        return Scales(self.threshold_scale, self.decision_scale, self.levels, self.changes)

    @property
    def error(self) -> ContinualError:
        """The distance from the truth while the answers jump at most ``changes`` times."""
        answers = self.algorithm.answer_error
        return ContinualError(answers, self.scales, self.threshold, self.jump)

    def _run(self, state: State, noise: Noise) -> ContinualRun:
        return ContinualRun(self, state, noise)


class ContinualRun(OuterRun[EstimatorRun, int | Halted]):
    """A run: ``add`` on arrival, ``release`` at the tick; ``step`` is both."""

    def __init__(self, recipe: Continual, state: State, noise: Noise) -> None:
        super().__init__(recipe, recipe.algorithm, state, noise, own=2)
        self._recipe = recipe
        # the last value and the number of updates; the noise of the open intervals
        self._public = np.zeros(2, dtype=np.int64)
        self._open = np.zeros(recipe.levels, dtype=np.int64)
        if state.parts:
            self._public, self._open = (part.copy() for part in state.parts[:2])

    @property
    def halted(self) -> bool:
        """Whether the changes are used up; this is public, because it was published."""
        return int(self._public[1]) > self._recipe.changes

    def add(self, x: Any) -> None:
        """Takes an input into the algorithm's state; after a halt nothing is taken."""
        with Turn(self):
            self.check_room(1)
            if not self.halted:
                self._inner.add(x)

    def release(self) -> int | Halted:
        """Closes the step: the value to publish."""
        released: int | Halted = HALTED
        with Turn(self):
            self.check_room(1)
            if not self.halted:
                self._open_intervals()
                released = self._decide(self._inner.answer())
                self._close_intervals()
            self._t += 1
        return released

    def _parts(self) -> tuple[IntArray, ...]:
        """What was published last, the open intervals' noise, and the algorithm's state."""
        return self._public, self._open, *super()._parts()

    def _checked(self, x: Any) -> Any:
        return x if self.halted else super()._checked(x)

    def _decide(self, answer: int) -> int | Halted:
        recipe = self._recipe
        # Compared with the published value.  The answer at the last update would be the figure's
        # other reading, and a second exact look at the algorithm's state (erratum i).
        last, updates = (int(value) for value in self._public)
        moved = abs(last - answer + self._draw(recipe.decision_scale))
        if moved <= recipe.threshold + int(self._open.sum()):
            return last
        self._public[1] += 1
        if updates == recipe.changes:
            self._public[0] = 0
            self._open[:] = 0
            return HALTED
        self._public[0] = wrapped(answer + self._draw(recipe.decision_scale))
        return int(self._public[0])

    def _open_intervals(self) -> None:
        for level in range(self._recipe.levels):
            if self._t % (1 << level) == 0:
                self._open[level] = self._draw(self._recipe.threshold_scale)

    def _close_intervals(self) -> None:
        for level in range(self._recipe.levels):
            if (self._t + 1) % (1 << level) == 0 or self._t + 1 == self._recipe.horizon:
                self._open[level] = 0

    def _draw(self, scale: Fraction) -> int:
        return only(self._noise.laplace(scale, 1))


def continual(
    algorithm: Estimator,
    *,
    horizon: int,
    epsilon: Exact,
    changes: int,
    jump: Exact,
    sensitivity: Exact,
    grid: Exact = 1,
    beta: float = 0.05,
) -> Continual:
    """Makes an estimator publish at every step, with the threshold that its error bound needs.

    ``jump`` and ``sensitivity`` are in the scale of what is estimated, ``grid`` is what one unit
    of an answer is worth there; both are rounded up to whole units.  The bound holds if the
    answers move by more than ``jump`` from one update to the next at most ``changes`` times.
    Counts modulo a number, which no such limit bounds, are refused.
    """
    unit = exact(grid, "grid")
    if unit <= 0:
        raise refuse("grid", "above 0", grid)
    recipe = Continual(
        algorithm=algorithm,
        epsilon=epsilon,
        horizon=horizon,
        changes=changes,
        jump=grid_units(exact(jump, "jump"), unit),
        sensitivity=grid_units(exact(sensitivity, "sensitivity"), unit),
        threshold=0,
    )
    allowed = recipe.scales.allowances(recipe.horizon, beta)
    return replace(recipe, threshold=recipe.jump + allowed.total)
