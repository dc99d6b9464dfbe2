"""The published totals of discovered keys at the last steps, from which windows are computed.

All of it is public.  A key has a column for each of its cells from its discovery on; a key that is
dropped loses them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ameles.core.exceptions import StoreRefused
from ameles.engine.gathering.packed_arrays import pack, unpack
from ameles.noise.arrays import IntArray


@dataclass
class KeyHistory:
    """The totals of the last ``window`` steps: (steps, keys, cells); keys by their numbers."""

    number: IntArray
    totals: IntArray

    @classmethod
    def blank(cls, window: int, cells: int) -> KeyHistory:
        """Before the first step."""
        return cls(np.empty(0, dtype=np.int64), np.empty((window, 0, cells), dtype=np.int64))

    @classmethod
    def read(cls, stored: bytes, window: int, cells: int) -> KeyHistory:
        """Reads what ``to_bytes`` wrote; nothing was written before the first step."""
        if not stored:
            return cls.blank(window, cells)
        try:
            arrays, _ = unpack(stored)
            history = cls(arrays["number"], arrays["totals"])
            if history.totals.shape != (window, len(history.number), cells):
                raise ValueError
        except (ValueError, KeyError, TypeError):
            raise StoreRefused(
                "The outputs of earlier steps cannot be read.",
                why="the store is damaged",
                tip="a backup of the store that is not older than its sinks",
            ) from None
        return history

    def to_bytes(self) -> bytes:
        """For the store.  Nothing in it is secret."""
        return pack({"number": self.number, "totals": self.totals}) if len(self.totals) else b""

    def spans(self, number: IntArray, totals: IntArray) -> IntArray:
        """The totals over the window that ends now, and these totals are remembered.

        Before the discovery of a key there is nothing that its total could be compared with: then
        it is the total itself.
        """
        window, _, cells = self.totals.shape
        if not window:
            return totals
        columns = {one: place for place, one in enumerate(self.number.tolist())}
        place = np.array([columns.get(one, -1) for one in number.tolist()], dtype=np.int64)
        known = place >= 0
        before = np.zeros((window, len(number), cells), dtype=np.int64)
        before[:, known] = self.totals[:, place[known]]
        self.number = number
        self.totals = np.concatenate([before[1:], totals[None]])
        spans: IntArray = totals - before[0]
        return spans
