"""The users of a run of key discovery, in memory: for programs that have no store.

A ``UserBook`` remembers of each user what the rule of ``user_records`` needs: the keys on which
records counted, how many did, and how many discovery slots are used.  It turns the records of a
step into the inputs of the run.  All of it is secret, as the run's state is.

A book belongs to one run, from its first step on.  It refuses another run, and steps that it has
not seen: with a new book, users could add to an old run what they have added before.  So take
snapshots of both, at the same step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import steps_in_words
from ameles.mechanisms.discovery.discovery_run import DiscoveryRun
from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
from ameles.mechanisms.discovery.key_lists import LARGEST, KeyLists
from ameles.mechanisms.discovery.key_names import KeyNames
from ameles.mechanisms.discovery.key_steps import KeyInputs
from ameles.mechanisms.discovery.provisional_numbers import ProvisionalNumbers
from ameles.mechanisms.discovery.user_records import Earlier, keep, summed
from ameles.mechanisms.discovery.word_arrays import narrowed, widened
from ameles.mechanisms.snapshot import State, pack, unpack
from ameles.noise.arrays import BoolArray, IntArray

Column: TypeAlias = Sequence[int] | NDArray[Any]

MOST_USERS = 2**31 - 1
MANY = -1  # marks users who have several records in the step


class UserBook:
    """What the users of one run did so far.

    >>> from ameles.noise import Zero
    >>> recipe = KeyDiscovery(epsilon=6, delta="1e-9", horizon=10, records=2)
    >>> run, book = recipe.start(Zero()), UserBook(recipe)
    >>> x = book.bounded(run, ["ann", "ann", "bob"], ["#cats", "#cats", "#dogs"])
    >>> x.selected.tolist(), x.amounts[:, 0].tolist()
    ([4, 4], [1, 1])
    >>> run.step(x).public.tolist()
    []
    """

    def __init__(self, recipe: KeyDiscovery) -> None:
        self._recipe = recipe
        self._run = b""  # the identity of the run, from the first step on
        self._names = KeyNames()
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

    def rows(self, names: Sequence[str]) -> IntArray:
        """Numbers of users, in the order in which their names were first seen."""
        self._names.check(names)
        return self._names.numbers(names)

    def bounded(
        self,
        run: DiscoveryRun,
        user: Column | Sequence[str],
        key: Column | Sequence[str],
        cell: Column | None = None,
        amount: Column | None = None,
    ) -> KeyInputs:
        """The inputs of the run's next step, from records in the order in which they came.

        Call it exactly once a step, also without records.  Users are names, or numbers from 0 on,
        and memory grows with the largest.  Keys are texts, or what ``run.numbers`` gave in this
        step.  Unless they are 0 and 1, a record also has a cell, and an amount, which is cut to the
        recipe's bound.
        """
        self._check_run(run)
        row = np.arange(len(user)) if _are_texts(user) else whole_numbers(user, "user")
        number = np.arange(len(key)) if _are_texts(key) else whole_numbers(key, "key")
        where = whole_numbers(cell, "cell") if cell is not None else np.zeros_like(row)
        much = whole_numbers(amount, "amount") if amount is not None else np.ones_like(row)
        self._check(row, number, where, much)
        if _are_texts(user):
            self._names.check(user)
        texts = ProvisionalNumbers.of(run, key) if _are_texts(key) else None
        row = self.rows(user) if _are_texts(user) else row
        number, public = (number, run.public) if texts is None else (texts.number, texts.public)
        if number.max(initial=-1) >= public.size:
            raise BadInput(
                "A number is not that of a key.",
                why="numbers of keys are those that the run gave",
                tip="run.numbers(keys), or the keys themselves",
            )
        self._run = bytes.fromhex(run.id)
        self._steps += 1
        if self._recipe.window_of(self._steps) != self._window:
            self._window = self._recipe.window_of(self._steps)
            self._forget()
        self._admit(row)
        many = self._several(row)
        counted, weight, on_key = self._ruled(public, row, number, many)
        if texts is not None:
            number = texts.settled(number[counted])[number]
        alone = counted.copy()
        alone[many] = False
        self._remember(row[alone], number[alone], on_key[alone])
        some = many[counted[many]]
        self._remember_several(row[some], number[some], on_key[some])
        np.add.at(self._used, row[weight > 0], 1)
        much = np.clip(much[counted], -self._recipe.bound, self._recipe.bound)
        return summed(
            self._recipe, public.size, number[counted], where[counted], much, weight[counted]
        )

    def snapshot(self) -> bytes:
        """All that the book knows: secret.  It goes with a snapshot of the run at the same step."""
        sizes, numbers, times = self._lists.flat()
        lengths, texts = self._names.parts()
        parts = (sizes, numbers, times, self._used.astype(np.int64), lengths)
        state = State(self._run.ljust(16, b"\0"), self._steps, (*map(narrowed, parts), texts))
        return pack(state, self._recipe.fingerprint)

    @classmethod
    def resume(cls, recipe: KeyDiscovery, snapshot: bytes) -> UserBook:
        """The book that this snapshot was taken of."""
        state = unpack(snapshot, recipe.fingerprint)
        book = cls(recipe)
        book._run, book._steps = state.run if state.step else b"", state.step
        book._window = recipe.window_of(max(1, state.step))
        *narrow, texts = state.parts
        sizes, numbers, times, used, lengths = map(widened, narrow)
        book._names = KeyNames.read(lengths, texts, np.empty(0, dtype=np.int64))
        if sizes.size:
            book._admit(np.array([sizes.size - 1]))
        book._lists.fill(sizes, numbers, times)
        book._used[: used.size] = used
        if book._totals is not None:
            np.add.at(book._totals, np.repeat(np.arange(sizes.size), sizes), times)
        return book

    def _check_run(self, run: DiscoveryRun) -> None:
        run.check_live()
        if run.started_from != self._recipe or self._run not in (b"", bytes.fromhex(run.id)):
            raise BadInput(
                "This book is that of another run.",
                why="what users may add to a run depends on what they have added to it",
                tip="one book for each run",
            )
        if run.t != self._steps:
            raise BadInput(
                f"The run has taken {steps_in_words(run.t)}, and this book has seen {self._steps}.",
                why="users whose earlier records are not in the book could add more than they may",
                tip="run.step(book.bounded(run, ...)) in every step; snapshots of both together",
            )

    def _check(self, row: IntArray, key: IntArray, where: IntArray, much: IntArray) -> None:
        if not row.size == key.size == where.size == much.size:
            raise BadInput(
                "Users, keys, cells and amounts must have one entry for each record.",
                why="a record has one of each",
                tip="arrays of the same length",
            )
        if not row.size:
            return
        if row.min() < 0 or row.max() > MOST_USERS:
            raise BadInput(
                f"Users must be names, or numbers from 0 to {MOST_USERS}.",
                why="the book has a row for each number up to the largest",
                tip="the names themselves",
            )
        if key.min() < 0 or key.max() > LARGEST:
            raise BadInput(
                f"Keys must be texts, or numbers from 0 to {LARGEST}.",
                why="numbers of keys are those that the run gave",
                tip="run.numbers(keys), or the keys themselves",
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

    def _ruled(
        self, public: BoolArray, row: IntArray, key: IntArray, many: IntArray
    ) -> tuple[BoolArray, IntArray, IntArray]:
        """Which records count, and the weights of their slots; and, for each record, how many of
        its user on its key counted before.  ``many`` are records of users with several."""
        recipe, lists = self._recipe, self._lists
        on_key, used = lists.counts(row, key), self._used[row].astype(np.int64)
        in_all = lists.sizes(row) if self._totals is None else self._totals[row].astype(np.int64)
        # Nearly all users have one record in a step: then the rule has nothing to rank.
        counted = (on_key < recipe.per_key) & (in_all < recipe.records)
        names = counted & (on_key == 0) & ~public[key]
        weights = np.array([*recipe.slots, 0], dtype=np.int64)
        weight = np.where(names, weights[used], 0)
        if many.size:
            before = Earlier(on_key[many], in_all[many], used[many])
            counted[many], weight[many] = keep(recipe, public, row[many], key[many], before)
        return counted, weight, on_key

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


def _are_texts(given: Column | Sequence[str]) -> TypeGuard[Sequence[str]]:
    return not isinstance(given, np.ndarray) and len(given) > 0 and isinstance(given[0], str)


def whole_numbers(given: Column | Sequence[str], name: str) -> IntArray:
    """One whole number for each record."""
    array = np.asarray(given)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise BadInput(
            f"The '{name}' of records must be a list of whole numbers, one for each record.",
            why="the book and the run count in whole numbers",
            tip="a list of int, or an array of integers",
        )
    return array.astype(np.int64)
