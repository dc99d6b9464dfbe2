"""A digest of everything that was read of a file; it can be continued when the file grows.

Blocks of 1 MiB are digested and chained: chain = SHA-256(chain, SHA-256(block)).  The digest is the
chain of the full blocks, and the SHA-256 of the rest.  So when a file has grown, only the part from
the start of its last block is read again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

BLOCK = 1 << 20
_LENGTH = hashlib.sha256().digest_size


class Running:
    """Computes the digest from pieces of any length."""

    def __init__(self, chain: bytes = bytes(_LENGTH)) -> None:
        self._chain = chain
        self._block = hashlib.sha256()
        self._length = 0  # of the block that is not full

    def update(self, piece: bytes) -> None:
        """Adds the next bytes."""
        rest = memoryview(piece)
        while rest:
            part = rest[: BLOCK - self._length]
            self._block.update(part)
            self._length += len(part)
            if self._length == BLOCK:
                self._chain = hashlib.sha256(self._chain + self._block.digest()).digest()
                self._block, self._length = hashlib.sha256(), 0
            rest = rest[len(part) :]

    def digest(self) -> str:
        """The digest of all bytes so far."""
        return (self._chain + self._block.digest()).hex()


def whole_digest(handle: int, offset: int, before: tuple[int, str] | None = None) -> str:
    """The digest of an open file up to an offset; ``before`` is a smaller offset and its digest."""
    start, running = 0, Running()
    if before is not None:
        start, running = before[0] - before[0] % BLOCK, Running(_chain(before[1]))
    while start < offset and (piece := os.pread(handle, min(BLOCK, offset - start), start)):
        running.update(piece)
        start += len(piece)
    return running.digest()


def nothing_of(patterns: Iterable[str]) -> str:
    """The digest in the mark of a file of which nothing was read: that of the patterns of its
    copies.

    It shows later whether copies of this file were looked for all the time.
    """
    running = Running()
    running.update("\0".join(patterns).encode())
    return running.digest()


def is_digest(text: object) -> bool:
    """Whether this can be such a digest."""
    try:
        return isinstance(text, str) and len(bytes.fromhex(text)) == 2 * _LENGTH
    except ValueError:
        return False


def _chain(digest: str) -> bytes:
    return bytes.fromhex(digest)[:_LENGTH]
