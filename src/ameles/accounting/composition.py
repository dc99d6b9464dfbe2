"""Basic composition: what several releases about the same people reveal together.

Theorem      (epsilon_i, delta_i) for each gives (sum of epsilon_i, sum of delta_i), also if
             each mechanism is chosen after seeing the earlier outputs (Dwork-Roth,
             Thm B.1, with the positive part of the signed measure in the place of the
             printed set function; catalogue 50); zCDP adds up in rho (Bun-Steinke, 1.7)
Neighbours   the same relation and unit for all: a sum over different relations says nothing
Rounding     none: sums of fractions are exact

A pure loss enters a sum of zCDP losses as epsilon²/2.  A loss with delta above zero and a
zCDP loss have no common currency here; the refusal says which conversion to choose.

>>> compose([Pure("0.1"), Pure("0.2")])
Pure(epsilon=Fraction(3, 10))
>>> compose([Pure(1), Approx(1, "1e-6")])
Approx(epsilon=Fraction(2, 1), delta=Fraction(1, 1000000))
>>> compose([Pure(1), Concentrated("0.25")])
Concentrated(rho=Fraction(3, 4))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TypeAlias

from ameles.accounting.conversion import to_concentrated
from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Concentrated, Loss, Pure

# How amounts of one kind, one for each mechanism, become one amount.
Merge: TypeAlias = Callable[[Sequence[Fraction]], Fraction]


def compose(losses: Iterable[Loss]) -> Loss:
    """The loss of all these together, by adding up; ``Pure(0)`` if there is none."""
    return merged(list(losses), sum_of_all)


def merged(losses: Sequence[Loss], merge: Merge) -> Loss:
    """These losses in one currency, each kind of amount merged by the same rule."""
    if any(isinstance(loss, Concentrated) for loss in losses):
        if any(isinstance(loss, Approx) and loss.delta > 0 for loss in losses):
            raise BadInput(
                "Losses with a delta and losses in rho cannot be put into one total.",
                why="a delta is no zCDP promise, and a rho has no epsilon until a delta is chosen",
                tip="choose a delta for each loss in rho with to_approx(loss, delta=...) first",
            )
        return Concentrated(merge([to_concentrated(loss).rho for loss in losses]))
    approximate = [loss for loss in losses if isinstance(loss, Approx)]
    epsilon = merge([loss.epsilon for loss in losses if not isinstance(loss, Concentrated)])
    if not approximate:
        return Pure(epsilon)
    return Approx(epsilon, meaningful(merge([loss.delta for loss in approximate])))


def meaningful(delta: Fraction) -> Fraction:
    """A total delta, refused from 1 on: there it would allow anything."""
    if delta >= 1:
        raise BadInput(
            f"The total delta is {float(delta):.6g}; it must be below 1.",
            why="with delta 1 every mechanism is private, so the total would promise nothing",
            tip="a smaller delta for each part, or fewer parts",
        )
    return delta


def sum_of_all(amounts: Sequence[Fraction]) -> Fraction:
    """The exact sum; zero for none."""
    return sum(amounts, Fraction(0))
