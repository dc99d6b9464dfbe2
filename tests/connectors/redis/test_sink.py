"""Streams of Redis as sinks: their entries are those of one launch."""

from __future__ import annotations

from pathlib import Path

import pytest

from ameles.connectors.redis.sink import RedisSink
from ameles.core.exceptions import PlanError, StoreRefused
from ameles.engine.running.launch_checks import check_launch
from tests.connectors.database_places import (
    Stream,
    quick,
    redis_server,
)
from tests.redis_server import RedisServer

__all__ = ["quick", "redis_server"]  # fixtures


class TestStreams:
    def test_a_stream_of_another_launch_is_refused_before_the_launch(
        self, redis_server: RedisServer, tmp_path: Path
    ) -> None:
        stream = Stream(redis_server, tmp_path)
        stream.client.xadd(stream.name, {"a": "b"})
        with pytest.raises(PlanError, match="not of this launch"):
            stream.run(1)

    def test_entries_may_be_trimmed(self, redis_server: RedisServer, tmp_path: Path) -> None:
        stream = Stream(redis_server, tmp_path)
        stream.run(2)
        stream.client.xtrim(stream.name, maxlen=0, approximate=False)
        stream.run(4)
        assert {row[3] for row in stream.has()} == {"3", "4"}

    def test_entries_of_others_do_not_pass_for_releases(
        self, redis_server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Another program adds an entry, whose id is a time, and it is trimmed at once."""
        stream = Stream(redis_server, tmp_path)
        stream.run(1)
        stream.client.xadd(stream.name, {"a": "b"})
        stream.client.xtrim(stream.name, maxlen=0, approximate=False)
        with pytest.raises(StoreRefused, match="the store has released 1"):
            stream.run(2)
        monkeypatch.setattr(RedisSink, "reached", lambda self: 1)  # it happens after that look
        with pytest.raises(StoreRefused, match="the store has released 2"):
            stream.run(2)
        assert stream.state().step == 1

    def test_releases_are_not_read_as_events(
        self, redis_server: RedisServer, tmp_path: Path
    ) -> None:
        stream = Stream(redis_server, tmp_path)
        same = stream.url.replace("/0?", "?")
        stream.world.text = stream.world.text.replace('"events.csv"', f'"{same}"')
        with pytest.raises(PlanError, match="is the source of the plan"):
            check_launch(stream.world.plan)
