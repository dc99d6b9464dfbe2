"""Questions beside a followed stream: it keeps its instants, and nobody spends beyond the cap."""

from __future__ import annotations

from pathlib import Path

import pytest

from ameles.core.guarantee import EVENT
from ameles.core.loss import Pure
from ameles.engine.following import arrivals
from ameles.query import open_account
from tests.engine import worlds
from tests.engine.test_follow import STEP, following
from tests.engine.worlds import World, row
from tests.query.test_store_account import eight_at_once


def test_eight_processes_ask_while_a_stream_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "PATIENCE", 0.005)
    monkeypatch.setattr(arrivals, "QUIET", 0.02)
    world = World(tmp_path, STEP, unit=f"{worlds.EVENT}\ncap = 2").write([row(1)])
    url = str(tmp_path / "s.db")
    with following(world) as live:
        live.until(2)  # launched: the stream has paid 1 of 2
        with eight_at_once(url) as entries:  # 24 questions for 10 places
            for number in range(2, 8):
                world.append([row(number)] * number)
                live.until(number + 1)
    assert live.told == [1, 2, 3, 4, 5, 6, 7]
    assert world.values("daily") == [1, 2, 3, 4, 5, 6, 7]
    assert set(entries) == {str(number) for number in range(2, 12)}
    with open_account(url, "people", unit=EVENT) as account:
        assert account.left == Pure(0)
