"""Plans with one sink in a database, and what that database has."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ameles.engine.engine import Engine
from ameles.engine.running import remote_delivery
from ameles.engine.running.stream_sinks import SinkState, StreamSinks
from ameles.store import open_store
from tests.engine.sink_worlds import ROWS
from tests.engine.worlds import World, day
from tests.event_tables import secret_file, url_of
from tests.postgres import Server
from tests.redis_server import MISSING, RedisServer, serving

CSV = '[[sink]]\ncsv = "out.csv"\n'
MEAN = (
    '[[release]]\nname = "mean"\nmeasure = "mean"\ncolumn = "amount"\nlower = 0\n'
    "upper = 3\ngranularity = 1\n"
    'over = "step"\n[[release]]\nname = "visits"\nmeasure = "count"\n'
    'by = { region = ["north", "south"] }\n'
)
_numbers = count()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_delivery, "FIRST", 0.001)
    monkeypatch.setattr(remote_delivery, "LONGEST", 0.01)


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    if shutil.which("redis-server") is None:
        pytest.skip(MISSING)
    with serving(tmp_path_factory.mktemp("redis")) as running:
        yield running


class Place:
    """A world with one sink in a database, and what that has."""

    url: str

    def __init__(self, folder: Path, sink: str, more: str = "") -> None:
        self.world = World(folder, MEAN, rest=sink + more).write(ROWS)
        self.store = str(folder / "s.db")

    def run(self, until: int) -> None:
        with closing(open_store(self.store)) as store:
            Engine(self.world.plan, store).run(day(until + 1, 1))

    def released(self) -> list[tuple[Any, ...]]:
        """What the store has, as texts and exact numbers."""
        with closing(open_store(self.store)) as store, store.reading() as transaction:
            stream = transaction.stream("s")
            assert stream is not None
            return [told(row) for row in transaction.release_rows(stream)]

    def state(self) -> SinkState:
        with closing(open_store(self.store)) as store:
            with store.reading() as transaction:
                stream = transaction.stream("s")
            assert stream is not None
            return StreamSinks(self.world.plan, stream.identity).states(store, stream)[0]

    def has(self) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def forget(self, after: int) -> None:
        raise NotImplementedError

    def alter(self) -> None:
        raise NotImplementedError


def told(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row of the store, with numbers as every sink writes them."""
    texts = [str(value) if value is not None else None for value in row]
    numbers = [value and str(Decimal(value).normalize()) for value in texts[6:9]]
    return (*texts[:6], *numbers, *texts[9:])


class Table(Place):
    """A table of Postgres."""

    def __init__(self, server: Server, folder: Path, *, beside: bool = False) -> None:
        self.name = f"releases_{next(_numbers)}"
        self.url = url_of(server, self.name)
        secret_file(folder)
        sink = f'[[sink]]\npostgres = "{self.url}"\nconnection = "postgres.toml"\n'
        if beside:
            sink = f'[[sink]]\npostgres = "{self.url}"\n'
        super().__init__(folder, sink)
        if beside:
            self.store = server.url(schema=f"s_{self.name}")
            self.world.text = self.world.text.replace('"s.db"', f'"{self.store}"')
        self.admin = server.admin(server.database)

    def has(self) -> list[tuple[Any, ...]]:
        rows = self.admin.execute(
            'SELECT stream, release, "key", step, start AT TIME ZONE \'UTC\', "end" AT TIME ZONE '
            f"'UTC', value, low, high, label, mechanism, entry FROM {self.name} "
            'ORDER BY step, entry, release, "key"'
        ).fetchall()
        return [
            told((*row[:4], *(f"{time.isoformat()}Z" for time in row[4:6]), *row[6:]))
            for row in rows
        ]

    def forget(self, after: int) -> None:
        self.admin.execute(f"DELETE FROM {self.name} WHERE step > {after}")

    def alter(self) -> None:
        self.admin.execute(f"UPDATE {self.name} SET value = value + 1")


class Stream(Place):
    """A stream of Redis."""

    def __init__(self, server: RedisServer, folder: Path) -> None:
        self.name = f"releases-{next(_numbers)}"
        self.url = server.url(self.name)
        self.client = server.client()
        super().__init__(folder, f'[[sink]]\nredis = "{self.url}"\n')

    def has(self) -> list[tuple[Any, ...]]:
        found: Any = self.client.xrange(self.name)
        ids = [name.decode() for name, _ in found]
        entries = [{key.decode(): value.decode() for key, value in one.items()} for _, one in found]
        places = dict[str, int]()
        for name, entry in zip(ids, entries, strict=True):
            places[entry["step"]] = places.get(entry["step"], 0) + 1
            assert name == f"{entry['step']}-{places[entry['step']]}"
        return [
            told(
                tuple(
                    value if value or name in ("key", "label") else None
                    for name, value in entry.items()
                    if name != "launch"
                )
            )
            for entry in entries
        ]

    def forget(self, after: int) -> None:
        """As a replica that had not received everything."""
        kept: Any = self.client.xrange(self.name, "-", f"{after}-99999")
        self.client.delete(self.name)
        for name, fields in kept:
            self.client.xadd(self.name, fields, id=name)

    def alter(self) -> None:
        found: Any = self.client.xrange(self.name)
        self.client.delete(self.name)
        for name, fields in found:
            self.client.xadd(self.name, {**fields, b"value": b"7"}, id=name)


@pytest.fixture(params=["postgres", "redis", "beside the store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    yield from made(request, tmp_path)


@pytest.fixture(params=["postgres", "redis"])
def remote(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """One that may be away while the store is not."""
    yield from made(request, tmp_path)


def made(request: pytest.FixtureRequest, folder: Path) -> Iterator[Place]:
    if request.param == "redis":
        stream = Stream(request.getfixturevalue("redis_server"), folder)
        yield stream
        stream.client.close()
        return
    server = request.getfixturevalue("postgres")
    table = Table(server, folder, beside=request.param != "postgres")
    yield table
    table.admin.close()


def crash(*_: object) -> None:
    raise KeyboardInterrupt
