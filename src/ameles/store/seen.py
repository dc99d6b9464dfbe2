"""Users that were seen, as keyed hashes, so that contributions are bounded across batches.

A query for n users costs about n look-ups, however many users the store knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput
from ameles.store.columns import Columns
from ameles.store.records import Seen, StreamRecord
from ameles.store.session import TransactionPart

SIZE = 16
Users: TypeAlias = NDArray[Any] | Sequence[bytes]

KEY = ("stream", "window", "user")


class SeenUsersTable(TransactionPart):
    """The number of steps of each user, and marks, per window (0 if there is only one window)."""

    def seen(self, stream: StreamRecord, window: int, users: Users) -> Seen:
        """The known ones of these users, by their place in the query; each user is given once."""
        order, hashes = sorted_hashes(users)
        keys: Columns = {"stream": stream.number, "window": window, "user": hashes}
        rows = self._session.lookup("seen", keys, ("steps", "marks"))
        columns = np.array(rows, dtype=np.int64).reshape(len(rows), 3)
        return Seen(order[columns[:, 0]], columns[:, 1], columns[:, 2])

    def set_seen(
        self,
        stream: StreamRecord,
        window: int,
        users: Users,
        steps: NDArray[np.int64],
        marks: NDArray[np.int64],
    ) -> None:
        """Replaces what the store knows of these users."""
        order, hashes = sorted_hashes(users)
        if not len(hashes) == len(steps) == len(marks):
            raise BadInput("There must be as many steps and marks as users.")
        self._session.replace(
            "seen",
            {
                "stream": stream.number,
                "window": window,
                "user": hashes,
                "steps": steps[order],
                "marks": marks[order],
            },
            key=KEY,
        )

    def forget_seen(self, stream: StreamRecord, before_window: int) -> None:
        """Forgets the users of all windows before this one."""
        self._session.write(
            'DELETE FROM seen WHERE stream = ? AND "window" < ?', (stream.number, before_window)
        )

    def forget_all_seen(self, stream: StreamRecord) -> None:
        """Forgets all users of a stream that has no open step any more."""
        self._session.write("DELETE FROM seen WHERE stream = ?", (stream.number,))


def sorted_hashes(users: Users) -> tuple[NDArray[np.int64], list[bytes]]:
    """The place of each user in the query, and the hashes; both in the order of the primary key, so
    that neighbours share a page."""
    flat = _flat(users)
    halves = np.frombuffer(flat, dtype=">u8").reshape(-1, 2)
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    ordered = halves[order].tobytes()
    return order, [ordered[i : i + SIZE] for i in range(0, len(ordered), SIZE)]


def _flat(users: Users) -> bytes:
    """All hashes in a row, 16 bytes each.

    An item of a numpy ``S16`` array loses the zero bytes at its end; here they stay.

    >>> _flat(np.array([b"fifteen bytes.."], dtype="S16"))
    b'fifteen bytes..\\x00'
    """
    if isinstance(users, np.ndarray):
        if users.dtype.itemsize * (users.shape[1] if users.ndim == 2 else 1) != SIZE:
            raise _size()
        return users.tobytes()
    if any(len(user) != SIZE for user in users):
        raise _size()
    return b"".join(users)


def _size() -> BadInput:
    return BadInput(f"A user must be given as {SIZE} bytes of a keyed hash.")
