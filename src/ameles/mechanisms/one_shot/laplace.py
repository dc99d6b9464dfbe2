"""Laplace mechanism: an exact real number, or a vector of them, on a grid and with Laplace noise.

Theorem      Dwork-McSherry-Nissim-Smith 2006 on a grid (catalogue 0.3, 34, 35): discrete noise of
             scale U / epsilon grid units, U the change of one unit *after* rounding.  One number
             that changes by D moves by at most U = ceil(D / g) grid units: rounding keeps the
             order and moves multiples of g with it.  Of k numbers that change by D together, k
             can be rounded away from each other, one unit each except for the last: U is
             ceil(D / g) + k - 1.  So a vector needs a fine grid
Neighbours   stated; between them the vector changes by at most ``sensitivity`` (D) in L1
Noise        discrete Laplace, independent for each number; noise from floats would not be private
Error        exact tails of the noise, and half a grid unit from rounding
Memory       nothing is kept

``laplace_sequence`` is for questions that are asked one after the other: if the sum of their
sensitivities is fixed in advance, noise of that sum over epsilon on each answer is private, also
where a question depends on earlier answers.

>>> from ameles.noise import Zero
>>> recipe = LaplaceMechanism(
...     epsilon=1, sensitivity="0.5", granularity="0.01", neighbours="replace")
>>> recipe.start(Zero()).step(Fraction(22, 7))
3.14
>>> recipe.reach, round(recipe.error.bound(1, 0.05), 3)
(50, 1.505)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, Neighbours, Norm, Unit
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Exact, Number, Width, exact, whole
from ameles.mechanisms.one_shot.exact_inputs import grid_units
from ameles.mechanisms.one_shot.geometric import GeometricError
from ameles.mechanisms.one_shot.one_shot import Look
from ameles.mechanisms.one_shot.series import LaplaceSeries
from ameles.noise.arrays import IntArray

FloatArray: TypeAlias = NDArray[np.float64]
LARGEST = 10**12
MOST_UNITS = 1 << 40


@dataclass(frozen=True, kw_only=True)
class LaplaceMechanism(Look[float | FloatArray]):
    """An exact real number with Laplace noise on a grid, or ``width`` of them.

    It takes integers and fractions, and publishes multiples of the granularity, as floats.

    >>> from ameles.noise import Zero
    >>> recipe = LaplaceMechanism(
    ...     epsilon=1, sensitivity=1, granularity="1/8", width=2, neighbours="replace")
    >>> recipe.start(Zero()).step([3, Fraction(1, 3)])
    array([3.   , 0.375])
    """

    norm: ClassVar[Norm] = Norm.L1

    epsilon: Epsilon = Epsilon()
    sensitivity: Number = Number(Fraction(1, LARGEST), LARGEST)
    granularity: Number = Number(Fraction(1, LARGEST), LARGEST)
    width: Width = Width()

    def __post_init__(self) -> None:
        if self.reach > MOST_UNITS:
            raise BadInput(
                "One unit may change the rounded numbers by at most 2**40 grid units.",
                why="sums with such noise would not fit into 64 bits",
                tip="a larger granularity",
            )

    @property
    def reach(self) -> int:
        """The most grid units by which one unit changes the rounded numbers."""
        return math.ceil(self.sensitivity / self.granularity) + (self.width or 1) - 1

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in grid units."""
        return self.reach / self.epsilon

    @property
    def loss(self) -> Pure:
        """Epsilon."""
        return Pure(self.epsilon)

    @property
    def error(self) -> GridLaplaceError:
        """Rounding and noise."""
        return GridLaplaceError(GeometricError(self.scale, self.width or 1), self.granularity)

    def checked(self, x: object) -> IntArray:
        return grid_units(x, self.width, self.granularity)

    def release(self, x: IntArray, noise: Noise) -> float | FloatArray:
        units = x + noise.laplace(self.scale, x.size)
        top, bottom = self.granularity.numerator, self.granularity.denominator
        if self.width is None:
            return int(units[0]) * top / bottom
        values: FloatArray = np.array([unit * top / bottom for unit in units.tolist()])
        return values


@dataclass(frozen=True, slots=True)
class GridLaplaceError:
    """Exact tails of the noise on the grid, and what rounding adds."""

    units: GeometricError
    granularity: Fraction

    def _value(self, units: float) -> float:
        return (units + 0.5) * float(self.granularity)

    @checks_step
    def std(self, t: int) -> float:
        """The standard deviation of each number's noise."""
        return self.units.std(1) * float(self.granularity)

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """One number is this close with probability at least 1 - beta."""
        return self._value(self.units.bound(1, beta))

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for this many releases together."""
        return self.bound(1, beta / steps)

    def bound_entries(self, beta: float) -> float:
        """All numbers of the vector are this close with probability at least 1 - beta."""
        return self._value(self.units.bound_entries(beta))


def laplace_sequence(
    *,
    epsilon: Exact,
    sensitivities: Sequence[int],
    neighbours: Neighbours | str,
    unit: Unit | str = EVENT,
) -> LaplaceSeries:
    """A run of whole-number questions with these sensitivities, asked one a step.

    The scale of every noise is the sum of the sensitivities over epsilon, so each question costs a
    share of epsilon in proportion to its sensitivity.

    >>> recipe = laplace_sequence(epsilon=1, sensitivities=[1, 3], neighbours="add-remove")
    >>> recipe.scale(1), recipe.scale(2), str(recipe.guarantee.loss)
    (Fraction(4, 1), Fraction(4, 1), 'epsilon 1')
    """
    sizes = [whole(each, "sensitivities", low=1, high=MOST_UNITS) for each in sensitivities]
    total = exact(epsilon, "epsilon")
    return LaplaceSeries(
        epsilons=[total * size / sum(sizes) for size in sizes],
        sensitivities=sizes,
        widths=[1] * len(sizes),
        neighbours=neighbours,
        unit=unit,
    )
