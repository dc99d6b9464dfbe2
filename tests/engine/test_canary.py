"""Canaries: values planted in events are in nothing that the program prints, writes or raises."""

from __future__ import annotations

import gc
import logging
import os
import stat
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pytest

from ameles.connectors import typed_columns as typed
from ameles.connectors.duck import OutOfMemory
from ameles.core.exceptions import AmelesError, StoreRefused
from ameles.engine.engine import Engine
from ameles.engine.gathering.gatherer import DuckGatherer, Gathered
from ameles.store import open_store
from tests.engine.neighbours import command
from tests.engine.worlds import COUNT, EVENT, USER, World, day, row
from tests.stand_in import bare_store, drop_triggers

CANARIES = ("canary-ada", "canary-place", "918273645546372", "0.918273645")
SUM = (
    '[[release]]\nname = "spent"\nmeasure = "sum"\ncolumn = "amount"\nlower = 0\nupper = 1000\n'
    'granularity = 0.000000001\nover = "step"\n'
)
WHERE = COUNT.replace('"visits"', '"few"') + "where = \"age / amount > 3 AND who LIKE '%z'\"\n"
RELEASES = (
    COUNT
    + WHERE
    + '[[release]]\nname = "hist"\nmeasure = "histogram"\ncolumn = "age"\n'
    + ("edges = [0, 50, 100]\n")
)
SINKS = '[[sink]]\nstdout = "csv"\n[[sink]]\ncsv = "out.csv"\n[[sink]]\nparquet = "out.parquet"\n'
BIRD: dict[str, Any] = {
    "who": "canary-ada",
    "region": "canary-place",
    "age": 918273645546372,
    "amount": 0.918273645,
}
BIRDS = [
    row(1, **BIRD),
    row(5, **BIRD),  # it waits
    row(1, who="bob", region="canary-place"),
    row(2, **BIRD) + ',"canary-ada',
    '"' + row(2, **BIRD),
    "canary-ada,918273645546372,canary-place,0.918273645,0.918273645,canary-ada",
    row(2, who="canary-ada", age="canary-ada", amount="canary-place", fever="canary-ada"),
]
ROWS = [*BIRDS, row(1), row(2), row(5, who="bob")]


def world_in(folder: Path, unit: str = USER) -> World:
    world = World(folder, RELEASES, unit=unit, rest=SINKS).write(ROWS)
    (folder / "plan.toml").write_text(world.text, encoding="utf-8")
    return world


def found_in(text: str | bytes) -> list[str]:
    """The canaries in a text, or in the bytes of a file."""
    held = text if isinstance(text, bytes) else text.encode(errors="replace")
    return [bird for bird in CANARIES if bird.encode() in held]


def files_with(folder: Path) -> list[str]:
    """Files that the program wrote and that have a canary in them."""
    return [
        file.name
        for file in folder.rglob("*")
        if file.is_file() and file.name not in ("events.csv", "plan.toml")
        if found_in(file.read_bytes())
    ]


def told(failure: BaseException) -> str:
    """Everything that Python can print of an exception, hidden contexts and notes included."""
    texts, waiting, known = [], [failure], set()
    while waiting:
        one = waiting.pop()
        if id(one) in known:
            continue
        known.add(id(one))
        texts += [repr(one), str(one), repr(one.args), repr(vars(one))]
        texts += traceback.format_exception(one)
        waiting += [more for more in (one.__cause__, one.__context__) if more is not None]
    return "\n".join(texts)


def reachable(*roots: Any) -> Iterator[Any]:
    """Objects of ours that can be reached from these."""
    waiting, known = [*roots], set()
    while waiting:
        one = waiting.pop()
        if id(one) in known or isinstance(one, type) or type(one).__name__ == "module":
            continue
        known.add(id(one))
        mine = type(one).__module__.startswith("ameles.")
        if mine:
            yield one
        if mine or isinstance(one, dict | list | tuple | set):
            waiting += gc.get_referents(one)


@pytest.mark.parametrize("unit", [EVENT, USER])
def test_runs_show_nothing(tmp_path: Path, unit: str, caplog: pytest.LogCaptureFixture) -> None:
    world_in(tmp_path, unit)
    plan = str(tmp_path / "plan.toml")
    said = []
    with caplog.at_level(logging.DEBUG):
        for until in ("2026-01-03", "2026-01-03", "2026-01-05", "2026-01-20"):
            said.append(command("run", plan, "--yes", "--until", until))
        for name in ("plan", "releases", "ledger"):
            said.append(command(name, plan))
        said.append(command("explain", "visits", "1", plan))
    assert [code for code, *_ in said] == [0] * 8
    assert found_in(repr(said)) == []
    assert found_in(caplog.text) == []
    assert files_with(tmp_path) == []


def test_the_search_finds_a_canary(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("a user: canary-ada", encoding="utf-8")
    assert files_with(tmp_path) == ["log"]

    def hide() -> None:
        try:
            raise KeyError(CANARIES[0])
        except KeyError:
            raise ValueError("no") from None

    with pytest.raises(ValueError, match="no") as failed:
        hide()
    assert found_in(str(failed.value)) == []
    assert found_in(told(failed.value)) == ["canary-ada"]  # "from None" only hides it


def test_objects_show_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_in(tmp_path)
    seen: list[Any] = []
    gather = DuckGatherer.gather

    def watched(self: DuckGatherer, *given: Any) -> Gathered:
        gathered = gather(self, *given)
        seen.extend([self, gathered])
        return gathered

    monkeypatch.setattr(DuckGatherer, "gather", watched)
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        engine = Engine(world.plan, store)
        seen.append(engine.run(day(3, 0)))
        objects = list(reachable(engine, *seen))
        kinds = {type(one).__name__ for one in objects}
        assert {"Engine", "Plan", "Gathered", "GathererState", "Totals"} <= kinds
        assert {"SqliteStore", "StandIn"} & kinds
        for one in objects:
            assert found_in(repr(one) + str(one)) == [], type(one)
        gathered = next(one for one in objects if isinstance(one, Gathered))
        assert len(gathered.state.arrays["step"])  # there was something to show
        assert repr(gathered) + repr(gathered.state) == "<Gathered><GathererState>"


@contextmanager
def no_memory() -> Iterator[None]:
    """DuckDB runs out of memory, with a text as its own are."""

    def fail(*given: Any, **named: Any) -> Any:
        raise duckdb.OutOfMemoryException(f"while holding {BIRDS}")

    with mock.patch("ameles.engine.gathering.bounding.Bounding._allowed", fail):
        yield


@contextmanager
def strict_casts() -> Iterator[None]:
    """DuckDB's error says which text it could not cast."""
    cast = typed._cast
    strict = lambda *given: cast(*given).replace("TRY_CAST", "CAST")
    with mock.patch.object(typed, "_cast", strict):
        yield


@contextmanager
def a_bug() -> Iterator[None]:
    """Something that nobody thought of, and that has a row in its hands."""

    def fail(*given: Any, **named: Any) -> Any:
        raise KeyError(BIRDS[0])

    with mock.patch("ameles.engine.gathering.pending.Totals.matrix", fail):
        yield


@pytest.mark.parametrize("failing", [no_memory, strict_casts])
def test_failures_show_nothing(tmp_path: Path, failing: Callable[[], Any]) -> None:
    world = world_in(tmp_path)
    with failing(), pytest.raises(AmelesError) as failed:
        world.earnest(3)
    assert found_in(told(failed.value)) == []
    if failing is no_memory:
        assert isinstance(failed.value, OutOfMemory)
    assert files_with(tmp_path) == []
    world.earnest(3)  # and nothing was lost
    assert len(world.values()) == 3


@pytest.mark.parametrize("failing", [no_memory, strict_casts, a_bug])
def test_failing_commands_show_nothing(tmp_path: Path, failing: Callable[[], Any]) -> None:
    world_in(tmp_path)
    launching = ("--yes", "--until", "2026-01-03")
    with failing():
        code, out, err = command("run", str(tmp_path / "plan.toml"), *launching)
    assert (code, found_in(out + err)) == (1, [])
    # after the line that the plan was never checked
    assert err.splitlines()[1].startswith("error[")
    assert "Traceback" not in err


def test_too_little_memory_is_told_without_a_row(tmp_path: Path) -> None:
    """DuckDB's own refusal, not a planted one."""
    rows = [row(1, who=f"canary-ada-{n}", region="canary-place") for n in range(20_000)]
    world = World(tmp_path, SUM.replace("0.000000001", "1"), unit=USER).write(rows)
    with pytest.raises(OutOfMemory) as failed:
        world.earnest(3, memory=4 << 20)
    assert found_in(told(failed.value)) == []


DAMAGES = {
    "pending": "UPDATE pending SET secret = substr(secret, 1, 40)",
    "snapshot": "UPDATE state SET snapshot = substr(snapshot, 1, 40)",
    "history": "UPDATE state SET history = substr(snapshot, 1, 1)",
    "recipe": "UPDATE state SET recipe = '{}'",
    "position": "UPDATE position SET position = '{}'",
    "entry": "UPDATE entry SET guarantee = '{}'",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store_is_refused_and_shows_nothing(tmp_path: Path, damage: str) -> None:
    world = world_in(tmp_path)
    world.earnest(3)
    published = (tmp_path / "out.csv").read_bytes()
    with bare_store(tmp_path / "s.db") as bare:
        drop_triggers(bare)
        bare.execute(DAMAGES[damage])
    code, out, err = command("run", str(tmp_path / "plan.toml"), "--until", "2026-01-06")
    assert (code, out, found_in(err)) == (StoreRefused.exit_code, "", [])
    assert (tmp_path / "out.csv").read_bytes() == published


@pytest.mark.sqlite_only("the files that SQLite makes")
def test_files_of_the_store_are_for_their_owner_alone(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    umask = os.umask(0)
    try:
        with closing(open_store(str(tmp_path / "s.db"))) as store:
            Engine(world.plan, store).run(day(3, 0))
            during = _modes(tmp_path)
    finally:
        os.umask(umask)
    assert {"s.db", "s.db-wal", "s.db-s.lock"} <= during.keys()
    assert set((during | _modes(tmp_path)).values()) == {0o600}


def _modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.glob("s.db*")}
