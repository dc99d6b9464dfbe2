"""The options of ``ameles run`` that say where events are counted: in this process, or on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ameles.cli.plans import store_path
from ameles.core.exceptions import BadInput
from ameles.engine.distributed.bucket_gatherer import BUCKETS, Cluster
from ameles.plan.plan import Plan
from ameles.spark.context import spark_context
from ameles.spark.plan_check import check_plan
from ameles.spark.spark_tasks import SparkTasks


class EnginePlace(StrEnum):
    """Where events are counted."""

    embedded = "embedded"
    spark = "spark"


EngineOption: TypeAlias = Annotated[
    EnginePlace,
    typer.Option("--engine", help="Count events in this process, or in the tasks of Spark."),
]
MasterOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--master",
        help="The address of Spark's master.  [default: local[*], this machine]",
        metavar="URL",
    ),
]
SharedOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--shared",
        help="A folder that all machines of the cluster see; tasks keep the users' state there.  "
        "[default: beside the store]",
        metavar="FOLDER",
    ),
]
BucketsOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--buckets",
        help="In how many parts users are bounded, at most; fixed at the launch.  "
        f"[default: {BUCKETS}]",
        metavar="NUMBER",
    ),
]
SettingsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--spark",
        help="A setting of Spark, such as spark.executor.memory=4g.",
        metavar="NAME=VALUE",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChoice:
    """What the options say; a wrong one is refused before anything is opened."""

    engine: EnginePlace
    plan: Plan
    master: str | None
    shared: Path | None
    buckets: int | None
    settings: list[str] | None

    def check(self) -> None:
        """Refuses options that do not fit each other, or a plan that Spark cannot run."""
        if self.engine is EnginePlace.spark:
            check_plan(self.plan)
            self._folder()
            self._settings()
            return
        given = {
            "--master": self.master,
            "--shared": self.shared,
            "--buckets": self.buckets,
            "--spark": self.settings,
        }
        for name, value in given.items():
            if value is not None:
                raise BadInput(f"{name} is an option of --engine spark.", tip="--engine spark")

    @contextmanager
    def cluster(self) -> Iterator[Cluster | None]:
        """The cluster that counts events, while the command runs; None: this process."""
        if self.engine is EnginePlace.embedded:
            yield None
            return
        with spark_context(self.master, self._settings()) as context:
            yield SparkTasks(context).cluster(self._folder(), self.buckets)

    def _settings(self) -> dict[str, str]:
        return dict(map(_setting, self.settings or []))

    def _folder(self) -> Path:
        """The folder for the state of users: by default beside a store that is a file."""
        store = store_path(self.plan)
        if self.shared is not None:
            return self.shared
        if "://" not in store:
            return Path(f"{store}.users")
        if self.plan.privacy.user is None:
            return Path()  # nothing is kept
        raise BadInput(
            "The store is a database, so --shared must say where tasks keep the users' state.",
            why="what is remembered about users is in files that all machines of the cluster see",
            tip="--shared FOLDER",
        )


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadInput(
            f"--spark needs a name and a value. Got {text[:60]!r} instead.",
            tip="--spark spark.executor.memory=4g",
        )
    return name, value
