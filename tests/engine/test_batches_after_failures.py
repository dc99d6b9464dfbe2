"""Posted batches and a store that fails: none is lost, and none counts twice."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.http_source import (
    Outcome,
)
from ameles.core.exceptions import StoreRefused
from ameles.engine.following import receiving
from ameles.engine.following.batch_writer import BatchWriter
from ameles.store import StreamRecord
from ameles.store.batches import Batches, NewBatch
from tests.engine.posted import (
    Posting,
    daily_world,
    posting,
)
from tests.engine.worlds import row

COUNTED = Outcome.COUNTED
pytestmark = pytest.mark.usefixtures("quick_following")


@pytest.mark.parametrize("problem", [StoreRefused("The disk is full."), ValueError("a mistake")])
def test_a_store_that_fails_for_a_while_loses_nothing_and_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    world = daily_world(tmp_path)
    add = Batches.add_batches

    def full(these: Batches, stream: StreamRecord, batches: Sequence[NewBatch]) -> None:
        add(these, stream, batches)
        raise problem

    with posting(world) as posted:
        monkeypatch.setattr(Batches, "add_batches", full)
        assert posted.post("a", row(1)) is Outcome.UNKNOWN
        monkeypatch.setattr(Batches, "add_batches", add)
        assert posted.post("a", row(1)) is COUNTED
        posted.until(2)
    assert world.values("daily") == [1]


def test_a_store_that_stays_away_ends_the_stream_before_its_step_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that it can begin anew: a connection that was cut never works again."""
    world = daily_world(tmp_path)

    def cut(*given: object) -> Any:
        raise StoreRefused("The connection was cut.")

    failed = Posting(world)
    assert failed.post("a", row(1)) is COUNTED
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(failed.store, "writing", cut)
        assert failed.post("b", row(1)) is Outcome.UNKNOWN
        while failed.problem is None:
            threading.Event().wait(0.001)
    failed.end()
    assert str(failed.problem) == str(StoreRefused("The connection was cut."))
    with posting(world) as posted:
        assert [posted.post(name, row(1)) for name in "ab"] == [COUNTED] * 2
        posted.until(2)
    assert world.values("daily") == [2]


def test_a_crash_between_counting_and_deleting_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "AT_ONCE", 1)
    world = daily_world(tmp_path)
    forget, crashes = Batches.forget_batches, list[int]()

    def crash(these: Batches, stream: StreamRecord, *, counted: int, most: int) -> bool:
        if counted:
            crashes.append(counted)
            raise StoreRefused("The power failed.")
        return forget(these, stream, counted=counted, most=most)

    monkeypatch.setattr(Batches, "forget_batches", crash)
    crashed = Posting(world)
    assert crashed.post("a", row(1)) is COUNTED
    crashed.wait(lambda: bool(crashes))
    crashed.end()
    assert str(crashed.problem) == str(StoreRefused("The power failed."))
    monkeypatch.setattr(Batches, "forget_batches", forget)
    begun = list[int]()

    class Noting(BatchWriter):
        def begin(self) -> None:
            super().begin()
            begun.append(self.waiting)

    monkeypatch.setattr(receiving, "BatchWriter", Noting)
    with posting(world) as posted:
        assert posted.post("a", row(1)) is COUNTED
        assert posted.post("b", row(1)) is COUNTED
        posted.until(2)
        assert posted.waiting == 0
    assert world.values("daily") == [2]
    assert begun == [0], "what was counted does not wait"


def test_a_step_that_cannot_be_closed_ends_the_stream_and_not_its_senders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = daily_world(tmp_path)
    close = Batches.close_intake

    def full(these: Batches, stream: StreamRecord, step: int) -> None:
        if step:
            raise StoreRefused("The disk is full.")
        close(these, stream, step)

    monkeypatch.setattr(Batches, "close_intake", full)
    failed = Posting(world)
    assert failed.post("a", row(1)) is COUNTED
    failed.until(2)
    failed.end()
    assert str(failed.problem) == str(StoreRefused("The disk is full."))
    monkeypatch.setattr(Batches, "close_intake", close)
    with posting(world) as posted:
        assert posted.post("a", row(1)) is COUNTED
        posted.until(2)
    assert world.values("daily") == [1]
