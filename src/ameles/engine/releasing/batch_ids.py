"""The batches of events that the open step has taken, for a state of fixed size.

A state that may be seized cannot have a list that grows, and cannot remember a batch beyond its
step.  So there is room for a fixed number of digests, and they are wiped when the step is released.

>>> ids = BatchIds()
>>> ids.add(bytes(16))
>>> BatchIds.from_bytes(ids.to_bytes()) == ids, bytes(16) in ids, ids.full
(True, True, False)
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from ameles.core.exceptions import StoreRefused

SIZE = 16  # bytes of a digest
ROOM = 4096  # batches of a step

_COUNT = struct.Struct("<Q")


@dataclass(repr=False)
class BatchIds:
    """Digests of batches; the order in which they came is forgotten."""

    _digests: set[bytes] = field(default_factory=set)

    def __repr__(self) -> str:
        return "<BatchIds>"

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._digests

    @property
    def full(self) -> bool:
        """Whether the step takes no more batches."""
        return len(self._digests) >= ROOM

    def add(self, digest: bytes) -> None:
        """Remembers a batch until the step is released."""
        self._digests.add(digest)

    def clear(self) -> None:
        """Forgets all batches."""
        self._digests.clear()

    def to_bytes(self) -> bytes:
        """All digests, always in the same number of bytes."""
        held = b"".join(sorted(self._digests))
        return _COUNT.pack(len(self._digests)) + held.ljust(SIZE * ROOM, b"\0")

    @classmethod
    def from_bytes(cls, stored: bytes) -> BatchIds:
        """What ``to_bytes`` wrote."""
        if len(stored) != _COUNT.size + SIZE * ROOM:
            raise StoreRefused("The sealed state has no list of batches.")
        (count,) = _COUNT.unpack_from(stored)
        ids = cls()
        for place in range(count):
            start = _COUNT.size + SIZE * place
            ids.add(stored[start : start + SIZE])
        return ids
