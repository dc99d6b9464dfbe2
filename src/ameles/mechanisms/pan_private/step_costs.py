"""How many noises hide an event of each step of a pan-private counter, in one tree of intervals.

Theorem      Let n steps be before the step s of an event.  If the event comes before the
             intrusion, the counter's noise moves by one, and of the intervals that have ended those
             that make up the first n steps, as many as n has binary ones, move back.  If it
             comes after the intrusion, intervals that start at s or later move by one, as many as
             make up the steps from s to the horizon: one that starts at s, and one for each 0
             of n above its lowest 1; none for those beyond the horizon, and one of the last
             may reach beyond it.  So a unit that changes several steps by one each moves at
             most as many noises as the costliest of so many steps need, together
Sharp        for one event exactly: it takes so many (checked by linear programs on the real code)

>>> [most_noises(steps, 1) for steps in (1, 2, 3, 4, 5, 8, 9, 1000, 1024)]
[1, 2, 2, 3, 3, 4, 4, 10, 11]
>>> [most_noises(1024, m) for m in (1, 2, 3, 20)]
[11, 21, 31, 193]
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from math import comb


@lru_cache(maxsize=1024)
def most_noises(horizon: int, contributions: int) -> int:
    """The most noises that changes by one of so many different steps need."""
    total, left = 0, contributions
    for cost, steps in sorted(steps_by_cost(horizon).items(), reverse=True):
        total += cost * min(left, steps)
        left -= min(left, steps)
    return total


def steps_by_cost(horizon: int) -> Counter[int]:
    """How many steps need each number of noises.

    The numbers n below the horizon, by their digits: that of the last step, and those which agree
    with it from the highest digit on up to a 1, in whose place they have a 0.

    >>> sorted(steps_by_cost(8).items())
    [(2, 3), (3, 4), (4, 1)]
    """
    last = horizon - 1
    steps = Counter([max(1 + last.bit_count(), 1)])
    for split in range(last.bit_length()):
        if last >> split & 1:
            above = (last >> split).bit_count() - 1
            # All digits below are 0: one interval starts there; if n is 0, the two halves do.
            steps[max(1 + above, 1 if above else 2)] += 1
            for lowest in range(split):
                free = split - 1 - lowest  # digits between the lowest 1 and the split
                for ones in range(free + 1):
                    # one interval starts there, one for each 0, and one to the horizon
                    cost = max(1 + above + 1 + ones, 1 + free - ones + 1)
                    steps[cost] += comb(free, ones)
    return steps
