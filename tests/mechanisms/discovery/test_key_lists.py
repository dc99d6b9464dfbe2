"""Lists of keys hold what was put into them, through every move from shelf to shelf."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from ameles.mechanisms.discovery.key_lists import LARGEST, KeyLists
from ameles.noise import System


def test_lists_hold_what_was_added_to_them() -> None:
    rows, longest = 50, 20
    lists = KeyLists(longest=longest, counting=True)
    lists.admit(rows)
    truth: defaultdict[int, Counter[int]] = defaultdict(Counter)
    noise = System()
    for _ in range(60):
        some = np.flatnonzero(noise.uniform(2, rows))
        number = noise.uniform(100, some.size)
        found = lists.counts(some, number)
        assert found.tolist() == [
            truth[r][k] for r, k in zip(some.tolist(), number.tolist(), strict=True)
        ]
        fresh = (found == 0) & (lists.sizes(some) < longest)
        lists.add(some[fresh], number[fresh])
        again = found > 0
        lists.count_again(some[again], number[again], np.full(again.sum(), 3))
        for row, key in zip(some[fresh].tolist(), number[fresh].tolist(), strict=True):
            truth[row][key] += 1
        for row, key in zip(some[again].tolist(), number[again].tolist(), strict=True):
            truth[row][key] += 3
    assert lists.sizes(np.arange(rows)).tolist() == [len(+truth[row]) for row in range(rows)]
    everything = np.arange(100)
    for row in range(rows):
        found = lists.counts(np.full(100, row), everything)
        assert found.tolist() == [truth[row][key] for key in range(100)]


def test_lists_without_counts_say_whether_a_key_is_there() -> None:
    lists = KeyLists(longest=32)
    lists.admit(2)
    both = np.array([0, 1])
    for key in (*range(31), LARGEST):
        assert lists.counts(both, np.array([key, key])).tolist() == [0, 0]
        lists.add(both[:1], np.array([key]))
        assert lists.counts(both, np.array([key, key])).tolist() == [1, 0]
    assert lists.sizes(both).tolist() == [32, 0]


def test_places_that_lists_leave_are_used_again() -> None:
    lists = KeyLists(longest=4)
    lists.admit(5000)
    for first in range(0, 5000, 1000):
        row = np.arange(first, first + 1000)
        for key in (1, 2, 3):
            lists.add(row, np.full(1000, key))
    everybody = np.arange(5000)
    assert lists.sizes(everybody).tolist() == [3] * 5000
    assert lists.counts(everybody, np.full(5000, 2)).all()
    # 5000 lists of four keys of four bytes, a shelf of 1024 small ones, and 5 bytes for each user
    assert lists.nbytes <= 5000 * 9 // 8 * 16 + 1024 * 9 // 8 * 8 + 5000 * 5
