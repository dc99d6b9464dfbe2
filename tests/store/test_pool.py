"""Idle connections: given out again, newest first, never after the end."""

from __future__ import annotations

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store.pool import Pool


def test_connections_are_used_again_unless_they_are_unfit() -> None:
    made, discarded = iter(range(9)), list[int]()
    pool = Pool("flu", connect=lambda: next(made), discard=discarded.append)
    assert [pool.take(), pool.take()] == [(0, False), (1, False)]
    pool.put_back(0)
    pool.put_back(1, fit=False)
    assert discarded == [1]
    assert [pool.take(), pool.take()] == [(0, True), (2, False)]
    pool.put_back(0)
    pool.close()
    pool.put_back(2)
    assert discarded == [1, 0, 2]
    with pytest.raises(StoreRefused, match="was closed"):
        pool.take()


def test_only_a_connection_that_suits_is_used_again() -> None:
    made = iter(range(9))
    pool = Pool("flu", connect=lambda: next(made), discard=lambda _: None)
    taken = [pool.take()[0] for _ in range(3)]
    for one in taken:
        pool.put_back(one)
    assert pool.take(lambda one: one < 2) == (1, True)
    assert pool.take(lambda one: one > 2) == (3, False)
    assert [pool.take(), pool.take()] == [(2, True), (0, True)]
