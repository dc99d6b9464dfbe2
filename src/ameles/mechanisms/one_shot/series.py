"""Series of vectors: a declared number of steps, each with its own size, sensitivity and share.

Theorem      basic composition, adaptively (catalogue 34, 35, 50): step i has noise of scale
             Delta_i / epsilon_i, and all together lose the sum of the epsilon_i
Neighbours   stated; between them the vector of step i changes by at most Delta_i in L1, whatever
             was released before
Noise        discrete Laplace, independent for each number
Error        that of each step is exact, as of the geometric mechanism
Memory       nothing is kept

The next question may depend on earlier releases: an algorithm with several rounds, such as
k-means, is one run of a series.

>>> from ameles.noise import Zero
>>> recipe = LaplaceSeries(
...     epsilons=("0.5", "0.25"), sensitivities=(1, 60), widths=(1, 2), neighbours="add-remove")
>>> run = recipe.start(Zero())
>>> run.step([17]), run.step([3, 4])
(array([17]), array([3, 4]))
>>> print(recipe.guarantee.loss)
epsilon 0.75
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

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
from ameles.core.parameters import Epsilon, Exact, Parameter, Whole, refuse
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.one_shot.exact_inputs import numbers
from ameles.mechanisms.run import Out, Turn
from ameles.mechanisms.snapshot import State
from ameles.mechanisms.stepped import SteppedRun
from ameles.noise.arrays import IntArray

MOST_STEPS = 1 << 16
Item = TypeVar("Item")


class Losses(Parameter[Sequence[Exact], tuple[Fraction, ...]]):
    """The privacy loss of each step."""

    def check(self, value: Sequence[Exact]) -> tuple[Fraction, ...]:
        one = Epsilon()
        one.name = self.name
        return tuple(one.check(given) for given in _listed(value, self.name))


class Wholes(Parameter[Sequence[int], tuple[int, ...]]):
    """A whole number for each step."""

    def check(self, value: Sequence[int]) -> tuple[int, ...]:
        one = Whole(1, 2**40)
        one.name = self.name
        return tuple(one.check(given) for given in _listed(value, self.name))


def _listed(value: Sequence[Item], name: str) -> Sequence[Item]:
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= MOST_STEPS:
        raise refuse(name, f"a list of 1 to {MOST_STEPS} numbers", value)
    return value


@dataclass(frozen=True, kw_only=True)
class LaplaceSeries(Mechanism["LaplaceSeriesRun"]):
    """Vectors with discrete Laplace noise, one a step, each with its own share of the loss.

    >>> from ameles.noise import Zero
    >>> recipe = LaplaceSeries(epsilons=(1, 2), sensitivities=(1, 1), widths=(1, 1),
    ...                        neighbours="add-remove")
    >>> [one.tolist() for one in recipe.start(Zero()).feed([[3], [4]])]
    [[3], [4]]
    """

    epsilons: Losses = Losses()
    sensitivities: Wholes = Wholes()
    widths: Wholes = Wholes()
    neighbours: Relation = Relation()
    unit: Protects = Protects(EVENT.tag)

    def __post_init__(self) -> None:
        if not len(self.epsilons) == len(self.sensitivities) == len(self.widths):
            raise BadInput(
                "A series must have as many epsilons as sensitivities and widths.",
                tip="one of each for every step",
            )

    def scale(self, step: int) -> Fraction:
        """The scale of the noise at a step, from 1."""
        return self.sensitivities[step - 1] / self.epsilons[step - 1]

    @property
    def guarantee(self) -> Guarantee:
        """The sum over the steps."""
        return Guarantee(
            loss=Pure(sum(self.epsilons, Fraction(0))),
            unit=Unit.tagged(self.unit),
            neighbours=self.neighbours,
            contribution=Contribution(steps=len(self.widths), bound=1, norm=Norm.DECLARED),
            horizon=len(self.widths),
            intrusions=Intrusions.NONE,
        )

    @property
    def error(self) -> SeriesError:
        """The law of each step's noise."""
        return SeriesError(self)

    def _run(self, state: State, noise: Noise) -> LaplaceSeriesRun:
        return LaplaceSeriesRun(self, state, noise)


class SeriesRun(SteppedRun[object, Out]):
    """A run whose steps have inputs of different kinds; it keeps only the number of the step."""

    _recovers = True  # a step that fails is counted

    def _parts(self) -> tuple[IntArray, ...]:
        return ()

    def feed(self, xs: Iterable[object]) -> list[Out]:
        """Many steps; every input is checked before the first step."""
        self.check_live()
        first, rows = self.t, list(xs)
        self.check_room(len(rows))
        given = [self._input(x, first + place) for place, x in enumerate(rows)]
        with Turn(self):
            self.check_room(len(given))
            return [self._step(x) for x in given]

    def _checked(self, x: object) -> IntArray:
        self.check_room(1)
        return self._input(x, self.t)

    @abstractmethod
    def _input(self, x: object, step: int) -> IntArray:
        """The input of a step, from 0, or an error that does not reveal its value."""


class LaplaceSeriesRun(SeriesRun[IntArray]):
    """A run: one vector a step."""

    def __init__(self, recipe: LaplaceSeries, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._recipe = recipe
        self._noise = noise

    def _input(self, x: object, step: int) -> IntArray:
        return numbers(x, self._recipe.widths[step])

    def _step(self, x: IntArray) -> IntArray:
        self._t += 1
        noisy: IntArray = x + self._noise.laplace(self._recipe.scale(self._t), x.size)
        return noisy


@dataclass(frozen=True, slots=True)
class SeriesError:
    """Exact tails of the noise of each step."""

    recipe: LaplaceSeries

    @checks_step
    def std(self, t: int) -> float:
        """The standard deviation of each number's noise at step ``t``."""
        return laplace_sum.std(1, self.recipe.scale(t))

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """One number of step ``t`` is this close with probability at least 1 - beta."""
        return laplace_sum.quantile(1, self.recipe.scale(t), beta)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """One number of each of the first ``steps`` steps is this close, all together."""
        last = min(steps, len(self.recipe.widths))
        return max(self.bound(t, beta / steps) for t in range(1, last + 1))
