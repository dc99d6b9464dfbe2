"""Hiding the changes of one view: for each change of the inputs, the cheapest whole shift.

If no draw can be replaced by others, the shift is unique and found by elimination; the
loss is then exactly its price.  Otherwise a linear program (least norm for Gaussian noise)
proposes a shift and a dual vector, and both are rounded and checked exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain

import numpy as np

from ameles.audit.algebra import (
    Floats,
    Whole,
    independent_columns,
    product,
    solve_or_refute,
    whole_array,
)
from ameles.audit.dual import bound_from_below, rounded_duals, tight_dual
from ameles.audit.finding import Amount
from ameles.audit.observation import Matrices
from ameles.audit.shift import Hidden, Price
from ameles.audit.solver import Proposal

UNIQUE = "the only shift of the noise that hides it"
SOLVED = "a shift of the noise that hides it and a dual vector that bounds it"
LEAK = "a combination of what is seen has no noise and shows it"
FRACTIONAL = "the only shift of the noise that hides it is not whole"
OPEN = "no whole shift of the noise was found that hides it"


def shiftable_draws(matrices: Matrices, price: Price) -> list[int]:
    """The places on the tape of the draws whose shift has a price, in the order of shifts."""
    rated = zip(matrices.draws, price.rates, strict=True)
    return [place for place, rate in rated if rate is not None]


class Hiding:
    """Answers, for one view, what it costs to hide a change of the inputs."""

    def __init__(self, matrices: Matrices, price: Price) -> None:
        usable = [i for i, rate in enumerate(price.rates) if rate is not None]
        self.price = price
        self.data = matrices.data
        self.noise = matrices.noise[:, usable]
        self.rates = [rate for rate in price.rates if rate is not None]
        self.tight = price.floor(rounded=matrices.rounded, whole=matrices.whole)
        self.unique = independent_columns(self.noise)
        self._floats = self.noise.astype(np.float64)
        self._inverse = np.linalg.pinv(self._floats) if self.unique and usable else None
        self._float_rates = np.array([float(rate) for rate in self.rates])

    @property
    def steps(self) -> int:
        """How many inputs there are."""
        return int(self.data.shape[1])

    def single(self, step: int) -> Hidden:
        """A change of one step by 1, steps from 0."""
        return self.change([int(s == step) for s in range(self.steps)])

    def singles(self) -> Iterator[Hidden]:
        """A change of each step by 1, in turn."""
        steps = range(self.steps)
        if self._eliminates:
            yield from map(self.single, steps)
            return
        targets = [self.data[:, step] for step in steps]
        floats = [target.astype(np.float64) for target in targets]
        proposals = self.price.propose_each(self._floats, floats, self._float_rates)
        for target, proposal in zip(targets, proposals, strict=True):
            yield self._by_solver(target, proposal, sharp=False)

    def change(self, amounts: Sequence[int], *, sharp: bool = False) -> Hidden:
        """A change of every step by these amounts.

        ``sharp`` takes the time to find an exact dual vector where rounding misses it.
        """
        target = product(self.data, whole_array(amounts))
        if self._eliminates:
            return self._by_elimination(target)
        floats = target.astype(np.float64)
        proposal = self.price.propose(self._floats, floats, self._float_rates)
        return self._by_solver(target, proposal, sharp=sharp)

    @property
    def _eliminates(self) -> bool:
        return self.unique or not self.rates

    def _by_elimination(self, target: Whole) -> Hidden:
        if self._inverse is not None:
            near = np.rint(self._inverse @ target.astype(np.float64))
            if np.abs(near).max(initial=0) < 2**53:
                shift = tuple(int(e) for e in near)
                if self._hides(shift, target):
                    return self._exactly(shift)
        return self._by_fractions(target)

    def _by_fractions(self, target: Whole) -> Hidden:
        """Slow and certain: a rational shift, or a proof that there is none."""
        solved, vector = solve_or_refute(self.noise, target)
        if not solved:
            return Hidden(self._leak(vector, target), math.inf, None, LEAK)
        if all(e.denominator == 1 for e in vector):
            shift = tuple(int(e) for e in vector)
            if self.unique:
                return self._exactly(shift)
            return Hidden(Fraction(0), self.price.cost(shift, self.rates), shift, OPEN)
        lower = self.price.cost(vector, self.rates) if self.unique and self.tight else Fraction(0)
        return Hidden(lower, math.inf, None, FRACTIONAL if self.unique else OPEN)

    def _leak(self, witness: Sequence[Fraction], target: Whole) -> Amount:
        """Infinite, if the witness has no noise in it and shows the change."""
        factor = math.lcm(*(y.denominator for y in witness))
        y = whole_array([int(value * factor) for value in witness])
        leaks = not product(self.noise.T, y).any() and bool(product(y, target))
        # if shown values were rounded and the change does not commute with the rounding,
        # the witness proves nothing
        return math.inf if leaks and self.tight else Fraction(0)

    def _exactly(self, shift: tuple[int, ...]) -> Hidden:
        cost = self.price.cost(shift, self.rates)
        return Hidden(cost if self.tight else Fraction(0), cost, shift, UNIQUE)

    def _by_solver(self, target: Whole, proposal: Proposal | None, *, sharp: bool) -> Hidden:
        if proposal is None:
            return self._by_fractions(target)
        shift = self._whole_shift(proposal.shift, target)
        upper: Amount = math.inf if shift is None else self.price.cost(shift, self.rates)
        lower: Amount = Fraction(0)
        if self.tight:
            duals: Iterable[Sequence[int]] = rounded_duals(proposal.dual)
            if sharp:
                duals = chain(duals, tight_dual(self.noise, proposal.dual, self.rates))
            lower = bound_from_below(self.price, self.noise, target, self.rates, duals, upper)
        return Hidden(lower, upper, shift, OPEN if shift is None else SOLVED)

    def _whole_shift(self, proposed: Floats, target: Whole) -> tuple[int, ...] | None:
        """The first of the proposed shifts that hides the change when it is rounded."""
        floats = target.astype(np.float64)
        others = self.price.propose_whole(self._floats, floats, self._float_rates)
        for near in chain([proposed], others):
            shift = tuple(int(e) for e in np.rint(near))
            if self._hides(shift, target):
                return shift
        return None

    def _hides(self, shift: Sequence[int], target: Whole) -> bool:
        return bool((product(self.noise, whole_array(shift)) == target).all())
