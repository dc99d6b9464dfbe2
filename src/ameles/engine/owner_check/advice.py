"""Probable mistakes in the plan or the data, each with changes of the plan that may mend it.

``trial.py`` tries each change before anybody sees it.

>>> counted(1, "event"), counted(2000, "event"), has(1, "line"), are(2, "line")
('1 event', '2,000 events', '1 line has', '2 lines are')
>>> verb(1, "count"), verb(2, "count")
('counts', 'count')
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from ameles.connectors.text.csv_lines import BAD_QUOTES, OPEN_QUOTE, TOO_FEW, TOO_MANY, TRAILING
from ameles.connectors.text.json_lines import NO_JSON, NO_OBJECT
from ameles.connectors.text.lines import TOO_LONG, WITH_NUL
from ameles.connectors.text.time_format import EPOCHS
from ameles.engine.owner_check.column_facts import ISO
from ameles.engine.owner_check.facts import ColumnFacts, Facts, ReleaseFacts
from ameles.engine.owner_check.trial import Advice, Change, Trial, has_early
from ameles.measures.measure import Measure
from ameles.plan.clock import microseconds
from ameles.plan.plan import Plan

FEW = 0.01  # below this share a fault is one of the data, not of the plan
_MOST_PATTERNS = 4
# Forms of ISO 8601 as patterns, for a list: patterns take the place of ISO 8601.
_ISO_PATTERNS = (
    *("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f%z"),
    *("%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"),
)
# 1,137 may be a fraction, or a thousand and some; 0,137 and 1,5 are fractions.
_THOUSANDS = {
    mark: re.compile(rf"[+-]?[1-9][0-9]{{0,2}}({re.escape(mark)}[0-9]{{3}})+([.,][0-9]+)?")
    for mark in ".,' \u00a0\u202f\u2019"
}
_NO_THOUSANDS = (
    "write these numbers without the marks between thousands: a plan cannot name such a mark yet"
)


def advices(
    plan: Plan,
    facts: Facts,
    trial: Trial,
    names: Mapping[str, Sequence[str]],
    titles: Mapping[str, Sequence[str]],
) -> Iterator[Advice]:
    """What to tell the owner, the most serious first.

    ``names`` has the first lines of files that name the columns, ``titles`` has those that do so
    although the plan has ``header``.
    """
    titles = {} if facts.released else titles  # these lines may be read already
    if not facts.lines.events and not sum(facts.lines.flaws.values()):
        yield Advice(
            "The source has no events."
            if not facts.released
            else "The source has no events that the stream has not read yet."
        )
    yield from _lines(plan, facts, names, titles)
    for column in facts.columns:
        yield from _column(plan, facts, column, trial, titles)
    yield from _read_otherwise(plan, facts, trial)
    yield from _times(plan, facts)
    yield from _users(plan, facts)
    for release, measure in zip(facts.releases, plan.releases, strict=True):
        yield from _release(facts, release, measure, {one.name: one for one in facts.columns})


def _lines(
    plan: Plan,
    facts: Facts,
    names: Mapping[str, Sequence[str]],
    titles: Mapping[str, Sequence[str]],
) -> Iterator[Advice]:
    """What is wrong with the lines of a source."""
    flaws, events = facts.lines.flaws, facts.lines.events
    fields = plan.stream.header or ()
    leave_out = Change("leave header out", {"header": None}, untitled=True)
    every = len(titles) == sum(file.size > 0 for file in facts.files)
    for name, title in titles.items():
        if len(title) == len(fields):
            same = list(title) == list(fields)
            yield Advice(
                f"The first line of '{name}' names the columns. Because the plan has header, this "
                "line is read as an event.",
                (leave_out,) if every else (),
                "take this line out of the file"
                if same
                else "compare this line with header, because one of them names the fields wrongly",
                file=name,
            )
    if flaws[TRAILING]:
        yield _trailing(plan, facts, names)
    if flaws[OPEN_QUOTE]:
        yield Advice(
            f"{has(flaws[OPEN_QUOTE], 'line')} a quote that is not closed, probably because a "
            "value contains a newline. A newline always ends an event here.",
            otherwise="ameles convert FILE out.parquet; then name the Parquet file as the source",
        )
    if flaws[BAD_QUOTES]:
        plain = Change('quote = "", if quotes are ordinary characters there', {"quote": ""})
        yield Advice(
            f"{has(flaws[BAD_QUOTES], 'line')} quotes where CSV does not allow them.",
            () if flaws[OPEN_QUOTE] else (plain,),
            "fix the program that writes the file: a quote inside quotes is written twice",
        )
    if flaws[TOO_MANY]:
        yield Advice(
            f"{has(flaws[TOO_MANY], 'line')} more fields than the first line.",
            otherwise="put quotes around values with a delimiter in them",
        )
    # a first line that names fewer columns than header is no event, and nobody misses it
    few = flaws[TOO_FEW] - sum(len(title) < len(fields) for title in titles.values())
    if few > FEW * events:
        yield _too_few(plan, few)
    if flaws[NO_OBJECT] + flaws[NO_JSON]:
        count = flaws[NO_OBJECT] + flaws[NO_JSON]
        yield Advice(
            f"{are(count, 'line')} not a JSON object.", otherwise="write one object a line"
        )
    if flaws[WITH_NUL]:
        yield Advice(
            f"{has(flaws[WITH_NUL], 'line')} a NUL in it.", encodings("utf-16", "utf-16-be")
        )
    if flaws[TOO_LONG]:
        yield Advice(f"{are(flaws[TOO_LONG], 'line')} longer than 1 MiB.")
    if facts.lines.replaced:
        yield _replaced(plan, facts.lines.replaced)
    for file in facts.files:
        if file.open_line and plan.stream.last_line == "wait" and not plan.stream.source_kind.live:
            yield Advice(
                f"The file '{file.name}' has no newline after its last line. That line is not read "
                "until it has one, because it may still be being written.",
                (Change('last_line = "take"', {"last_line": "take"}),),
                "a newline after it, from the program that writes the file",
                file=file.name,
            )


def encodings(*names: str) -> tuple[Change, ...]:
    """Changes to other encodings; ``utf-8`` needs no key."""
    return tuple(
        Change("leave encoding out", {"encoding": None})
        if name == "utf-8"
        else Change(f'encoding = "{name}"', {"encoding": name})
        for name in names
    )


def header(names: Sequence[str], more: str = "") -> Change:
    """The change that names the columns in the plan."""
    listed = json.dumps(list(names), ensure_ascii=False)
    return Change(f"header = {listed}{more}", {"header": list(names)}, typed=True)


def _trailing(plan: Plan, facts: Facts, names: Mapping[str, Sequence[str]]) -> Advice:
    """Proposes one more column name only if every line ends with a delimiter."""
    count = facts.lines.flaws[TRAILING]
    known = plan.stream.header or next(iter(names.values()), ())
    free = next(name for name in ("nothing", "nothing-more") if name not in known)
    return Advice(
        f"{has(count, 'line')} one delimiter too many at {'its' if count == 1 else 'their'} end, "
        "which begins another field.",
        (header([*known, free]),) if known and not facts.lines.events else (),
        "fix the program that writes the file, and remove the last delimiter from broken lines "
        "alone: another line may rightly end with one, after which its last field is empty",
    )


def _too_few(plan: Plan, count: int) -> Advice:
    if plan.stream.header is None:
        return Advice(
            f"{has(count, 'line')} fewer fields than the first line.",
            otherwise="fix the program that writes the file: each line needs as many fields as "
            "the first",
        )
    return Advice(
        f"{has(count, 'line')} fewer fields than header has names.",
        tuple(
            Change(f"delimiter = {json.dumps(one)}", {"delimiter": one}, typed=True)
            for one in (";", "\t", "|", ",")
        ),
        "header = [...], with as many names as the lines have fields",
    )


def _replaced(plan: Plan, count: int) -> Advice:
    encoding = plan.stream.encoding
    what = f"{has(count, 'event')} characters that are not valid UTF-8."
    if encoding != "utf-8":
        what = f"{has(count, 'event')} characters that {encoding} does not have."
    return Advice(
        what,
        encodings("utf-8", "windows-1252", "latin-1"),
        "write the file in UTF-8; a plan has no encoding that fits more of it",
    )


def _column(
    plan: Plan,
    facts: Facts,
    column: ColumnFacts,
    trial: Trial,
    titles: Mapping[str, Sequence[str]],
) -> Iterator[Advice]:
    if facts.lines.events and not column.read:
        yield Advice(
            f"The column '{column.name}' never has a value.",
            otherwise="another name in columns; for a nested value in JSON its path, such as "
            '"user.id"',
        )
    fields = plan.stream.header or ()
    first = sum(
        (column.name, column.name) in zip(fields, title, strict=True)
        for title in titles.values()
        if len(title) == len(fields)
    )
    if column.named > first:
        again = column.named - first
        yield Advice(
            f"{counted(again, 'value')} of '{column.name}' "
            f"{verb(again, 'are')} the name of the column: the first line comes again "
            "inside of a file, and such a line has no "
            f"{'time, so it counts nowhere' if column.name == plan.stream.time else column.kind}."
        )
    unfit = column.unfit - column.named
    if unfit and not (column.kind == "text" and facts.lines.replaced):
        share = unfit / max(1, column.read)
        what = (
            f"{counted(unfit, 'value')} of '{column.name}' ({share:.1%}) "
            f"{verb(unfit, 'are')} no {column.kind}."
        )
        yield from _unfit(plan, column, what, trial)


def _unfit(plan: Plan, column: ColumnFacts, what: str, trial: Trial) -> Iterator[Advice]:
    name, few = column.name, column.unfit < column.read / 2
    nothing = "nothing, if they mean that there is no value: they count as missing"
    text = Change(
        f'columns = {{ {_key(name)} = "text", ... }}, if they are meant',
        {"columns": {name: "text"}},
    )
    shapes = "see their shapes above"
    other = nothing if few else f"no change of the plan reads them: {shapes}"
    match column.kind:
        case "timestamp":
            yield _pattern(plan, column, what, trial)
        case "integer" | "number":
            yield _number(plan, column, what, trial, text, other)
        case "boolean":
            asked = f"where = \"{name} = 'Y'\""
            text = Change(f'columns = {{ {_key(name)} = "text", ... }} and {asked}', text.keys)
            words = f"Other words need the kind text, and {asked} wherever the plan has {name}"
            yield Advice(what, (text,), nothing if few else f"{_BOOLEANS}; {shapes}. {words}")
        case _:
            yield Advice(what, (), nothing if few else "")


_BOOLEANS = "a boolean is true, false, t, f, yes, no, 1 or 0"


def _number(
    plan: Plan, column: ColumnFacts, what: str, trial: Trial, text: Change, other: str
) -> Advice:
    name = column.name
    number = {"columns": {name: "number"}}
    words = f'columns = {{ {_key(name)} = "number", ... }}'
    comma = Change('decimal = ","', {"decimal": ","}, rival=_THOUSANDS[","])
    changes = [comma, Change("leave decimal out", {"decimal": None}, rival=_THOUSANDS["."])]
    if column.kind == "integer":
        both = Change(f'{words} and decimal = ","', {**number, **comma.keys}, rival=comma.rival)
        changes += [Change(words, number, rival=_THOUSANDS["."]), both]
    if trial.passing(changes):
        return Advice(what, tuple(changes), other)
    unfit = _unfit_texts(trial, name)
    if not any(mark.fullmatch(one) for one in unfit for mark in _THOUSANDS.values()):
        return Advice(what, (text,), other)
    what += " They look like numbers with a mark between thousands"
    fractions = all(re.fullmatch(r"[^,.]*,[0-9]{3}", one) for one in unfit)
    if column.kind == "number" and fractions:
        what += ", or like fractions of three digits: the values alone cannot tell"
    return Advice(f"{what}.", otherwise=_NO_THOUSANDS)


def _unfit_texts(trial: Trial, column: str) -> set[str]:
    """The texts of the sample that are no value of a column."""
    place = list(trial.before.values).index(column)
    texts = {row[place] for row in trial.before.rows}
    return {text for text in texts if text is not None} - set(trial.before.values[column])


def _pattern(plan: Plan, column: ColumnFacts, what: str, trial: Trial) -> Advice:
    """A pattern that fits all times; if there is none, a list whose patterns do not contradict."""
    given = list(plan.form.time_format)
    found = [name for name in column.formats if name != ISO]
    # the sample may be a part: whatever fits all times fits also all that were tried before
    most = [name for name, count in column.formats.items() if count == column.tried]
    both = dict.fromkeys([*most, *map(_swapped, most)])
    singles = [_single(name) for name in both if [name] != given]
    whole = trial.passing(singles)
    if whole and column.unfit < column.read:
        what += " All values fit another pattern, which gives those that fit today another meaning."
    if whole:
        return Advice(what, tuple(singles))
    epochs = [_timed([name]) for name in found if name in EPOCHS]
    patterns = [name for name in found if name not in EPOCHS]
    listed, unclear = (
        ([], []) if set(given) & set(EPOCHS) else _listed(column.name, given, patterns, trial)
    )
    if unclear:
        what += (
            f" {' and '.join(unclear)} fit the same times and give different days: "
            "the values alone cannot tell which one is right."
        )
    return Advice(
        what,
        (*epochs, *([_timed(listed)] if listed else ())),
        "nothing, if they mean that there is no time: such an event counts nowhere"
        if column.unfit < FEW * column.read
        else 'time_format = "..." with the patterns of all its times, as for strptime, if one '
        "pattern has one meaning",
    )


def _single(name: str) -> Change:
    if name == ISO:
        words = "leave time_format out: these times are in ISO 8601"
        return Change(words, {"time_format": None}, anew=True)
    return Change(f'time_format = "{name}"', {"time_format": name}, anew=True)


def _timed(patterns: Sequence[str]) -> Change:
    value = patterns[0] if len(patterns) == 1 else list(patterns)
    return Change(f"time_format = {json.dumps(value)}", {"time_format": value})


def _listed(
    column: str, given: list[str], patterns: Sequence[str], trial: Trial
) -> tuple[list[str], list[str]]:
    """A list of patterns that adds to what fits today, and patterns that contradict each other."""
    meant = {
        name: _alone(name, column, trial)
        for name in dict.fromkeys((*given, *patterns, *_ISO_PATTERNS))
    }
    known = dict(trial.before.values[column])
    left, chosen = _unfit_texts(trial, column), list(given)
    if not given and known:  # ISO 8601 today: its forms need patterns of their own
        while missing := known.keys() - {t for name in chosen for t in meant[name]}:
            name = max(_ISO_PATTERNS, key=lambda one: len(missing & meant[one].keys()))
            if not missing & meant[name].keys() or _contradict(meant[name], known):
                return [], []
            chosen.append(name)
    while left and len(chosen) < _MOST_PATTERNS + len(given):
        fits = {name: left & values.keys() for name, values in meant.items()}
        best = max(fits, key=lambda name: len(fits[name]))
        if not fits[best]:
            break
        rivals = [
            name
            for name, texts in fits.items()
            if name != best
            and len(texts) == len(fits[best])
            and _contradict(meant[name], meant[best])
        ]
        if rivals or _contradict(meant[best], known):
            return [], [f'"{name}"' for name in (best, *(rivals or given))]
        chosen.append(best)
        known |= {text: meant[best][text] for text in fits[best]}
        left -= fits[best]
    return (chosen, []) if len(chosen) > len(given) and chosen != given else ([], [])


def _alone(pattern: str, column: str, trial: Trial) -> Mapping[str, Any]:
    """The values of a column if this is the only pattern; none if it takes two digits for a whole
    year."""
    plan = trial.changed(_single(pattern))
    values = {} if plan is None else trial.reading(plan).values[column]
    return {} if has_early(values) else values


def _contradict(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return any(other[text] != value for text, value in one.items() if text in other)


def _read_otherwise(plan: Plan, facts: Facts, trial: Trial) -> Iterator[Advice]:
    """Values that all fit, and would fit as well with another meaning."""
    for column in facts.columns:
        if column.kind == "timestamp":
            yield from _short_years(column, trial)
        if column.unfit or not column.read:
            continue
        if column.kind == "timestamp" and plan.form.time_format:
            yield from _other_days(plan, column.name, trial)
        if column.kind == "number" and plan.stream.decimal == ".":
            texts = trial.before.values[column.name].keys()
            dotted = [text for text in texts if "." in text]
            marked = [text for text in dotted if _THOUSANDS["."].fullmatch(text)]
            if marked and marked == dotted and len(dotted) < len(texts):
                yield Advice(
                    f"Every value of '{column.name}' with a dot has three digits after it, and is "
                    "read as a fraction. If the dot is a mark between thousands, the numbers are "
                    "a thousand times too small.",
                    otherwise=f"nothing, if they are fractions; otherwise {_NO_THOUSANDS}",
                )


def _short_years(column: ColumnFacts, trial: Trial) -> Iterator[Advice]:
    """Years of two digits that are read as the years 1 to 99."""
    times = trial.before.values[column.name]
    if not has_early(times):
        return
    marks = {mark for text in times for mark in "/-." if mark in text}
    changes = tuple(
        _single(mark.join(order) + clock)
        for mark in sorted(marks)
        for order in (("%d", "%m", "%y"), ("%m", "%d", "%y"), ("%y", "%m", "%d"))
        for clock in ("", " %H:%M", " %H:%M:%S")
    )
    if column.unfit and trial.passing(changes):
        return  # the patterns for what does not fit are these
    yield Advice(
        f"Some times of '{column.name}' are read as days before the year 100, probably because "
        "their years have two digits.",
        changes,
        'time_format = "..." with %y for a year of two digits, if all times are written so',
    )


def _swapped(name: str) -> str:
    """The pattern with the day and the month in the other order.

    >>> _swapped("%d.%m.%Y %H:%M"), _swapped("epoch-ms")
    ('%m.%d.%Y %H:%M', 'epoch-ms')
    """
    if name == ISO or name in EPOCHS:
        return name
    return name.translate({ord("d"): "m", ord("m"): "d"})


def _other_days(plan: Plan, column: str, trial: Trial) -> Iterator[Advice]:
    """Patterns that fit the times as well, with the day and the month in the other order."""
    given = plan.form.time_format
    for name in given:
        other = _swapped(name)
        if other == name or (other in given and given.index(other) < given.index(name)):
            continue
        today = trial.before.values[column]
        swapped = _alone(other, column, trial)
        if other in given and _contradict(swapped, _alone(name, column, trial)):
            yield Advice(
                f'The patterns "{name}" and "{other}" fit some of the same times of \'{column}\' '
                "and give different days; the first one counts.",
                (_single(name), _single(other)),
                "one pattern for each way in which a time is written",
            )
        elif today.keys() <= swapped.keys() and _contradict(swapped, today):
            yield Advice(
                f"All times of '{column}' in the sample also fit the pattern \"{other}\", which "
                "gives other days: no day is above 12, so the data alone cannot tell.",
                otherwise="compare one time with a day that you know",
            )


def _times(plan: Plan, facts: Facts) -> Iterator[Advice]:
    times, events = facts.times, facts.lines.events
    if times.before > FEW * events:
        yield Advice(
            f"{are(times.before, 'event')} before the start and {verb(times.before, 'count')} "
            "nowhere.",
            _start(plan, facts),
            by_looking=True,
        )
    if times.after > FEW * events:
        what = "after the horizon" if plan.stream.horizon else "too far in the future"
        yield Advice(
            f"{are(times.after, 'event')} {what} and {verb(times.after, 'count')} nowhere.",
            _horizon(plan, facts),
            by_looking=True,
        )
    if times.late:
        joins = f"{verb(times.late, 'join')} the open step"
        fate = joins if plan.stream.late == "next" else f"{verb(times.late, 'are')} dropped"
        only = "the time that events may take to arrive; only a new stream can have it"
        hour = Change(f'grace = "1h", {only}', {"grace": "1h"}, choice=True)
        yield Advice(
            f"{counted(times.late, 'event')} of steps that are released {fate}.",
            (hour,) if plan.stream.grace is None else (),
            f"a longer grace, {only}",
        )


def _start(plan: Plan, facts: Facts) -> tuple[Change, ...]:
    """The day from which the first event would count, in the plan's time zone."""
    first = facts.times.first
    if first is None or microseconds(first) >= plan.clock.first:
        return ()
    stream = plan.stream
    local = f"{first.astimezone(ZoneInfo(stream.zone)):%Y-%m-%d}"
    keys: dict[str, Any] = {"start": local}
    words = f'start = "{local}"'
    if stream.horizon is not None:  # otherwise the last events would be after the horizon
        clock = stream.model_copy(update={"start": datetime.fromisoformat(local)}).clock
        keys["horizon"] = clock.ended(plan.clock.end_of(stream.horizon) - 1) + 1
        words += f" and horizon = {keys['horizon']}"
    words += ", or when your season begins"
    return (Change(words, keys, choice=True),)


def _horizon(plan: Plan, facts: Facts) -> tuple[Change, ...]:
    """The horizon that includes the last event."""
    horizon, last = plan.stream.horizon, facts.times.last
    if horizon is None or last is None or plan.clock.ended(microseconds(last)) < horizon:
        return ()
    steps = plan.clock.ended(microseconds(last)) + 1
    return (Change(f"horizon = {steps}", {"horizon": steps}, choice=True),)


def _users(plan: Plan, facts: Facts) -> Iterator[Advice]:
    users = facts.users
    if users is None:
        return
    if users.without:
        yield Advice(
            f"{has(users.without, 'event')} no id in '{plan.privacy.user}' and "
            f"{verb(users.without, 'count')} nowhere.",
            otherwise='user = "...", with another column, or unit = "event"'
            if users.without > FEW * facts.lines.events
            else "",
        )
    left = users.events - users.kept
    if users.events and left > 5 * FEW * users.events and plan.privacy.max_steps is not None:
        yield Advice(
            f"The bounds leave out {left / users.events:.1%} of the events: the published numbers "
            "will be too low by that much, and their intervals do not include it.",
            otherwise="take max_per_step and max_steps from the table of bounds",
            by_looking=True,
        )


def _release(
    facts: Facts, release: ReleaseFacts, measure: Measure, columns: Mapping[str, ColumnFacts]
) -> Iterator[Advice]:
    name = release.name
    if facts.times.counted and not release.matched:
        yield Advice(
            f"No event meets the condition of release '{name}'.", otherwise="change its where"
        )
    for column, count in release.nearly.items():
        if count:
            yield Advice(
                f"{counted(count, 'event')} of release '{name}' would have a key of '{column}' "
                "if capitals and spaces were ignored.",
                (Change("strip = true, for spaces", {"strip": True}),),
                also="the keys in by as the source writes them",
            )
    for column, count in release.undeclared.items():
        if not measure.other and count - release.nearly[column] > 10 * FEW * max(
            1, release.matched
        ):
            other = Change(
                "other = true counts them together; ameles check --show names them",
                {"other": True},
                release=name,
                choice=True,
            )
            what = (
                f"{counted(count, 'event')} of release '{name}' ({count / release.matched:.1%}) "
                f"{verb(count, 'have')} no declared key of '{column}'"
            )
            kind, unfit = columns[column].kind, columns[column].unfit
            if kind != "text" and 2 * unfit >= count:  # their texts may be keys
                yield Advice(
                    f"{what}, because values of '{column}' are no {kind}.",
                    otherwise=f"first another kind of '{column}', or its values written as {kind}",
                )
            else:
                yield Advice(
                    f"{what}.", (other,), "ameles check --show names them", by_looking=True
                )
    empty = [key for key, count in release.keys.items() if not count]
    if release.counted and len(release.keys) > 1 and empty:
        yield Advice(
            f"{counted(len(empty), 'key')} of release '{name}' "
            f"{verb(len(empty), 'have')} no event: {', '.join(empty[:5])}"
            f"{', ...' if len(empty) > 5 else ''}.",
            otherwise="write the keys in by as the source does, if they should have events",
        )
    values = measure.read_values
    if values is None or values.missing_counts:
        return
    if release.valueless > FEW * max(1, release.matched):
        yield Advice(
            f"{counted(release.valueless, 'event')} of release '{name}' "
            f"{verb(release.valueless, 'have')} no value and {verb(release.valueless, 'count')} "
            "nowhere in it."
        )
    beyond = release.below + release.above
    if beyond > 5 * FEW * max(1, release.matched):
        edges = values.ends == "edges"
        yield Advice(
            f"{counted(beyond, 'value')} of release '{name}' ({beyond / release.matched:.1%}) "
            f"{verb(beyond, 'are')} beyond its {'edges' if edges else 'bounds'}.",
            otherwise="widen its edges" if edges else "widen lower and upper",
            by_looking=True,
        )


def _key(name: str) -> str:
    """The name of a column as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def has(count: int, word: str) -> str:
    """The count with noun and verb: 1 line has, 2 lines have."""
    return f"{counted(count, word)} {'has' if count == 1 else 'have'}"


def are(count: int, word: str) -> str:
    """The count with noun and verb: 1 event is, 2 events are."""
    return f"{counted(count, word)} {'is' if count == 1 else 'are'}"


def verb(count: int, plural: str) -> str:
    """The verb that goes with a count: counts, count; has, have."""
    if count != 1:
        return plural
    return {"have": "has", "are": "is"}.get(plural, f"{plural}s")


def counted(count: int, word: str) -> str:
    """The count with its noun: 1 event, 2 events."""
    return f"1 {word}" if count == 1 else f"{count:,} {word}s"
