"""The cheapest way to hide a change: a shift of the noise with the same effect.

If M e = D for whole e, the mechanism shows on one input with noise z what it shows on the
other with noise z + e.  So the loss is at most the price of e: sum |e_i| / b_i for Laplace
draws of scale b_i, and rho = sum e_i^2 / (2 v_i) for Gaussian draws of variance v_i.

From below: for any y, compare the mean of exp(<y, shown>) on both inputs.  It differs by the
factor exp(<y, D>), and it is finite as long as |(M^T y)_i| < 1 / b_i; so no epsilon below
<y, D> can be true.  For Gaussian draws, whose moments are at most those of the continuous
law, the Donsker-Varadhan formula gives rho >= <y, D> - sum v_i (M^T y)_i^2 / 2.

Both are exact for discrete noise, and both are checked in whole numbers and fractions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.audit import solver
from ameles.audit.algebra import Floats, Whole, product, whole_array
from ameles.audit.finding import Amount

# This many small linear programs are solved as one: most of the time of a small one is set-up.
TOGETHER = 16


class Price(ABC):
    """What shifting each draw costs."""

    def __init__(self, laws: Sequence[tuple[str, Fraction]]) -> None:
        self.laws = tuple(laws)

    @property
    @abstractmethod
    def rates(self) -> list[Fraction | None]:
        """What a shift by one costs for each draw; None if no shift has a finite price."""

    @abstractmethod
    def floor(self, *, rounded: bool, whole: bool) -> bool:
        """Whether dual vectors bound the loss from below, where what is seen was ``rounded``
        and inputs move it by ``whole`` numbers."""

    @abstractmethod
    def cost(self, shift: Sequence[int | Fraction], rates: Sequence[Fraction]) -> Fraction:
        """The price of a shift."""

    def each_cost(self, shifts: Whole, rates: Sequence[Fraction]) -> list[Fraction]:
        """The price of many shifts, one a row."""
        common = math.lcm(*(rate.denominator for rate in rates))
        whole_rates = whole_array([int(rate * common) for rate in rates])
        return [Fraction(int(n), common) for n in product(self.sizes(shifts), whole_rates)]

    @abstractmethod
    def sizes(self, shifts: Whole) -> Whole:
        """What is to be multiplied by the rates, for each draw."""

    @abstractmethod
    def below(self, pull: list[int], gain: int, rates: Sequence[Fraction]) -> Amount:
        """The bound from below of a dual y with M^T y = pull and <y, D> = gain."""

    @abstractmethod
    def propose(self, matrix: Floats, target: Floats, rates: Floats) -> solver.Proposal | None:
        """A cheapest real shift and a dual vector, in floats; None if there seems to be none."""

    def propose_each(
        self, matrix: Floats, targets: Sequence[Floats], rates: Floats
    ) -> list[solver.Proposal | None]:
        """``propose`` for each target; a price may know how to do many at once."""
        return [self.propose(matrix, target, rates) for target in targets]

    def times(self, bound: int) -> int:
        """The factor by which a price grows if the shift is this many times as long."""
        return bound

    def propose_whole(self, matrix: Floats, target: Floats, rates: Floats) -> Iterator[Floats]:
        """Cheap shifts that are likely to be whole, in floats."""
        costs = self.lengths(rates)
        # a node is moved by 1 or not at all: with this constraint the solution is often whole
        boxed = solver.cheapest(matrix, target, costs, longest=1)
        if boxed is not None:
            yield boxed.shift
        shift = solver.cheapest_whole(matrix, target, costs)
        if shift is not None:
            yield shift

    def lengths(self, rates: Floats) -> Floats:
        """The length of each shift: lengths of sums add up, prices may not."""
        lengths: Floats = rates / rates.max()
        return lengths


class PurePrice(Price):
    """epsilon: the sum of |e_i| / b_i over Laplace draws; Gaussian draws hide nothing."""

    @property
    def rates(self) -> list[Fraction | None]:
        return [1 / scale if law == "laplace" else None for law, scale in self.laws]

    def floor(self, *, rounded: bool, whole: bool) -> bool:
        # rounding keeps moments finite, and commutes with moving by whole numbers
        return whole or not rounded

    def cost(self, shift: Sequence[int | Fraction], rates: Sequence[Fraction]) -> Fraction:
        paid = (abs(Fraction(e)) * rate for e, rate in zip(shift, rates, strict=True) if e)
        return sum(paid, Fraction(0))

    def sizes(self, shifts: Whole) -> Whole:
        absolute: Whole = np.abs(shifts)
        return absolute

    def below(self, pull: list[int], gain: int, rates: Sequence[Fraction]) -> Amount:
        # y may be as long as its tightest draw allows
        length = max((abs(p) / rate for p, rate in zip(pull, rates, strict=True)), default=0)
        if length:
            return Fraction(abs(gain)) / length
        return math.inf if gain else Fraction(0)

    def propose(self, matrix: Floats, target: Floats, rates: Floats) -> solver.Proposal | None:
        return solver.cheapest(matrix, target, self.lengths(rates))

    def propose_each(
        self, matrix: Floats, targets: Sequence[Floats], rates: Floats
    ) -> list[solver.Proposal | None]:
        proposals: list[solver.Proposal | None] = []
        for start in range(0, len(targets), TOGETHER):
            some = targets[start : start + TOGETHER]
            together = solver.cheapest_of_each(matrix, some, self.lengths(rates))
            proposals += together or super().propose_each(matrix, some, rates)
        return proposals


class ConcentratedPrice(Price):
    """rho: the sum of e_i^2 / (2 v_i); a Laplace draw has epsilon^2 / 2, so b_i^2 for v_i."""

    @property
    def rates(self) -> list[Fraction | None]:
        return [
            1 / (2 * (scale if law == "gaussian" else scale * scale)) for law, scale in self.laws
        ]

    def floor(self, *, rounded: bool, whole: bool) -> bool:
        return not rounded and all(law == "gaussian" for law, _ in self.laws)

    def cost(self, shift: Sequence[int | Fraction], rates: Sequence[Fraction]) -> Fraction:
        paid = (e * e * rate for e, rate in zip(shift, rates, strict=True) if e)
        return sum(paid, Fraction(0))

    def sizes(self, shifts: Whole) -> Whole:
        squared: Whole = shifts.astype(object) ** 2
        return squared

    def below(self, pull: list[int], gain: int, rates: Sequence[Fraction]) -> Amount:
        # the best multiple c of y: c gain - c^2 norm is largest at gain^2 / (4 norm)
        norm = sum((p * p / (4 * rate) for p, rate in zip(pull, rates, strict=True)), Fraction(0))
        if norm:
            return Fraction(gain * gain) / (4 * norm)
        return math.inf if gain else Fraction(0)

    def propose(self, matrix: Floats, target: Floats, rates: Floats) -> solver.Proposal | None:
        roots = self.lengths(rates)
        scaled = matrix / roots
        # the least-norm solution, and with it the dual: scaled.T @ dual = solution
        solution, *_ = np.linalg.lstsq(scaled, target)
        if np.abs(scaled @ solution - target).max(initial=0) > 1e-6 * (1 + np.abs(target).max()):
            return None
        dual, *_ = np.linalg.lstsq(scaled.T, solution)
        return solver.Proposal(solution / roots, dual)

    def times(self, bound: int) -> int:
        return bound * bound

    def lengths(self, rates: Floats) -> Floats:
        roots: Floats = np.sqrt(rates / rates.max())
        return roots


@dataclass(frozen=True)
class Hidden:
    """How well one change is hidden: bounds on its loss, and the whole shift that proves the upper
    one."""

    lower: Amount
    upper: Amount
    shift: tuple[int, ...] | None
    how: str
