"""Gathering in shares of the users: as many as memory needs, and never one user in two of them."""

from __future__ import annotations

import gc
import shutil
from contextlib import AbstractContextManager, closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from ameles.connectors.duck import OutOfMemory
from ameles.core.exceptions import StoreRefused
from ameles.engine.gathering.bounded_reading import Bounded
from ameles.engine.gathering.bounding import Bounding
from ameles.engine.gathering.crowded import Choice
from ameles.engine.gathering.pending import Pending
from ameles.engine.gathering.temporary_tables import TemporaryTables
from ameles.store import open_store
from tests.engine.worlds import COUNT, USER, WINDOW, World, row

STEP = COUNT.replace('"visits"', '"daily"') + 'over = "step"\n'
ROWS = [row(1 + n % 8, who=f"u{n % 23}", hour=n % 24) for n in range(200)]


def world_in(folder: Path) -> World:
    return World(folder, COUNT + STEP, unit=USER).write(ROWS)


def test_too_little_memory_means_smaller_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = world_in(tmp_path / "whole")
    whole.run(8)
    allow = Bounding._allowed
    held: list[Exception] = []
    shares: list[Bounding] = []

    def hungry(self: Bounding, *given: Any, **named: Any) -> Bounded:
        if len(shares) < 3:
            shares.append(self)
            # Its traceback keeps what was being read alive until the next try has begun.
            held.append(duckdb.OutOfMemoryException("out"))
            raise held[-1]
        held.clear()
        gc.collect()
        return allow(self, *given, **named)

    monkeypatch.setattr(Bounding, "_allowed", hungry)
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
    monkeypatch.setattr("ameles.engine.gathering.gatherer.ROWS_AT_ONCE", 10)
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
        pending.state.made_by = "0.1"
        pending.state.arrays["part"] = ~pending.state.arrays["part"]
        transaction.set_pending(stream, pending.to_bytes())


def test_hashes_of_another_version_divide_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run would divide the users by new hashes, the third by a mixture."""
    sets = [[row(5, who=f"u{n}", hour=h) for n in range(9) for h in range(3)] for _ in range(3)]
    values = []
    for name, at_once in (("whole", 10**6), ("parts", 10)):
        monkeypatch.setattr("ameles.engine.gathering.gatherer.ROWS_AT_ONCE", at_once)
        world = World(tmp_path / name, STEP, unit=USER).write(sets[0])
        world.run(1)
        if name == "parts":
            aged(world)
        world.append(sets[1]).run(2)
        world.append(sets[2]).run(8)
        values.append(world.values("daily"))
    assert values == [[0, 0, 0, 0, 18, 0, 0, 0]] * 2


def test_hashes_of_another_version_are_not_divided_for_lack_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_in(tmp_path)
    world.run(1)
    aged(world)

    def hungry(self: Any, *given: Any, **named: Any) -> None:
        raise duckdb.OutOfMemoryException("out")

    monkeypatch.setattr(Bounding, "_allowed", hungry)
    monkeypatch.setattr("ameles.engine.gathering.gatherer.MOST_PASSES", 2)
    calls: list[int] = []
    holding = Bounding.holding

    def counted(self: Bounding, *given: Any, **named: Any) -> AbstractContextManager[Bounded]:
        calls.append(named["passes"])
        return holding(self, *given, **named)

    monkeypatch.setattr(Bounding, "holding", counted)
    with pytest.raises(OutOfMemory):
        world.run(2)
    assert calls == [1]


SUM = (
    '[[release]]\nname = "spent"\nmeasure = "sum"\ncolumn = "amount"\nlower = 0\nupper = 5\n'
    'granularity = 1\nover = "step"\nwhere = "fever"\n'
)
PEOPLE = '[[release]]\nname = "people"\nmeasure = "distinct"\nover = "step"\n'
EVER = '[[release]]\nname = "ever"\nmeasure = "distinct"\nwhere = "amount > 3"\n'
ALWAYS = USER.replace("max_steps = 3", "max_steps = 8")
# Some users have up to seven events in a step, most of them one; one row has no user.
CROWD = [
    row(1 + n % 7, who=f"u{min(n % 40, n % 11)}", hour=n % 24, amount=n % 6, region="north")
    for n in range(300)
] + [row(2, who=""), row(3, who="late", hour=1)]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with CROWD as two Parquet files."""
    folder = tmp_path_factory.mktemp("crowd")
    written = World(folder, COUNT, unit=ALWAYS).write(CROWD).file
    with duckdb.connect() as duck:
        for place, name in enumerate(("one", "two")):  # each user is in both
            mine = f'hash("at", who, region) % 2 = {place}'
            read = f"SELECT * FROM read_csv('{written}', all_varchar = true) WHERE {mine}"
            duck.execute(f"COPY ({read}) TO '{folder}/{name}.parquet'")
    return folder


def in_parquet(crowd: Path, folder: Path, unit: str = ALWAYS) -> World:
    """The same events in files of another kind, which one scan has whole."""
    # who counts once in all must be remembered, and so cannot just pass
    releases = PEOPLE if unit == ALWAYS else PEOPLE + EVER
    world = World(folder, COUNT + STEP + SUM + releases, unit=unit)
    world.text = world.text.replace("events.csv", "*.parquet")
    for file in crowd.glob("*.parquet"):
        shutil.copy(file, folder)
    return world


@pytest.mark.parametrize(("unit", "first"), [(ALWAYS, 3), (ALWAYS, 8), (USER, 3), (WINDOW, 8)])
def test_bounds_as_events_pass_are_those_of_events_that_are_held(
    unit: str, first: int, crowd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to day ``first`` events pass; those of later days are held until the second run."""
    passed: list[str] = []
    passing = Bounding.passing

    def noted(self: Bounding, select: str) -> AbstractContextManager[Bounded]:
        passed.append(select)
        return passing(self, select)

    monkeypatch.setattr(Bounding, "passing", noted)
    # The salt decides which events are kept; here it is always the same.
    monkeypatch.setattr("ameles.engine.running.launch.os", SimpleNamespace(urandom=bytes))

    def released(name: str) -> list[object]:
        passed.clear()
        world = in_parquet(crowd, tmp_path / name, unit)
        world.run(first)
        world.run(8)
        return list(world.releases())

    straight = released("straight")
    assert bool(passed) == (unit == ALWAYS)
    monkeypatch.setattr("ameles.engine.gathering.crowded._HASHES", 1)  # everybody may be in a crowd
    assert released("crowded") == straight
    for name in ("ROWS_PASSING", "ROWS_OF_NEW_USERS", "ROWS_AT_ONCE"):
        monkeypatch.setattr(f"ameles.engine.gathering.gatherer.{name}", 100)
    assert released("shares") == straight
    monkeypatch.setattr("ameles.connectors.parquet.source.ParquetPiece.single", False)
    assert released("held") == straight
    assert not passed


@pytest.mark.parametrize("broken", ["nobody has too many", "the crowd is lost"])
def test_bounds_as_events_pass_matter(
    broken: str, crowd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = in_parquet(crowd, tmp_path / "sound")
    sound.run(8)
    if broken == "nobody has too many":
        monkeypatch.setattr(Choice, "kept", lambda self, rows: rows)
    else:
        monkeypatch.setattr(Choice, "kept", lambda self, rows: f"SELECT * FROM ({rows}) LIMIT 0")
    unsound = in_parquet(crowd, tmp_path / "unsound")
    unsound.run(8)
    assert unsound.values("daily") != sound.values("daily")


def test_a_parquet_file_that_changes_while_it_passes_is_refused(
    crowd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = in_parquet(crowd, tmp_path)
    close = TemporaryTables.close

    def swapped(self: TemporaryTables) -> None:
        close(self)
        (tmp_path / "one.parquet").write_bytes((tmp_path / "two.parquet").read_bytes())

    monkeypatch.setattr(TemporaryTables, "close", swapped)
    with pytest.raises(StoreRefused, match="was replaced or changed since the launch"):
        world.run(8)
