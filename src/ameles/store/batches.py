"""Batches of events that senders gave to a service: none is lost, and none is counted twice.

A batch is acknowledged when it is stored.  The engine counts it later, and its position says up to
which batch it has counted; counted ones are then deleted.

A sender who got no answer sends a batch again.  While its step is open the store knows two digests
of it: that of its id, and that of its id with its body, so that another body under the same id is
not taken for the same batch.  When the step closes the digests are forgotten, and a batch that
names a closed step is refused without looking: it may have been counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ameles.store.records import StreamRecord
from ameles.store.session import TransactionPart

DIGESTS = 8
# Lines of batches that come together are one row, up to this many bytes: one costs less than many.
JOINED = 1 << 16
FORGOTTEN = 1 << 17  # bytes that are deleted at a time
# Digests of one question, which has one of these lengths: a database knows it then.
_ASKED = (8, 64, 512)


@dataclass(frozen=True, slots=True)
class NewBatch:
    """A batch to store."""

    digest: bytes  # of the token and of the id that its holder gave the batch
    body: bytes = field(repr=False)  # keyed digest of these and of the lines
    step: int  # in which it arrived
    form: str  # how its lines are written
    lines: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """Batches that the engine may count, one or a few that came together."""

    number: int  # of the last
    step: int
    form: str
    lines: bytes = field(repr=False)


class Batches(TransactionPart):
    """Batches by stream: their lines until they are counted, their digests while their step is
    open."""

    def open_step(self, stream: StreamRecord) -> int:
        """The earliest step that batches may name."""
        return max(self._intake(stream)[0], stream.released + 1)

    def close_intake(self, stream: StreamRecord, step: int) -> None:
        """Refuses batches for this step and earlier ones from now on."""
        earliest, last = self._intake(stream)
        if step >= earliest:
            self._set_intake(stream, step + 1, last)

    def counted_batches(
        self, stream: StreamRecord, step: int, digests: Sequence[bytes]
    ) -> frozenset[bytes]:
        """Those digests that are known in a step."""
        known = set[bytes]()
        for some in _padded(digests):
            rows = self._session.rows(
                "SELECT digest FROM batch WHERE stream = ? AND step = ? "
                f"AND digest IN ({', '.join('?' * len(some))})",
                (stream.number, step, *some),
            )
            known.update(bytes(digest) for (digest,) in rows)
        return frozenset(known)

    def add_batches(self, stream: StreamRecord, batches: Sequence[NewBatch]) -> None:
        """Stores batches in the order of arrival; their steps must be open and never go back.

        A batch that is known in its step is refused.
        """
        if not batches:
            return
        _, last = self._intake(stream)
        known = sorted(
            (batch.step, digest) for batch in batches for digest in (batch.digest, batch.body)
        )
        self._session.append(
            "batch",
            {
                "stream": stream.number,
                "step": [step for step, _ in known],
                "digest": [digest for _, digest in known],
            },
            double=f"A batch of stream '{stream.name}' was stored before.",
        )
        together = _together(batches, last)
        self._session.append(
            "arrived",
            {
                "stream": stream.number,
                "number": [one.number for one in together],
                "step": [one.step for one in together],
                "form": [one.form for one in together],
                "lines": [one.lines for one in together],
            },
        )
        self._set_intake(stream, batches[-1].step, last + len(batches))

    def waiting_batches(
        self, stream: StreamRecord, *, after: int, last_step: int, most: int
    ) -> tuple[StoredBatch, ...]:
        """The first batches after a number that arrived by the end of a step, in order."""
        rows = self._session.rows(
            "SELECT number, step, form, lines FROM arrived "
            "WHERE stream = ? AND number > ? AND step <= ? ORDER BY number LIMIT ?",
            (stream.number, after, last_step, most),
        )
        return tuple(
            StoredBatch(number, step, form, bytes(lines)) for number, step, form, lines in rows
        )

    def waiting_steps(self, stream: StreamRecord, *, after: int) -> tuple[int, ...]:
        """The steps in which batches after a number arrived."""
        rows = self._session.rows(
            "SELECT DISTINCT step FROM arrived WHERE stream = ? AND number > ? ORDER BY step",
            (stream.number, after),
        )
        return tuple(step for (step,) in rows)

    def waiting_bytes(self, stream: StreamRecord) -> int:
        """The size of all batches that are stored."""
        size: int = self._session.one(
            "SELECT coalesce(sum(length(lines)), 0) FROM arrived WHERE stream = ?",
            (stream.number,),
        )
        return size

    def forget_batches(self, stream: StreamRecord, *, counted: int, most: int) -> bool:
        """Deletes the lines of batches up to a number, and the digests of released steps.

        At most so many rows of about ``FORGOTTEN`` bytes together, and ``DIGESTS`` times as many
        digests, so that it takes no long time; returns whether there is more to delete.
        """
        until = self._session.one(
            "SELECT coalesce(max(number), 0) FROM (SELECT number, sum(size) OVER (ORDER BY number "
            "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - size AS before FROM "
            "(SELECT number, length(lines) AS size FROM arrived WHERE stream = ? AND number <= ? "
            "ORDER BY number LIMIT ?) AS sized) AS added WHERE before < ?",
            (stream.number, counted, most, FORGOTTEN),
        )
        self._session.write(
            "DELETE FROM arrived WHERE stream = ? AND number <= ?", (stream.number, until)
        )
        released = (stream.number, stream.released)
        self._session.write(
            "DELETE FROM batch WHERE (stream, step, digest) IN (SELECT stream, step, digest "
            "FROM batch WHERE stream = ? AND step <= ? ORDER BY step, digest LIMIT ?)",
            (*released, DIGESTS * most),
        )
        left = self._session.row(
            "SELECT 1 FROM arrived WHERE stream = ? AND number <= ? UNION ALL "
            "SELECT 1 FROM batch WHERE stream = ? AND step <= ? LIMIT 1",
            (stream.number, counted, *released),
        )
        return left is not None

    def forget_digests(self, stream: StreamRecord) -> None:
        """Deletes all digests of released steps."""
        self._session.write(
            "DELETE FROM batch WHERE stream = ? AND step <= ?", (stream.number, stream.released)
        )

    def _intake(self, stream: StreamRecord) -> tuple[int, int]:
        row = self._session.row("SELECT open, last FROM intake WHERE stream = ?", (stream.number,))
        return (1, 0) if row is None else (row[0], row[1])

    def _set_intake(self, stream: StreamRecord, earliest: int, last: int) -> None:
        self._session.write(
            "INSERT INTO intake (stream, open, last) VALUES (?, ?, ?) "
            "ON CONFLICT (stream) DO UPDATE SET open = excluded.open, last = excluded.last",
            (stream.number, earliest, last),
        )


def _together(batches: Sequence[NewBatch], last: int) -> list[StoredBatch]:
    """The rows of batches whose numbers follow the last one, in order.

    >>> given = ((1, b"a"), (1, b"b"), (2, b""))
    >>> new = [NewBatch(b"", b"", at, "csv", lines) for at, lines in given]
    >>> [(row.number, row.lines) for row in _together(new, last=4)]
    [(6, b'ab'), (7, b'')]
    """
    rows, parts, size = list[StoredBatch](), list[bytes](), 0
    for place, batch in enumerate(batches):
        parts.append(batch.lines)
        size += len(batch.lines)
        following = batches[place + 1] if place + 1 < len(batches) else None
        if (
            following is None
            or (following.step, following.form) != (batch.step, batch.form)
            or size + len(following.lines) > JOINED
        ):
            number = last + place + 1
            rows.append(StoredBatch(number, batch.step, batch.form, b"".join(parts)))
            parts, size = [], 0
    return rows


def _padded(digests: Sequence[bytes]) -> Iterator[list[bytes]]:
    """Digests in parts of a few lengths; the last is filled with one of its own.

    >>> [len(part) for part in _padded([b""] * 520)]
    [512, 8]
    """
    most = _ASKED[-1]
    for first in range(0, len(digests), most):
        some = list(digests[first : first + most])
        length = next(size for size in _ASKED if len(some) <= size)
        yield some + some[-1:] * (length - len(some))
