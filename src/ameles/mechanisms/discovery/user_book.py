"""The users of a stream of discovered keys, in memory: for programs that have no store.

A ``UserBook`` remembers of each user what the rule of ``user_records`` needs: the keys on which
records counted, how many did, and how many discovery slots are used.  It turns the records of a
step into the inputs of the run.  All of it is secret, as the run's state is.

Users are numbers, 0, 1, 2, ..., and memory grows with the largest; ``rows`` gives numbers to names.
Call ``bounded`` exactly once a step, also without records: a unit user-window forgets by the step.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from ameles.core.exceptions import BadInput
from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
from ameles.mechanisms.discovery.key_lists import LARGEST, KeyLists
from ameles.mechanisms.discovery.key_steps import KeyInputs
from ameles.mechanisms.discovery.user_records import Earlier, keep, summed
from ameles.noise.arrays import BoolArray, IntArray

MOST_USERS = 2**31 - 1
MANY = -1  # marks users who have several records in the step


class UserBook:
    """What the users of one run did so far.

    >>> recipe = KeyDiscovery(epsilon=1, delta="1e-6", horizon=10, records=2)
    >>> book = UserBook(recipe)
    >>> x = book.bounded(np.zeros(3, dtype=bool), book.rows(["ann", "ann", "bob"]), [0, 0, 2])
    >>> x.number.tolist(), x.selected.tolist(), x.amounts[:, 0].tolist()
    ([0, 2], [4, 4], [1, 1])
    """

    def __init__(self, recipe: KeyDiscovery) -> None:
        self._recipe = recipe
        self._names: dict[str, int] = {}
        self._steps = 0
        self._window = recipe.window_of(1)
        self._forget()

    def __repr__(self) -> str:
        return f"<book of users after {self._steps} steps>"

    def _forget(self) -> None:
        """Begins anew: nobody has done anything."""
        repeats = self._recipe.per_key > 1
        self._lists = KeyLists(longest=self._recipe.records, counting=repeats)
        self._used = np.zeros(0, dtype=np.min_scalar_type(len(self._recipe.slots)))
        self._totals = (
            np.zeros(0, dtype=np.min_scalar_type(self._recipe.records)) if repeats else None
        )
        self._last = np.zeros(0, dtype=np.int32)  # a scratch pad: a place for each user

    @property
    def nbytes(self) -> int:
        """The memory that the book takes, except for names."""
        totals = 0 if self._totals is None else self._totals.nbytes
        return self._lists.nbytes + self._used.nbytes + totals + self._last.nbytes

    def rows(self, names: Iterable[str]) -> IntArray:
        """Numbers of users, in the order in which their names were first seen."""
        numbers = self._names
        return np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), np.int64)

    def bounded(
        self,
        public: BoolArray,
        user: ArrayLike,
        number: ArrayLike,
        cell: ArrayLike | None = None,
        amount: ArrayLike | None = None,
    ) -> KeyInputs:
        """The inputs of this step from its records, which are in the order in which they came.

        ``public`` is the run's, before the step; a number beyond its end is not public.  A record
        has a user, the number of its key (``run.numbers``), and, unless they are 0 and 1, its cell
        and its amount, which is cut to the bound.
        """
        row, key = whole_numbers(user, "user"), whole_numbers(number, "number")
        where = whole_numbers(cell, "cell") if cell is not None else np.zeros_like(key)
        much = whole_numbers(amount, "amount") if amount is not None else np.ones_like(key)
        self._check(row, key, where, much)
        missing = int(key.max(initial=-1)) + 1 - public.size
        if missing > 0:
            public = np.append(public, np.zeros(missing, dtype=np.bool_))
        self._steps += 1
        if self._recipe.window_of(self._steps) != self._window:
            self._window = self._recipe.window_of(self._steps)
            self._forget()
        self._admit(row)
        counted, weight = self._take_in(public, row, key)
        much = np.clip(much[counted], -self._recipe.bound, self._recipe.bound)
        return summed(
            self._recipe, public.size, key[counted], where[counted], much, weight[counted]
        )

    def _check(self, row: IntArray, key: IntArray, where: IntArray, much: IntArray) -> None:
        if not row.size == key.size == where.size == much.size:
            raise BadInput(
                "Users, numbers, cells and amounts must have one entry for each record.",
                why="a record has one of each",
                tip="arrays of the same length",
            )
        if not row.size:
            return
        if row.min() < 0 or row.max() > MOST_USERS:
            raise BadInput(
                f"Users must be numbers from 0 to {MOST_USERS}.",
                why="the book has a row for each number up to the largest",
                tip="book.rows(names)",
            )
        if key.min() < 0 or key.max() > LARGEST:
            raise BadInput(
                f"Keys must be numbers from 0 to {LARGEST}.",
                why="they are those that the run gave, which counts from 0",
                tip="run.numbers(keys)",
            )
        if where.min() < 0 or where.max() >= self._recipe.cells:
            raise BadInput(
                f"Cells must be numbers from 0 to {self._recipe.cells - 1}.",
                why="the recipe publishes that many numbers for each key",
                tip="a recipe with more cells",
            )

    def _admit(self, row: IntArray) -> None:
        """Makes room for new users, with some to spare."""
        wanted = int(row.max()) + 1 if row.size else 0
        if wanted > self._lists.rows:
            room = min(max(wanted, self._lists.rows * 9 // 8), MOST_USERS + 1)
            self._lists.admit(room)
            for column in (self._used, self._totals, self._last):
                if column is not None:
                    column.resize(room, refcheck=False)

    def _take_in(
        self, public: BoolArray, row: IntArray, key: IntArray
    ) -> tuple[BoolArray, IntArray]:
        """Applies the rule to all records, and remembers what it kept."""
        recipe, lists = self._recipe, self._lists
        on_key, used = lists.counts(row, key), self._used[row].astype(np.int64)
        in_all = lists.sizes(row) if self._totals is None else self._totals[row].astype(np.int64)
        # Nearly all users have one record in a step: then the rule has nothing to rank.
        counted = (on_key < recipe.per_key) & (in_all < recipe.records)
        names = counted & (on_key == 0) & ~public[key]
        weights = np.array([*recipe.slots, 0], dtype=np.int64)
        weight = np.where(names, weights[used], 0)
        many = self._several(row)
        if many.size:
            before = Earlier(on_key[many], in_all[many], used[many])
            counted[many], weight[many] = keep(recipe, public, row[many], key[many], before)
        alone = counted.copy()
        alone[many] = False
        self._remember(row[alone], key[alone], on_key[alone])
        some = many[counted[many]]
        self._remember_several(row[some], key[some], on_key[some])
        np.add.at(self._used, row[weight > 0], 1)
        return counted, weight

    def _several(self, row: IntArray) -> IntArray:
        """The places of records whose users have several in this step, user by user."""
        place = np.arange(row.size, dtype=np.int32)
        self._last[row] = place
        beaten = row[self._last[row] != place]
        self._last[beaten] = MANY
        many = np.flatnonzero(self._last[row] == MANY)
        return many[np.argsort(row[many], kind="stable")]

    def _remember(self, row: IntArray, key: IntArray, on_key: IntArray) -> None:
        """Writes down counted records of users who all differ."""
        fresh = on_key == 0
        self._lists.add(row[fresh], key[fresh])
        if self._totals is not None:
            again = ~fresh
            self._lists.count_again(row[again], key[again], np.ones(int(again.sum()), np.int64))
            self._totals[row] += 1

    def _remember_several(self, row: IntArray, key: IntArray, on_key: IntArray) -> None:
        """Writes down counted records of users with several: a round for each new key of a user."""
        if not row.size:
            return
        pair, at, times = np.unique((row << 32) | key, return_index=True, return_counts=True)
        row_of, key_of, fresh = pair >> 32, pair & (2**32 - 1), on_key[at] == 0
        new_row, new_key = row_of[fresh], key_of[fresh]
        turn = np.arange(new_row.size) - np.searchsorted(new_row, new_row)
        for now in range(int(turn.max(initial=-1)) + 1):
            self._lists.add(new_row[turn == now], new_key[turn == now])
        if self._totals is not None:
            more = times - fresh
            again = more > 0
            self._lists.count_again(row_of[again], key_of[again], more[again])
            np.add.at(self._totals, row, 1)


def whole_numbers(given: ArrayLike, name: str) -> IntArray:
    """One whole number for each record."""
    array = np.asarray(given)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise BadInput(
            f"The '{name}' of records must be a list of whole numbers, one for each record.",
            why="the book and the run count in whole numbers",
            tip="a list of int, or an array of integers",
        )
    return array.astype(np.int64)
