"""From the change of one step to all that one unit may do: several steps and keys, both directions.

A unit may change up to m steps by at most B each.  The price of a shift is a norm (for rho:
the square of one) and B changes by one add up to a change by B, so everything is B times (B^2
times) what changes by one cost.  For changes by one, sums of the shifts of single
steps hide every combination.  If there are too many combinations to try, the sum of the m most
expensive shifts bounds them all.

Keys         The keys of a vector have draws of their own, so their losses add up.  How far one unit
             moves the vector of a step depends on the claim's norm: see ``reach_of``
Several      Changes of one key may cancel a part of each other's price; changes of different keys
             never do.  So unless every key may change by B, or one key is proved to be worst, the
             sum of the m most expensive steps is the bound for a vector
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
from ameles.core.guarantee import Contribution, Norm

# How many combinations are tried one by one, and how many of them are solved anew.
MOST_TRIED = 5_000
MOST_SOLVED = 200
# Binary digits of a root that is rounded up.
FINE = 64


@dataclass(frozen=True)
class Worst:
    """The worst of all neighbours of one view."""

    lower: Amount
    upper: Amount
    changes: tuple[int, ...]  # of every step
    how: str
    singles: tuple[Hidden, ...]


@dataclass(frozen=True)
class Reach:
    """How many times what a change by one costs, the largest change of one step costs.

    A change of a vector costs its L1 norm for epsilon, and its squared L2 norm for rho.  Changes
    are whole, but an L2 bound is priced for real vectors from above: it is the length on a grid,
    and the claim is to hold on every grid.
    """

    lower: Fraction
    upper: Amount
    one: Fraction  # the most that one key alone may change costs
    how: str = ""


def reach_of(contribution: Contribution, keys: int, *, concentrated: bool) -> Reach:
    """What the norm of a claim lets one unit do to a vector of this many keys, in one step.

    >>> claim = Contribution(steps=1, bound=5, norm=Norm.L2)
    >>> reach = reach_of(claim, 3, concentrated=False)
    >>> int(reach.lower), float(reach.upper) < 8.6603  # (3, 3, 2) for whole numbers
    (8, True)
    """
    bound, norm = contribution.bound, contribution.norm
    squared = bound if norm is Norm.SQUARED else bound**2  # of L2, where that is what is bounded
    single = math.isqrt(squared)
    one = Fraction(single**2 if concentrated else single)
    if norm is Norm.DECLARED:
        how = "a bound in units of declared sensitivities says nothing about the numbers themselves"
        return Reach(Fraction(1), math.inf, one, how)
    if norm is Norm.L1 or keys == 1 or (concentrated and norm is Norm.L2):
        return Reach(one, one, one)
    if norm is Norm.MAX:
        return Reach(one * keys, one * keys, one, f"all {keys} keys at once")
    if concentrated:
        return Reach(one, Fraction(squared), one)
    most = _whole_sum(squared, keys)
    upper = Fraction(_root_up((squared * keys) << 2 * FINE), 1 << FINE)
    return Reach(Fraction(most), upper, one, f"all {keys} keys at once")


def _whole_sum(squared: int, keys: int) -> int:
    """The largest sum of so many whole numbers whose squares sum to at most this."""
    low, high = math.isqrt(squared), math.isqrt(squared * keys)
    while low < high:
        middle = (low + high + 1) // 2
        each, rest = divmod(middle, keys)  # the least squares of a sum are those of equal numbers
        if (keys - rest) * each**2 + rest * (each + 1) ** 2 <= squared:
            low = middle
        else:
            high = middle - 1
    return low


def _root_up(square: int) -> int:
    root = math.isqrt(square)
    return root + (root * root < square)


def worst_neighbours(
    hiding: Hiding,
    *,
    contribution: Contribution,
    contributions: int,
    keys: int = 1,
    tick: Callable[[], None] = lambda: None,
) -> Worst:
    """Bounds on the loss over all neighbours of a vector of ``keys``, and the pair that is worst.

    ``hiding`` knows one key; ``contributions`` is how many of its inputs a unit may change.
    """
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
    concentrated = isinstance(hiding.price, ConcentratedPrice)
    reach = reach_of(contribution, keys, concentrated=concentrated)
    norm = contribution.norm
    same_key = keys == 1 or norm is Norm.MAX or (concentrated and norm is Norm.L1)
    lower, how = worst.lower * reach.lower, reach.how
    if not same_key and most > 1 and worst.upper < math.inf:
        worst = replace(worst, upper=_Shifts(hiding, worst.singles).most(most))
        if not concentrated:
            dearest = sorted(range(len(singles)), key=lambda s: (-singles[s].lower, s))
            spread = dearest[: min(most, keys)]
            total = sum((singles[s].lower for s in spread), Fraction(0)) * reach.one
            if total > lower:
                lower, how = total, "every step in another key"
                worst = replace(worst, changes=_at(hiding.steps, dict.fromkeys(spread, 1)))
    by = math.isqrt(contribution.bound) if norm is Norm.SQUARED else contribution.bound
    return replace(
        worst,
        lower=lower,
        upper=worst.upper * reach.upper if worst.upper else worst.upper,
        changes=tuple(change * by for change in worst.changes),
        how=f"{worst.how}; {how}" if how else worst.how,
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
