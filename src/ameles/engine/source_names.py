"""The source of a plan by names alone: its files, and the columns that they have.

What a header or a schema says is public; no event is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from ameles.connectors.source import open_source
from ameles.core.exceptions import PlanError
from ameles.engine.plan import Plan


def check_source(plan: Plan, *, waiting: bool = False) -> None:
    """Refuses a source that a run would refuse at once; ``waiting``: its files may be to come."""
    if plan.stream.source != "-":
        source = open_source(plan.stream.source, plan.kinds, plan.base, waiting=waiting)
        check_names(source.names(), plan)


def check_names(names: Sequence[str], plan: Plan) -> None:
    """Refuses a source without the plan's columns; no names mean that no file is there yet."""
    missing = [name for name in plan.stream.columns if names and name not in names]
    if missing:
        raise PlanError(
            f"The source has no column {', '.join(repr(name[:64]) for name in missing)}.",
            why="the plan's columns are read by name",
            tip=f"columns among {', '.join(names[:20])}",
        )
