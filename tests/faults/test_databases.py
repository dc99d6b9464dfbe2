"""A few of the faults of ``tests.faults.databases``; that program does hundreds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults.databases import DatabaseWorld, Figures, faults
from tests.postgres import Server
from tests.redis_server import MISSING, RedisServer, serving


def test_every_row_counts_once_and_every_release_is_there_once(
    postgres: Server, tmp_path: Path
) -> None:
    if shutil.which("redis-server") is None:
        pytest.skip(MISSING)
    figures = Figures()
    with serving(tmp_path) as redis:
        faults(3, "suite", figures, postgres, redis)
        assert figures.violations == []
        assert figures.done["rounds"] == 6
        noticed(postgres, redis, tmp_path / "planted")


def noticed(postgres: Server, redis: RedisServer, folder: Path) -> None:
    """The program notices a row that was not counted, and a release that is there twice."""
    folder.mkdir()
    world = DatabaseWorld(postgres, redis, folder, "planted", beside=True)
    world.rounds(0, Figures())
    assert world.violations() == []
    world.table.add("never counted")
    with postgres.admin(postgres.database) as admin:
        admin.execute(f"INSERT INTO {world.sink} SELECT * FROM {world.sink} LIMIT 1")
    with redis.client() as client:
        client.xtrim(world.sink, maxlen=0, approximate=False)
    assert len(world.violations()) == 3
    world.close()
