"""Sinks of a stream: one that fails stops no other, and all are fences before an old backup."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from unittest import mock
from uuid import uuid4

import pytest

from ameles.connectors.appended_sink import AppendedSink
from ameles.connectors.source import SeekableSource
from ameles.core.exceptions import AmelesError, PlanError, StoreRefused
from ameles.engine.engine import Engine
from ameles.engine.following.publishing import Publishing
from ameles.engine.running.stream_sinks import SinkState, StreamSinks
from ameles.store import open_store
from ameles.testing import ListSink
from tests.engine.sink_worlds import ALL, KINDS, remove, run, states, world_in
from tests.engine.worlds import World


def test_links_to_one_file_where_sinks_were_are_told(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    run(world, 2)
    (tmp_path / "theirs").write_text("theirs")
    for kind in ("csv", "jsonl"):
        remove(world, kind)
        (tmp_path / f"out.{kind}").symlink_to("theirs")
    told = states(world)
    assert set(told) == set(KINDS)
    assert {state.problem for state in told.values()} == {
        "The sink 'out.jsonl' and the sink 'out.csv' are in one place."
    }
    assert {state.step for state in told.values()} == {None}


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
    sinks = states(world)
    assert {kind: state.step for kind, state in sinks.items()} == {
        **dict.fromkeys(KINDS, 4),
        broken: None,
    }
    assert sinks[broken].problem
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
    assert states(world)["csv"] == SinkState(
        sink="csv:out.csv", step=4, behind=0, behind_since=None, problem=None
    )


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
        assert all("it and its note are missing" in line for line in said)
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


def test_other_noise_and_a_sink_are_refused_before_anything_is_launched(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        with pytest.raises(StoreRefused, match="not the operating system's"):
            StreamSinks(world.plan, uuid4(), genuine=False).check_launch(store)
        StreamSinks(world.plan, uuid4()).check_launch(store)


def test_a_new_stream_does_not_go_on_with_a_sink_that_has_steps(tmp_path: Path) -> None:
    sink = ListSink()
    sink.rows = [{"step": 3}]
    with pytest.raises(StoreRefused, match="has step 3; the store has released 0"):
        StreamSinks(world_in(tmp_path).plan, uuid4(), sinks=[sink]).check_new()


def test_a_sink_that_the_plan_gets_later_is_not_another(tmp_path: Path) -> None:
    world = world_in(tmp_path, "")
    run(world, 1)
    world.text += '[[sink]]\ncsv = "events.csv"\n'
    before = world.file.read_bytes()
    with pytest.raises(PlanError, match="are in one place"):
        run(world, 2)
    assert world.file.read_bytes() == before


def test_a_sink_that_is_gone_with_its_note_is_shown(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    run(world, 1)
    remove(world, "csv")
    (tmp_path / "out.csv.ameles").unlink()
    sinks = states(world)
    assert "it and its note are missing" in (sinks["csv"].problem or "")
    assert sinks["jsonl"].problem is None
