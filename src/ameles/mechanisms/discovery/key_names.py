"""The names of keys: each gets a number when it is first seen.

>>> names = KeyNames()
>>> names.numbers(["cats", "dogs", "cats"]).tolist()
[0, 1, 0]
>>> names.texts([1])
['dogs']
>>> names.forget(np.array([0]))
>>> names.numbers(["cats"]).tolist()
[2]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.noise.arrays import IntArray


class KeyNames:
    """Texts by number, and numbers by text."""

    def __init__(self) -> None:
        self._texts: list[str | None] = []
        self._numbers: dict[str, int] = {}
        # What a snapshot needs, as of its last time: a long stream has many, and names stay.
        self._written = bytearray()
        self._lengths: list[int] = []

    def __len__(self) -> int:
        return len(self._texts)

    def check(self, keys: Sequence[str]) -> None:
        """Refuses what is not a text."""
        if isinstance(keys, str) or not all(isinstance(key, str) for key in keys):
            raise BadInput("A key is a text.", tip="run.numbers(['cats', 'dogs'])")

    def numbers(self, keys: Sequence[str]) -> IntArray:
        """The numbers of these keys; new ones are numbered."""
        known, texts = self._numbers, self._texts
        found = []
        for key in keys:
            number = known.get(key)
            if number is None:
                number = known[key] = len(texts)
                texts.append(key)
            found.append(number)
        return np.array(found, dtype=np.int64)

    def known(self, keys: Sequence[str]) -> IntArray:
        """The numbers of these keys; -1 for those that have none."""
        return np.array([self._numbers.get(key, -1) for key in keys], dtype=np.int64)

    def texts(self, numbers: Iterable[int]) -> list[str]:
        """The keys that have these numbers."""
        found = [self._texts[int(number)] for number in numbers]
        known = [text for text in found if text is not None]
        if len(known) != len(found):
            raise BadInput("One of these numbers is of a key that was dropped before.")
        return known

    def retire(self, numbers: IntArray) -> None:
        """These texts get new numbers from now on; the old numbers still tell them."""
        for number in numbers.tolist():
            text = self._texts[number]
            if text is not None and self._numbers.get(text) == number:
                del self._numbers[text]

    def forget(self, numbers: IntArray) -> None:
        """These numbers have no text any more."""
        self.retire(numbers)
        for number in numbers.tolist():
            self._texts[number] = None
        if numbers.size:
            self._written.clear()
            self._lengths.clear()

    def parts(self) -> tuple[IntArray, IntArray]:
        """The length of each text in bytes, -1 if it has none; and the bytes of all, as words."""
        for text in self._texts[len(self._lengths) :]:
            encoded = b"" if text is None else text.encode("utf-8", "surrogatepass")
            self._lengths.append(-1 if text is None else len(encoded))
            self._written += encoded
        whole = bytes(self._written) + bytes(-len(self._written) % 8)
        words = np.frombuffer(whole, dtype="<i8").astype(np.int64)
        return np.array(self._lengths, dtype=np.int64), words

    @classmethod
    def read(cls, lengths: IntArray, words: IntArray, retired: IntArray) -> KeyNames:
        """What ``parts`` gave; ``retired`` numbers tell their text, and their text not them."""
        names = cls()
        whole, place = words.astype("<i8").tobytes(), 0
        for number, length in enumerate(lengths.tolist()):
            if length < 0:
                names._texts.append(None)
                continue
            text = whole[place : place + length].decode("utf-8", "surrogatepass")
            place += length
            names._texts.append(text)
            names._numbers[text] = number
        for number in retired.tolist():
            text = names._texts[number]
            if text is not None and names._numbers.get(text) == number:
                del names._numbers[text]
        return names
