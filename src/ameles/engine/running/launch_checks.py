"""A launch refuses valid plans that would spend their budget on little or nothing.

A stream that was launched before such a refusal existed goes on with its plan.  The checks use only
the plan and the names of files; they read nothing from a source.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from ameles.connectors.duck import check_zone
from ameles.connectors.files.named_files import same_file
from ameles.connectors.sinks import SINKS
from ameles.connectors.typed_columns import IDS, check_kinds
from ameles.core.exceptions import PlanError
from ameles.core.loss import shown
from ameles.engine.running.sink_places import check_apart
from ameles.plan.plan import Plan
from ameles.plan.problems import BadPlan, Problem
from ameles.plan.weight_column import weight_inside

# A delta this large promises nothing: publishing one person in a hundred unchanged would satisfy
# it.
LARGEST_DELTA = Fraction(1, 100)


def check_launch(plan: Plan) -> None:
    """Refuses a plan that must not be launched, with all its problems."""
    problems = list(launch_problems(plan))
    if problems:
        raise BadPlan(problems)


def launch_problems(plan: Plan) -> Iterator[Problem]:
    """Why a plan must not be launched."""
    stream, delta = plan.stream, plan.privacy.delta
    if delta > LARGEST_DELTA:
        yield Problem(
            "privacy.delta",
            f"It is {shown(delta)}, and a launch takes at most {shown(LARGEST_DELTA)}.",
            why="with probability delta nothing is promised: such a share of all users could be "
            "published as they are",
            tip="delta = 1e-6: far below one over the number of users",
        )
    for release in plan.releases:
        window = plan.window(release)
        if window is not None and stream.horizon is not None and window > stream.horizon:
            yield Problem(
                f"release '{release.name}'.over",
                f"It is a window of {window} steps, and the stream has {stream.horizon}.",
                why="it would never be full: it would be a total with the noise of a window",
                tip='over = "total", or a window within the horizon',
            )
    try:
        check_kinds(stream.columns)
    except PlanError as refusal:
        yield Problem("stream.columns", refusal.what, refusal.why, refusal.tip)
    user = plan.privacy.user
    kind = "text" if user is None else stream.columns[user]
    if kind not in IDS:
        yield Problem(
            "privacy.user",
            f"The column '{user}' is declared as {kind}, and cannot tell users apart.",
            why="different people may have the same value, or one person several forms of it",
            tip=f'columns = {{ {user} = "text", ... }}, or "integer"',
        )
    try:
        check_zone(stream.zone)
    except PlanError as refusal:  # a zone that Python knows but DuckDB, which reads times, does not
        yield Problem("stream.zone", refusal.what, "it reads the times of events", refusal.tip)
    if stream.last_line == "take" and (user is not None or stream.weight is not None):
        yield Problem(
            "stream.last_line",
            'It is "take", which cannot be used with users or with a weight.',
            why="a line that is cut short has another user or another weight in it: one user would "
            "count as several",
            tip='last_line = "wait"',
        )
    yield from weight_inside(stream, plan.releases)
    overlaps = list(_not_apart(plan))
    yield from overlaps
    if not overlaps:
        try:
            check_apart(plan)
        except PlanError as refusal:
            yield Problem("sink", refusal.what, refusal.why, refusal.tip)


def _not_apart(plan: Plan) -> Iterator[Problem]:
    """Problems if the source would read files that Ameles writes, or a sink is the secret store."""
    store = store_file(plan)
    places: list[tuple[str, str, tuple[Path, ...]]]
    places = [] if store is None else [("store.url", plan.store.url, (store,))]
    for number, section in enumerate(plan.sinks, start=1):
        for kind, target in section.given.items():
            key, path = f"sink.{number}.{kind}", plan.base / target
            if not SINKS[kind].of_files:
                continue
            # it may be a folder of files
            files = (path, path / f"0.{kind}") if SINKS[kind].of_folder else (path,)
            places.append((key, target, files))
            yield from _impossible(key, path)
            if store is not None and same_file(path, store):
                yield Problem(
                    key,
                    f"'{target[:200]}' is the store.",
                    why="the store is secret, and a sink is public",
                    tip=f'{kind} = "releases.{kind}"',
                )
    source = plan.stream.source_kind
    for key, target, inside in places:
        if any(source.may_read(plan.stream.source, plan.base, file) for file in inside):
            yield Problem(
                key,
                f"'{target[:200]}' is among the files that the source names.",
                why="what is written there would be read as events",
                tip="another folder or another ending, or a narrower source",
            )


def _impossible(key: str, path: Path) -> Iterator[Problem]:
    """Problems of a path at which no file can exist, so that nothing could be published."""
    try:
        path.stat()
    except ValueError:
        yield Problem(key, "It has a character that no path has.", tip='"releases.csv"')
    except OSError as problem:
        if problem.errno in (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR):
            yield Problem(key, f"No file can be there: {problem.strerror}.", tip='"releases.csv"')


def store_file(plan: Plan) -> Path | None:
    """The file of the plan's store; None if the store is in a database."""
    return None if "://" in plan.store.url else plan.base / plan.store.url
