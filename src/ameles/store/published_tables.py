"""Releases that are copied into a public table of the store's own database, in its transactions."""

from __future__ import annotations

from ameles.store.records import StreamRecord
from ameles.store.session import TransactionPart


def _moment(column: str) -> str:
    """SQL: microseconds since 1970 as a time; hours apart, so that no microsecond is lost."""
    return (
        f"TIMESTAMPTZ 'epoch' + ({column} / 3600000000) * INTERVAL '1 hour' "
        f"+ ({column} % 3600000000) * INTERVAL '1 microsecond'"
    )


def _number(column: str) -> str:
    """SQL: a whole or real number to its last digit."""
    return f"coalesce({column}::numeric, {column}_real::text::numeric)"


class PublishedTables(TransactionPart):
    """Tables beside the store, in Postgres only."""

    def copy_releases(
        self, stream: StreamRecord, *, create: str, table: str, first: int, last: int
    ) -> None:
        """Copies the steps from ``first`` to ``last``; ``create`` makes the table if it is missing.

        They are there once, because the step that a sink has is written in the same transaction.
        """
        self._session.write(create)
        self._session.write(
            f'INSERT INTO {table} (launch, stream, release, "key", step, start, "end", value, low, '
            "high, label, mechanism, entry) "
            f'SELECT ?, ?, series.release, series."key", step.step, {_moment("step.start_us")}, '
            f"{_moment('step.end_us')}, {', '.join(map(_number, ('value', 'low', 'high')))}, "
            "release.label, series.mechanism, series.entry FROM step "
            "JOIN release ON release.stream = step.stream AND release.step = step.step "
            "JOIN series ON series.stream = step.stream AND series.number = release.series "
            "WHERE step.stream = ? AND step.step BETWEEN ? AND ? ON CONFLICT DO NOTHING",
            (stream.identity, stream.name, stream.number, first, last),
        )
