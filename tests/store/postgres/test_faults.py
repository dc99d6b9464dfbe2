"""Faults while streams run on Postgres, as many as a test has time for: nothing is lost, doubled or
published twice differently, and every program ends with a sentence.  More of them:
``python -m tests.store.served --faults 500``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.choices import Choices
from tests.faults.shim import Clock
from tests.faults.victims import Victims
from tests.postgres import Server
from tests.store.served import Served, Tally, followed_by_faults, killed, shaken


@pytest.fixture(scope="module")
def victims() -> Iterator[Victims]:
    with Victims() as servers:
        yield servers


def test_sessions_ended_and_servers_crashed_under_a_run(
    tmp_path: Path, postgres: Server, victims: Victims
) -> None:
    tally = Tally()
    world = Served(tmp_path / "w", victims, postgres, horizon=60, batch=3)
    shaken(world, postgres, Choices("a"), 4, tally)
    assert tally.wrong == []
    assert tally.deeds.total() >= 2


def test_sessions_ended_and_servers_crashed_under_a_follower(
    tmp_path: Path, postgres: Server, victims: Victims
) -> None:
    tally = Tally()
    world = Served(tmp_path / "w", victims, postgres, horizon=30, batch=3)
    clock = Clock(tmp_path / "clock")
    followed_by_faults(world, clock, postgres, Choices("c"), 3, tally)
    assert tally.wrong == []
    assert tally.deeds.total() >= 2


@pytest.mark.parametrize("way", ["replay", "sealed"])
def test_killed_at_random(tmp_path: Path, postgres: Server, victims: Victims, way: str) -> None:
    done = killed(way, tmp_path / way, victims, postgres, 5)
    assert done.wrong == []
    assert done.kills >= 2


def test_a_broken_engine_is_seen(tmp_path: Path, postgres: Server, victims: Victims) -> None:
    """What kept releases apart from their state would publish other numbers after a crash."""
    tally = Tally()
    for turn in range(6):
        folder, broken = tmp_path / str(turn), "two transactions"
        world = Served(folder, victims, postgres, horizon=60, batch=3, broken=broken)
        shaken(world, postgres, Choices(broken, turn), 4, tally)
        if tally.wrong:
            break
    assert any(wrong.startswith("I1") for wrong in tally.wrong)
