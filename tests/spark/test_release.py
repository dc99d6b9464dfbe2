"""A data frame of one's own session is released as a file with the same rows is."""

from __future__ import annotations

import importlib
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from ameles.connectors.frame_source import FramePiece, FrameSource
from ameles.core.exceptions import BadInput, MissingExtra, PlanError, StoreRefused
from ameles.core.release import Release
from ameles.spark import release
from ameles.spark.context import SparkFailed
from tests.engine.worlds import EVENT, USER, World, day
from tests.spark.session import SharedSession

pytestmark = pytest.mark.filterwarnings("ignore")  # PySpark's sockets, and its words about pandas
COLUMNS = ("at", "who", "region", "age", "amount", "fever")
SCHEMA = "at TIMESTAMP, who STRING, region STRING, age INT, amount DOUBLE, fever BOOLEAN, more INT"


@pytest.fixture(autouse=True)
def same_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The salt decides which events of a user are kept; here it is always the same."""
    monkeypatch.setattr("ameles.engine.running.launch.os", SimpleNamespace(urandom=bytes))


def rows() -> list[tuple[Any, ...]]:
    return [
        (day(1 + i % 4), f"u{i % 5}", ("north", "south")[i % 2], 30, 1.5, i % 3 == 0, i)
        for i in range(60)
    ] + [(None, None, "north", None, None, None, 0)]


def frame(session: SharedSession) -> Any:
    sql = importlib.import_module("pyspark.sql").SparkSession(session.context)
    sql.conf.set("spark.sql.session.timeZone", "UTC")
    return sql.createDataFrame(rows(), SCHEMA).repartition(3)


def in_a_file(world: World) -> list[Release]:
    lines = [
        f"{at:%Y-%m-%dT%H:%M:%SZ},{who},{region},{age},{amount},{str(fever).lower()}"
        for at, who, region, age, amount, fever, _ in rows()
        if at is not None
    ]
    world.write([*lines, ",,north,,,"]).earnest(2)
    world.earnest(8)
    return world.releases()


@pytest.mark.parametrize("unit", [EVENT, USER], ids=["event", "user"])
def test_a_frame_is_released_as_a_file_is(
    unit: str, tmp_path: Path, session: SharedSession
) -> None:
    # with an epsilon of 1000, a count is off with a probability below e**-100
    here = World(tmp_path / "here", unit=unit, epsilon="1000")
    there = World(tmp_path / "there", unit=unit, epsilon="1000")
    plan = tmp_path / "there" / "plan.toml"
    text = there.text.replace('"events.csv"', '"dataframe"').replace("amount =", '"a.b`c" =')
    plan.write_text(text)
    given = frame(session).withColumnRenamed("amount", "a.b`c")  # a name is a name, whatever it has
    first = release(given, plan, until=day(3, 0), buckets=2)
    assert {each.step for each in first} == {1, 2}
    every = release(given, plan, until=day(9, 0))
    assert every[: len(first)] == first
    assert [(r.step, r.key, r.value) for r in every] == [
        (r.step, r.key, r.value) for r in in_a_file(here)
    ]
    assert release(given, plan) == every, "running again is free, and counts nothing twice"


@pytest.mark.parametrize("unit", [EVENT, USER], ids=["event", "user"])
def test_a_frame_that_fails_before_its_last_shuffle_tells_no_event(
    unit: str, tmp_path: Path, session: SharedSession
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(World(tmp_path, unit=unit).text.replace('"events.csv"', '"dataframe"'))
    failing = import_module("pyspark.sql.functions").expr("CAST(raise_error('canary') AS STRING)")
    given = frame(session).withColumn("who", failing).repartition(2)
    with pytest.raises(SparkFailed) as failed:
        release(given, plan, buckets=1)
    assert "canary" not in str(failed.value)
    assert failed.value.__context__ is None


@pytest.mark.parametrize("name", ["pandas", "pyarrow"])
def test_what_spark_needs_is_there_before_anything_is_spent(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    plan = tmp_path / "plan.toml"
    plan.write_text(world.text.replace('"events.csv"', '"dataframe"'))
    module = import_module("ameles.spark.release")
    monkeypatch.setattr(module, "find_spec", lambda asked: asked != name or None)
    with pytest.raises(MissingExtra, match=f"'{name}' is not installed"):
        release(None, plan)
    assert not (tmp_path / "s.db").exists()


def test_what_is_no_plan_of_a_frame(tmp_path: Path) -> None:
    world = World(tmp_path)
    plan = tmp_path / "plan.toml"
    plan.write_text(world.text)
    conf: dict[str, str] = {}
    context = SimpleNamespace(getConf=lambda: conf)
    session = SimpleNamespace(sparkContext=context, conf=conf)
    given: Any = SimpleNamespace(columns=["at"], isStreaming=False, sparkSession=session)
    with pytest.raises(BadInput, match='must have source = "dataframe"'):
        release(given, plan)
    plan.write_text(world.text.replace('"events.csv"', '"dataframe"'))
    with pytest.raises(PlanError, match="has no column 'who'"):
        release(given, plan)
    given.columns = [*COLUMNS]
    with pytest.raises(BadInput, match=r"without spark\.authenticate=true"):
        release(given, plan)
    given.columns = [*COLUMNS, "WHO"]
    with pytest.raises(PlanError, match="several columns 'who': who, WHO"):
        release(given, plan)
    conf["spark.sql.caseSensitive"] = "true"
    with pytest.raises(BadInput, match=r"without spark\.authenticate=true"):
        release(given, plan)
    given.columns = [*COLUMNS, "who"]
    with pytest.raises(PlanError, match="several columns 'who'"):
        release(given, plan)
    del session.sparkContext
    with pytest.raises(BadInput, match="Spark Connect"):
        release(given, plan)
    given.isStreaming = True
    with pytest.raises(BadInput, match="is a stream"):
        release(given, plan)
    for other in (None, [1, 2], SimpleNamespace(columns=COLUMNS)):
        with pytest.raises(BadInput, match="A data frame of Spark is needed"):
            release(other, plan)
    assert not (tmp_path / "s.db").exists()


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("at", "true", "'at' of the data frame is BOOLEAN, and cannot be read as timestamp"),
        ("age", "array(1)", "'age' of the data frame is LIST, and cannot be read as integer"),
        ("who", "make_interval(1)", "'who' of the data frame is interval, and Spark cannot hand"),
    ],
)
def test_a_column_that_does_not_fit_is_refused_before_anything_is_spent(
    column: str, value: str, what: str, tmp_path: Path, session: SharedSession
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(World(tmp_path, unit=USER).text.replace('"events.csv"', '"dataframe"'))
    given = frame(session)
    unfit = given.withColumn(column, import_module("pyspark.sql.functions").expr(value))
    with pytest.raises(PlanError, match=what):
        release(unfit, plan)
    assert not (tmp_path / "s.db").exists()


def test_a_frame_is_read_once_and_by_a_program_only(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.text = world.text.replace('"events.csv"', '"dataframe"')
    with pytest.raises(PlanError, match="only a program can hand over"):
        world.run()
    source = FrameSource(("at",))
    first = source.reading(source.at_launch())
    assert first.pieces == (FramePiece(),)
    assert source.reading(first.position).pieces == ()
    with pytest.raises(StoreRefused, match="not one of a data frame"):
        source.reading(None)
    with duckdb.cursor() as duck, pytest.raises(PlanError):
        FramePiece().scans(duck)
