"""What is there at the launch is known from then on: a log may be cut before it is first read."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from ameles.core.exceptions import PlanError, StoreRefused
from ameles.engine.engine import Engine
from ameles.engine.following import arrivals
from ameles.engine.running.session import Session
from ameles.noise import Zero
from ameles.store import open_store
from tests.engine.test_follow import STEP, following
from tests.engine.worlds import World, row

ROTATED = 'rotated = "events.csv.*"'


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "PATIENCE", 0.005)
    monkeypatch.setattr(arrivals, "QUIET", 0.02)


class Killed(BaseException):
    """The process ends here, and does nothing more."""


def die(*given: object, **options: object) -> None:
    raise Killed


def world_of(folder: Path, stream: str = ROTATED) -> World:
    return World(folder, STEP, stream=stream).write(rows("at the launch", 3))


def rows(who: str, events: int) -> list[str]:
    return [row(1, who)] * events


def rotate(world: World) -> None:
    """Seven more events, copytruncate, and five more: 15 with the three of the launch."""
    world.append(rows("before the cut", 7))
    shutil.copy(world.file, world.folder / "events.csv.1")
    world.write(rows("after the cut", 5))  # cut in place


def follow_and_stop(world: World) -> None:
    with following(world) as live:
        live.wait(live.begun.is_set)


def launch_and_die(world: World) -> None:
    """Right after the transaction of the launch."""
    killed_in(Engine, "_resumed", world)


def launch_and_die_before_reading(world: World) -> None:
    killed_in(Session, "take", world)


def killed_in(where: type, name: str, world: World) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, name, die)
        with pytest.raises(Killed):
            world.run(0)


def follow_and_die(world: World) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "_resumed", die)
        with pytest.raises(Killed):
            follow_and_stop(world)


def run_early(world: World) -> None:
    world.run(0)


def follow_through(world: World) -> None:
    with following(world) as live:
        live.wait(live.begun.is_set)
        rotate(world)
        live.until(2)


LAUNCHES: dict[str, Callable[[World], None]] = {
    "followed and stopped": follow_and_stop,
    "followed and killed": follow_and_die,
    "run and killed": launch_and_die,
    "run and killed before it read": launch_and_die_before_reading,
    "run before the first step": run_early,
}


def test_a_follower_counts_what_was_cut_before_its_first_reading(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    with following(world) as live:
        live.wait(live.begun.is_set)
        rotate(world)
        live.until(2)
        world.append([row(2)])
        live.until(3)
    assert world.values("daily") == [15, 1]


@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
def test_the_next_run_counts_what_was_cut_after_the_launch(
    launch: Callable[[World], None], tmp_path: Path
) -> None:
    world = world_of(tmp_path)
    launch(world)
    rotate(world)
    world.run(1)
    assert world.values("daily") == [15]


@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
def test_without_rotated_a_log_that_was_cut_after_the_launch_is_refused(
    launch: Callable[[World], None], tmp_path: Path
) -> None:
    world = world_of(tmp_path, "")
    launch(world)
    rotate(world)
    with pytest.raises(StoreRefused, match="cut since") as caught:
        world.run(1)
    assert "rotated =" in caught.value.tip


def test_without_rotated_a_follower_refuses_too(tmp_path: Path) -> None:
    world = world_of(tmp_path, "")
    with pytest.raises(StoreRefused, match="cut since"):
        follow_through(world)
    assert world.values("daily") == []


def test_copies_of_the_time_before_the_launch_stay_the_past(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    (tmp_path / "events.csv.1").write_bytes(world.file.read_bytes() + f"{row(1)}\n".encode())
    (tmp_path / "events.csv.2.gz").write_bytes(gzip.compress(b"old"))
    follow_and_stop(world)
    for name in ("events.csv.2.gz", "events.csv.1"):
        (tmp_path / name).rename(tmp_path / name.replace("2", "3").replace("1", "2"))
    rotate(world)
    world.run(1)
    assert world.values("daily") == [15]


def test_a_second_cut_before_the_first_reading_is_refused_until_its_owner_speaks(
    tmp_path: Path,
) -> None:
    world = world_of(tmp_path)
    follow_and_stop(world)
    rotate(world)
    (tmp_path / "events.csv.1").rename(tmp_path / "events.csv.2")
    (tmp_path / "events.csv.2.gz").write_bytes(
        gzip.compress((tmp_path / "events.csv.2").read_bytes())
    )
    (tmp_path / "events.csv.2").unlink()
    rotate(world)  # of its first twelve nothing was seen
    with pytest.raises(StoreRefused, match=r"'events.csv.1' is not the rest"):
        world.run(1)
    assert world.values("daily") == []


def test_a_log_that_came_after_the_launch_is_not_the_past(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.text = world.text.replace('"events.csv"', '"event[s].csv"')
    world.file.unlink()
    follow_and_stop(world)
    world.write([])
    rotate(world)
    with pytest.raises(StoreRefused, match=r"'events.csv.1' is not the rest"):
        world.run(1)


def test_a_follower_is_not_launched_on_a_file_that_is_not_there(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.file.unlink()
    with pytest.raises(PlanError, match=r"No file matches the source 'events.csv'"):
        follow_and_stop(world)
    world.write(rows("first", 3))
    follow_and_stop(world)
    world.file.unlink()  # now it is a log in the middle of a rotation
    follow_and_stop(world)


def test_a_log_that_was_renamed_after_the_launch_counts_whole(tmp_path: Path) -> None:
    world = world_of(tmp_path, "")
    world.text = world.text.replace('"events.csv"', '"events.csv*"')
    follow_and_stop(world)
    world.append(rows("later", 7))
    world.file.rename(tmp_path / "events.csv.1")
    world.write(rows("anew", 5))
    world.run(1)
    assert world.values("daily") == [15]


def test_a_log_that_was_renamed_to_a_copy_after_the_launch_counts_whole(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    follow_and_stop(world)
    world.append(rows("later", 7))
    world.file.rename(tmp_path / "events.csv.1")
    world.write(rows("anew", 5))
    world.run(1)
    assert world.values("daily") == [15]


def test_a_log_that_was_replaced_after_the_launch_is_refused(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    follow_and_stop(world)
    world.file.rename(tmp_path / "elsewhere")
    world.write(rows("anew", 5))
    with pytest.raises(StoreRefused, match="was replaced or cut since the launch") as caught:
        world.run(1)
    assert 'rotated = "' not in caught.value.tip  # it is in the plan
    assert "rotated" in caught.value.tip


def compressed(file: Path, events: int) -> None:
    file.write_bytes(gzip.compress("\n".join(['{"at":"2026-01-01T12:00:00Z"}'] * events).encode()))


def parquet(file: Path, events: int) -> None:
    with duckdb.connect() as duck:
        at = f"SELECT TIMESTAMPTZ '2026-01-01T12:00:00Z' AS at FROM range({events})"
        duck.execute(f"COPY ({at}) TO '{file}' (FORMAT parquet)")


WHOLE = {"*.jsonl.gz": ("a.jsonl.gz", compressed), "*.parquet": ("a.parquet", parquet)}


@pytest.fixture(params=WHOLE)
def whole(
    request: pytest.FixtureRequest, tmp_path: Path
) -> tuple[World, Path, Callable[[Path, int], None]]:
    """A stream of whole files, launched and not yet read, with one file of three events."""
    name, write = WHOLE[request.param]
    world = World(tmp_path, '[[release]]\nname = "daily"\nmeasure = "count"\nover = "step"\n')
    world.text = world.text.replace('"events.csv"', f'"{request.param}"')
    columns = next(line for line in world.text.splitlines() if line.startswith("columns"))
    world.text = world.text.replace(columns, 'columns = { at = "timestamp" }')
    write(tmp_path / name, 3)
    follow_and_stop(world)
    return world, tmp_path / name, write


def daily(world: World) -> list[float | None]:
    return [release.value for release in world.releases()]


def test_whole_files_that_are_there_at_the_launch_count(
    whole: tuple[World, Path, Callable[[Path, int], None]],
) -> None:
    world, file, write = whole
    write(file.with_name(f"b{file.name}"), 4)
    file.rename(file.with_name(f"c{file.name}"))
    world.run(1)
    world.run(2)
    assert daily(world) == [7, 0]


def test_a_whole_file_that_was_replaced_after_the_launch_is_refused(
    whole: tuple[World, Path, Callable[[Path, int], None]],
) -> None:
    world, file, write = whole
    write(file.with_name("fresh"), 4)
    os.replace(file.with_name("fresh"), file)
    with pytest.raises(StoreRefused, match="since the launch"):
        world.run(1)


def test_a_stream_that_was_launched_without_a_position_goes_on(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    with (  # as it was done before
        open_store(str(tmp_path / "s.db")) as store,
        Engine(world.plan, store, noise=Zero()).session() as session,
    ):
        assert session.position is None
    rotate(world)
    world.run(1)
    assert world.values("daily") == [5]
