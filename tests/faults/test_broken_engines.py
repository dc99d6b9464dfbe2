"""Each broken engine is caught by the fault that its invariant's test is made of."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from tests.faults import BROKEN, Choices, Clock, Fault, Victims, Witness, World, read_changes
from tests.faults.crashes import Faults
from tests.faults.disk_images import Change
from tests.faults.kills import feed_life
from tests.faults.rehearsals import Rehearsal
from tests.faults.suite import KINDS

CRASH = {
    *("publish before commit", "two transactions", "noise at publish"),
    *("position apart", "launch in two"),
}
CUT = {
    "synchronous OFF": "growing",
    "synchronous NORMAL": "growing",
    "vault unsynced": "sealed input",
    "lines unsynced": "growing",
    "Parquet unsynced": "growing parquet",
    "users unsynced": "growing buckets",
    "users removed early": "growing buckets",
}
RUN = {"late lost": "growing", "half lines": "folder"}
HERE = {"no fence", "blind fence", "deaf commit", "speechless"}  # in tests further down
KILL = {"pending forgotten": "event", "pending not kept": "event", "folds not kept": "sealed"}
# in test_machine.py and test_faults.py
ELSEWHERE = {"lost position", "no hold", "missed steps as one", "clock believed", "copied noise"}


def test_each_is_caught_somewhere() -> None:
    assert set(BROKEN) == CRASH | set(CUT) | set(RUN) | set(KILL) | HERE | ELSEWHERE


def commits(changes: list[Change]) -> list[int]:
    """After each sync of the log, where a commit is on the disk and what follows is not."""
    numbered = enumerate(changes, 1)
    return [at for at, change in numbered if (change.kind, change.path[-4:]) == ("sync", "-wal")]


@pytest.mark.parametrize("name", sorted(CRASH))
def test_a_crash_between_two_commits_shows_it(name: str, tmp_path: Path, victims: Victims) -> None:
    rehearsal = Rehearsal.of(World(tmp_path / "w", victims, horizon=2, batch=1, broken=name))
    places = [at + 1 for at in commits(rehearsal.changes)[2:6]]
    if name == "publish before commit":
        sinks = [at for at, c in enumerate(rehearsal.changes, 1) if c.path.endswith(".jsonl")]
        places = sinks[-1:] + places
    faults, wrong = Faults(rehearsal), Witness(rehearsal.world).verdict()
    for at in places:
        wrong = wrong or faults.crash(tmp_path / str(at), at, "before")
    assert wrong
    assert any(
        invariant in " ".join(wrong) for invariant in [*BROKEN[name].violates.split(), "I13"]
    )


@pytest.mark.parametrize("name", CUT)
def test_a_power_cut_shows_it(name: str, tmp_path: Path, victims: Victims) -> None:
    faults = Faults(KINDS[CUT[name]].rehearse(tmp_path / "w", victims, horizon=2, broken=name))
    choices, count = Choices(name), len(faults.rehearsal.changes)
    for number in range(40):
        place = tmp_path / str(number)
        if faults.power_cut(place, count - choices.below(count // 2), number):
            return
    pytest.fail("No power cut showed it.")


@pytest.mark.parametrize("name", RUN)
def test_a_run_without_a_fault_shows_it(name: str, tmp_path: Path, victims: Victims) -> None:
    """Of a source that grows, with late events and lines in two pieces."""
    faults = Faults(KINDS[RUN[name]].rehearse(tmp_path / "w", victims, horizon=2, broken=name))
    wrong = faults.crash(tmp_path / "again", len(faults.rehearsal.changes), "after")
    assert any(one.startswith("I3") for one in wrong), wrong


@pytest.mark.parametrize("name", KILL)
def test_kills_of_a_program_that_reads_standard_input_show_it(
    name: str, tmp_path: Path, victims: Victims
) -> None:
    never = name != "pending forgotten"  # then one need not wait long
    for number in range(10):
        folder = tmp_path / str(number)
        world = World(folder, victims, kind=KILL[name], source="-", horizon=40, broken=name)
        clock, limit = Clock(tmp_path / f"{number}.clock"), 3.0 if never else None
        try:
            wrong = feed_life(world, clock, Choices("input", number), 6, limit=limit).wrong
        except TimeoutError:
            assert never
            return
        if wrong:
            assert wrong == ["I3: a row that was kept is lost"]
            return
    pytest.fail("No kill showed it.")


def test_a_commit_that_is_not_heard_of_is_found(tmp_path: Path, victims: Victims) -> None:
    # without sinks: on a disk that refuses everything they would be the ones to say so
    world = World(tmp_path / "w", victims, horizon=2, sinks=(), broken="deaf commit")
    faults = Faults(Rehearsal.of(world))
    for at in commits(faults.rehearsal.changes):
        if faults.refusal(tmp_path / str(at), at, errno.EIO):
            return
    pytest.fail("No refused sync showed it.")


@pytest.mark.parametrize("broken", ["", "speechless"])
def test_what_a_disk_refuses_to_a_launch_is_expected(
    broken: str, tmp_path: Path, victims: Victims
) -> None:
    faults = Faults(KINDS["sealed"].rehearse(tmp_path / "w", victims, horizon=2, broken=broken))
    named = [(change.kind, change.path) for change in faults.rehearsal.changes]
    lock = next(at for at, (_, path) in enumerate(named, 1) if path.endswith(".lock"))
    vault = named.index(("mkdir", "store/s.vault")) + 1
    wrong = []
    for at in (lock, lock + 1, vault, vault + 1):  # made, written, synced
        wrong += faults.refusal(tmp_path / str(at), at, errno.EIO)
    assert bool(wrong) == bool(broken), wrong


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


@pytest.mark.parametrize("sink", ["out.csv", "out.jsonl", "out.parquet"])
@pytest.mark.parametrize("broken", ["", "no fence"])
def test_a_restored_backup(broken: str, sink: str, tmp_path: Path, victims: Victims) -> None:
    world = World(tmp_path, victims, horizon=2, batch=1, sinks=(sink,), broken=broken)
    assert bool(restored(world, None)) == bool(broken)


@pytest.mark.parametrize("broken", ["", "blind fence"])
def test_a_backup_restored_after_a_crash(broken: str, tmp_path: Path, victims: Victims) -> None:
    at = sunk(World(tmp_path / "first", victims, horizon=2, batch=1))
    wrong = restored(World(tmp_path / "w", victims, horizon=2, batch=1, broken=broken), at)
    assert bool(wrong) == bool(broken)
