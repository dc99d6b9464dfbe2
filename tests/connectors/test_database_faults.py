"""A few lives of ``benchmarks/faults_databases.py``, and whether it finds what it looks for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.database_faults import PostgresLife, RedisLife, end_sessions
from tests.faults.choices import Choices
from tests.postgres import Server
from tests.redis_server import MISSING, serving
from tests.source_faults import Faults, kill_ameles, mostly
from tests.tcp_proxy import Proxy


def test_faults_of_redis(tmp_path: Path) -> None:
    if shutil.which("redis-server") is None:
        pytest.skip(MISSING)
    (tmp_path / "server").mkdir()
    with serving(tmp_path / "server") as server, Proxy() as proxy:
        faults = Faults()
        life = RedisLife(server, tmp_path / "life", proxy, steps=1)
        life.live(mostly(kill_ameles), Choices("redis"), faults)
        assert faults.wrong == []
        with server.client() as client:
            client.xadd(f"{life.name}-out", {"release": "daily", "key": "a", "step": 0, "value": 7})
        life.truth[1, "south"] += 1
        found = list(life.violations())
    assert "daily south 1 is not what was written" in found
    assert {"the sink is not in order", "the sink differs from the store"} <= {*found}


def test_faults_of_postgres(postgres: Server, tmp_path: Path) -> None:
    for fault in (kill_ameles, end_sessions):
        faults = Faults()
        life = PostgresLife(postgres, tmp_path / fault.__name__, steps=1)
        life.live(mostly(fault), Choices(fault.__name__), faults)
        assert faults.wrong == []
