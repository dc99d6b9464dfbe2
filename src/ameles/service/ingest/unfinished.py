"""How much of unfinished bodies is in memory, by token.

Bodies are small, but a sender may begin many and finish none.  What one sender holds so is bounded,
and does not count against the others.

>>> bodies = UnfinishedBodies(most=10)
>>> with bodies.of("web") as body:
...     body.add(8)
>>> with bodies.of("web") as body:
...     body.add(11)
Traceback (most recent call last):
...
ameles.service.refusals.Refused: Too many batches are waiting.
>>> bodies.total
0
"""

from __future__ import annotations

from collections import Counter
from types import TracebackType
from typing import Self

from ameles.service.refusals import busy

MOST = 16 << 20


class UnfinishedBodies:
    """The bodies that an event loop reads now."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._sizes: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """The bytes of all senders."""
        return self._sizes.total()

    def of(self, sender: str) -> Body:
        """A body that is read from here to the end of the block."""
        return Body(self, sender)

    def change(self, sender: str, size: int) -> None:
        """More or less bytes of a sender; more are refused if there are too many."""
        if size > 0 and self._sizes[sender] + size > self._most:
            raise busy()
        self._sizes[sender] += size
        if not self._sizes[sender]:
            del self._sizes[sender]


class Body:
    """One body, and how much of it has come."""

    def __init__(self, bodies: UnfinishedBodies, sender: str) -> None:
        self._bodies = bodies
        self._sender = sender
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bodies.change(self._sender, -self.size)

    def add(self, size: int) -> None:
        """So many bytes have come."""
        self._bodies.change(self._sender, size)
        self.size += size
