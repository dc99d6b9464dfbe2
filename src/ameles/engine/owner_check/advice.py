"""What is probably not as meant, each with the line of the plan that mends it."""

from __future__ import annotations

from collections.abc import Iterator

from ameles.connectors.csv_lines import BAD_QUOTES, OPEN_QUOTE, TOO_FEW, TOO_MANY, TRAILING
from ameles.connectors.json_lines import NO_JSON, NO_OBJECT
from ameles.connectors.lines import TOO_LONG, WITH_NUL
from ameles.engine.clock import microseconds
from ameles.engine.owner_check.column_facts import ISO
from ameles.engine.owner_check.facts import ColumnFacts, Facts, Finding, ReleaseFacts
from ameles.engine.plan import Plan

FEW = 0.01  # a share below which a fault of the data is not one of the plan


def findings(plan: Plan, facts: Facts) -> Iterator[Finding]:
    """What to tell the owner, the gravest first."""
    if not facts.lines.events and not sum(facts.lines.flaws.values()):
        yield Finding(
            "The source has no events."
            if not facts.released
            else "The source has no events that the stream has not taken before."
        )
    yield from _lines(plan, facts)
    for column in facts.columns:
        yield from _column(plan, facts, column)
    yield from _times(plan, facts)
    yield from _users(plan, facts)
    for release in facts.releases:
        yield from _release(facts, release)


def _lines(plan: Plan, facts: Facts) -> Iterator[Finding]:
    flaws, events = facts.lines.flaws, facts.lines.events
    if flaws[TRAILING]:
        names = ", ".join(f'"{name}"' for name in list(plan.stream.columns)[:2])
        yield Finding(
            f"{_lines_of(flaws[TRAILING])} a delimiter at the end, which begins one more field.",
            f'header = [{names}, ..., "nothing"], with one name more than the first line has; or '
            "one more name in the first line of the file",
        )
    if flaws[OPEN_QUOTE]:
        yield Finding(
            f"{_lines_of(flaws[OPEN_QUOTE])} a quote that is not closed: values with a newline in "
            "them, probably. A newline always ends an event here.",
            "ameles convert FILE out.parquet, and the Parquet file as source",
        )
    if flaws[BAD_QUOTES]:
        yield Finding(
            f"{_lines_of(flaws[BAD_QUOTES])} quotes that are not as CSV has them.",
            'quote = "", if quotes are ordinary characters there',
        )
    if flaws[TOO_MANY]:
        yield Finding(
            f"{_lines_of(flaws[TOO_MANY])} more fields than the first line.",
            "quotes around values with a delimiter in them",
        )
    if flaws[TOO_FEW] > FEW * events:
        yield Finding(
            f"{_lines_of(flaws[TOO_FEW])} fewer fields than the first line.",
            'delimiter = ";", or what separates the fields there',
        )
    if flaws[NO_OBJECT] + flaws[NO_JSON]:
        count = flaws[NO_OBJECT] + flaws[NO_JSON]
        yield Finding(f"{_are(count, 'line')} not a JSON object.", "one object a line")
    if flaws[WITH_NUL]:
        yield Finding(
            f"{_lines_of(flaws[WITH_NUL])} a NUL in it.", 'encoding = "utf-16", if all lines do'
        )
    if flaws[TOO_LONG]:
        yield Finding(f"{_are(flaws[TOO_LONG], 'line')} longer than 1 MiB.")
    if facts.lines.replaced:
        yield Finding(
            f"{_counted(facts.lines.replaced, 'event')} with characters that are not UTF-8.",
            'encoding = "windows-1252", or "latin-1"',
        )
    for file in facts.files:
        if file.open_line and plan.stream.last_line == "wait" and plan.stream.source != "-":
            yield Finding(
                f"The last line of '{file.name}' has no newline. It waits for one, since somebody "
                "may still be writing it.",
                'last_line = "take"',
            )


def _column(plan: Plan, facts: Facts, column: ColumnFacts) -> Iterator[Finding]:
    if facts.lines.events and not column.read:
        yield Finding(
            f"The column '{column.name}' never has a value.",
            "another name in columns; for a value inside another in JSON its path, such as "
            '"user.id"',
        )
    if column.unfit:
        share = column.unfit / max(1, column.read)
        yield Finding(
            f"{_counted(column.unfit, 'value')} of '{column.name}' ({share:.1%}) "
            f"{'is' if column.unfit == 1 else 'are'} no {column.kind}.",
            _kind_mend(column),
        )


def _kind_mend(column: ColumnFacts) -> str:
    shapes = [one.shape for one in column.shapes]
    match column.kind:
        case "timestamp" if column.formats == [ISO]:
            return "leave time_format out: they are as ISO 8601 has them"
        case "timestamp" if column.formats:
            named = " or ".join(f'time_format = "{name}"' for name in column.formats)
            mixed = column.unfit < column.read
            return f"{named}, in a list with a pattern for the others" if mixed else named
        case "timestamp":
            return 'time_format = "..." with the pattern of its times, as of strptime'
        case "integer" | "number" if any("9,9" in shape for shape in shapes):
            return 'decimal = ","'
        case "integer" if any("." in shape for shape in shapes):
            return f'columns = {{ {column.name} = "number", ... }}'
        case "boolean":
            asked = f"where = \"{column.name} = 'Y'\""
            return f'columns = {{ {column.name} = "text", ... }} and {asked}'
        case _ if column.unfit < column.read / 2:
            return "nothing, if they stand for no value: they count as missing"
    return f'columns = {{ {column.name} = "text", ... }}, if they are meant'


def _times(plan: Plan, facts: Facts) -> Iterator[Finding]:
    times, events = facts.times, facts.lines.events
    if times.before > FEW * events:
        yield Finding(
            f"{_are(times.before, 'event')} before the start and count nowhere.",
            f'start = "{times.first:%Y-%m-%d}", or what begins your season' if times.first else "",
        )
    if times.after > FEW * events:
        what = "after the horizon" if plan.stream.horizon else "too far in the future"
        yield Finding(
            f"{_are(times.after, 'event')} {what} and count nowhere.",
            _horizon(plan, facts),
        )
    if times.late:
        fate = "join the open step" if plan.stream.late == "next" else "are dropped"
        yield Finding(
            f"{_counted(times.late, 'event')} of steps that are released {fate}.",
            'grace = "1h", or how long events take to arrive; it is for the next stream',
        )


def _horizon(plan: Plan, facts: Facts) -> str:
    """The horizon with which the last event would count."""
    if plan.stream.horizon is None or facts.times.last is None:
        return ""
    return f"horizon = {plan.clock.ended(microseconds(facts.times.last)) + 1}"


def _users(plan: Plan, facts: Facts) -> Iterator[Finding]:
    users = facts.users
    if users is None:
        return
    if users.without:
        yield Finding(
            f"{_counted(users.without, 'event')} without an id in '{plan.privacy.user}' count "
            "nowhere.",
            'user = "...", another column, or unit = "event"' if users.without > 100 * FEW else "",
        )
    left = users.events - users.kept
    if users.events and left > 5 * FEW * users.events and plan.privacy.max_steps is not None:
        yield Finding(
            f"The bounds leave out {left / users.events:.1%} of the events: the published numbers "
            "will be so much too low, which their intervals do not say.",
            "max_per_step and max_steps from the table of bounds",
        )


def _release(facts: Facts, release: ReleaseFacts) -> Iterator[Finding]:
    name, counted = release.name, facts.times.counted
    if counted and not release.matched:
        yield Finding(f"No event meets the condition of release '{name}'.", "where = ...")
    for column, count in release.nearly.items():
        if count:
            yield Finding(
                f"{_counted(count, 'event')} of release '{name}' would have a key of '{column}' "
                "but for capitals or spaces.",
                "strip = true, for spaces; or the keys in by as the source writes them",
            )
    for column, count in release.undeclared.items():
        if count - release.nearly[column] > 10 * FEW * max(1, release.matched):
            yield Finding(
                f"{_counted(count, 'event')} of release '{name}' ({count / release.matched:.1%}) "
                f"have no declared key of '{column}'.",
                "other = true counts them together; ameles check --show names them",
            )
    empty = [key for key, count in release.keys.items() if not count]
    if release.counted and len(release.keys) > 1 and empty:
        yield Finding(
            f"{_counted(len(empty), 'key')} of release '{name}' "
            f"{'has' if len(empty) == 1 else 'have'} no event: {', '.join(empty[:5])}"
            f"{', ...' if len(empty) > 5 else ''}.",
            "by as the source writes its keys, if they should have some",
        )
    if release.valueless > FEW * max(1, release.matched):
        yield Finding(
            f"{_counted(release.valueless, 'event')} of release '{name}' have no value and count "
            "nowhere in it."
        )
    beyond = release.below + release.above
    if beyond > 5 * FEW * max(1, release.matched):
        edges = release.measure in ("histogram", "quantile")
        yield Finding(
            f"{_counted(beyond, 'value')} of release '{name}' ({beyond / release.matched:.1%}) are "
            f"beyond its {'edges' if edges else 'bounds'}.",
            "edges = [...], wider" if edges else "lower and upper, wider",
        )


def _lines_of(count: int) -> str:
    return f"{_counted(count, 'line')} {'has' if count == 1 else 'have'}"


def _are(count: int, word: str) -> str:
    return f"{_counted(count, word)} {'is' if count == 1 else 'are'}"


def _counted(count: int, word: str) -> str:
    return f"1 {word}" if count == 1 else f"{count:,} {word}s"
