"""A line is an event only with its newline: an id that was cut short is no other user."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.worlds import COUNT, World, row

ONCE = 'unit = "user"\nuser = "who"\nmax_per_step = 1\nmax_steps = 1'


def test_one_user_whose_id_is_cut_short_counts_once(tmp_path: Path) -> None:
    # what was taken is complete but for the last field, in which the id stands
    columns = 'columns = { at = "timestamp", region = "text", who = "text" }'
    world = World(tmp_path, COUNT, unit=ONCE)
    world.text = world.text.replace(world.text.split("\n")[4], columns)
    world.file.write_bytes(b"at,region,who\n")
    for part in (b"2026-01-01T12:00:00Z,north,a", b"d", b"a", b"byron"):
        with world.file.open("ab") as file:
            file.write(part)
        world.run(1)
    with world.file.open("ab") as file:
        file.write(b"\n")
    world.run(8)
    assert world.values() == [0, 1, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(("last_line", "total"), [("wait", 0), ("take", 1)])
def test_a_plan_may_take_a_last_line_as_it_is(last_line: str, total: int, tmp_path: Path) -> None:
    world = World(tmp_path, COUNT, stream=f'last_line = "{last_line}"')
    world.write([])
    with world.file.open("ab") as file:
        file.write(row(1).encode())
    world.run(2)
    assert world.values() == [total] * 2
