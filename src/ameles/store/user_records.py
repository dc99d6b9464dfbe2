"""What users have added to releases with discovered keys, as keyed hashes and short secret texts.

Which records of a user still count depends on the records that counted before, so they are
remembered.  As for users seen, a query for n users costs about n look-ups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ameles.core.exceptions import BadInput
from ameles.store.columns import Columns
from ameles.store.records import StreamRecord
from ameles.store.seen import Users, sorted_hashes
from ameles.store.session import TransactionPart

KEY = ("stream", "release", "window", "user")


class UserRecordsTable(TransactionPart):
    """The records of each user, by release (its place in the plan, from 1) and window."""

    def user_records(
        self, stream: StreamRecord, release: int, window: int, users: Users
    ) -> Mapping[int, bytes]:
        """The records of the known ones of these users, by their place in the query."""
        order, hashes = sorted_hashes(users)
        keys: Columns = {
            "stream": stream.number,
            "release": release,
            "window": window,
            "user": hashes,
        }
        rows = self._session.lookup("user_records", keys, ("records",)) if hashes else []
        return {int(order[place]): bytes(records) for place, records in rows}

    def set_user_records(
        self,
        stream: StreamRecord,
        release: int,
        window: int,
        users: Users,
        records: Sequence[bytes],
    ) -> None:
        """Replaces the records of these users; each user is given once."""
        order, hashes = sorted_hashes(users)
        if len(hashes) != len(records):
            raise BadInput("There must be as many records as users.")
        if hashes:
            self._session.replace(
                "user_records",
                {
                    "stream": stream.number,
                    "release": release,
                    "window": window,
                    "user": hashes,
                    "records": [records[place] for place in order],
                },
                key=KEY,
            )

    def forget_user_records(
        self, stream: StreamRecord, before_window: int, *, release: int | None = None
    ) -> None:
        """Forgets the records of all windows before this one, of one release or of all."""
        which, values = ("", ()) if release is None else (" AND release = ?", (release,))
        self._session.write(
            f'DELETE FROM user_records WHERE stream = ? AND "window" < ?{which}',
            (stream.number, before_window, *values),
        )

    def forget_all_user_records(self, stream: StreamRecord) -> None:
        """Forgets the records of a stream that has no open step any more."""
        self._session.write("DELETE FROM user_records WHERE stream = ?", (stream.number,))
