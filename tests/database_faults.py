"""Lives of a plan from Redis to Redis and from Postgres to Postgres, with faults of the servers.

``benchmarks/faults_databases.py`` lives many lives, the tests a few.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import psycopg

from tests.event_tables import GUARD, STAY, TX, secret_file, url_of
from tests.faults.choices import Choices
from tests.postgres import Server
from tests.redis_server import RedisServer
from tests.source_faults import PATIENCE, Running, SourceLife
from tests.tcp_proxy import Proxy

_names = count()
_END = (
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
    "WHERE application_name = 'ameles' AND datname = %s"
)


class RedisLife(SourceLife):
    """One stream, from a stream of Redis to another."""

    def __init__(self, server: RedisServer, folder: Path, proxy: Proxy, *, steps: int = 8) -> None:
        self.server, self.proxy = server, proxy
        self.name = f"life-{folder.name}-{next(_names)}"
        proxy.target = f"127.0.0.1:{server.port}"
        source, sink = (
            f"redis://{proxy.address}/0?stream={self.name}-{end}" for end in ("in", "out")
        )
        super().__init__(folder, source, f'redis = "{sink}"', steps=steps)

    def write(self, at: str, region: str, number: int) -> None:
        with self.server.client() as client, client.pipeline(transaction=False) as pipe:
            for _ in range(number):
                pipe.xadd(f"{self.name}-in", {"at": at, "region": region})
            pipe.execute()

    def published(self) -> list[tuple[tuple[Any, ...], Any]]:
        with self.server.client() as client:
            entries: Any = client.xrange(f"{self.name}-out")
        texts = [{key.decode(): text.decode() for key, text in each.items()} for _, each in entries]
        return [
            ((each["release"], each["key"], int(each["step"])), float(each["value"]))
            for each in texts
        ]


class PostgresLife(SourceLife):
    """One stream, from a table of Postgres to another; writers hold transactions open."""

    def __init__(self, server: Server, folder: Path, *, steps: int = 8) -> None:
        self.server = server
        self.name = f"life_{next(_names)}"
        folder.mkdir(parents=True, exist_ok=True)
        secret_file(folder)
        with psycopg.connect(server.url(), autocommit=True) as owner:
            owner.execute(STAY)
            owner.execute(
                f"CREATE TABLE {self.name} (at timestamptz, who text, region text, age integer, "
                f"amount numeric, fever boolean, {TX})"
            )
            owner.execute(GUARD.format(self.name))
        sink = f'postgres = "{url_of(server, f"{self.name}_out")}"\nconnection = "postgres.toml"'
        columns = 'connection = "postgres.toml"'
        super().__init__(folder, url_of(server, self.name), sink, steps=steps, stream=columns)

    def write(self, at: str, region: str, number: int) -> None:
        kept = "-c synchronous_commit=on"
        insert = (
            f"INSERT INTO {self.name} (at, region) SELECT %s, %s FROM generate_series(1, %s::int)"
        )
        with (
            psycopg.connect(self.server.url(), options=kept) as first,
            psycopg.connect(self.server.url(), options=kept) as second,
        ):
            first.execute(insert, (at, region, number // 2))
            second.execute(insert, (at, region, number - number // 2))
            second.commit()  # the transaction that began later ends first

    def published(self) -> list[tuple[tuple[Any, ...], Any]]:
        asked = f'SELECT release, "key", step, value FROM {self.name}_out ORDER BY step, ctid'
        with psycopg.connect(self.server.url()) as reader:
            found = reader.execute(asked).fetchall()
        return [((release, key, step), float(value)) for release, key, step, value in found]


RedisFault: TypeAlias = Callable[[RedisLife, Running, Choices], bool]
PostgresFault: TypeAlias = Callable[[PostgresLife, Running, Choices], bool]


def cut_redis(life: RedisLife, running: Running, choices: Choices) -> bool:
    """All connections end after some bytes, and none is taken until the program has ended."""
    before = life.proxy.cuts
    life.proxy.cut_after(choices.below(40_000))
    running.wait(PATIENCE)
    life.proxy.mend()
    return life.proxy.cuts != before


def kill_redis(life: RedisLife, running: Running, choices: Choices) -> bool:
    """Kill -9 of the server while the program runs; it is back a moment later."""
    choices.sleep(life.span)
    life.server.kill()
    before = running.poll() is None
    choices.sleep(0.2)
    life.server.start()
    life.span *= 1.05 if before else 0.8
    return before


def end_sessions(life: PostgresLife, running: Running, choices: Choices) -> bool:
    """The server ends all sessions of the program at some moment."""
    choices.sleep(life.span)
    with life.server.admin() as admin:
        ((ended,),) = admin.execute(_END, (life.server.database,)).fetchall()
    life.span *= 1.05 if ended else 0.9
    return bool(ended)


def crash_postgres(life: PostgresLife, running: Running, choices: Choices) -> bool:
    """The server crashes while the program runs; it is back a moment later."""
    choices.sleep(life.span)
    before = running.poll() is None
    life.server.restart(signal.SIGQUIT)
    life.span *= 1.05 if before else 0.8
    return before
