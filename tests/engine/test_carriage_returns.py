"""Files whose lines end with CR alone: refused before a launch by their first line, not by data."""

from __future__ import annotations

from pathlib import Path

import pytest

from ameles.core.exceptions import PlanError
from ameles.plan.source import check_source
from tests.connectors.following import locked
from tests.engine.worlds import HEADER, World, row

LONG = [row(1)] * 20_000  # more than a first line may have


def written(world: World, rows: list[str], name: str = "events.csv") -> World:
    (world.folder / name).write_bytes("\r".join([HEADER, *rows, ""]).encode())
    return world


@pytest.mark.parametrize("rows", [[], [row(1)], [row(1), row(2)], LONG])
@pytest.mark.parametrize("last", ["wait", "take"])
def test_they_are_refused_before_a_launch_whatever_events_they_have(
    tmp_path: Path, rows: list[str], last: str
) -> None:
    world = written(World(tmp_path, stream=f'last_line = "{last}"'), rows)
    for refused in (world.earnest, lambda: check_source(world.plan)):
        with pytest.raises(PlanError) as caught:
            refused()
        assert caught.value.what == (
            "The lines of the file 'events.csv' end with a carriage return, not with a newline."
        )
    with pytest.raises(AssertionError):
        world.releases()  # no stream was launched


def test_a_launched_stream_goes_on(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1)])
    world.text = world.text.replace("events.csv", "events*.csv")
    world.run(1)
    world.file.unlink()
    written(world, [row(2)], "events2.csv")
    world.run(2)
    assert world.values() == [1, 1]


def test_one_such_file_stops_no_others(tmp_path: Path) -> None:
    world = World(tmp_path).write([row(1)])
    world.text = world.text.replace("events.csv", "events*.csv")
    written(world, [row(1)], "events0.csv")
    world.run(1)
    assert world.values() == [1]


def test_a_file_that_cannot_be_read_is_no_such_file(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.text = world.text.replace("events.csv", "events*.csv")
    written(world, [row(1)], "events1.csv")
    (tmp_path / "events2.csv").write_bytes(b"")
    with (
        locked(tmp_path / "events2.csv"),
        pytest.raises(PlanError, match=r"'events1\.csv' does not name its columns yet"),
    ):
        check_source(world.plan)


def test_copies_do_not_matter(tmp_path: Path) -> None:
    world = written(World(tmp_path, stream='rotated = "events.csv.*"'), [row(1)])
    (tmp_path / "events.csv.1").write_text(f"{HEADER}\n")
    with pytest.raises(PlanError, match="carriage return"):
        check_source(world.plan)


@pytest.mark.parametrize("text", [f"{HEADER}\r\n", f"{HEADER}\r\n{row(1)}\r"])
def test_a_first_line_that_ends_with_both_is_none(tmp_path: Path, text: str) -> None:
    world = World(tmp_path)
    world.file.write_text(text, newline="")
    check_source(world.plan)


@pytest.mark.parametrize("text", [HEADER, ""])
def test_a_first_line_that_is_being_written_is_none(tmp_path: Path, text: str) -> None:
    world = World(tmp_path)
    world.file.write_text(text, newline="")
    with pytest.raises(PlanError, match="does not name its columns yet"):
        check_source(world.plan)


def test_names_in_the_plan_leave_the_first_line_to_the_data(tmp_path: Path) -> None:
    names = ", ".join(f'"{name}"' for name in HEADER.split(","))
    world = written(World(tmp_path, stream=f"header = [{names}]"), [row(1)])
    check_source(world.plan)
