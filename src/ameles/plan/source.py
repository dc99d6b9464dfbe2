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
    return _opened(plan, waiting, declarations, raw)[0]


def _opened(
    plan: Plan, waiting: bool, declarations: Declarations = NOTHING, raw: bool = False
) -> tuple[AnySource, bool]:
    """The source, and whether it names its columns already."""
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
    names = source.names()
    missing = [name for name in stream.columns if name not in names]
    if names and missing:
        raise PlanError(
            f"The source has no column {', '.join(repr(name[:64]) for name in missing)}.",
            why="the plan's columns are read by name",
            tip=f"columns among {', '.join(names[:20])}",
        )
    return source, bool(names)


def check_source(plan: Plan, *, waiting: bool = False) -> str:
    """Refuses what a launch would refuse about the source as it is now.

    Returns a sentence if a launch could not compare the columns, otherwise an empty text.
    """
    source, named = _opened(plan, waiting)
    if refusal := source.refuses_launch():
        raise refusal
    dialect = source.dialect
    if named or source.needs_service or not (dialect is None or dialect.header):
        return ""
    what = source.describe(plan.stream.source)
    return f"Nothing in {what} names its columns yet, so they are not compared with the plan's."
