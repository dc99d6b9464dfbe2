"""A table of releases in the store's own database: written by the store, exactly once.

The rows and the step that the table has are committed together, right after the release.  A crash
leaves both or neither, so no row is sent again, whatever keys the table has.
"""

from __future__ import annotations

from typing import Any

from ameles.connectors.postgres.sink import PostgresSink, create_sql
from ameles.connectors.sink import Sink
from ameles.core.exceptions import AmelesError, PlanError
from ameles.engine.running.remote_delivery import RemoteDelivery
from ameles.engine.running.stream_sink import StreamSink
from ameles.plan.plan import Plan
from ameles.store import Store, StreamRecord
from ameles.store.opening import in_postgres
from ameles.store.postgres.address import address_of
from ameles.store.postgres.driver import driver

ROWS = 100_000  # about how many are in a transaction
_SAME = ("host", "hostaddr", "port", "dbname", "user", "service")


class StoreTable(RemoteDelivery):
    """A table beside the store."""

    def publish(self, store: Store, stream: StreamRecord) -> None:
        if not isinstance(self.sink, PostgresSink):
            self._open()
        if not isinstance(self.sink, PostgresSink):
            return
        try:
            self._copy(store, stream, self.sink.address.sql)
            self.failed = None
        except AmelesError as problem:
            self.failed = problem

    def finish(self) -> None:
        """Nothing goes on beside this thread."""

    def _copy(self, store: Store, stream: StreamRecord, table: str) -> None:
        with store.reading() as reading:
            sent, width = reading.sent(stream, self.name), len(reading.series(stream))
        while sent < stream.released:
            last = min(stream.released, sent + max(1, ROWS // max(1, width)))
            with store.writing() as transaction:
                transaction.copy_releases(
                    stream, create=create_sql(table), table=table, first=sent + 1, last=last
                )
                transaction.set_sent(stream, self.name, last)
            sent = last


def in_store(plan: Plan, made: StreamSink) -> StreamSink:
    """The same sink, written by the store if it is a table of the store's own database."""
    sink, url = made.sink, plan.store.url
    if not isinstance(sink, PostgresSink) or not in_postgres(url):
        return made
    if sink.address.connection is not None or _database(sink.address.url) != _database(url):
        return made

    def reopened() -> Sink:
        if sink.address.schema == address_of(url).schema:
            raise PlanError(
                f"The sink {sink.name} is in the schema of the store.",
                why="the store is secret, and a sink is public",
                tip="a table of another schema: table=public.releases",
            )
        return sink.by(url)  # which may have a password

    return StoreTable(made.name, reopened)


def _database(url: str) -> dict[str, Any]:
    """What an address says about where its database is, and who connects."""
    given: dict[str, Any] = driver().conninfo.conninfo_to_dict(url)
    return {name: given.get(name) for name in _SAME}
