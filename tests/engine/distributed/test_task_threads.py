"""DuckDB in a task uses the cores of the task, and not those of other tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from ameles.engine.distributed import map_job, reduce_job, task_connection
from ameles.spark.spark_tasks import SparkTasks
from tests.engine.distributed.clusters import EVENT, USER, Site, cluster


def threads_of(duck: duckdb.DuckDBPyConnection) -> int:
    [(threads,)] = duck.execute("SELECT current_setting('threads')").fetchall()
    return int(threads)


@pytest.mark.parametrize("unit", [EVENT, USER])
def test_every_job_of_a_cluster_has_its_threads(
    unit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = list[int]()
    real = task_connection.task_connection

    def watched(*given: Any, **named: Any) -> Any:
        with real(*given, **named) as duck:
            used.append(threads_of(duck))
        return real(*given, **named)

    monkeypatch.setattr(map_job, "task_connection", watched)
    monkeypatch.setattr(reduce_job, "task_connection", watched)
    there = replace(cluster(tmp_path, 1), threads=3)
    site = Site(tmp_path, unit, cluster=there, only=("daily",))
    site.deliver(0)
    site.run(1)
    assert len(used) == (1 if unit == EVENT else 2)
    assert set(used) == {3}


def test_a_task_of_spark_has_as_many_threads_as_cores(tmp_path: Path) -> None:
    for settings, threads in (({}, 1), ({"spark.task.cpus": "2"}, 2)):
        tasks = SparkTasks(SimpleNamespace(getConf=lambda said=settings: said))
        made = tasks.cluster(tmp_path, 5)
        assert (made.tasks, made.folder, made.buckets) == (tasks, tmp_path, 5)
        assert made.threads == threads
