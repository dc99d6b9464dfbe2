"""Files that change while they are read: nothing is counted, and they are looked at again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from ameles.connectors.files.identity import LOOKS, ChangedMeanwhile
from ameles.connectors.reading import Reading
from ameles.core.exceptions import StoreRefused
from ameles.engine.engine import Engine
from ameles.engine.owner_check.check import check
from ameles.noise import Zero
from ameles.store import open_store
from tests.engine.worlds import COUNT, EVENT, HEADER, USER, World, day, row

STEP = COUNT.replace('"visits"', '"daily"') + 'over = "step"\n'
ROTATED = 'rotated = "events.csv.*"'


class Meanwhile:
    """Does something in the middle of a reading: before its first block is read, or after."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
        self.acts, self.readings, self.when = act, 0, "before"
        scans = Reading.scans

        def hooked(reading: Reading, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
            self.readings += 1
            if self.when == "before":
                self.acts()
            for place, relation in enumerate(scans(reading, duck)):
                yield relation
                if not place and self.when == "after":
                    self.acts()

        monkeypatch.setattr(Reading, "scans", hooked)


def once(act: Callable[[], None]) -> Callable[[], None]:
    left = [act]

    def acted() -> None:
        if left:
            left.pop()()

    return acted


def cut_in_place(world: World) -> None:
    shutil.copy(world.file, world.folder / "events.csv.1")
    world.write([row(2)])


def shrink(world: World) -> None:
    world.write([row(2)])


@pytest.mark.parametrize("unit", [EVENT, USER], ids=["event", "user"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_log_that_is_copied_and_cut_while_it_is_read_counts_once(
    when: str, unit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, STEP, unit=unit, stream=ROTATED)
    world.write([row(1, "ada"), row(1, "bob")]).run(1)
    world.append([row(2, f"user{n}") for n in range(40)])
    meanwhile = Meanwhile(monkeypatch, once(lambda: cut_in_place(world)))
    meanwhile.when = when
    world.run(2)
    assert world.values("daily") == [2, 41]
    assert meanwhile.readings > 1
    world.run(3)
    assert world.values("daily") == [2, 41, 0]


def test_a_log_that_is_cut_without_a_copy_is_refused_at_the_second_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, STEP).write([row(1)] * 9)
    world.run(1)
    world.append([row(2)])
    meanwhile = Meanwhile(monkeypatch, once(lambda: shrink(world)))
    with pytest.raises(StoreRefused, match="replaced or cut since it was last read"):
        world.run(2)
    assert meanwhile.readings == 1
    assert world.values("daily") == [9]


def test_a_file_that_never_holds_still_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, STEP).write([row(1)])
    world.text = world.text.replace('"events.csv"', '"events.csv*"')
    world.run(1)
    added = tmp_path / "events.csv.2"
    added.write_text(f"{HEADER}\n{row(2)}\n", encoding="utf-8")

    def edit() -> None:
        added.write_bytes(added.read_bytes()[:-2] + b"xx\n")

    meanwhile = Meanwhile(monkeypatch, edit)
    with pytest.raises(ChangedMeanwhile, match="while it was being read") as caught:
        world.run(2)
    assert (meanwhile.readings, caught.value.exit_code) == (LOOKS, 1)
    assert world.values("daily") == [1]


def test_the_first_reading_is_repeated_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, STEP, stream=ROTATED).write([row(1)] * 9)
    Meanwhile(monkeypatch, once(lambda: cut_in_place(world)))
    world.run(2)
    assert world.values("daily") == [9, 1]


def test_without_a_position_nothing_is_read_again_since_copies_would_be_the_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, STEP, stream=ROTATED).write([row(1)] * 9)
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        engine = Engine(world.plan, store, noise=Zero())
        with engine.session() as session:  # launched as by an earlier version
            assert session.position is None
    Meanwhile(monkeypatch, once(lambda: cut_in_place(world)))
    with pytest.raises(ChangedMeanwhile, match="replaced or cut while"):
        world.run(1)
    assert world.values("daily") == []


def test_the_owner_s_look_begins_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, STEP).write([row(1)] * 9)
    meanwhile = Meanwhile(monkeypatch, once(lambda: shrink(world)))
    facts = check(world.plan, None, now=day(8))
    assert (facts.lines.events, facts.times.counted) == (1, 1)
    assert meanwhile.readings > 1


def test_the_owner_s_look_gives_up_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, STEP).write([row(1)] * 9)

    def edit() -> None:
        world.file.write_bytes(world.file.read_bytes()[:-2] + b"xx\n")

    meanwhile = Meanwhile(monkeypatch, edit)
    with pytest.raises(ChangedMeanwhile):
        check(world.plan, None, now=day(8))
    assert meanwhile.readings == LOOKS
