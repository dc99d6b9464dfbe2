"""What is remembered of users: the slots that each has used, and the keys that each has added to.

Each user's state is a short piece of bytes, so that a store can keep one row a user.

>>> states = UserStates.empty(2).added(
...     np.array([0, 0]), np.array([7, 9]), np.array([-1, -1]), np.array([True, False]))
>>> pieces = states.to_bytes()
>>> [len(piece) for piece in pieces]
[12, 4]
>>> again = UserStates.from_bytes(pieces)
>>> again.slots.tolist(), again.number.tolist(), again.in_all.tolist()
([1, 0], [7, 9], [2, 0])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ameles.core.exceptions import StoreRefused
from ameles.noise.arrays import BoolArray, IntArray

# The first word of a user: the slots used, whether counts follow, and the version of this form.
SLOTS = 0xFFFF
COUNTED = 1 << 16
VERSION = 1 << 24


@dataclass(frozen=True, eq=False)
class UserStates:
    """Users 0..n-1, and their keys: ordered by user, then by number."""

    slots: IntArray  # (n,): used so far
    user: IntArray  # (pairs,)
    number: IntArray  # (pairs,)
    count: IntArray  # (pairs,): counted records

    def __repr__(self) -> str:
        return "<states of users>"

    @classmethod
    def empty(cls, users: int) -> UserStates:
        """Users of whom nothing is known."""
        none = np.empty(0, dtype=np.int64)
        return cls(np.zeros(users, dtype=np.int64), none, none, none)

    @cached_property
    def in_all(self) -> IntArray:
        """The counted records of each user."""
        totals = np.zeros(self.slots.size, dtype=np.int64)
        np.add.at(totals, self.user, self.count)
        return totals

    def find(self, user: IntArray, number: IntArray) -> tuple[IntArray, IntArray]:
        """For pairs of users and keys their places here, -1 for none, and their counts."""
        if not self.user.size:
            return np.full(user.size, -1), np.zeros(user.size, dtype=np.int64)
        pairs = _pairs(self.user, self.number)
        wanted = _pairs(user, number)
        place = np.minimum(np.searchsorted(pairs, wanted), pairs.size - 1)
        there = pairs[place] == wanted
        return np.where(there, place, -1), np.where(there, self.count[place], 0)

    def added(
        self, user: IntArray, number: IntArray, place: IntArray, slotted: BoolArray
    ) -> UserStates:
        """The states after more counted records; ``place`` is what ``find`` said of each."""
        slots, count = self.slots.copy(), self.count.copy()
        np.add.at(slots, user[slotted], 1)
        known = place >= 0
        np.add.at(count, place[known], 1)
        new, more = np.unique(_pairs(user[~known], number[~known]), return_counts=True)
        pairs = np.concatenate([_pairs(self.user, self.number), new])
        order = np.argsort(pairs, kind="stable")
        pairs = pairs[order]
        count = np.concatenate([count, more])[order]
        return UserStates(slots, pairs >> 32, pairs & 0xFFFFFFFF, count)

    def check_known(self, keys: int) -> None:
        """Refuses states with numbers that the run, which has numbered so many keys, never gave."""
        if self.number.max(initial=-1) >= keys:
            raise _damaged()

    def renumbered(self, number: IntArray) -> UserStates:
        """The same with other numbers of keys, in the same order: ``number[n]`` instead of n."""
        return replace(self, number=number[self.number])

    def to_bytes(self) -> list[bytes]:
        """The state of each user."""
        keys = np.bincount(self.user, minlength=self.slots.size)
        several = np.zeros(self.slots.size, dtype=np.bool_)
        several[self.user[self.count > 1]] = True
        length = 1 + keys * (1 + several)
        start = np.cumsum(length) - length
        words = np.zeros(int(length.sum()), dtype="<u4")
        words[start] = self.slots + COUNTED * several + VERSION
        rank = np.arange(self.user.size) - (np.cumsum(keys) - keys)[self.user]
        place = start[self.user] + 1 + rank
        words[place] = self.number
        counted = several[self.user]
        words[(place + keys[self.user])[counted]] = self.count[counted]
        whole, bounds = words.tobytes(), (4 * np.append(start, words.size)).tolist()
        return [whole[low:high] for low, high in pairwise(bounds)]

    @classmethod
    def from_bytes(cls, pieces: Sequence[bytes | None]) -> UserStates:
        """The states that ``to_bytes`` gave, in any order of users; None: nothing is known."""
        given = [bytes(piece) if piece else VERSION.to_bytes(4, "little") for piece in pieces]
        length = np.array([len(piece) for piece in given], dtype=np.int64)
        if (length % 4).any():
            raise _damaged()
        length //= 4
        words = np.frombuffer(b"".join(given), dtype="<u4").astype(np.int64)
        start = np.cumsum(length) - length
        head = words[start]
        several = (head & COUNTED) != 0
        if (head >> 24 != VERSION >> 24).any() or ((length - 1)[several] % 2).any():
            raise _damaged()
        keys = (length - 1) // (1 + several)
        user = np.repeat(np.arange(length.size), keys)
        rank = np.arange(user.size) - (np.cumsum(keys) - keys)[user]
        place = start[user] + 1 + rank
        count = np.ones(user.size, dtype=np.int64)
        counted = several[user]
        count[counted] = words[(place + keys[user])[counted]]
        return cls(head & SLOTS, user, words[place], count)


def _pairs(user: IntArray, number: IntArray) -> IntArray:
    """Both in one word: numbers are below 2^32, users below 2^31."""
    pairs: IntArray = (user << 32) | number
    return pairs


def _damaged() -> StoreRefused:
    return StoreRefused(
        "The store's records of a user's keys cannot be read.",
        why="they are damaged, or a newer program wrote them",
        tip="update ameles, or restore a backup",
    )
