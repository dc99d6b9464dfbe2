"""How many noises hide an event: counted by digits, and one step after the other."""

from __future__ import annotations

from collections import Counter

from ameles.mechanisms.pan_private.step_costs import most_noises, steps_by_cost


def cost(before: int, horizon: int) -> int:
    """The intervals before a step and the counter, or those from the step to the horizon."""
    depth = max(1, (horizon - 1).bit_length())
    after, at = 0, before
    while at < horizon:  # the largest interval that starts here; there is no root
        size = min(at & -at or 1 << depth, 1 << (depth - 1))
        after, at = after + 1, at + size
    return max(1 + before.bit_count(), after)


def test_steps_are_counted_as_if_one_by_one() -> None:
    for horizon in range(1, 140):
        costs = [cost(before, horizon) for before in range(horizon)]
        assert steps_by_cost(horizon) == Counter(costs)
        for contributions in (1, 2, 5, horizon, horizon + 1):
            most = sum(sorted(costs, reverse=True)[:contributions])
            assert most_noises(horizon, contributions) == most
