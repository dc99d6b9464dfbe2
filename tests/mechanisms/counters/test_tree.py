"""Figure 12.1: levels with and without the root, and its last step."""

from __future__ import annotations

import pytest

from ameles.mechanisms.counters.tree import TreeCounter


@pytest.mark.parametrize(
    ("horizon", "levels"), [(1, 1), (2, 1), (4, 2), (8, 3), (9, 4), (1024, 10)]
)
def test_levels_without_and_with_the_root(horizon: int, levels: int) -> None:
    assert TreeCounter(epsilon=1, horizon=horizon).levels == levels
    rooted = TreeCounter(epsilon=1, horizon=horizon, root=True).levels
    assert rooted == levels + (horizon > 1)


def test_the_last_count_needs_both_halves_without_the_root() -> None:
    assert TreeCounter(epsilon=1, horizon=8).error.terms(8) == 2
    assert TreeCounter(epsilon=1, horizon=8, root=True).error.terms(8) == 1


@pytest.mark.parametrize("t", range(1, 8))
def test_other_counts_need_popcount_intervals(t: int) -> None:
    assert TreeCounter(epsilon=1, horizon=8).error.terms(t) == t.bit_count()
