"""Secret state in a store: the states of mechanisms, and events that wait for later steps."""

from __future__ import annotations

from ameles.core.exceptions import StoreRefused
from ameles.mechanisms.snapshot import MAGIC, run_id
from ameles.store.records import ReleaseState, StreamRecord
from ameles.store.session import TransactionPart


class States(TransactionPart):
    """The states of a stream's releases and its pending secrets."""

    def state(self, stream: StreamRecord, release: str) -> ReleaseState | None:
        """The state of the mechanism of a release, if it was started."""
        row = self._session.row(
            "SELECT entry, mechanism, recipe, snapshot, history FROM state "
            "WHERE stream = ? AND release = ?",
            (stream.number, release),
        )
        if row is None:
            return None
        entry, mechanism, recipe, snapshot, history = row
        return ReleaseState(
            entry=entry, mechanism=mechanism, recipe=recipe, snapshot=snapshot, history=history
        )

    def entries_of(self, stream: StreamRecord) -> dict[str, int]:
        """The number of the entry that paid for each release of a stream."""
        rows = self._session.rows(
            "SELECT release, entry FROM state WHERE stream = ?", (stream.number,)
        )
        return {str(release): int(entry) for release, entry in rows}

    def set_state(self, stream: StreamRecord, release: str, state: ReleaseState) -> None:
        """Stores the state of the mechanism of a release; a run never goes back."""
        before = self._session.row(
            "SELECT snapshot FROM state WHERE stream = ? AND release = ?", (stream.number, release)
        )
        if before is None:
            self.paid(stream, state.entry)
        elif _went_back(before[0], state.snapshot):
            raise StoreRefused(
                f"The run of release '{release}' cannot go back to an earlier step.",
                why="the later steps were released, and would be released again with other noise",
            )
        self._session.write(
            "INSERT INTO state (stream, release, entry, mechanism, recipe, snapshot, history) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (stream, release) DO UPDATE SET "
            "entry = excluded.entry, mechanism = excluded.mechanism, recipe = excluded.recipe, "
            "snapshot = excluded.snapshot, history = excluded.history",
            (
                stream.number,
                release,
                state.entry,
                state.mechanism,
                state.recipe,
                state.snapshot,
                state.history,
            ),
        )

    def pending(self, stream: StreamRecord) -> bytes | None:
        """The secrets that wait for later steps, if there are any."""
        row = self._session.row("SELECT secret FROM pending WHERE stream = ?", (stream.number,))
        return None if row is None else bytes(row[0])

    def set_pending(self, stream: StreamRecord, secret: bytes | None) -> None:
        """Stores the secrets that wait for later steps; None if there are none."""
        if secret is None:
            self._session.write("DELETE FROM pending WHERE stream = ?", (stream.number,))
            return
        self._session.write(
            "INSERT INTO pending (stream, secret) VALUES (?, ?) "
            "ON CONFLICT (stream) DO UPDATE SET secret = excluded.secret",
            (stream.number, secret),
        )

    def paid(self, stream: StreamRecord, entry: int) -> None:
        """Refuses an entry that the ledger of the stream's population does not have."""
        state = self._session.row(
            "SELECT 1 FROM entry JOIN stream ON stream.population = entry.population "
            "WHERE stream.number = ? AND entry.number = ?",
            (stream.number, entry),
        )
        if state is None:
            raise StoreRefused(
                f"Nothing was paid for this: the ledger of population '{stream.population}' has "
                f"no entry {entry}.",
                why="every release names the entry that paid for it",
                tip="ledger.launch(...) in the same transaction",
            )


def _went_back(before: bytes, after: bytes) -> bool:
    if not (before.startswith(MAGIC) and after.startswith(MAGIC)):
        return False
    (run, reached), (same, step) = run_id(before), run_id(after)
    return run == same and step < reached
