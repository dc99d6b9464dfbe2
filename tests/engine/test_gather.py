"""Gathering in shares of the users: as many as memory needs, and never one user in two of them."""

from __future__ import annotations

import gc
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ameles.connectors.duck import OutOfMemory
from ameles.engine.bounds import Bounding
from ameles.engine.pending import Pending
from ameles.store import open_store
from tests.engine.worlds import COUNT, USER, World, row

STEP = COUNT.replace('"visits"', '"daily"') + 'over = "step"\n'
ROWS = [row(1 + n % 8, who=f"u{n % 23}", hour=n % 24) for n in range(200)]


def world_in(folder: Path) -> World:
    return World(folder, COUNT + STEP, unit=USER).write(ROWS)


def test_too_little_memory_means_smaller_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = world_in(tmp_path / "whole")
    whole.run(8)
    allow = Bounding._allow
    held: list[Exception] = []
    shares: list[Bounding] = []

    def hungry(self: Bounding) -> None:
        if len(shares) < 3:
            shares.append(self)
            # Its traceback keeps what was being read alive until the next try has begun.
            held.append(duckdb.OutOfMemoryException("out"))
            raise held[-1]
        held.clear()
        gc.collect()
        allow(self)

    monkeypatch.setattr(Bounding, "_allow", hungry)
    parts = world_in(tmp_path / "parts")
    parts.run(8)
    assert len(shares) == 3
    assert parts.releases() == whole.releases()


def test_a_column_may_be_called_as_users_are_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Users are in the column region here, and those of the column who are others."""
    unit = USER.replace('"who"', '"region"')
    everyone = '[[release]]\nname = "daily"\nmeasure = "count"\nover = "step"\n'
    world = World(tmp_path, everyone, unit=unit)
    monkeypatch.setattr("ameles.engine.gather.ROWS_AT_ONCE", 10)
    world.write(row(5, who=f"w{n}", region=f"u{n % 9}", hour=n % 24) for n in range(60))
    world.run(1)
    world.append(row(5, who=f"x{n}", region=f"u{n % 9}", hour=n % 24) for n in range(60)).run(8)
    assert world.values("daily", "") == [0, 0, 0, 0, 18, 0, 0, 0]


def test_as_many_releases_as_there_can_be_of_users_that_count_once(tmp_path: Path) -> None:
    """Each has a bit of its own in what is remembered of a user."""
    releases = "".join(
        f'[[release]]\nname = "d{n}"\nmeasure = "distinct"\nwhere = "age > {n}"\n'
        for n in range(64)
    )
    world = World(tmp_path, releases, unit=USER).write([row(1, age=64), row(2, age=63, who="bob")])
    world.run(3)
    world.append([row(4, age=64), row(5, age=64, who="bob"), row(5, age=63, who="cy")]).run(6)
    assert world.values("d62", "") == [1, 2, 2, 2, 3, 3]
    assert world.values("d63", "") == [1, 1, 1, 1, 2, 2]


def aged(world: World) -> None:
    """What waits, as if another version of DuckDB had hashed it."""
    with closing(open_store(str(world.folder / "s.db"))) as store, store.writing() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        pending = Pending.from_bytes(transaction.pending(stream) or b"")
        pending.hashed_by = "0.1"
        for name in ("part", "place"):
            pending.candidates[name] = ~pending.candidates[name]
        transaction.set_pending(stream, pending.to_bytes())


def test_hashes_of_another_version_divide_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run would divide the users by new hashes, the third by a mixture."""
    sets = [[row(5, who=f"u{n}", hour=h) for n in range(9) for h in range(3)] for _ in range(3)]
    found = []
    for name, at_once in (("whole", 10**6), ("parts", 10)):
        monkeypatch.setattr("ameles.engine.gather.ROWS_AT_ONCE", at_once)
        world = World(tmp_path / name, STEP, unit=USER).write(sets[0])
        world.run(1)
        if name == "parts":
            aged(world)
        world.append(sets[1]).run(2)
        world.append(sets[2]).run(8)
        found.append(world.values("daily"))
    assert found == [[0, 0, 0, 0, 18, 0, 0, 0]] * 2


def test_hashes_of_another_version_are_not_divided_for_lack_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_in(tmp_path)
    world.run(1)
    aged(world)

    def hungry(self: Any) -> None:
        raise duckdb.OutOfMemoryException("out")

    monkeypatch.setattr(Bounding, "_allow", hungry)
    monkeypatch.setattr("ameles.engine.gather.MOST_PASSES", 2)
    calls: list[int] = []
    take = Bounding.take

    def counted(self: Bounding, *given: Any, share: int, passes: int) -> str:
        calls.append(passes)
        return take(self, *given, share=share, passes=passes)

    monkeypatch.setattr(Bounding, "take", counted)
    with pytest.raises(OutOfMemory):
        world.run(2)
    assert calls == [1]
