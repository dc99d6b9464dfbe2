"""``ameles.spark.release``: a data frame of one's own Spark session, released under a plan."""

from __future__ import annotations

import os
from contextlib import closing
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ameles.connectors.frame_source import TEXT, FrameSource
from ameles.connectors.source import AnySource
from ameles.core.exceptions import BadInput, MissingExtra
from ameles.core.release import Release
from ameles.engine.engine import Engine
from ameles.plan.plan import read_plan
from ameles.spark.context import check_context
from ameles.spark.frame_check import check_frame, check_types
from ameles.spark.frame_tasks import FrameTasks
from ameles.spark.plan_check import check_plan
from ameles.store import open_store


def release(
    dataframe: Any,
    plan: str | os.PathLike[str],
    *,
    until: datetime | None = None,
    shared: str | os.PathLike[str] | None = None,
    buckets: int | None = None,
) -> list[Release]:
    """Releases a data frame of your own Spark session under a plan, and returns the releases.

    ``plan`` is the path of a plan with ``source = "dataframe"``; its columns are read by name.  The
    first call launches the stream and spends the plan's budget.  It reads the whole frame; steps
    that have not ended by ``until`` (by default now) are released by later calls, which read
    nothing.  ``shared`` is a folder that all machines see, for the state of users; by default it
    is beside the store.

    Rows cross from Spark into Arrow, which takes several times as long as tasks that open files
    themselves: for large files prefer ``ameles run --engine spark``.

    >>> from ameles import AmelesError
    >>> try:
    ...     release(None, "nowhere.toml")
    ... except AmelesError as refused:
    ...     print(refused.what)
    The plan 'nowhere.toml' cannot be read: No such file or directory.
    """
    checked = read_plan(Path(plan))
    if checked.stream.source != TEXT:
        raise BadInput(
            f'The plan of a data frame must have source = "{TEXT}". '
            f"Got {checked.stream.source[:60]!r} instead.",
            why="the same events could be read from that source too, and count twice",
            tip=f'source = "{TEXT}"',
        )
    check_plan(checked)
    _check_packages()
    check_frame(dataframe, checked)
    check_context(dataframe.sparkSession.sparkContext)
    check_types(dataframe, checked)
    tasks = FrameTasks(dataframe, tuple(checked.stream.columns))
    url = checked.store.url
    store_path = url if "://" in url else str(checked.base / url)
    if shared is None and "://" in url and checked.privacy.user is not None:
        raise BadInput(
            "The store is a database, so 'shared' must say where tasks keep the users' state.",
            tip='shared="/mnt/shared/ameles"',
        )
    folder = Path(f"{store_path}.users" if shared is None else shared)
    with closing(open_store(store_path)) as store:
        cluster = tasks.cluster(folder, buckets)
        _FrameEngine(checked, store, cluster=cluster).run(until)
        with store.reading() as transaction:
            stream = transaction.stream(checked.stream.name)
            return [] if stream is None else list(transaction.releases(stream))


def _check_packages() -> None:
    """Refuses to begin without what Spark hands rows to Python with, before anything is spent."""
    missing = [name for name in ("pandas", "pyarrow") if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"The package '{missing[0]}' is not installed.",
            why="Spark hands the rows of a data frame to Python with it",
            tip="pip install '.[spark]' in the clone of Ameles, on every machine of the cluster",
        )


class _FrameEngine(Engine):
    """An engine whose source is the data frame."""

    def source(self, *, waiting: bool = False) -> AnySource:
        return FrameSource(tuple(self.plan.stream.columns))
