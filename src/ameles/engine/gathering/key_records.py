"""Records: the single bounded events of a release whose keys are discovered.

Which of a user's records count depends on those of earlier steps and on the keys that are public by
then, so they are not added up here.  A record is a keyed hash of the user, the event's place in the
user's order, its key, its declared cell and its amounts.  Records are secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.engine.gathering.event_sql import KEY_BYTES
from ameles.engine.gathering.packed_arrays import Arrays
from ameles.noise.arrays import IntArray

FAR = 1 << 62  # no step is as late
Rows: TypeAlias = slice | NDArray[np.bool_]


@dataclass(frozen=True)
class KeyRecords:
    """Records of one release; ``word`` is the number of a record's key in ``words``."""

    step: IntArray
    user: NDArray[np.uint8]  # (records, KEY_BYTES)
    place: NDArray[np.uint64]
    word: IntArray
    cell: IntArray
    amounts: IntArray  # (records, amounts)
    words: NDArray[Any]  # texts; a text may be there more than once
    ordered: bool = field(default=False, kw_only=True)  # as by ``in_order``

    def __repr__(self) -> str:
        return "<KeyRecords>"

    def __len__(self) -> int:
        return len(self.step)

    @classmethod
    def none(cls, amounts: int) -> KeyRecords:
        """No records."""
        return cls(
            step=np.empty(0, dtype=np.int64),
            user=np.empty((0, KEY_BYTES), dtype=np.uint8),
            place=np.empty(0, dtype=np.uint64),
            word=np.empty(0, dtype=np.int64),
            cell=np.empty(0, dtype=np.int64),
            amounts=np.empty((0, amounts), dtype=np.int64),
            words=np.empty(0, dtype=object),
        )

    @classmethod
    def joined(cls, parts: Iterable[KeyRecords], amounts: int) -> KeyRecords:
        """The records of several parts."""
        some = [part for part in parts if len(part)]
        if len(some) < 2:
            return some[0] if some else cls.none(amounts)
        before = accumulate((len(part.words) for part in some), initial=0)
        return cls(
            step=np.concatenate([part.step for part in some]),
            user=np.concatenate([part.user for part in some]),
            place=np.concatenate([part.place for part in some]),
            word=np.concatenate([part.word + n for part, n in zip(some, before, strict=False)]),
            cell=np.concatenate([part.cell for part in some]),
            amounts=np.concatenate([part.amounts for part in some]),
            words=np.concatenate([part.words for part in some]),
        )

    def between(self, first: int, last: int) -> KeyRecords:
        """The records of the steps from ``first`` to ``last``, with the words that they have."""
        here = steps_between(self.step, first, last, ordered=self.ordered)
        return self._some(here)._with_own_words()

    def after(self, last: int) -> KeyRecords:
        """The records of later steps; if they are in order a view, with the words of all."""
        later = self._some(steps_between(self.step, last + 1, FAR, ordered=self.ordered))
        return later if self.ordered else later._with_own_words()

    def _some(self, here: Rows) -> KeyRecords:
        return replace(
            self,
            step=self.step[here],
            user=self.user[here],
            place=self.place[here],
            word=self.word[here],
            cell=self.cell[here],
            amounts=self.amounts[here],
        )

    def _with_own_words(self) -> KeyRecords:
        """Without the words of other records."""
        named, word = np.unique(self.word, return_inverse=True)
        return replace(self, word=word.astype(np.int64), words=self.words[named])

    def in_order(self) -> KeyRecords:
        """By step, user and the user's order; each text once, in the order of texts.

        Records with the same place can be made, whatever the salt is; then their content decides,
        so that the order in which rows are read does not matter.
        """
        if self.ordered:
            return self
        texts, of = unique_texts(self.words)
        word = of[self.word]
        halves = self.user.view(">u8").reshape(-1, 2)
        amounts = tuple(self.amounts.T[::-1])
        keys = (*amounts, self.cell, word, self.place, halves[:, 1], halves[:, 0], self.step)
        order = np.lexsort(keys)
        return KeyRecords(
            step=self.step[order],
            user=self.user[order],
            place=self.place[order],
            word=word[order],
            cell=self.cell[order],
            amounts=self.amounts[order],
            words=texts,
            ordered=True,
        )

    def users(self) -> tuple[NDArray[np.uint8], IntArray]:
        """The users of records that are in order of users or not, each once, and the number of each
        record's user among them."""
        halves = self.user.view(">u8").reshape(-1, 2)
        order = np.lexsort((halves[:, 1], halves[:, 0]))
        ordered = halves[order]
        new = np.ones(len(ordered), dtype=bool)
        new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        number = np.empty(len(ordered), dtype=np.int64)
        number[order] = np.cumsum(new) - 1
        return self.user[order[new]], number

    def to_arrays(self) -> Arrays:
        """As named arrays, for the store, without the words of records that were taken out."""
        own = self._with_own_words()
        return {name: getattr(own, name) for name in _ARRAYS}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> KeyRecords:
        """What ``to_arrays`` gave."""
        return cls(**{name: arrays[name] for name in _ARRAYS}, ordered=False)


_ARRAYS = tuple(one.name for one in fields(KeyRecords) if one.name != "ordered")


def steps_between(steps: IntArray, first: int, last: int, *, ordered: bool) -> Rows:
    """Which rows are of the steps from ``first`` to ``last``: a slice of rows that are in order.

    >>> steps_between(np.array([1, 3, 3, 7]), 2, 5, ordered=True)
    slice(1, 3, None)
    """
    if ordered:
        start, end = np.searchsorted(steps, (first, last + 1)).tolist()
        return slice(start, end)
    return (steps >= first) & (steps <= last)


def unique_texts(texts: NDArray[Any]) -> tuple[NDArray[Any], IntArray]:
    """Each text once, in order, and the number of each given text among them.

    >>> [part.tolist() for part in unique_texts(np.array(["b", "a", "b"], dtype=object))]
    [['a', 'b'], [1, 0, 1]]
    """
    listed = texts.tolist()
    ordered = sorted(set(listed))
    numbers = {text: number for number, text in enumerate(ordered)}
    named = np.empty(len(ordered), dtype=object)
    named[:] = ordered
    return named, np.array([numbers[text] for text in listed], dtype=np.int64)
