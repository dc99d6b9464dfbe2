"""Plans over a stream of Redis: each entry counts in its step, whatever happens on the way."""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.declarations import Declarations
from ameles.core.exceptions import SourceUnreadable
from ameles.noise import Tape
from ameles.store import open_store
from tests.connectors.redis.test_source import server
from tests.engine.test_follow import STEP, following, quick
from tests.engine.worlds import COUNT, World, day
from tests.redis_server import MISSING, RedisServer, serving

_names = count()
__all__ = ["quick", "server"]  # fixtures


class Visits:
    """A plan over a stream."""

    def __init__(self, server: RedisServer, folder: Path, releases: str) -> None:
        self.name = f"plan-{next(_names)}"
        self.client = server.client()
        self.world = World(folder, releases)
        self.world.text = self.world.text.replace('"events.csv"', f'"{server.url(self.name)}"')

    def visit(self, number: int, times: int = 1) -> None:
        for _ in range(times):
            at = f"{day(number, 10):%Y-%m-%dT%H:%M:%SZ}"
            self.client.xadd(self.name, {"at": at, "who": "ann", "region": "north"})


def test_a_plan_counts_each_entry_in_its_step(server: RedisServer, tmp_path: Path) -> None:
    visits = Visits(server, tmp_path, COUNT)
    visits.visit(1, 3)
    visits.visit(2)
    visits.world.run(1)
    visits.visit(3, 2)
    visits.world.run(3)
    assert visits.world.values() == [3, 4, 6]
    assert visits.world.run(3).new == 0


def test_one_entry_more_changes_its_own_number_alone(server: RedisServer, tmp_path: Path) -> None:
    """On one tape, neighbours publish the same, except for the cell of the entry."""
    south = {"at": f"{day(2, 11):%Y-%m-%dT%H:%M:%SZ}", "region": "south"}
    hostile: list[dict[Any, Any]] = [
        {b"\xff": b"\x00"},
        {"at": "never"},
        {"region": "s" * 2_000_000},
    ]
    told: list[tuple[Any, ...]] = []
    for name, more in {"with": [south], "without": [], "garbage": hostile}.items():
        visits = Visits(server, tmp_path / name, STEP)
        visits.visit(1, 3)
        for fields in more:
            visits.client.xadd(visits.name, fields)
        visits.visit(2, 2)
        report = visits.world.run(3, noise=Tape([5, -3, 2, 7, -1, 4]))
        shown = [visits.world.values("daily", key) for key in ("north", "south")]
        told.append((*shown, report.new))
    with_one, without, garbage = told
    assert garbage == without
    assert (with_one[0], with_one[2]) == (without[0], without[2])
    pairs = zip(with_one[1], without[1], strict=True)
    assert [a - b for a, b in pairs if a is not None and b is not None] == [0, 1, 0]


def test_a_stream_that_is_gone_is_waited_for(server: RedisServer, tmp_path: Path) -> None:
    visits = Visits(server, tmp_path, COUNT)
    visits.visit(1)
    visits.world.run(1)
    visits.client.delete(visits.name)
    with pytest.raises(SourceUnreadable, match="no stream") as refused:
        visits.world.run(2)
    assert refused.value.why == "nothing was read, and no step released"
    assert refused.value.tip.endswith("; then run again")


def test_a_gap_is_recorded_with_its_reason(server: RedisServer, tmp_path: Path) -> None:
    visits = Visits(server, tmp_path, COUNT)
    visits.visit(1)
    visits.world.run(1)
    visits.visit(2, 2)
    visits.client.xtrim(visits.name, maxlen=1, approximate=False)
    with pytest.raises(SourceUnreadable, match="removed before"):
        visits.world.run(2)
    assert len(visits.world.values()) == 1
    visits.world.run(2, declarations=Declarations(skip_gap="trimmed by mistake"))
    assert visits.world.values() == [1, 2]
    with open_store(str(tmp_path / "s.db")) as store, store.reading() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        (gap,) = transaction.gaps(stream)
    assert (gap.place, gap.why) == (f"the stream {visits.name!r}", "trimmed by mistake")


def test_steps_wait_for_a_server_that_was_killed(tmp_path: Path) -> None:
    if shutil.which("redis-server") is None:
        pytest.skip(MISSING)
    (tmp_path / "redis").mkdir()
    with serving(tmp_path / "redis") as server:
        visits = Visits(server, tmp_path / "plan", STEP)
        visits.visit(1, 2)
        with following(visits.world) as live:
            live.until(2)
            visits.visit(2)
            server.kill()
            live.time = live.time + 86_400_000_000
            live.wait(lambda: live.failing)
            assert live.told == [1]
            server.start()
            live.until(3)
            assert len(live.failing) == 2
        assert visits.world.values("daily") == [2, 1]
