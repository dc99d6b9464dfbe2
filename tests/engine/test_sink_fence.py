"""A store that is behind what its sinks have published releases nothing."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from ameles.core.exceptions import AmelesError, StoreRefused
from ameles.engine.running.stream_sinks import StreamSinks
from ameles.store import open_store
from tests.engine.sink_worlds import ALL, KINDS, ROWS, remove, run, states, world_in
from tests.engine.worlds import World


def backup(world: World) -> None:
    shutil.copy(world.folder / "s.db", world.folder / "backup.db")


def restore(world: World) -> None:
    for file in world.folder.glob("s.db*"):
        file.unlink()
    shutil.copy(world.folder / "backup.db", world.folder / "s.db")
    (world.folder / "s.db").chmod(0o600)


@pytest.mark.parametrize("kind", KINDS)
def test_an_old_backup_is_refused_though_the_sink_was_removed(kind: str, tmp_path: Path) -> None:
    """What the docs advise: the sink may go, and the note stays."""
    world = world_in(tmp_path, f'[[sink]]\n{kind} = "out.{kind}"\n')
    run(world, 2)
    backup(world)
    run(world, 4)
    remove(world, kind)
    restore(world)
    with pytest.raises(StoreRefused, match=r"has step 4; the store has released 2"):
        run(world, 5)
    assert not (tmp_path / f"out.{kind}").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_sink_that_is_gone_with_its_note_is_missed(kind: str, tmp_path: Path) -> None:
    world = world_in(tmp_path, f'[[sink]]\n{kind} = "out.{kind}"\n')
    run(world, 2)
    backup(world)
    run(world, 4)
    remove(world, kind)
    (tmp_path / f"out.{kind}.ameles").unlink()
    restore(world)
    with pytest.raises(StoreRefused, match="it and its note are missing"):
        run(world, 5)
    assert not (tmp_path / f"out.{kind}").exists()
    # whoever is sure says so in the plan
    world.text = world.text.replace(f"out.{kind}", f"again.{kind}")
    run(world, 5)
    assert states(world)[kind].step == 5


def test_a_sink_that_the_plan_no_longer_has_is_still_a_fence(tmp_path: Path) -> None:
    world = world_in(tmp_path, '[[sink]]\ncsv = "out.csv"\n')
    run(world, 2)
    backup(world)
    run(world, 4)
    restore(world)
    world.text = world.text.replace("out.csv", "other.csv")
    with pytest.raises(StoreRefused, match=r"csv:out.csv has step 4"):
        run(world, 5)


def test_a_sink_that_cannot_be_seen_stops_all_only_if_there_is_no_other(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    text = '[[sink]]\ncsv = "disk/a.csv"\n'
    for name, rest in (("alone", text), ("two", text + '[[sink]]\ncsv = "b.csv"\n')):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "disk").mkdir()
        world = world_in(folder, rest)
        run(world, 2)
        (folder / "disk").rename(folder / "away")  # a disk that is not mounted
        with pytest.raises(AmelesError, match="does not exist"):
            run(world, 4)
        with closing(open_store(str(folder / "s.db"))) as store, store.reading() as transaction:
            stream = transaction.stream("s")
        assert stream is not None
        assert stream.released == (2 if name == "alone" else 4)
        (folder / "away").rename(folder / "disk")
        run(world, 4)
        assert states(world)["csv"].behind == 0


def test_a_store_that_was_used_with_other_noise_publishes_nothing_later(tmp_path: Path) -> None:
    world = world_in(tmp_path, "")
    world.run(2)  # without noise
    world.text += ALL
    with pytest.raises(StoreRefused, match="not the operating system's"):
        run(world, 3)
    assert not list(tmp_path.glob("out.*"))


class Copies:
    """Two copies of a store that were run from step 2 to step 4, and what each has published."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._folder = folder
        # so much noise that no number of two copies is the same
        self.world = World(folder, rest=f'[[sink]]\n{kind} = "out.{kind}"\n', epsilon="0.0001")
        self.world.write(ROWS)
        run(self.world, 2)
        self.keep("both")
        run(self.world, 4)
        self.keep("one")
        self.put("both")
        run(self.world, 4)
        self.keep("other")

    def keep(self, name: str) -> None:
        for file in [*self._folder.glob("s.db"), *self._folder.glob("out.*")]:
            copy(file, self._folder / "kept" / name / file.name)

    def put(self, name: str, pattern: str = "*") -> None:
        """Puts a copy back: the store, its sinks or both."""
        for file in (self._folder / "kept" / name).glob(pattern):
            copy(file, self._folder / file.name)


def copy(file: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if file.is_dir():
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(file, place)
    else:
        shutil.copy2(file, place)


@pytest.mark.parametrize("kind", KINDS)
def test_of_two_copies_that_share_a_sink_only_one_goes_on(kind: str, tmp_path: Path) -> None:
    copies = Copies(tmp_path, kind)
    copies.put("one", "out.*")
    with pytest.raises(StoreRefused, match=r"has other numbers for step 4 than the store"):
        run(copies.world, 5)
    with closing(open_store(str(tmp_path / "s.db"))) as store, store.reading() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        assert stream.released == 4, "nothing was released"
    copies.put("one")
    run(copies.world, 5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_that_runs_at_the_same_time_is_noticed(kind: str, tmp_path: Path) -> None:
    copies = Copies(tmp_path, kind)
    copies.put("both", "out.*")
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        with store.reading() as transaction:
            stream = transaction.stream("s")
        assert stream is not None
        sinks = StreamSinks(copies.world.plan, stream.identity)
        copies.put("one", "out.*")  # the other one was faster
        with pytest.raises(StoreRefused, match=r"has other numbers for step 4 than the store"):
            sinks.publish(store, stream)
