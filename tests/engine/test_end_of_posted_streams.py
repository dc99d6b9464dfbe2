"""The end of a stream to which batches are posted: everybody learns of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ameles.connectors.http_source import (
    JSON,
    Batch,
    Outcome,
    csv_form,
)
from ameles.engine.following import receiving
from ameles.engine.following.batch_writer import BatchWriter
from tests.engine.posted import (
    LIMIT,
    SEIZED,
    Posting,
    daily_world,
    posting,
    source_of,
)
from tests.engine.worlds import HEADER

ENDED = Outcome.ENDED
EMPTY = Batch(bytes(16), 1, 0, csv_form(HEADER), b"")
pytestmark = pytest.mark.usefixtures("quick_following")


def test_a_batch_for_a_step_after_the_horizon_is_refused(tmp_path: Path) -> None:
    world = daily_world(tmp_path, horizon=2)
    with posting(world) as posted:
        stream = posted.record
        writer = BatchWriter(world.plan, posted.store, stream, posted.source)
        late = Batch(bytes(16), 3, world.plan.clock.start_of(3), JSON, b"{}\n")
        assert writer._stored([late]) == [ENDED]


def test_nobody_waits_for_ever_when_a_sealed_stream_ends(tmp_path: Path) -> None:
    """A batch may come between the last step and the end, and be in no queue of the source.

    Whichever of the two threads is first, its sender learns that the stream is over.
    """
    world = daily_world(tmp_path, SEIZED, horizon=1)
    answers = list[Sequence[Outcome]]()

    class Ending(Posting):
        def _tell(self, step: int) -> None:
            assert self.source.hand_over([EMPTY], answers.append)
            while self.source._queue.qsize():
                threading.Event().wait(0.001)

    ending = Ending(world)
    ending.time = world.plan.clock.end_of(1)
    ending._thread.join(LIMIT)
    assert ending.problem is None
    assert answers == [[ENDED]]


@pytest.mark.parametrize("over", [True, False], ids=["over", "stopped"])
def test_whoever_is_left_at_the_end_of_a_sealed_stream_learns_whether_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, over: bool
) -> None:
    answers = list[Sequence[Outcome]]()

    def leave(sealed: receiving._Sealed) -> None:
        assert sealed._source.hand_over([EMPTY], answers.append)
        assert sealed._source.waiting(0)[0], "it leaves the queue"
        if over:
            sealed._session.take(sealed._source.reading([]), 1)

    monkeypatch.setattr(receiving._Sealed, "run", leave)
    Posting(daily_world(tmp_path, SEIZED, horizon=1))._thread.join(LIMIT)
    assert answers == [[ENDED if over else Outcome.UNKNOWN]]


@pytest.mark.parametrize("over", [True, False], ids=["over", "stopped"])
def test_whoever_is_left_at_the_end_of_a_stored_stream_learns_whether_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, over: bool
) -> None:
    world, answers = daily_world(tmp_path, horizon=1), list[Sequence[Outcome]]()
    with posting(world) as posted:
        stream = posted.record
        source = source_of(world)
        writer = BatchWriter(world.plan, posted.store, stream, source)
        monkeypatch.setattr(writer, "_run", lambda stop: None)
        writer.counted(replace(stream, released=1 if over else 0), 0)
        with writer.running():
            assert source.hand_over([EMPTY], answers.append)
    assert answers == [[ENDED if over else Outcome.UNKNOWN]]
