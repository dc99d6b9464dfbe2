"""The disks after a power cut: what was synced is there, and the rest may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import Choices, DiskImages, Fault, Victims, read_changes
from tests.faults.crashes import MODES
from tests.faults.disk_images import Change, lay_out
from tests.faults.suite import KINDS

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
    disks = set()
    for number in range(count):
        place = folder / str(number)
        lay_out(DiskImages({}, changes).after_power_cut(len(changes), Choices(number)), place)
        disks.add(tuple(sorted(DiskImages.files(place).items())))
    return disks


def test_what_is_synced_stays(tmp_path: Path) -> None:
    assert left(tmp_path, SYNCED) == {(("a", b"one"),)}


def test_what_is_not_may_be_there_or_not(tmp_path: Path) -> None:
    disks = left(tmp_path, SYNCED + UNSYNCED[:1])
    assert disks == {(("a", b"one"),), (("a", b"onetwo"),)}


def test_names_that_are_not_synced_come_in_their_order(tmp_path: Path) -> None:
    disks = left(tmp_path, SYNCED + UNSYNCED[1:])
    old, both, renamed = (("a", b"one"),), (("a", b"one"), ("b", b"")), (("a", b""),)
    assert disks == {old, both, renamed}


def test_a_file_whose_name_is_not_synced_may_be_gone(tmp_path: Path) -> None:
    assert () in left(tmp_path, SYNCED[:3])


def test_a_write_can_be_torn_at_a_sector(tmp_path: Path) -> None:
    long = Change("write", "a", "", 0, b"x" * 1024)
    disks = left(tmp_path, [*SYNCED, long])
    assert (("a", b"x" * 512),) in disks
    assert (("a", b"one" + bytes(509) + b"x" * 512),) in disks


def test_a_crash_leaves_all_changes_before_it() -> None:
    images = DiskImages({}, SYNCED + UNSYNCED)
    assert images.after_crash(2, "before") == {"a": b""}
    assert images.after_crash(2, "torn") == {"a": b"o"}
    assert images.after_crash(5, "after") == {"a": b"onetwo"}
    assert images.after_crash(7, "torn") == {"a": b""}  # a name is changed or not


@pytest.mark.parametrize("kind", ["sealed", "parquet", "folder"])
def test_all_changes_are_written_down(kind: str, tmp_path: Path, victims: Victims) -> None:
    """Nothing gets to the disk by another way, or in another order: a crash at the last change
    leaves what is there."""
    rehearsal = KINDS[kind].rehearse(tmp_path / "w", victims, horizon=2)
    images = DiskImages(rehearsal.before, rehearsal.changes)
    left = images.after_crash(len(rehearsal.changes), "after")
    assert {path: content for path, content in left.items() if path[-1] != "/"} == DiskImages.files(
        rehearsal.world.folder
    )


def test_a_process_that_dies_leaves_the_disk_of_that_crash(
    tmp_path: Path, victims: Victims
) -> None:
    """The same changes as in the rehearsal, up to there, and what they leave."""
    rehearsal = KINDS["file"].rehearse(tmp_path / "w", victims, horizon=2)
    choices = Choices("dies")
    for number, mode in enumerate(MODES):
        at, log = 1 + choices.below(rehearsal.own), tmp_path / f"{number}.log"
        world = rehearsal.again(tmp_path / str(number))
        assert rehearsal.live(world, Fault(at=at, mode=mode, log=str(log))).ended() == -9
        done = read_changes(log)
        assert len(done) == (at - 1 if mode == "before" else at)
        made = [(change.kind, change.path, change.other) for change in done]
        assert made == [(c.kind, c.path, c.other) for c in rehearsal.changes[: len(done)]]
        left = DiskImages(rehearsal.before, done).after_crash(len(done), "after")
        files = DiskImages.files(world.folder)
        assert {path: left[path] for path in left if path[-1] != "/"} == {
            path: files[path] for path in files if not path.endswith("-shm")
        }
