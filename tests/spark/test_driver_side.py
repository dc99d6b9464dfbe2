"""What the driver does around Spark's jobs; no Spark is needed to see it."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ameles.core.exceptions import AmelesError, BadInput
from ameles.spark import release
from ameles.spark.context import SparkFailed
from ameles.spark.spark_tasks import LARGE_TASK, SparkTasks, batched
from ameles.spark.task_programs import TaskRefusal, clean
from tests.engine.worlds import USER, World

GROUP = "spark.jobGroup.id"


class Told:
    """A Spark context that notes what it is told."""

    def __init__(self) -> None:
        self.properties: dict[str, str | None] = {GROUP: "theirs"}
        self.cancelled: list[str] = []
        self.context: Any = SimpleNamespace(
            defaultParallelism=4,
            getLocalProperty=self.properties.get,
            setLocalProperty=self.properties.__setitem__,
            setJobGroup=lambda group, *_, **__: self.properties.update({GROUP: group}),
            cancelJobGroup=self.cancelled.append,
        )


def collected(told: Told, result: Any) -> Any:
    """What the driver makes of a job with this result, or with this exception."""

    def collect() -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    return SparkTasks(told.context)._collected(collect)


def test_jobs_of_others_keep_their_group() -> None:
    told, during = Told(), list[str | None]()

    def collect() -> list[Any]:
        during.append(told.properties[GROUP])
        return []

    SparkTasks(told.context)._collected(collect)
    assert str(during[0]).startswith("ameles-")
    assert told.properties[GROUP] == "theirs"


def test_only_what_still_runs_is_cancelled() -> None:
    told = Told()
    tasks = SparkTasks(told.context)
    tasks.close()
    tasks._collected(list)
    tasks.close()
    assert told.cancelled == []
    with pytest.raises(KeyboardInterrupt), tasks._grouped():
        raise KeyboardInterrupt
    tasks.close()
    assert told.cancelled == [tasks._group]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[PYTHON_VERSION_MISMATCH] canary", "another version of Python"),
        ("No module named 'pyarrow' canary", "a Python that runs tasks has no package 'pyarrow'"),
        ("No module named 'canary'", "PySpark reports RuntimeError"),
        ("TaskFailed: KeyError canary", "a task failed with KeyError"),
        ("canary", "PySpark reports RuntimeError"),
    ],
)
def test_a_failure_of_spark_is_told_without_its_text(text: str, why: str) -> None:
    with pytest.raises(SparkFailed) as failed:
        collected(Told(), RuntimeError(text))
    assert why in failed.value.why
    assert "canary" not in str(failed.value)
    assert failed.value.__context__ is None


def test_a_refusal_leaves_a_task_without_what_led_to_it() -> None:
    def results() -> Any:
        try:
            raise ValueError("canary")
        except ValueError as error:
            raise AmelesError("refused") from error

    [refused] = clean(results)
    assert isinstance(refused, TaskRefusal)
    error = refused.error
    assert (error.__cause__, error.__context__, error.__traceback__) == (None, None, None)
    with pytest.raises(AmelesError, match="refused"):
        collected(Told(), [refused])


def test_tasks_have_about_equal_parts_of_what_is_read() -> None:
    pieces: list[Any] = [SimpleNamespace(size=size) for size in (5, 5, 11, 1, 1)]
    numbers = [[number for number, _ in batch] for batch in batched(pieces, 10)]
    assert numbers == [[0, 1], [2], [3, 4]]
    assert batched([], 10) == []
    tasks = SparkTasks(Told().context)
    assert tasks._reducers(pieces, 16) == 4
    assert tasks._reducers(pieces, 3) == 3
    large: list[Any] = [SimpleNamespace(size=6 * LARGE_TASK)]
    assert tasks._reducers(large, 16) == 6


def test_each_piece_is_looked_at_once() -> None:
    looks = Counter[int]()

    class Tiny:
        @property
        def size(self) -> int:
            looks[id(self)] += 1
            return 1

    pieces: list[Any] = [Tiny() for _ in range(100)]
    assert len(batched(pieces, 1000)) == 1
    assert max(looks.values()) <= 2, "many small files would cost the square of their number"


def test_a_store_that_is_a_database_needs_a_folder_for_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, unit=USER)
    plan = tmp_path / "plan.toml"
    text = world.text.replace('"events.csv"', '"dataframe"')
    plan.write_text(text.replace('url = "s.db"', 'url = "postgresql://nobody@localhost/none"'))
    module = "ameles.spark.release"
    monkeypatch.setattr(sys.modules[module], "check_context", lambda context: None)
    monkeypatch.setattr(sys.modules[module], "FrameTasks", lambda *given: None)
    columns = ["at", "who", "region", "age", "amount", "fever"]
    monkeypatch.setattr(sys.modules[module], "check_types", lambda *given: None)
    session = SimpleNamespace(sparkContext=None, conf={})
    given: Any = SimpleNamespace(columns=columns, sparkSession=session, isStreaming=False)
    with pytest.raises(BadInput, match="The store is a database"):
        release(given, plan)
