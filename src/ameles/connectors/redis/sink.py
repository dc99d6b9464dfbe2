"""A Redis Stream that gets each release once.

The id of an entry is the step and the number of the row in its step: ``41-3``.  Redis refuses an id
that is not above the last one, so an entry cannot be there twice.  The stream itself says how far
it has come, also after its entries were trimmed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Self

from ameles.connectors.redis.source import FIRST, RedisSource, StreamKey, order
from ameles.connectors.remote_sink import OutgoingBatch, RemoteSink, Undelivered
from ameles.connectors.sink import Row, SinkRequest
from ameles.connectors.source import SourceAway
from ameles.connectors.step_batches import step_batches
from ameles.core.exceptions import PlanError
from ameles.core.release import COLUMNS

EXAMPLE = "redis://localhost:6379/0?stream=releases"


class RedisSink(RemoteSink):
    """A stream with the releases of one launch."""

    settings: ClassVar[Mapping[str, Any]] = {"connection": str}

    @classmethod
    def open(cls, request: SinkRequest) -> Self:
        file = request.settings.get("connection")
        key = StreamKey.of(request.target, EXAMPLE, None if file is None else request.base / file)
        return cls(request.name, key, identity=request.identity)

    @classmethod
    def refusal(cls, target: str, settings: Mapping[str, str]) -> PlanError | None:
        try:
            StreamKey.of(target, EXAMPLE)
        except PlanError as problem:
            return problem
        return None

    @classmethod
    def feeds(cls, target: str, source: str) -> bool:
        if not RedisSource.claims(source):
            return False
        return StreamKey.of(target, EXAMPLE).place == StreamKey.of(source, EXAMPLE).place

    def __init__(self, name: str, key: StreamKey, *, identity: str) -> None:
        self.name = name
        self._key = key
        self._identity = identity
        self._client: Any = None  # of the attempt that is under way

    def reached(self) -> int:
        with self._connected() as client:
            top = self._top(client)
            last = client.xrevrange(self._key.key, count=1)
        launch = last[0][1].get(b"launch", b"").decode(errors="replace") if last else None
        if top != FIRST and launch != self._identity and launch is not None:
            raise PlanError(
                f"The stream {self._key.key!r} has entries that are not of this launch.",
                why="the ids of entries are steps, so a stream takes the releases of one launch",
                tip="another name in the plan",
            )
        return order(top)[0]

    def first_needed(self, sent: int) -> int:
        has = self.reached()
        return sent + 1 if has >= sent else max(1, has)  # the last step may be there in part

    def batches(self, rows: Iterable[Row], sent: int) -> Iterator[OutgoingBatch]:
        return step_batches(rows)

    def send(self, batch: OutgoingBatch) -> None:
        entries = {
            f"{row[COLUMNS.index('step')]}-{place}": self._fields(row)
            for place, row in json.loads(batch.body)
        }
        with self._connected() as client:
            top = order(self._top(client))
            self.has = top[0]
            there = [entry for entry in entries if order(entry) <= top]
            if there:
                self._check_same(client, there, entries)
            with client.pipeline(transaction=True) as pipe:
                for entry in entries:
                    if order(entry) > top:
                        pipe.xadd(self._key.key, entries[entry], id=entry)
                pipe.execute()

    def abort(self) -> None:
        client = self._client
        if client is not None:
            client.connection_pool.disconnect()

    def _check_same(
        self, client: Any, there: list[str], entries: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Refuses a stream with other values; entries that were trimmed are not missed."""
        for name, fields in client.xrange(self._key.key, there[0], there[-1]):
            given = {key.encode(): value.encode() for key, value in entries[name.decode()].items()}
            if fields != given:
                raise self._undelivered("it has other values for the same steps", final=True)

    def _fields(self, row: Row) -> dict[str, str]:
        values = dict(zip(COLUMNS, row, strict=True))
        texts = {name: "" if value is None else str(value) for name, value in values.items()}
        return {"launch": self._identity, **texts}

    def _top(self, client: Any) -> str:
        """The last id that the stream ever had."""
        if not client.exists(self._key.key):
            return FIRST
        last: bytes = client.xinfo_stream(self._key.key)["last-generated-id"]
        return last.decode()

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        try:
            with self._key.client() as client:
                self._client = client
                yield client
        except SourceAway as problem:
            raise self._undelivered(problem.what) from None
        finally:
            self._client = None

    def _undelivered(self, why: str, *, final: bool = False) -> Undelivered:
        return Undelivered(
            f"The sink {self.name} {'gets nothing more' if final else 'cannot be reached'}.",
            why=why,
            tip="another name in the plan: it gets all releases"
            if final
            else "fix that; the releases are in the store, and are sent again in their order",
            final=final,
        )
