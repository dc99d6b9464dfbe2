"""Where sinks may be: apart from each other, from the source, the store and the plan."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from ameles.core.exceptions import AmelesError, PlanError
from ameles.engine.engine import Engine
from ameles.engine.running.sink_places import check_apart
from ameles.plan.plan import read_plan
from ameles.store import Store, open_store
from tests.engine.sink_worlds import run, world_in
from tests.engine.worlds import World, day


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
