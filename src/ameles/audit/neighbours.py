"""From the change of one step to all that one unit may do: several steps, in both directions.

A unit may change up to m steps by at most B each.  The price of a shift is a norm (for rho:
the square of one) and B changes by one add up to a change by B, so everything is B times (B^2
times) what changes by one cost.  For changes by one, sums of the shifts of single
steps hide every combination.  If there are too many combinations to try, the sum of the m most
expensive shifts bounds them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product

from ameles.audit.algebra import product as whole_product
from ameles.audit.algebra import whole_array
from ameles.audit.finding import Amount
from ameles.audit.hiding import Hiding
from ameles.audit.shift import ConcentratedPrice, Hidden

# How many combinations are tried one by one, and how many of them are solved anew.
MOST_TRIED = 5_000
MOST_SOLVED = 200


@dataclass(frozen=True)
class Worst:
    """The worst of all neighbours of one view."""

    lower: Amount
    upper: Amount
    changes: tuple[int, ...]  # of every step
    how: str
    singles: tuple[Hidden, ...]


def worst_neighbours(
    hiding: Hiding,
    *,
    contributions: int,
    bound: int,
    tick: Callable[[], None] = lambda: None,
) -> Worst:
    """Bounds on the loss over all neighbours, and the pair that is worst."""
    singles = []
    for single in hiding.singles():
        singles.append(single)
        tick()
    # the largest bound, of those the largest loss that is proved, of those the earliest
    place = max(range(len(singles)), key=lambda s: (singles[s].upper, singles[s].lower, -s))
    worst = Worst(
        lower=max(one.lower for one in singles),
        upper=singles[place].upper,
        changes=_at(hiding.steps, {place: 1}),
        how=singles[place].how,
        singles=tuple(singles),
    )
    most = min(contributions, hiding.steps)
    if most > 1 and worst.upper < math.inf:
        worst = _several(hiding, worst, most)
    if worst.lower < worst.upper < math.inf:
        again = hiding.change(worst.changes, sharp=True)
        worst = replace(worst, lower=max(worst.lower, again.lower))
    factor = hiding.price.times(bound)
    return replace(
        worst,
        lower=worst.lower * factor,
        upper=worst.upper * factor,
        changes=tuple(change * bound for change in worst.changes),
    )


def _at(steps: int, changes: dict[int, int]) -> tuple[int, ...]:
    return tuple(changes.get(step, 0) for step in range(steps))


def _several(hiding: Hiding, single: Worst, most: int) -> Worst:
    shifts = _Shifts(hiding, single.singles)
    count = sum(math.comb(hiding.steps, k) << k - 1 for k in range(1, most + 1))
    if count <= MOST_TRIED:
        return _all(hiding, single, most, shifts)
    upper = shifts.most(most)
    lower, changes = single.lower, single.changes
    for candidate in _likely(shifts, most):
        worst = hiding.change(candidate)
        if worst.lower > lower:
            lower, changes = worst.lower, candidate
    how = f"{single.how}; the sum of the {most} most expensive steps bounds all neighbours"
    return replace(single, lower=lower, upper=upper, changes=changes, how=how)


def _all(hiding: Hiding, single: Worst, most: int, shifts: _Shifts) -> Worst:
    """Every combination: by the sum of its shifts, and solved anew while that can matter."""
    tried = [a for k in range(1, most + 1) for a in _combinations(shifts.steps, k)]
    costs = dict(zip(tried, shifts.each_cost(tried), strict=True))
    order = sorted(costs, key=costs.__getitem__, reverse=True)
    lower, changes, how = single.lower, single.changes, single.how
    dearest = Fraction(0)  # among those that were solved
    dearest_changes = order[0]
    for number, candidate in enumerate(order):
        if costs[candidate] <= max(lower, dearest) or number == MOST_SOLVED:
            # no later one is more expensive than this one
            if costs[candidate] > dearest:
                dearest, dearest_changes = costs[candidate], candidate
            break
        worst = hiding.change(candidate)
        cost = min(costs[candidate], worst.upper)
        if cost > dearest:
            dearest, dearest_changes = Fraction(cost), candidate
        if worst.lower > lower:
            lower, changes, how = worst.lower, candidate, worst.how
    changes = changes if lower >= dearest else dearest_changes
    return replace(single, lower=lower, upper=dearest, changes=changes, how=how)


def _combinations(steps: int, count: int) -> Iterator[tuple[int, ...]]:
    """All changes of this many steps by 1 or -1, up to the sign of the whole."""
    for places in combinations(range(steps), count):
        for signs in product((1, -1), repeat=count - 1):
            yield _at(steps, dict(zip(places, (1, *signs), strict=True)))


class _Shifts:
    """The shifts of single steps, and the price of their sums."""

    def __init__(self, hiding: Hiding, singles: tuple[Hidden, ...]) -> None:
        self._hiding = hiding
        self._shifts = [one.shift or () for one in singles]
        self.costs = [Fraction(one.upper) for one in singles]
        self.steps = len(singles)

    def each_cost(self, changes: Sequence[tuple[int, ...]]) -> list[Fraction]:
        """The price of the sum of shifts for each of these changes."""
        sums = whole_product(whole_array(changes), whole_array(self._shifts))
        return self._hiding.price.each_cost(sums, self._hiding.rates)

    def most(self, count: int) -> Fraction:
        """An upper bound for sums of ``count`` shifts."""
        if not isinstance(self._hiding.price, ConcentratedPrice):
            return sum(sorted(self.costs)[-count:], Fraction(0))
        # (a, a) is the sum of all <e_s, e_t>, each at most |<e_s, e_t>|
        products = [[abs(self._inner(s, t)) for t in range(self.steps)] for s in range(self.steps)]
        rows = (sum(sorted(row)[-count:], Fraction(0)) for row in products)
        return sum(sorted(rows)[-count:], Fraction(0))

    def _inner(self, s: int, t: int) -> Fraction:
        pairs = zip(self._shifts[s], self._shifts[t], self._hiding.rates, strict=True)
        return sum((a * b * rate for a, b, rate in pairs if a and b), Fraction(0))


def _likely(shifts: _Shifts, count: int) -> list[tuple[int, ...]]:
    """Changes that are likely to be worst: the most expensive, the first and the last steps."""
    steps = shifts.steps
    dearest = sorted(range(steps), key=lambda s: (-shifts.costs[s], s))[:count]
    choices = [dearest, list(range(count)), list(range(steps - count, steps))]
    return list(dict.fromkeys(_at(steps, dict.fromkeys(places, 1)) for places in choices))
