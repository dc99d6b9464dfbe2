"""Series of choices: a declared number of steps, each with its own candidates and its own share.

Theorem      basic composition, adaptively (catalogue 34, 35, 39): step i chooses by the exponential
             mechanism with epsilon_i, and all together lose the sum of the epsilon_i
Neighbours   stated; between them every score of step i changes by at most Delta_i, whatever was
             chosen before; with ``monotone`` all scores of a step change in the same direction
Noise        one exact choice a step
Error        that of each step is that of the exponential mechanism
Memory       nothing is kept

One run is one payment: either all of the choices are bought, or none.

>>> from ameles.noise import Zero
>>> recipe = ChoiceSeries(
...     epsilons=("0.5", "0.25"), sensitivities=(1, 60), candidates=(3, 2),
...     neighbours="add-remove")
>>> run = recipe.start(Zero())
>>> run.step([3, 14, 15]), run.step([9, 2])
(2, 0)
>>> print(recipe.guarantee.loss)
epsilon 0.75
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import (
    EVENT,
    Contribution,
    Guarantee,
    Intrusions,
    Norm,
    Protects,
    Relation,
    Unit,
)
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Switch
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.one_shot.exponential import ExponentialMechanism
from ameles.mechanisms.one_shot.series import Losses, SeriesRun, Wholes
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class ChoiceSeries(Mechanism["ChoiceSeriesRun"]):
    """The index of a candidate at each step, chosen by exponential weights.

    >>> from ameles.noise import Zero
    >>> recipe = ChoiceSeries(epsilons=(1,), sensitivities=(1,), candidates=(2,),
    ...                       neighbours="user-presence", unit="user", monotone=True)
    >>> recipe.start(Zero()).step([4, -3])
    0
    """

    epsilons: Losses = Losses()
    sensitivities: Wholes = Wholes()
    candidates: Wholes = Wholes()
    neighbours: Relation = Relation()
    unit: Protects = Protects(EVENT.tag)
    monotone: Switch = Switch(False)

    def __post_init__(self) -> None:
        if not len(self.epsilons) == len(self.sensitivities) == len(self.candidates):
            raise BadInput(
                "A series must have as many epsilons as sensitivities and candidates.",
                tip="one of each for every step",
            )
        for step in range(len(self.epsilons)):
            self.choice(step + 1)  # refuses a step that cannot be built

    def choice(self, step: int) -> ExponentialMechanism:
        """The mechanism of a step, from 1."""
        return ExponentialMechanism(
            epsilon=self.epsilons[step - 1],
            sensitivity=self.sensitivities[step - 1],
            candidates=self.candidates[step - 1],
            neighbours=self.neighbours,
            unit=self.unit,
            monotone=self.monotone,
        )

    @property
    def guarantee(self) -> Guarantee:
        """The sum over the steps."""
        return Guarantee(
            loss=Pure(sum(self.epsilons, Fraction(0))),
            unit=Unit.tagged(self.unit),
            neighbours=self.neighbours,
            contribution=Contribution(steps=len(self.epsilons), bound=1, norm=Norm.DECLARED),
            horizon=len(self.epsilons),
            intrusions=Intrusions.NONE,
        )

    @property
    def error(self) -> ChoiceSeriesError:
        """How much worse than the best the choice of each step may be."""
        return ChoiceSeriesError(self)

    def _run(self, state: State, noise: Noise) -> ChoiceSeriesRun:
        return ChoiceSeriesRun(self, state, noise)


class ChoiceSeriesRun(SeriesRun[int]):
    """A run: one choice a step."""

    def __init__(self, recipe: ChoiceSeries, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._recipe = recipe
        self._noise = noise

    def _input(self, x: object, step: int) -> IntArray:
        return self._recipe.choice(step + 1).checked(x)

    def _step(self, x: IntArray) -> int:
        self._t += 1  # counted first: a step that fails inside is not tried again
        return self._recipe.choice(self._t).release(x, self._noise)


@dataclass(frozen=True, slots=True)
class ChoiceSeriesError:
    """Bounds on the score that each choice may lose."""

    recipe: ChoiceSeries

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The score chosen at step ``t`` is this close to the best, with probability 1 - beta."""
        return self.recipe.choice(t).error.bound(1, beta)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for each of the first ``steps`` steps, all together."""
        last = min(steps, len(self.recipe.epsilons))
        return max(self.bound(t, beta / steps) for t in range(1, last + 1))
