"""The smallest epsilon that a composition theorem here gives, and that of every other one.

Theorem      each row is a true statement, so the smallest of them is one
Rows         basic; advanced as printed (corrected) and with tanh; zCDP with the simple and
             the tight conversion; optimal
Deltas       mechanisms with a delta of their own are charged count * delta first, and the
             rest of the target is the slack of every row: an (epsilon, delta) mechanism
             is a pure one except for an event of weight delta (Kairouz-Oh-Viswanath 2015)

For pure mechanisms the optimal row wins or ties; the table shows by how much.

>>> print(best(Pure("0.1"), count=100, delta="1e-6"))
optimal               4.7746  <- least
zCDP, tight           5.2215
advanced, sharp       5.7561
zCDP, simple          5.7565
advanced, printed     6.3082
basic                10.0000
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import SupportsIndex

from ameles.accounting.advanced import advanced
from ameles.accounting.arguments import amount, probability, repetitions
from ameles.accounting.concentrated import zcdp_epsilon
from ameles.accounting.conversion import to_concentrated
from ameles.accounting.optimal import MOST, optimal_epsilon
from ameles.core.loss import Approx, Concentrated, Loss, Pure
from ameles.core.parameters import Exact, refuse


@dataclass(frozen=True, slots=True)
class MethodBound:
    """The epsilon of one composition theorem, at the delta that was asked for.

    >>> row = best(Pure("0.1"), count=100, delta="1e-6").table[-1]
    >>> row == MethodBound("basic", Fraction(10))
    True
    """

    method: str
    epsilon: Fraction


@dataclass(frozen=True, slots=True)
class Comparison:
    """What each composition theorem gives for the same mechanisms, the smallest epsilon first.

    >>> found = best(Pure("0.1"), count=100, delta="1e-6")
    >>> isinstance(found, Comparison), found.method, round(float(found.loss.epsilon), 2)
    (True, 'optimal', 4.77)
    """

    table: tuple[MethodBound, ...]
    delta: Fraction

    @property
    def method(self) -> str:
        """The theorem that won."""
        return self.table[0].method

    @property
    def loss(self) -> Approx:
        """The loss that it promises."""
        return Approx(self.table[0].epsilon, self.delta)

    def __str__(self) -> str:
        marks = ["  <- least", *[""] * (len(self.table) - 1)]
        return "\n".join(
            f"{row.method:17}  {float(row.epsilon):9.4f}{mark}"
            for row, mark in zip(self.table, marks, strict=True)
        )


def best(each: Loss, *, count: SupportsIndex, delta: Exact) -> Comparison:
    """Every bound on the loss of ``count`` mechanisms of loss ``each``, at total ``delta``.

    A theorem that does not apply has no row: at slack 0 only basic composition holds, zCDP
    losses have only their two conversions, and optimal composition is computed for up to a
    million mechanisms.  Ties go to the simpler theorem.
    """
    k, target = repetitions(count, "count"), amount(delta, "delta")
    if isinstance(each, Concentrated):
        rows = _concentrated_rows(k * each.rho, probability(target, "delta"))
    else:
        failures = k * each.delta if isinstance(each, Approx) else Fraction(0)
        if not failures <= target < 1:
            raise refuse("delta", f"at least {float(failures):g} (count * delta), below 1", delta)
        rows = _pure_rows(Pure(each.epsilon), k, target - failures)
    return Comparison(tuple(sorted(rows, key=lambda row: row.epsilon)), target)


def _pure_rows(each: Pure, k: int, slack: Fraction) -> list[MethodBound]:
    basic = MethodBound("basic", k * each.epsilon)
    if slack == 0:
        return [basic]
    sharp = advanced(each, count=k, slack=slack)
    printed = advanced(each, count=k, slack=slack, sharp=False)
    rows = [
        basic,
        MethodBound("advanced, sharp", sharp.epsilon),
        MethodBound("advanced, printed", printed.epsilon),
        *_concentrated_rows(k * to_concentrated(each).rho, slack),
    ]
    if k <= MOST:
        rows.append(
            MethodBound("optimal", optimal_epsilon(each=each.epsilon, count=k, delta=slack))
        )
    return rows


def _concentrated_rows(rho: Fraction, slack: Fraction) -> list[MethodBound]:
    return [
        MethodBound("zCDP, tight", zcdp_epsilon(rho=rho, delta=slack)),
        MethodBound("zCDP, simple", zcdp_epsilon(rho=rho, delta=slack, tight=False)),
    ]
