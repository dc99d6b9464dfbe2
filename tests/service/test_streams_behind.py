"""A sealed stream that is behind with its releases says so to those who post."""

from __future__ import annotations

import io
from contextlib import closing
from pathlib import Path

import pytest

from ameles.engine.running.session import Report
from ameles.service.describing import Describing
from ameles.service.following import FollowedStream
from ameles.service.ingest.door import SealedDoor
from ameles.service.log import Log
from ameles.service.published import Shown
from ameles.store import open_store
from tests.engine.posted import SEIZED, daily_world, source_of


def test_a_sealed_stream_is_behind_when_more_than_one_step_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Describing, "begin", lambda describing, released: None)
    made = daily_world(tmp_path, SEIZED, horizon=4)
    clock, at = made.plan.clock, [0]
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        shown, quiet = Shown(made.plan, store), Log(io.StringIO())
        stream = FollowedStream(shown, quiet, lambda name: None, lambda: at[0])
        stream._begun(source_of(made), Report(False, 0, 0, 4))
    door, seen = stream.door, list[bool]()
    assert isinstance(door, SealedDoor)
    for released, now in (
        (0, clock.end_of(1)),
        (0, clock.end_of(2) - 1),
        (0, clock.end_of(2)),
        (2, clock.end_of(9)),
        (3, clock.end_of(9)),
    ):
        stream._last, at[0] = released, now
        seen.append(door._behind())
    assert seen == [False, False, True, True, False]
