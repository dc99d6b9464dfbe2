"""What a step of key discovery takes and gives: numbers of keys, never their names.

A run numbers keys in the order in which it first sees them.  That order is secret, so numbers stay
inside: what is published is a key's name.  In the outputs keys come in the order of their
discovery, and those that are found together in the order of their names.

>>> KeyInputs.of(number=[0, 1], selected=[4, 0], amounts=[[1], [2]]).amounts.tolist()
[[1], [2]]
>>> none = np.empty(0, dtype=np.int64)
>>> KeyOutputs(none, none, none, none, none.reshape(0, 1)).values.shape
(0, 1)
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NoReturn, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ameles.core.exceptions import NoCopy
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, eq=False)
class KeyInputs:
    """What users did to keys in a step, after bounding: each number occurs once."""

    number: IntArray  # (n,)
    selected: IntArray  # (n,): the weights of the slots that users gave to the key
    amounts: IntArray  # (n, cells)

    def __repr__(self) -> str:
        return "<inputs of a step>"  # they are exact

    @classmethod
    def of(cls, *, number: ArrayLike, selected: ArrayLike, amounts: ArrayLike) -> KeyInputs:
        """From lists."""
        given = (np.asarray(part, dtype=np.int64) for part in (number, selected, amounts))
        return cls(*given)

    @classmethod
    def nothing(cls, cells: int) -> KeyInputs:
        """A step in which nobody did anything."""
        none = np.empty(0, dtype=np.int64)
        return cls(none, none, np.empty((0, cells), dtype=np.int64))


@dataclass(frozen=True, eq=False)
class KeyOutputs:
    """What a step publishes.

    A key that is dropped is published for the last time in the step that drops it.
    """

    discovered: IntArray  # numbers of keys that are published for the first time
    dropped: IntArray  # numbers of keys that are published for the last time
    public: IntArray  # all published numbers, in the order of their discovery
    since: IntArray  # the step of discovery of each
    values: IntArray  # (len(public), cells)

    def __repr__(self) -> str:
        found, gone, public = self.discovered.size, self.dropped.size, self.public.size
        return f"<outputs of a step: {found} discovered, {gone} dropped, {public} public>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise NoCopy(
            "The outputs of a step cannot be copied or pickled.",
            why="the numbers of keys tell how many others were seen before, which is secret",
            tip="run.names(outputs.public) and outputs.values",
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeyOutputs):
            return NotImplemented
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return all(np.array_equal(*pair) for pair in pairs)

    def __hash__(self) -> int:
        return hash((self.public.tobytes(), self.values.tobytes()))
