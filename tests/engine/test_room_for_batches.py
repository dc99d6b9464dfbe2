"""How many batches a step has room for."""

from __future__ import annotations

from pathlib import Path

import pytest

from ameles.connectors.http_source import (
    Outcome,
)
from ameles.core.exceptions import StoreRefused
from ameles.engine.following import batch_writer
from ameles.engine.releasing import batch_ids
from ameles.engine.releasing.batch_ids import BatchIds
from tests.engine.posted import (
    SEIZED,
    daily_world,
    posting,
)
from tests.engine.worlds import row

COUNTED, FULL = Outcome.COUNTED, Outcome.FULL
pytestmark = pytest.mark.usefixtures("quick_following")


def test_when_nothing_is_counted_any_more_batches_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_writer, "MOST_WAITING", 60)
    world = daily_world(tmp_path)
    with posting(world) as posted:
        outcomes = [posted.post(str(number), row(1)) for number in range(3)]
        assert outcomes == [COUNTED, COUNTED, FULL]
        posted.until(2)
        assert posted.post("2", row(2)) is COUNTED
        posted.until(3)
    assert world.values("daily") == [2, 1]


def test_a_sealed_step_has_room_for_so_many_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_ids, "ROOM", 2)
    world = daily_world(tmp_path, SEIZED)
    with posting(world) as posted:
        assert [posted.post(name, row(1)) for name in "aabc"] == [COUNTED, COUNTED, COUNTED, FULL]
        posted.until(2)
        assert posted.post("c", row(1)) is COUNTED
        posted.until(3)
    assert world.values("daily") == [2, 1]


def test_the_list_of_batches_always_has_one_size() -> None:
    known, sizes = BatchIds(), set[int]()
    for number in range(batch_ids.ROOM):
        if number % 1000 == 0:
            sizes.add(len(known.to_bytes()))
        assert not known.full
        known.add(number.to_bytes(16))
    assert known.full
    assert sizes == {len(known.to_bytes())}
    assert BatchIds.from_bytes(known.to_bytes()) == known
    known.clear()
    assert BatchIds.from_bytes(known.to_bytes()) == BatchIds()
    with pytest.raises(StoreRefused, match="no list"):
        BatchIds.from_bytes(b"short")
