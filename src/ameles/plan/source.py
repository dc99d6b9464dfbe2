"""Opens the source that a plan names, and checks only names.

A header or a schema is public; no event is read.
"""

from __future__ import annotations

from ameles.connectors.declarations import NOTHING, Declarations
from ameles.connectors.source import AnySource
from ameles.connectors.sources import open_source
from ameles.core.exceptions import PlanError
from ameles.plan.plan import Plan


def plan_source(
    plan: Plan,
    *,
    waiting: bool = False,
    declarations: Declarations = NOTHING,
    raw: bool = False,
) -> AnySource:
    """The source of a plan, which must have its columns; ``waiting`` allows files that do not exist
    yet.

    With ``raw`` its relations also have each value as text, for the owner of the data.
    """
    stream = plan.stream
    source = open_source(
        stream.source,
        plan.kinds,
        plan.base,
        records=stream.format,
        waiting=waiting,
        take_last=stream.last_line == "take",
        rotated=stream.rotated,
        declarations=declarations,
        form=plan.form,
        connection=None if stream.connection is None else plan.base / stream.connection,
        schemas=stream.schemas,
        raw=raw,
    )
    names = source.names() or tuple(stream.columns)  # unknown: there is no file yet
    missing = [name for name in stream.columns if name not in names]
    if missing:
        raise PlanError(
            f"The source has no column {', '.join(repr(name[:64]) for name in missing)}.",
            why="the plan's columns are read by name",
            tip=f"columns among {', '.join(names[:20])}",
        )
    return source


def check_source(plan: Plan, *, waiting: bool = False) -> None:
    """Refuses what a launch would refuse about the source as it is now."""
    if refusal := plan_source(plan, waiting=waiting).refuses_launch():
        raise refusal
