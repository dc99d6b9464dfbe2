"""The batches of events that were counted in the open step, so that none is counted twice.

A sender who got no answer sends a batch again.  While its step is open the store knows whether it
was counted.  With the step's release the batches are forgotten: they are secrets, and a batch for a
closed step is refused without looking.
"""

from __future__ import annotations

from collections.abc import Sequence

from ameles.store.columns import Columns
from ameles.store.records import StreamRecord
from ameles.store.session import TransactionPart


class Batches(TransactionPart):
    """Digests of batches, by stream and step."""

    def counted_batches(
        self, stream: StreamRecord, step: int, digests: Sequence[bytes]
    ) -> frozenset[bytes]:
        """Those of some batches that were counted in a step."""
        keys: Columns = {"stream": stream.number, "step": step, "digest": list(digests)}
        rows = self._session.lookup("batch", keys, ("step",)) if digests else []
        return frozenset(digests[place] for place, _ in rows)

    def add_batches(self, stream: StreamRecord, step: int, digests: Sequence[bytes]) -> None:
        """Records batches with the counts of their events; a second time is refused."""
        if digests:
            self._session.append(
                "batch",
                {"stream": stream.number, "step": step, "digest": sorted(digests)},
                double=f"A batch of stream '{stream.name}' was counted before.",
            )

    def forget_batches(self, stream: StreamRecord, released: int) -> None:
        """Forgets the batches of released steps."""
        self._session.write(
            "DELETE FROM batch WHERE stream = ? AND step <= ?", (stream.number, released)
        )
