"""The disks after a power cut: what was synced is there, and the rest may be."""

from __future__ import annotations

from pathlib import Path

from ameles.testing import Choices, Fault, Power, Victims, World, read_changes
from ameles.testing.power import Change

SYNCED = [
    Change("create", "a", "", 0, b""),
    Change("write", "a", "", 0, b"one"),
    Change("sync", "a", "", 0, b""),
    Change("sync", "", "", 0, b""),
]
UNSYNCED = [
    Change("write", "a", "", 3, b"two"),
    Change("create", "b", "", 0, b""),
    Change("rename", "b", "a", 0, b""),
]


def left(
    folder: Path, changes: list[Change], count: int = 60
) -> set[tuple[tuple[str, bytes], ...]]:
    """All disks that so many power cuts after these changes leave."""
    found = set()
    for number in range(count):
        place = folder / str(number)
        Power({}, changes).image(len(changes), Choices(number), place)
        found.add(tuple(sorted(Power.files(place).items())))
    return found


def test_what_is_synced_stays(tmp_path: Path) -> None:
    assert left(tmp_path, SYNCED) == {(("a", b"one"),)}


def test_what_is_not_may_be_there_or_not(tmp_path: Path) -> None:
    found = left(tmp_path, SYNCED + UNSYNCED[:1])
    assert found == {(("a", b"one"),), (("a", b"onetwo"),)}


def test_names_that_are_not_synced_come_in_their_order(tmp_path: Path) -> None:
    found = left(tmp_path, SYNCED + UNSYNCED[1:])
    old, both, renamed = (("a", b"one"),), (("a", b"one"), ("b", b"")), (("a", b""),)
    assert found == {old, both, renamed}


def test_a_file_whose_name_is_not_synced_may_be_gone(tmp_path: Path) -> None:
    assert () in left(tmp_path, SYNCED[:3])


def test_a_write_can_be_torn_at_a_sector(tmp_path: Path) -> None:
    long = Change("write", "a", "", 0, b"x" * 1024)
    found = left(tmp_path, [*SYNCED, long])
    assert (("a", b"x" * 512),) in found
    assert (("a", b"one" + bytes(509) + b"x" * 512),) in found


def test_all_changes_are_written_down(tmp_path: Path, victims: Victims) -> None:
    world, log = World(tmp_path / "w", victims, kind="sealed", horizon=2), tmp_path / "log"
    before = Power.files(world.folder)
    assert victims.run(world.replay(), Fault(log=str(log))).ended() == 0
    changes = read_changes(log)
    power = Power(before, changes)
    after = Power.files(world.folder)
    assert {path: power.seen(len(changes), path) for path in after} == after
