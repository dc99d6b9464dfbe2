"""Probable mistakes in the plan or the data, each with the line of the plan that fixes it."""

from __future__ import annotations

from collections.abc import Iterator
from zoneinfo import ZoneInfo

from ameles.engine.owner_check.column_facts import ISO
from ameles.engine.owner_check.counted_words import are, counted, has, verb
from ameles.engine.owner_check.facts import CheckFinding, ColumnFacts, Facts, ReleaseFacts
from ameles.engine.owner_check.held_values import OR, not_held
from ameles.engine.owner_check.line_advice import FEW, line_findings
from ameles.measures.measure import Measure
from ameles.plan.clock import microseconds
from ameles.plan.plan import Plan


def findings(plan: Plan, facts: Facts) -> Iterator[CheckFinding]:
    """The findings for the owner, the most serious first."""
    if not facts.lines.events and not sum(facts.lines.flaws.values()):
        yield CheckFinding(
            "The source has no events."
            if not facts.released
            else "The source has no events that the stream has not read yet."
        )
    yield from line_findings(plan, facts)
    for column in facts.columns:
        yield from _column(plan, facts, column)
    yield from _times(plan, facts)
    yield from _users(plan, facts)
    for release, measure in zip(facts.releases, plan.releases, strict=True):
        for finding in _release(facts, release, measure):
            yield not_held(plan, finding, measure)


def _column(plan: Plan, facts: Facts, column: ColumnFacts) -> Iterator[CheckFinding]:
    if facts.lines.events and not column.read:
        yield CheckFinding(
            f"The column '{column.name}' never has a value.",
            'another name in columns; for a nested value in JSON its path, such as "user.id"',
        )
    if column.unfit:
        share = column.unfit / max(1, column.read)
        yield CheckFinding(
            f"{counted(column.unfit, 'value')} of '{column.name}' ({share:.1%}) "
            f"{verb(column.unfit, 'are')} no {column.kind}.",
            _kind_mend(column),
        )


def _kind_mend(column: ColumnFacts) -> str:
    shapes = [one.shape for one in column.shapes]
    match column.kind:
        case "timestamp" if column.formats == [ISO]:
            return "leave time_format out: these times are in ISO 8601"
        case "timestamp" if column.formats:
            named = " or ".join(f'time_format = "{name}"' for name in column.formats)
            mixed = column.unfit < column.read
            return f"{named}, in a list with a pattern for the other times" if mixed else named
        case "timestamp":
            return 'time_format = "..." with the pattern of its times, as for strptime'
        case "integer" | "number" if any("9,9" in shape for shape in shapes):
            return 'decimal = ","'
        case "integer" if any("." in shape for shape in shapes):
            return f'columns = {{ {column.name} = "number", ... }}'
        case "boolean":
            asked = f"where = \"{column.name} = 'Y'\""
            return f'columns = {{ {column.name} = "text", ... }} and {asked}'
        case _ if column.unfit < column.read / 2:
            return "nothing, if they mean that there is no value: they count as missing"
    return f'columns = {{ {column.name} = "text", ... }}, if they are meant'


def _times(plan: Plan, facts: Facts) -> Iterator[CheckFinding]:
    times, events = facts.times, facts.lines.events
    if times.before > FEW * events:
        yield CheckFinding(
            f"{are(times.before, 'event')} before the start and {verb(times.before, 'count')} "
            "nowhere.",
            _start(plan, facts),
            by_looking=True,
        )
    if times.after > FEW * events:
        what = "after the horizon" if plan.stream.horizon else "too far in the future"
        yield CheckFinding(
            f"{are(times.after, 'event')} {what} and {verb(times.after, 'count')} nowhere.",
            _horizon(plan, facts),
            by_looking=True,
        )
    if times.late:
        longer = 'grace = "1h"' if plan.stream.grace is None else "a longer grace"
        joins = f"{verb(times.late, 'join')} the open step"
        fate = joins if plan.stream.late == "next" else f"{verb(times.late, 'are')} dropped"
        yield CheckFinding(
            f"{counted(times.late, 'event')} of steps that are released {fate}.",
            f"{longer}, the time that events may take to arrive; only a new stream can have it",
        )


def _start(plan: Plan, facts: Facts) -> str:
    """The line with the day from which the first event would count, in the plan's time zone."""
    first = facts.times.first
    if first is None or microseconds(first) >= plan.clock.first:
        return ""
    local = first.astimezone(ZoneInfo(plan.stream.zone))
    return f'start = "{local:%Y-%m-%d}", or the day on which your season begins'


def _horizon(plan: Plan, facts: Facts) -> str:
    """The line with the horizon that includes the last event."""
    horizon, last = plan.stream.horizon, facts.times.last
    if horizon is None or last is None or plan.clock.ended(microseconds(last)) < horizon:
        return ""
    return f"horizon = {plan.clock.ended(microseconds(last)) + 1}"


def _users(plan: Plan, facts: Facts) -> Iterator[CheckFinding]:
    users = facts.users
    if users is None:
        return
    if users.without:
        yield CheckFinding(
            f"{has(users.without, 'event')} no id in '{plan.privacy.user}' and "
            f"{verb(users.without, 'count')} nowhere.",
            'user = "...", with another column, or unit = "event"'
            if users.without > FEW * facts.lines.events
            else "",
        )
    left = users.events - users.kept
    if users.events and left > 5 * FEW * users.events and plan.privacy.max_steps is not None:
        yield CheckFinding(
            f"The bounds leave out {left / users.events:.1%} of the events: the published numbers "
            "will be too low by that much, and their intervals do not include it.",
            "take max_per_step and max_steps from the table of bounds",
            by_looking=True,
        )


def _release(facts: Facts, release: ReleaseFacts, measure: Measure) -> Iterator[CheckFinding]:
    name = release.name
    if facts.times.counted and not release.matched:
        yield CheckFinding(f"No event meets the condition of release '{name}'.", "change its where")
    for column, count in release.nearly.items():
        if count:
            yield CheckFinding(
                f"{counted(count, 'event')} of release '{name}' would have a key of '{column}' "
                "if capitals and spaces were ignored.",
                f"strip = true, for spaces{OR}the keys in by as the source writes them",
            )
    for column, count in release.undeclared.items():
        if not measure.other and count - release.nearly[column] > 10 * FEW * max(
            1, release.matched
        ):
            yield CheckFinding(
                f"{counted(count, 'event')} of release '{name}' ({count / release.matched:.1%}) "
                f"{verb(count, 'have')} no declared key of '{column}'.",
                "other = true counts them together; ameles check --show names them",
                by_looking=True,
            )
    empty = [key for key, count in release.keys.items() if not count]
    if release.counted and len(release.keys) > 1 and empty:
        yield CheckFinding(
            f"{counted(len(empty), 'key')} of release '{name}' "
            f"{verb(len(empty), 'have')} no event: {', '.join(empty[:5])}"
            f"{', ...' if len(empty) > 5 else ''}.",
            "write the keys in by as the source does, if they should have events",
        )
    values = measure.read_values
    if values is None or values.missing_counts:
        return
    if release.valueless > FEW * max(1, release.matched):
        yield CheckFinding(
            f"{counted(release.valueless, 'event')} of release '{name}' "
            f"{verb(release.valueless, 'have')} no value and {verb(release.valueless, 'count')} "
            "nowhere in it."
        )
    beyond = release.below + release.above
    if beyond > 5 * FEW * max(1, release.matched):
        edges = values.ends == "edges"
        yield CheckFinding(
            f"{counted(beyond, 'value')} of release '{name}' ({beyond / release.matched:.1%}) "
            f"{verb(beyond, 'are')} beyond its {'edges' if edges else 'bounds'}.",
            "widen its edges" if edges else "widen lower and upper",
            by_looking=True,
        )
