"""Each broken engine is caught by the fault that its invariant's test is made of."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ameles.testing import BROKEN, Choices, Fault, Victims, Witness, World, read_changes
from ameles.testing.crashes import Rehearsal
from ameles.testing.power import Change

LATE = "synchronous OFF", "synchronous NORMAL", "vault unsynced"
ELSEWHERE = {"no fence", "blind fence", "deaf commit", *LATE}  # in the tests further down
KIND = {"vault unsynced": "sealed"}


def found(rehearsal: Rehearsal, folder: Path, places: list[int]) -> list[str]:
    """What the first crash that shows something shows."""
    for at in places:
        wrong = rehearsal.crashed(folder, at, "before")
        shutil.rmtree(folder)
        if wrong:
            return wrong
    return []


def commits(changes: list[Change]) -> list[int]:
    """After each sync of the log, where a commit is on the disk and what follows is not."""
    numbered = enumerate(changes, 1)
    return [at for at, change in numbered if (change.kind, change.path[-4:]) == ("sync", "-wal")]


@pytest.mark.parametrize("name", sorted(set(BROKEN) - ELSEWHERE))
def test_a_crash_between_two_commits_shows_it(name: str, tmp_path: Path, victims: Victims) -> None:
    rehearsal = Rehearsal.of(World(tmp_path / "w", victims, horizon=2, batch=1, broken=name))
    places = [at + 1 for at in commits(rehearsal.changes)[2:6]]
    if name == "publish before commit":
        sinks = [at for at, c in enumerate(rehearsal.changes, 1) if c.path.endswith(".jsonl")]
        places = sinks[-1:] + places
    wrong = Witness(rehearsal.world).verdict() or found(rehearsal, tmp_path / "again", places)
    assert wrong
    assert any(
        invariant in " ".join(wrong) for invariant in [*BROKEN[name].violates.split(), "I13"]
    )


@pytest.mark.parametrize("name", LATE)
def test_a_power_cut_shows_it(name: str, tmp_path: Path, victims: Victims) -> None:
    world = World(
        tmp_path / "w", victims, kind=KIND.get(name, "event"), horizon=2, batch=1, broken=name
    )
    rehearsal = Rehearsal.of(world, follow=True)
    choices, count = Choices(name), len(rehearsal.changes)
    for number in range(40):
        wrong, _ = rehearsal.cut(tmp_path / "cut", count - choices.below(count // 2), number)
        shutil.rmtree(tmp_path / "cut")
        if wrong:
            return
    pytest.fail("No power cut showed it.")


def test_a_commit_that_is_not_heard_of_is_found(tmp_path: Path, victims: Victims) -> None:
    rehearsal = Rehearsal.of(World(tmp_path / "w", victims, horizon=2, broken="deaf commit"))
    for at in commits(rehearsal.changes):
        wrong = rehearsal.refused(tmp_path / "again", at, 5)
        shutil.rmtree(tmp_path / "again")
        if wrong:
            return
    pytest.fail("No refused sync showed it.")


def restored(world: World, at: int | None) -> list[str]:
    """A backup from before the last steps comes back, after a crash at a change if one is given."""
    victims, witness = world.victims, Witness(world)
    assert victims.run(world.replay(1)).ended() == 0
    for path in world.place.glob("s.db*"):
        shutil.copy(path, world.folder / f"backup.{path.name}")
    victim = victims.run(world.replay(2), None if at is None else Fault(at=at, mode="after"))
    assert victim.ended() == (0 if at is None else -9)
    witness.look()
    for path in world.place.glob("s.db*"):
        path.unlink()
    for path in world.folder.glob("backup.*"):
        shutil.copy(path, world.place / path.name.removeprefix("backup."))
    again = victims.run(world.replay(2))
    witness.look()
    if not witness.wrong and again.ended() != 4:
        return [f"it ends with {again.ended()}"]
    return witness.wrong or ([] if "older than what it published" in again.words else [again.words])


def sunk(world: World) -> int:
    """The change after which the first sink has its bytes, and its note does not tell of them."""
    log = world.folder / "log"
    assert world.victims.run(world.replay(1)).ended() == 0
    assert world.victims.run(world.replay(2), Fault(log=str(log))).ended() == 0
    kinds = [(change.kind, change.path) for change in read_changes(log)]
    return 1 + kinds.index(("sync", "store/out.csv"))


@pytest.mark.parametrize("broken", ["", "no fence"])
def test_a_restored_backup(broken: str, tmp_path: Path, victims: Victims) -> None:
    wrong = restored(World(tmp_path, victims, horizon=2, batch=1, broken=broken), None)
    assert bool(wrong) == bool(broken)


@pytest.mark.parametrize("broken", ["", "blind fence"])
def test_a_backup_restored_after_a_crash(broken: str, tmp_path: Path, victims: Victims) -> None:
    at = sunk(World(tmp_path / "first", victims, horizon=2, batch=1))
    wrong = restored(World(tmp_path / "w", victims, horizon=2, batch=1, broken=broken), at)
    assert bool(wrong) == bool(broken)
