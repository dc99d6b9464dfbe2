"""A weight column is a weight and nothing else.

A line of weight n stands for n events, and the guarantee is about one of them: the neighbour of n
is n - 1 or n + 1.  A condition such as ``n >= 1000`` would count all of a line's events or none, so
one event would move a number by a thousand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ameles.connectors.text.json_lines import keys
from ameles.core.exceptions import PlanError
from ameles.measures.measure import Measure
from ameles.plan.condition import used_columns
from ameles.plan.problems import Problem
from ameles.plan.sections import StreamSection

_WHY = "one event more or less changes its value, and so could change whether all the others count"


def weight_elsewhere(stream: StreamSection, releases: Sequence[Measure]) -> Iterator[Problem]:
    """All keys other than ``weight`` where a plan uses its weight column."""
    if stream.weight is None:
        return
    # SQL ignores capitals in names.
    weight = stream.weight.casefold()
    for release in releases:
        place = f"release '{release.name}'"
        for key, name in _used(stream, release):
            if name.casefold() == weight:
                yield Problem(
                    f"{place}.{key}",
                    f"The column '{stream.weight[:64]}' is the weight, and nothing else.",
                    why=_WHY,
                    tip=f"{key} without '{stream.weight[:64]}', or a source with a line for each "
                    "event and no weight",
                )


def weight_inside(stream: StreamSection, releases: Sequence[Measure]) -> Iterator[Problem]:
    """JSON columns of a plan that contain the weight, or are the weight."""
    if stream.weight is None or stream.records != "jsonl":
        return
    weight = keys(stream.weight)
    for release in releases:
        for key, name in _used(stream, release):
            path = keys(name)
            if name != stream.weight and path == weight[: len(path)]:
                yield Problem(
                    f"release '{release.name}'.{key}",
                    f"The column '{name[:64]}' has the weight '{stream.weight[:64]}' in it.",
                    why=_WHY,
                    tip=f"{key} without '{name[:64]}'",
                )


def _used(stream: StreamSection, release: Measure) -> Iterator[tuple[str, str]]:
    """The columns that a release reads, each with the key that names it."""
    for name in release.columns:
        yield "by" if name in release.by else "column", name
    if release.where is not None:
        try:
            used = used_columns(release.where, stream.columns)
        except PlanError:
            return  # reported with the other problems of the condition
        for name in used:
            yield "where", name
