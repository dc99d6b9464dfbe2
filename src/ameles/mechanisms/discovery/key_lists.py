"""Short lists of keys, one for each of many users, as small as their contents.

A list lies on a shelf with lists of the same capacity: 2, 4, 8, ... keys.  When it is full, it
moves to the next shelf, and its place is given to another list.  So ten million users with sixty
million keys take about 450 MB, and a look into a list is one read of memory.

>>> lists = KeyLists(longest=32)
>>> lists.admit(3)
>>> lists.add(np.array([0, 2]), np.array([7, 7]))
>>> lists.counts(np.array([0, 1, 2]), np.array([7, 7, 8])).tolist()
[1, 0, 0]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ameles.noise.arrays import BoolArray, IntArray

EMPTY = 0  # keys are stored one higher
LARGEST = 2**32 - 2
SMALLEST_LIST = 2


class Shelf:
    """Lists of one capacity, side by side in one array that grows in place."""

    def __init__(self, capacity: int, *, counting: bool) -> None:
        self.capacity = capacity
        self.keys = np.zeros((0, capacity), dtype=np.uint32)
        self.times = np.zeros((0, capacity), dtype=np.uint32) if counting else None
        self._fresh = 0  # from here on, no place was ever taken
        self._free = np.zeros(0, dtype=np.uint32)  # places that were given back: a stack
        self._free_count = 0

    def take(self, count: int) -> NDArray[np.uint32]:
        """Places of so many new lists, all of them empty."""
        again = min(count, self._free_count)
        self._free_count -= again
        start, self._fresh = self._fresh, self._fresh + count - again
        if self._fresh > len(self.keys):
            room = (max(1024, self._fresh * 9 // 8), self.capacity)
            self.keys.resize(room, refcheck=False)  # in place where the system can; filled with 0
            if self.times is not None:
                self.times.resize(room, refcheck=False)
        places = np.empty(count, dtype=np.uint32)
        places[:again] = self._free[self._free_count : self._free_count + again]
        places[again:] = np.arange(start, self._fresh, dtype=np.uint32)
        return places

    def give_back(self, places: NDArray[np.uint32]) -> None:
        """Empties these places, for other lists."""
        self.keys[places] = EMPTY
        if self.times is not None:
            self.times[places] = 0
        end = self._free_count + places.size
        if end > self._free.size:
            self._free.resize(end * 9 // 8, refcheck=False)
        self._free[self._free_count : end] = places
        self._free_count = end

    def hits(self, places: NDArray[np.uint32], stored: NDArray[np.uint32]) -> BoolArray:
        """Where in each list its key is: (lists, capacity)."""
        found: BoolArray = self.keys.take(places, axis=0) == stored[:, None]
        return found


class KeyLists:
    """A list of keys for each user, with how often each key counted, if that can be more than once.

    Users are rows, 0, 1, 2, ...; keys are numbers from 0.
    """

    def __init__(self, *, longest: int, counting: bool = False) -> None:
        sizes = [SMALLEST_LIST]
        while sizes[-1] < longest:
            sizes.append(2 * sizes[-1])
        self._shelves = [Shelf(capacity, counting=counting) for capacity in sizes]
        # the shelf of a list of n keys; one past the last for an empty list
        self._shelf_of = np.searchsorted(sizes, np.arange(sizes[-1] + 1)).astype(np.uint8)
        self._shelf_of[0] = len(sizes)
        self._sizes = np.zeros(0, dtype=np.min_scalar_type(sizes[-1]))
        self._places = np.zeros(0, dtype=np.uint32)

    @property
    def rows(self) -> int:
        """How many users have a list."""
        return self._sizes.size

    @property
    def nbytes(self) -> int:
        """The memory that the lists take."""
        shelves = sum(
            shelf.keys.nbytes + (0 if shelf.times is None else shelf.times.nbytes)
            for shelf in self._shelves
        )
        return shelves + self._sizes.nbytes + self._places.nbytes

    def admit(self, rows: int) -> None:
        """Makes room for users 0, ..., rows - 1."""
        if rows > self._sizes.size:
            self._sizes.resize(rows, refcheck=False)
            self._places.resize(rows, refcheck=False)

    def sizes(self, row: IntArray) -> IntArray:
        """How many keys each of these users has."""
        return self._sizes[row].astype(np.int64)

    def counts(self, row: IntArray, number: IntArray) -> IntArray:
        """How often each key counted for its user: 0 if it is not in the list."""
        found = np.zeros(row.size, dtype=np.int64)
        stored = stored_as(number)
        shelf_of = self._shelf_of[self._sizes[row]]
        for index, shelf in enumerate(self._shelves):
            here = np.flatnonzero(shelf_of == index)
            if here.size:
                places = self._places[row[here]]
                hits = shelf.hits(places, stored[here])
                if shelf.times is None:
                    found[here] = any_of(hits)
                else:
                    found[here] = (shelf.times.take(places, axis=0) * hits).sum(axis=1)
        return found

    def add(self, row: IntArray, number: IntArray) -> None:
        """Adds one key to the list of each of these users, who are all different."""
        size = self._sizes[row]
        old, new = self._shelf_of[size], self._shelf_of[size + 1]
        stored = stored_as(number)
        for index, shelf in enumerate(self._shelves):
            here = np.flatnonzero(new == index)
            if not here.size:
                continue
            moving = row[here[old[here] != index]]
            if moving.size:
                self._move(moving, index)
            at = self._places[row[here]].astype(np.int64) * shelf.capacity + size[here]
            shelf.keys.reshape(-1)[at] = stored[here]
            if shelf.times is not None:
                shelf.times.reshape(-1)[at] = 1
        self._sizes[row] = size + 1

    def count_again(self, row: IntArray, number: IntArray, times: IntArray) -> None:
        """Adds to how often these keys counted; they are in the lists, and the pairs differ."""
        stored = stored_as(number)
        shelf_of = self._shelf_of[self._sizes[row]]
        for index, shelf in enumerate(self._shelves):
            here = np.flatnonzero(shelf_of == index)
            if here.size and shelf.times is not None:
                places = self._places[row[here]]
                at = shelf.hits(places, stored[here]).argmax(axis=1)
                shelf.times[places, at] += times[here].astype(np.uint32)

    def flat(self) -> tuple[IntArray, IntArray, IntArray]:
        """The size of each list, and all keys with how often they counted, user by user."""
        sizes = self._sizes.astype(np.int64)
        ends = np.cumsum(sizes)
        numbers, times = (np.ones(int(sizes.sum()), dtype=np.int64) for _ in range(2))
        for index, shelf in enumerate(self._shelves):
            row = np.flatnonzero(self._shelf_of[self._sizes] == index)
            for place in range(shelf.capacity):
                here = row[sizes[row] > place]
                at, slot = ends[here] - sizes[here] + place, self._places[here]
                numbers[at] = shelf.keys[slot, place].astype(np.int64) - 1
                if shelf.times is not None:
                    times[at] = shelf.times[slot, place]
        return sizes, numbers, times

    def fill(self, sizes: IntArray, numbers: IntArray, times: IntArray) -> None:
        """Takes over what ``flat`` gave, into empty lists."""
        self.admit(sizes.size)
        starts = np.cumsum(sizes) - sizes
        for place in range(int(sizes.max(initial=0))):
            row = np.flatnonzero(sizes > place)
            at = starts[row] + place
            self.add(row, numbers[at])
            again = times[at] > 1
            self.count_again(row[again], numbers[at][again], times[at][again] - 1)

    def _move(self, row: IntArray, index: int) -> None:
        """Takes the lists of these users to this shelf, from the one before it."""
        shelf = self._shelves[index]
        places = shelf.take(row.size)
        if index:
            smaller, left = self._shelves[index - 1], self._places[row]
            shelf.keys[places, : smaller.capacity] = smaller.keys.take(left, axis=0)
            if shelf.times is not None and smaller.times is not None:
                shelf.times[places, : smaller.capacity] = smaller.times.take(left, axis=0)
            smaller.give_back(left)
        self._places[row] = places


def stored_as(number: IntArray) -> NDArray[np.uint32]:
    """Keys as they are stored: one higher, because 0 is an empty place."""
    return (number + 1).astype(np.uint32)


def any_of(hits: BoolArray) -> BoolArray:
    """Whether each row has a hit.  Eight or fewer booleans are looked at as one number."""
    words = hits.view({2: np.uint16, 4: np.uint32}.get(hits.shape[1], np.uint64))
    found: BoolArray = words[:, 0] != 0
    for column in range(1, words.shape[1]):
        found |= words[:, column] != 0
    return found
