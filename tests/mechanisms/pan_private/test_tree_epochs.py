"""Where the trees of a stream begin and end."""

from __future__ import annotations

import pytest

from ameles.mechanisms.pan_private.tree_epochs import NEVER, TreeEpochs, levels_of


@pytest.mark.parametrize("arity", [2, 3, 16])
def test_trees_follow_one_another_without_gap(arity: int) -> None:
    epochs = TreeEpochs(arity, 4, None)
    assert epochs.start(1) == 0
    for depth in (1, 2, 3):
        assert epochs.end(depth) == epochs.start(depth + 1) == arity**depth
        assert epochs.depth(epochs.end(depth)) == depth
        assert epochs.depth(epochs.end(depth) + 1) == depth + 1


def test_the_deepest_tree_never_ends() -> None:
    epochs = TreeEpochs(2, 3, None)
    assert epochs.end(3) == NEVER
    assert epochs.depth(10**9) == 3
    assert epochs.arities(3) == (2, 2)


def test_with_a_horizon_there_is_one_tree() -> None:
    epochs = TreeEpochs(3, 4, 50)
    assert {epochs.depth(t) for t in range(1, 51)} == {4}
    assert (epochs.start(4), epochs.end(4)) == (0, 50)


@pytest.mark.parametrize(
    ("horizon", "k", "levels"), [(1, 2, 1), (2, 2, 1), (4, 2, 2), (5, 2, 3), (2**16, 16, 4)]
)
def test_levels(horizon: int, k: int, levels: int) -> None:
    assert levels_of(horizon, k) == levels
