"""Sinks of a stream: one that fails stops no other, and all are fences before an old backup."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from unittest import mock

import pytest

from ameles.connectors.appended_sink import AppendedSink
from ameles.connectors.source import SeekableSource
from ameles.core.exceptions import AmelesError, PlanError, StoreRefused
from ameles.engine.engine import Engine
from ameles.engine.following.follow import Publishing
from ameles.engine.running.apart import check_apart
from ameles.engine.running.stream_sinks import SinkState, StreamSinks
from ameles.plan.plan import read_plan
from ameles.store import Store, open_store
from tests.engine.worlds import World, day, row

KINDS = ("csv", "jsonl", "parquet")
ALL = "".join(f'[[sink]]\n{kind} = "out.{kind}"\n' for kind in KINDS)
ROWS = [row(1 + n % 6) for n in range(12)]


def world_in(folder: Path, rest: str = ALL) -> World:
    return World(folder, rest=rest).write(ROWS)


def run(world: World, until: int) -> None:
    with closing(open_store(str(world.folder / "s.db"))) as store:
        Engine(world.plan, store).run(day(until + 1, 1))


def states(world: World) -> dict[str, SinkState]:
    with closing(open_store(str(world.folder / "s.db"))) as store:
        with store.reading() as transaction:
            stream = transaction.stream("s")
        assert stream is not None
        found = StreamSinks(world.plan, stream.identity).states(store, stream)
    return {state.sink.partition(":")[0]: state for state in found}


def remove(world: World, kind: str) -> None:
    path = world.folder / f"out.{kind}"
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def backup(world: World) -> None:
    shutil.copy(world.folder / "s.db", world.folder / "backup.db")


def restore(world: World) -> None:
    for file in world.folder.glob("s.db*"):
        file.unlink()
    shutil.copy(world.folder / "backup.db", world.folder / "s.db")
    (world.folder / "s.db").chmod(0o600)


@pytest.mark.parametrize("broken", KINDS)
def test_one_sink_that_fails_stops_no_other(broken: str, tmp_path: Path) -> None:
    world = world_in(tmp_path)
    run(world, 2)
    note = tmp_path / f"out.{broken}.ameles"
    kept = note.read_bytes()
    note.unlink()
    note.mkdir()  # nobody can write there, not even the administrator
    with pytest.raises(AmelesError, match=f"{broken}:out.{broken}") as caught:
        run(world, 4)
    assert "2 other sinks have everything up to step 4" in caught.value.why
    found = states(world)
    assert {kind: state.step for kind, state in found.items()} == {
        **dict.fromkeys(KINDS, 4),
        broken: None,
    }
    assert found[broken].problem
    note.rmdir()
    note.write_bytes(kept)
    assert states(world)[broken].behind == 2
    run(world, 5)
    assert {(state.step, state.behind, state.problem) for state in states(world).values()} == {
        (5, 0, None)
    }


def test_a_folder_in_place_of_a_file_is_named_with_its_reason(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    run(world, 2)
    remove(world, "csv")
    (tmp_path / "out.csv").mkdir()
    with pytest.raises(AmelesError, match="is a folder") as caught:
        run(world, 3)
    assert caught.value.why.startswith("a sink of this kind is one file; 2 other sinks have")


def test_an_edited_sink_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    run(world, 2)
    (tmp_path / "out.csv").write_text("edited")
    for until in (3, 3, 4):  # also when nothing is new
        with pytest.raises(StoreRefused, match=r"'out.csv' .* was cut or edited"):
            run(world, until)
    assert states(world)["csv"].problem
    assert (states(world)["csv"].step, states(world)["jsonl"].step) == (2, 4)
    (tmp_path / "out.csv").unlink()
    run(world, 4)
    assert states(world)["csv"] == SinkState(sink="csv:out.csv", step=4, behind=0, problem=None)


def test_a_follower_goes_on_says_so_once_and_tries_again(tmp_path: Path) -> None:
    world, said = world_in(tmp_path), list[str]()
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        engine = Engine(world.plan, store)
        source = engine.source()
        assert isinstance(source, SeekableSource)
        with engine.session() as session:
            publishing = Publishing(session, said.append)

            def release(step: int) -> None:
                session.take(source.reading(session.position, source.ends()), step)
                publishing.publish()

            release(1)
            assert said == []
            whole = (tmp_path / "out.csv").read_bytes()
            (tmp_path / "out.csv").write_bytes(whole[:-9])
            release(2)
            release(3)
            assert [line.partition(" was cut")[0] for line in said] == [
                "The file 'out.csv' of the sink csv:out.csv"
            ]
            (tmp_path / "out.csv").write_bytes(whole)
            release(4)
            assert said[1:] == ["The sink csv:out.csv is written again, and has everything."]
            session.publish()
    assert {state.step for state in states(world).values()} == {4}


@contextmanager
def followed(world: World, said: list[str]) -> Iterator[Callable[[int], None]]:
    """A follower, step by step, without its clock."""
    with closing(open_store(str(world.folder / "s.db"))) as store:
        engine = Engine(world.plan, store)
        source = engine.source()
        assert isinstance(source, SeekableSource)
        with engine.session() as session:
            publishing = Publishing(session, said.append)

            def release(step: int) -> None:
                engine.take(session, source, step, source.ends())
                publishing.publish()

            yield release


ON_A_DISK = "".join(f'[[sink]]\n{kind} = "disk/out.{kind}"\n' for kind in KINDS)


def test_a_disk_that_is_mounted_again_has_everything_and_the_mount_point_nothing(
    tmp_path: Path,
) -> None:
    disk, away = tmp_path / "disk", tmp_path / "away"
    disk.mkdir()
    world, said = world_in(tmp_path, ON_A_DISK), list[str]()
    with followed(world, said) as release:
        release(1)
        release(2)
        disk.rename(away)
        disk.mkdir()  # the bare mount point
        release(3)
        release(4)
        assert list(disk.iterdir()) == []
        assert len(said) == 3
        assert all("is gone together with its note" in line for line in said)
        disk.rmdir()
        away.rename(disk)
        release(5)
        assert len(said) == 6
        assert all(line.endswith("is written again, and has everything.") for line in said[3:])
    assert {(state.step, state.problem) for state in states(world).values()} == {(5, None)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", ["added", "note removed", "note emptied"])
def test_a_follower_refuses_what_a_run_refuses(change: str, kind: str, tmp_path: Path) -> None:
    world, said = world_in(tmp_path), list[str]()
    out, note = tmp_path / f"out.{kind}", tmp_path / f"out.{kind}.ameles"
    with followed(world, said) as release:
        release(2)
        kept = note.read_bytes()
        if change == "note removed":
            note.unlink()
        elif change == "note emptied":
            note.write_bytes(b"")
        elif kind == "parquet":
            shutil.copy(out / "00000001.parquet", out / "00000009.parquet")
        else:
            with out.open("a", encoding="utf-8") as file:
                file.write("by hand\n")
        release(3)
        assert len(said) == 1
        assert kind in said[0]
    with pytest.raises(StoreRefused, match=kind) as caught:
        run(world, 4)
    assert said[0].startswith(caught.value.what)
    assert (note.read_bytes() if note.exists() else b"") == (kept if change == "added" else b"")


def test_a_follower_whose_only_reader_is_gone_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Closed:
        def write(self, _: str) -> None:
            raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("sys.stdout", Closed())
    alone = world_in(tmp_path / "alone", '[[sink]]\nstdout = "csv"\n')
    beside = world_in(tmp_path / "beside", '[[sink]]\nstdout = "csv"\n' + ALL)
    for world in (alone, beside):
        with closing(open_store(str(world.folder / "s.db"))) as store:
            engine, said = Engine(world.plan, store), list[str]()
            source = engine.source()
            assert isinstance(source, SeekableSource)
            with engine.session() as session:
                session.take(source.reading(None), 1)
                ends = pytest.raises(AmelesError, match="Broken pipe") if world is alone else None
                with ends or nullcontext():
                    Publishing(session, said.append).publish()
    assert {state.step for state in states(beside).values()} == {0, 1}


def test_several_that_fail_are_all_named(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    run(world, 2)
    for kind in ("csv", "jsonl"):
        (tmp_path / f"out.{kind}").write_text("edited")
    with pytest.raises(StoreRefused, match=r"csv:out.csv.*jsonl:out.jsonl") as caught:
        run(world, 3)
    assert "another sink has everything up to step 3" in caught.value.why


def test_a_store_that_fails_is_no_failing_sink(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    run(world, 1)

    def fails(self: AppendedSink, rows: Iterator[object], through: int) -> None:
        list(rows)

    def locked(*given: object, **named: object) -> Iterator[object]:
        raise StoreRefused("The store is locked.")
        yield

    reading = "ameles.store.releases.Releases.release_rows"
    with (
        mock.patch(reading, locked),
        mock.patch.object(AppendedSink, "write", fails),
        pytest.raises(StoreRefused, match="locked") as caught,
    ):
        run(world, 2)
    assert "other sinks" not in caught.value.why


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
    with pytest.raises(StoreRefused, match="is gone together with its note"):
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


def test_what_cannot_work_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    for number, target in enumerate(("missing/r.csv", "folder", "link.csv", "foreign.csv")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "folder").mkdir()
        (folder / "foreign.csv").write_text("mine")
        (folder / "link.csv").symlink_to("elsewhere")
        world = world_in(folder, f'[[sink]]\ncsv = "{target}"\n')
        with pytest.raises(AmelesError):
            run(world, 1)
        assert spent(world) == 0
        assert not (folder / "elsewhere").exists()


def spent(world: World) -> int:
    store: Store
    with closing(open_store(str(world.folder / "s.db"))) as store, store.reading() as transaction:
        ledger = transaction.ledger("people")
        return 0 if ledger is None else len(ledger.entries)


@pytest.mark.parametrize(
    "sinks",
    [
        'csv = "a.csv"\n[[sink]]\ncsv = "a.csv"',
        'csv = "a.csv"\n[[sink]]\njsonl = "a.csv"',
        'csv = "a.csv"\n[[sink]]\ncsv = "folder/../a.csv"',
        'csv = "folder/a.csv"\n[[sink]]\nparquet = "link/a.csv"',
        'csv = "a.csv"\n[[sink]]\ncsv = "A.CSV"',
        'csv = "a.csv"\n[[sink]]\ncsv = "a.csv.ameles"',
        'csv = "a.csv.new"\n[[sink]]\ncsv = "a.csv"',
        'csv = "one.csv"\n[[sink]]\ncsv = "two.csv"',
        'csv = "folder/a.csv"\n[[sink]]\nparquet = "folder"',
        'parquet = "folder"\n[[sink]]\ncsv = "folder/a.csv"',
        'parquet = "../world"',
        'csv = "events.csv"',
        'csv = "hard.csv"',
        'csv = "s.db"',
        'csv = "s.db-wal"',
        'csv = "./folder/../s.db"',
    ],
)
def test_sinks_are_apart(sinks: str, tmp_path: Path) -> None:
    folder = tmp_path / "world"
    world = world_in(folder, f"[[sink]]\n{sinks}\n")
    (folder / "folder").mkdir()
    (folder / "link").symlink_to("folder")
    (folder / "one.csv").touch()
    (folder / "two.csv").hardlink_to(folder / "one.csv")
    (folder / "hard.csv").hardlink_to(folder / "events.csv")
    before = (folder / "events.csv").read_bytes()
    with pytest.raises(PlanError, match=r"are in one place|is the store|among the files"):
        run(world, 1)
    with pytest.raises(PlanError, match="are in one place"):
        check_apart(world.plan)  # also if the plan gets such a sink after its launch
    assert spent(world) == 0
    assert (folder / "events.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("source", "sink", "is_one"),
    [
        ("*.csv", 'csv = "out.csv"', True),
        ("events.csv*", 'csv = "events.csv.out"', True),
        ("**/*.csv", 'csv = "out.csv"', True),
        ("events*.csv", 'csv = "out.csv"', False),
        ("../world/e*.csv", 'csv = "events-out.csv"', True),
    ],
)
def test_a_sink_is_not_what_the_source_will_find(
    source: str, sink: str, is_one: bool, tmp_path: Path
) -> None:
    world = world_in(tmp_path / "world", f"[[sink]]\n{sink}\n")
    world.text = world.text.replace("events.csv", source, 1)
    if is_one:
        with pytest.raises(PlanError, match="among the files that the source names"):
            run(world, 1)
    else:
        run(world, 1)


def test_a_sink_is_not_the_plan(tmp_path: Path) -> None:
    world = world_in(tmp_path, '[[sink]]\ncsv = "plan.toml"\n')
    (tmp_path / "plan.toml").write_text(world.text)
    with (
        closing(open_store(str(tmp_path / "s.db"))) as store,
        pytest.raises(PlanError, match="and the plan are in one place"),
    ):
        Engine(read_plan(tmp_path / "plan.toml"), store).run(day(2))


def test_two_that_are_there_may_differ_by_their_case(tmp_path: Path) -> None:
    world = world_in(tmp_path, '[[sink]]\ncsv = "a.csv"\n[[sink]]\ncsv = "A.csv"\n')
    (tmp_path / "a.csv").touch()
    (tmp_path / "A.csv").touch()
    if (tmp_path / "a.csv").samefile(tmp_path / "A.csv"):
        pytest.skip("this disk tells no case apart")
    names = [f"{name}.csv{end}" for name in "aA" for end in (".ameles", ".new", ".ameles.new")]
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(AmelesError, match="not a sink that"):  # and not "in one place"
        run(world, 1)
