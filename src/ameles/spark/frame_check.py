"""Which data frames a plan can read: what is wrong with one is said before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ameles.core.exceptions import BadInput, PlanError
from ameles.plan.plan import Plan
from ameles.spark.frame_tasks import in_memory, pieces_of, plan_columns


def check_frame(frame: Any, plan: Plan) -> None:
    """Refuses what is no frame of a classic session, and one without the plan's columns."""
    if not hasattr(frame, "columns") or not hasattr(frame, "sparkSession"):
        raise BadInput(
            f"A data frame of Spark is needed. Got {type(frame).__name__} instead.",
            why="the session of the frame schedules the tasks that read it",
            tip="spark.createDataFrame(...)",
        )
    if frame.isStreaming:
        raise BadInput(
            "The data frame is a stream.",
            why="a data frame is read once, with all of its rows",
            tip="ameles run --follow --engine spark, on the files or the topic that it reads",
        )
    if not hasattr(frame.sparkSession, "sparkContext"):  # to ask for frame.rdd would compute it
        raise BadInput(
            "The data frame is of a Spark Connect session.",
            why="Ameles schedules tasks of its own, which such a session cannot do",
            tip="a classic session, or ameles run --engine spark on files",
        )
    _check_names(frame, plan)


def check_types(frame: Any, plan: Plan) -> None:
    """Refuses a column that can have no value of its kind, or that cannot leave Spark.

    The same frame without rows is read as a task reads its partition.  No Spark job is needed.
    """
    names = [*plan.stream.columns]
    if not _leaves_spark(frame, names):
        name = next(name for name in names if not _leaves_spark(frame, [name]))
        kind = dict(frame.dtypes)[name]
        raise PlanError(
            f"The column {name!r} of the data frame is {kind.partition('<')[0]}, and Spark cannot "
            "hand it over.",
            why="rows cross from Spark into Arrow and Parquet, which lack that type",
            tip="cast it to a string, an integer or a time",
        )
    with in_memory(plan_columns(frame, names).limit(0).toArrow(), names) as file:
        try:
            pieces_of(plan, file)
        except PlanError as error:
            # The file is one of this check; whoever reads the refusal knows the frame alone.
            what = error.what.replace(f"the file '{file}'", "the data frame")
            refused = PlanError(what, why=error.why, tip="another column or kind in columns")
        else:
            return
    raise refused


def _check_names(frame: Any, plan: Plan) -> None:
    exact = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    same = str if exact else str.lower  # how Spark compares names
    for name in plan.stream.columns:
        if name not in frame.columns:
            raise PlanError(
                f"The data frame has no column {name!r}.",
                why="the plan's columns are read by name",
                tip=f"columns among {', '.join(frame.columns[:20])}",
            )
        alike = [each for each in frame.columns if same(each) == same(name)]
        if len(alike) > 1:
            raise PlanError(
                f"The data frame has several columns {name!r}: {', '.join(alike[:20])}.",
                why="the plan's columns are read by name, and Spark could take any of them",
                tip="select one of them, or rename the others",
            )


def _leaves_spark(frame: Any, names: Sequence[str]) -> bool:
    try:
        with in_memory(plan_columns(frame, names).limit(0).toArrow(), names):
            return True
    except Exception:  # of PySpark, Java or PyArrow
        return False
