"""Records: the single bounded events of a release whose keys are discovered.

Which of a user's records count depends on those of earlier steps and on the keys that are public by
then, so they are not added up here.  A record is a keyed hash of the user, the event's place in the
user's order, its key, its declared cell and its amounts.  Records are secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ameles.engine.gathering.event_sql import KEY_BYTES
from ameles.engine.gathering.packed_arrays import Arrays
from ameles.noise.arrays import IntArray


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
        here = (self.step >= first) & (self.step <= last)
        if here.all():
            return self
        named, word = np.unique(self.word[here], return_inverse=True)
        return KeyRecords(
            step=self.step[here],
            user=self.user[here],
            place=self.place[here],
            word=word.astype(np.int64),
            cell=self.cell[here],
            amounts=self.amounts[here],
            words=self.words[named],
        )

    def in_order(self) -> KeyRecords:
        """By step, user and the user's order; each text once, in the order of texts.

        Records with the same place can be made, whatever the salt is; then their content decides,
        so that the order in which rows are read does not matter.
        """
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
        """As named arrays, for the store."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> KeyRecords:
        """What ``to_arrays`` gave."""
        return cls(**{name: arrays[name] for name in cls.__dataclass_fields__})


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
