"""The same questions as jobs that one would write for Spark, without privacy, and for Ameles."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from ameles.engine.distributed.bucket_gatherer import Cluster
from ameles.engine.engine import Engine
from ameles.plan.plan import read_plan_text
from ameles.spark import release
from ameles.spark.spark_tasks import SparkTasks
from ameles.store import open_store
from on_spark.data import DAYS, MAX_STEPS, PER_STEP, PLAN

SCHEMA = "at TIMESTAMP, who STRING, region STRING, age INT"
COUNTED = (
    "SELECT to_date(at) AS day, region, count(*) AS n FROM {rows} WHERE age >= 18 "
    "GROUP BY day, region"
)
BOUNDED = f"""(
    SELECT * FROM (
        SELECT *, dense_rank() OVER (PARTITION BY who ORDER BY to_date(at)) AS nth FROM (
            SELECT *, row_number() OVER (
                PARTITION BY who, to_date(at) ORDER BY xxhash64(who, at, region, age)
            ) AS place FROM visits
        ) WHERE place <= {PER_STEP}
    ) WHERE nth <= {MAX_STEPS}
)"""


def plain(session: Any, folder: Path, suffix: str, *, users: bool) -> float:
    """Seconds of the plain Spark job."""
    begun = time.perf_counter()
    reader = session.read.schema(SCHEMA)
    files = [str(file) for file in sorted(folder.glob(f"*.{suffix}"))]
    rows = reader.csv(files, header=True) if suffix == "csv" else reader.parquet(*files)
    rows.createOrReplaceTempView("visits")
    session.sql(COUNTED.format(rows=BOUNDED if users else "visits")).collect()
    return time.perf_counter() - begun


def framed(session: Any, folder: Path, suffix: str, unit: str) -> float:
    """Seconds until a data frame of the session, read from files, is released."""
    home = folder / f"frame-{uuid4()}"
    home.mkdir()
    plan = home / "plan.toml"
    plan.write_text(PLAN.format(source="dataframe", unit=unit, horizon=DAYS + 1))
    files = [str(file) for file in sorted(folder.glob(f"*.{suffix}"))]
    until = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=DAYS)
    begun = time.perf_counter()
    release(session.read.parquet(*files), plan, until=until)
    return time.perf_counter() - begun


class Stream:
    """A stream of Ameles on some files, on Spark or in one process."""

    def __init__(
        self, folder: Path, pattern: str, unit: str, context: Any = None, buckets: int = 64
    ) -> None:
        self.home = folder / f"stream-{uuid4()}"
        self.home.mkdir()
        text = PLAN.format(source=folder / pattern, unit=unit, horizon=DAYS + 1)
        self._plan = read_plan_text(text, base=self.home)
        self._cluster = None
        if context is not None:
            users = self.home / "users"
            self._cluster = Cluster(tasks=SparkTasks(context), folder=users, buckets=buckets)

    def run(self, days: int = DAYS) -> float:
        """Seconds until all days up to this one are read, bounded, released and committed."""
        until = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=days)
        with closing(open_store(str(self.home / "s.db"))) as store:
            begun = time.perf_counter()
            Engine(self._plan, store, cluster=self._cluster).run(until)
            return time.perf_counter() - begun
