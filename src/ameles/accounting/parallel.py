"""Parallel composition: parts of the people cost the maximum, not the sum.

Theorem      if every unit is in one part, and a neighbouring input changes at most m parts,
             the loss of all parts together is at most that of the m most expensive ones;
             m = 1 gives the maximum (McSherry 2009, Thm 4; catalogue 44 and 50)
Neighbours   m depends on the relation:
             ADD_REMOVE, USER_PRESENCE      1: the unit that comes or goes is in one part
             REPLACE, USER_SUBSTITUTION     2: it leaves one part and enters another
             STEP                           steps * bound in L1, steps * bound² in L2
Rounding     none

STEP says which steps change and by how much, not whose events they are.  Inputs are
integers, so a change by ``bound`` in L1 can touch that many parts, each by 1 (in L2, its
square), and each contributed step may do so again.  One step by 1 is the maximum.

For REPLACE and USER_SUBSTITUTION each part must treat the rows of other parts as rows that
count nowhere, so that a row that leaves is a replaced row.  A part that promises its loss
only for a fixed number of its own rows does not qualify.

The parts must partition the protected *units*.  Parts of events are not parts of users: one
user can be in all of them.  So the caller says what the parts divide, and it must be the
unit of every guarantee.

>>> from ameles.core.loss import Pure
>>> from ameles.core.guarantee import EVENT, Contribution, Intrusions, Neighbours, Norm
>>> north, south = (
...     Guarantee(
...         loss=Pure(epsilon), unit=EVENT, neighbours=Neighbours.ADD_REMOVE,
...         contribution=Contribution(steps=1, bound=1, norm=Norm.L1),
...         horizon=1, intrusions=Intrusions.NONE,
...     )
...     for epsilon in (1, 2)
... )
>>> parallel([north, south], partition_of=EVENT).loss
Pure(epsilon=Fraction(2, 1))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from ameles.accounting.composition import merged, sum_of_all
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Contribution, Guarantee, Neighbours, Norm, Unit


def parallel(parts: Sequence[Guarantee], *, partition_of: Unit) -> Guarantee:
    """The guarantee of all parts together, if each ``partition_of`` unit is in one part only."""
    if not parts:
        raise BadInput("Parallel composition needs at least one part. Got none instead.")
    first = parts[0]
    for aspect in ("unit", "neighbours", "contribution", "horizon", "intrusions"):
        different = {str(getattr(part, aspect)) for part in parts}
        if len(different) > 1:
            raise BadInput(
                f"All parts must have the same {aspect}. "
                f"Got {' and '.join(sorted(different))} instead.",
                why="the maximum of different kinds of promises has no meaning",
                tip="compose the losses one after the other, or use one kind of promise",
            )
    if partition_of != first.unit:
        raise BadInput(
            f"The parts must partition the protected unit, {first.unit}. "
            f"Got a partition of {partition_of} instead.",
            why=f"the data of {first.unit} may then be in several parts, and their losses add up",
            tip="compose(part.loss for part in parts)",
        )
    touched = parts_touched(first.neighbours, first.contribution)

    def largest(amounts: Sequence[Fraction]) -> Fraction:
        return sum_of_all(sorted(amounts, reverse=True)[:touched])

    return replace(first, loss=merged([part.loss for part in parts], largest))


def parts_touched(neighbours: Neighbours, contribution: Contribution) -> int:
    """How many parts of a partition of units two neighbouring inputs can differ in.

    >>> from ameles.core.guarantee import Norm
    >>> one = Contribution(steps=1, bound=1, norm=Norm.L1)
    >>> parts_touched(Neighbours.ADD_REMOVE, one), parts_touched(Neighbours.REPLACE, one)
    (1, 2)
    """
    match neighbours:
        case Neighbours.ADD_REMOVE | Neighbours.USER_PRESENCE:
            return 1
        case Neighbours.REPLACE | Neighbours.USER_SUBSTITUTION:
            return 2
        case Neighbours.STEP:
            moved = contribution.bound
            squared = contribution.norm not in (Norm.L1, Norm.SQUARED)
            return contribution.steps * (moved * moved if squared else moved)
