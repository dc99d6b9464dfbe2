"""An odometer: how much has been spent so far, readable at any time, without a cap.

Theorem      a reading is valid for every rule that decides, from the outputs seen, when to
             stop: law(S) <= sum over S of exp(reading) * other + delta for all events S,
             so stopping before the reading passes E makes all of it (E, delta)-private
Pure         the running sum of epsilon bounds every ratio at every time, whatever was chosen
Approximate  the running sums, with the largest delta that the rule can stop at
             (the filter theorem, for each cap; Rogers-Roth-Ullman-Vadhan 2016)
zCDP         for the caps r_j = first * growth^j, j = 0, 1, 2, ..., a filter of cap r_j would
             have let pass every transcript that has spent at most r_j, so these are
             (e_j, d_j)-private by the filter theorem and the conversion, where e_j is
             computed from r_j and d_j = delta / ((j+1)(j+2)).  Split any event by the
             first cap that its spending fits under and add up: each piece is bounded
             with its own e_j, and the d_j sum to delta.  The reading is that e_j.
             (Converting the running rho itself, with delta, is not valid: where to stop
             may then depend on what was seen.)
Rounding     sums are exact, readings are rounded up

The caps cost a factor of at most sqrt(growth) in epsilon, their deltas a little more.

>>> odometer = Odometer(delta="1e-6")
>>> odometer.spend(Pure(1))
>>> odometer.reading
Pure(epsilon=Fraction(1, 1))
>>> odometer.spend(Concentrated("0.5"))
>>> odometer.total
Concentrated(rho=Fraction(1, 1))
>>> print(float(odometer.reading.epsilon))
9.58615438870544
"""

from __future__ import annotations

from fractions import Fraction

from ameles.accounting.arguments import positive, probability
from ameles.accounting.composition import compose
from ameles.accounting.concentrated import zcdp_epsilon
from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Concentrated, Loss, Pure
from ameles.core.parameters import Exact, refuse


class Odometer:
    """A running total of losses that are chosen one after the other, without a cap.

    ``delta`` is for readings of zCDP.  Like the caps, it is fixed from the start: if it were
    chosen after seeing outputs, it would be a choice among many claims.
    """

    def __init__(
        self,
        *,
        delta: Exact | None = None,
        first: Exact = Fraction(1, 1000),
        growth: Exact = Fraction(5, 4),
    ) -> None:
        self._delta = None if delta is None else probability(delta, "delta")
        self._first = positive(first, "first")
        self._growth = positive(growth, "growth")
        if self._growth < Fraction(101, 100):
            raise refuse("growth", "at least 1.01", growth)
        self._total: Loss = Pure(0)

    @property
    def total(self) -> Loss:
        """The exact sum so far, in the currency that all losses fit into."""
        return self._total

    def spend(self, loss: Loss) -> None:
        """Adds a loss; refused, with no change, if it has no common currency with the rest."""
        self._total = compose([self._total, loss])

    @property
    def reading(self) -> Pure | Approx:
        """What the outputs so far reveal, valid whenever it is read and for whatever reason."""
        if not isinstance(self._total, Concentrated):
            return self._total
        if self._delta is None:
            raise BadInput(
                "A reading of zCDP needs a delta, and this odometer was started without one.",
                why="rho fixes no epsilon until a delta is chosen, and it must be chosen first",
                tip="Odometer(delta=1e-6)",
            )
        if self._total.rho == 0:
            return Pure(0)
        cap, j = self._first, 0
        while cap < self._total.rho:
            cap, j = cap * self._growth, j + 1
        share = self._delta / ((j + 1) * (j + 2))
        return Approx(zcdp_epsilon(rho=cap, delta=share), self._delta)

    def __repr__(self) -> str:
        return f"Odometer(total={self._total!r}, delta={self._delta!r})"
