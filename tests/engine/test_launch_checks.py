"""What must not be launched is refused before it costs; what was launched goes on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ameles.core.exceptions import PlanError
from ameles.engine import engine
from ameles.engine.engine import Engine
from ameles.engine.running import launch_checks
from ameles.engine.running.launch_checks import check_launch
from ameles.plan.plan import Plan, read_plan_text
from ameles.plan.problems import BadPlan
from ameles.store import open_store
from tests.engine.worlds import COUNT, START, World, row

Change = Callable[[str], str]


def swapped(old: str, new: str) -> Change:
    return lambda text: text.replace(old, new, 1)


CHANGES: dict[str, tuple[Change, str, str]] = {
    "a large delta": (
        swapped("epsilon = 1", "epsilon = 1\ndelta = 0.5"),
        "privacy.delta",
        "It is 0.5, and a launch takes at most 0.01.",
    ),
    "a window past the horizon": (
        swapped('"visits"', '"visits"\nover = "9d"'),
        "release 'visits'.over",
        "It is a window of 9 steps, and the stream has 8.",
    ),
    "columns that SQL cannot tell apart": (
        swapped('who = "text"', 'who = "text", WHO = "text"'),
        "stream.columns",
        "differ only in capital letters",
    ),
    "last lines that are cut, with users": (
        lambda text: text.replace(
            'unit = "event"', 'unit = "user"\nuser = "who"\nmax_per_step = 1\nmax_steps = 1'
        ).replace("[privacy]", 'last_line = "take"\n[privacy]'),
        "stream.last_line",
        'It is "take", which cannot be used with users or with a weight.',
    ),
    "last lines that are cut, with a weight": (
        swapped("[privacy]", 'last_line = "take"\nweight = "age"\n[privacy]'),
        "stream.last_line",
        'It is "take", which cannot be used with users or with a weight.',
    ),
    "users by a number": (
        swapped(
            'unit = "event"', 'unit = "user"\nuser = "amount"\nmax_per_step = 1\nmax_steps = 1'
        ),
        "privacy.user",
        "The column 'amount' is declared as number, and cannot tell users apart.",
    ),
    "a sink that is the source": (
        swapped("[store]", '[[sink]]\ncsv = "events.csv"\n[store]'),
        "sink.1.csv",
        "'events.csv' is among the files that the source names.",
    ),
    "a sink that the source will find": (
        lambda text: swapped("events.csv", "*.csv")(text) + '[[sink]]\ncsv = "out.csv"\n',
        "sink.1.csv",
        "'out.csv' is among the files that the source names.",
    ),
    "a folder that the source will find": (
        lambda text: (
            swapped("events.csv", "**/*.parquet")(text) + '[[sink]]\nparquet = "out.parquet"\n'
        ),
        "sink.1.parquet",
        "among the files that the source names",
    ),
    "a sink that is the store": (
        lambda text: text + '[[sink]]\njsonl = "../{folder}/s.db"\n',
        "sink.1.jsonl",
        "is the store",
    ),
    "a sink that no file can be": (
        lambda text: text + f'[[sink]]\ncsv = "{"x" * 300}"\n',
        "sink.1.csv",
        "No file can be there: File name too long.",
    ),
    "a sink under a file": (
        lambda text: text + '[[sink]]\ncsv = "events.csv/out.csv"\n',
        "sink.1.csv",
        "No file can be there: Not a directory.",
    ),
    "a sink with a NUL": (
        lambda text: text + '[[sink]]\ncsv = "a\\u0000b"\n',
        "sink.1.csv",
        "It has a character that no path has.",
    ),
    "a store that is the source": (
        swapped("s.db", "events.csv"),
        "store.url",
        "'events.csv' is among the files that the source names.",
    ),
    "a store that the source will find": (
        lambda text: swapped("events.csv", "events.csv*")(swapped("s.db", "events.csv.db")(text)),
        "store.url",
        "among the files that the source names",
    ),
}


def changed(folder: Path, change: Change) -> Plan:
    world = World(folder).write([row(1)])
    return read_plan_text(change(world.text).replace("{folder}", folder.name), base=folder)


@pytest.mark.parametrize(("change", "key", "what"), CHANGES.values(), ids=CHANGES)
def test_what_a_launch_refuses(tmp_path: Path, change: Change, key: str, what: str) -> None:
    plan = changed(tmp_path, change)
    with pytest.raises(BadPlan) as refused:
        check_launch(plan)
    (problem,) = refused.value.problems
    assert problem.key == key
    assert what in problem.what
    assert problem.tip


def test_a_good_plan_is_launched(tmp_path: Path) -> None:
    ends = '[[sink]]\ncsv = "out.csv"\n[[sink]]\nparquet = "out.parquet"\n'
    check_launch(changed(tmp_path, lambda text: text + ends + '[[sink]]\nstdout = "csv"\n'))
    check_launch(changed(tmp_path, swapped("epsilon = 1", "epsilon = 1\ndelta = 0.01")))
    check_launch(changed(tmp_path, swapped('"visits"', '"visits"\nover = "8d"')))
    postgres = "postgresql://me@db.example/flu"
    check_launch(changed(tmp_path, swapped("s.db", postgres)))


@pytest.mark.parametrize("name", ["a large delta", "a window past the horizon"])
def test_what_was_launched_goes_on(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = changed(tmp_path, CHANGES[name][0])
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        with pytest.raises(BadPlan):
            Engine(plan, store).run(START)
        with store.reading() as transaction:
            assert transaction.populations() == ()
        with monkeypatch.context() as before:
            before.setattr(engine, "check_launch", lambda plan: None)
            Engine(plan, store).run(START)
        assert Engine(plan, store).run(START.replace(day=3)).new == 2


def test_all_measures_are_looked_at(tmp_path: Path) -> None:
    two = swapped(COUNT, COUNT.replace("visits", "a") + COUNT.replace("visits", "b"))
    plan = changed(tmp_path, lambda t: two(t).replace("\nmeasure", '\nover = "30d"\nmeasure'))
    with pytest.raises(BadPlan) as refused:
        check_launch(plan)
    assert [p.key for p in refused.value.problems] == ["release 'a'.over", "release 'b'.over"]


def test_a_zone_that_duckdb_does_not_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has zones of the machine's own, such as localtime: other machines have others."""

    def refuse(zone: str) -> None:
        raise PlanError(f"DuckDB does not know the time zone {zone!r}.", tip='zone = "UTC"')

    monkeypatch.setattr(launch_checks, "check_zone", refuse)
    with pytest.raises(BadPlan, match=r"stream\.zone: DuckDB does not know the time zone 'UTC'"):
        check_launch(changed(tmp_path, str))
