"""Tries a change of the plan on a sample of its source, before ``ameles check`` advises it.

A change passes if a launch would accept the changed plan, if more of the sample fits than before,
and if no value that fitted before means something else.  One kind of change reads a whole column
anew (another pattern of times): it may give values another meaning, but only if every value fits
and no time is before the year 100.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import duckdb

from ameles.connectors.duck import connect, quiet
from ameles.connectors.files.compressed import Damaged, Incomplete, is_compressed, opened
from ameles.connectors.files.named_files import NamedFile
from ameles.connectors.source import SeekableSource
from ameles.connectors.text.dialect import Dialect, check_start, start_of
from ameles.connectors.text.dialects import DIALECTS
from ameles.connectors.text.line_blocks import handed_over
from ameles.connectors.typed_columns import given_name
from ameles.core.exceptions import AmelesError, PlanError
from ameles.engine.gathering.event_sql import EventSql
from ameles.engine.gathering.moment import moment_at
from ameles.engine.owner_check.facts import CheckFinding
from ameles.engine.running.launch_checks import check_launch
from ameles.measures.fields import identifier
from ameles.plan.clock import microseconds
from ameles.plan.plan import Plan, check_plan
from ameles.plan.source import plan_source

_FILES = 32  # files of a sample
_ODD = 8  # of those that something is wrong with
_SIZE = 1 << 20  # bytes of a sample, in all of its files
_WINDOW = 32 << 10  # bytes that are read in one place of a file
_ROWS = 20_000  # rows of a sample without lines
_PIECES = 8
_MEMORY = 1 << 30
_YEAR_100 = microseconds(datetime(100, 1, 1, tzinfo=UTC))
OR = "; or "  # between the alternatives of a mend
_SINGLE_BYTES = {"latin-1": "latin-1", "windows-1252": "cp1252"}
_NO_TEXT = re.compile("[\ufffd\x80-\x9f]")  # what a wrong encoding leaves behind


@dataclass(frozen=True)
class Change:
    """Keys of a plan with new values, in words and for the trial."""

    words: str
    keys: Mapping[str, Any]  # None leaves a key out; columns has those with another kind
    release: str | None = None  # the release that has these keys; None: [stream]
    anew: bool = False  # all times are read in another way
    untitled: bool = (
        False  # lines that name the columns are events no more, and nothing else changes
    )
    choice: bool = False  # it need not gain in the sample: the facts show what it gains
    typed: bool = False  # most values of each column must fit it
    # values that may mean something else, which no plan can say; the gain needs others too
    rival: re.Pattern[str] | None = None


@dataclass(frozen=True)
class Advice:
    """What was seen, changes of the plan that may mend it, and what to do if none passes."""

    what: str
    changes: tuple[Change, ...] = ()
    otherwise: str = ""
    also: str = ""  # another way, whatever passes
    by_looking: bool = False  # following it is a choice by the data, outside of the guarantee
    file: str = ""  # the file that it names, if it is about one

    @property
    def of_any_file(self) -> tuple[str, ...]:
        """Its texts without the name of the file: equal ones are told together."""
        texts = (self.what, self.otherwise, self.also, *(one.words for one in self.changes))
        return tuple(text.replace(self.file, "\0") if self.file else text for text in texts)


@dataclass(repr=False)
class Read:
    """What a plan reads of the sample: exact, so as secret as the source."""

    rows: Counter[tuple[str | None, ...]] = field(default_factory=Counter)
    values: dict[str, dict[str, Any]] = field(default_factory=dict)  # by column: of each text
    counts: Counter[str] = field(default_factory=Counter)
    given: Counter[str] = field(default_factory=Counter)

    def __repr__(self) -> str:
        return "<Read>"


class Trial:
    """Tries changes of a plan on a sample of its source."""

    def __init__(
        self,
        plan: Plan,
        now: datetime,
        released: int,
        files: Sequence[NamedFile],
        kind: str | None,
        odd: Collection[str] = (),
    ) -> None:
        """``files`` have records of this kind; if these are no lines, the sample is of the source
        itself.  The ``odd`` files are those that something is wrong with."""
        self._plan = plan
        self._now = now
        self._released = released
        self._files = files if kind in DIALECTS else ()
        self._kind = kind or "csv"
        self._odd = [file for file in self._files if file.name in odd][:_ODD]
        self._readings: dict[str, Read] = {}

    def finding(self, advice: Advice) -> CheckFinding:
        """The finding for the owner, with the changes that pass."""
        passed = self.passing(advice.changes)
        what = advice.what
        if len(passed) > 1:
            what += (
                f" {len(passed)} changes fit the sample and give it different meanings: the data "
                "alone cannot tell which one is right, so ask who writes it."
            )
        words = " or ".join(one.words for one in passed) or advice.otherwise
        mend = OR.join(one for one in (words, advice.also) if one)
        return CheckFinding(what, mend, advice.by_looking and bool(mend))

    @cached_property
    def before(self) -> Read:
        """What the plan reads as it is."""
        return self.reading(self._plan)

    def passing(self, changes: Sequence[Change]) -> list[Change]:
        """The best of these changes; several if they give some value different meanings."""
        tried = [(one, self._passed(one)) for one in changes]
        passed = [(one, read) for one, read in tried if read is not None]
        most = max((_fitting(one, read) for one, read in passed), default=0)
        best: list[tuple[Change, Read]] = []
        for one, read in passed:
            full = one.choice or _fitting(one, read) == most
            if full and all(_differ(read, other) for _, other in best) and self._accepted(one):
                best.append((one, read))
        return [one for one, _ in best]

    def changed(self, change: Change) -> Plan | None:
        """The plan with a change; None if it is no plan."""
        document = document_of(self._plan)
        table = document["stream"]
        if change.release is not None:
            named = (one for one in document["release"] if one["name"] == change.release)
            table = next(named)
        for key, value in change.keys.items():
            if value is None:
                table.pop(key, None)
            else:
                table[key] = table["columns"] | value if key == "columns" else value
        try:
            plan = check_plan(document, base=self._plan.base)
        except AmelesError:
            return None
        return replace(plan, rules=self._plan.rules, file=self._plan.file)

    def reading(self, plan: Plan) -> Read:
        """What a plan reads of the sample; nothing if it cannot read it."""
        key = plan.to_json()
        if key not in self._readings:
            self._readings[key] = self._reading(plan)
        return self._readings[key]

    def _reading(self, plan: Plan) -> Read:
        read = Read(values={name: {} for name in plan.stream.columns})
        try:
            for duck, relation in self._relations(plan):
                with quiet("trying a change"):
                    duck.execute(f"CREATE OR REPLACE TEMP TABLE tried AS SELECT * FROM {relation}")
                    self._add(duck, plan, read)
        except AmelesError:
            return Read(values={name: {} for name in plan.stream.columns})
        return read

    def _passed(self, change: Change) -> Read | None:
        plan = self.changed(change)
        if plan is None or plan == self._plan:
            return None
        before, after = self.before, self.reading(plan)
        if change.anew:
            times = [name for name, kind in plan.stream.columns.items() if kind == "timestamp"]
            whole = all(after.counts[name] == after.given[name] for name in times)
            sound = not any(has_early(after.values[name]) for name in times)
            return after if whole and sound and after.rows == before.rows else None
        if change.untitled:
            titles = set(before.rows - after.rows) == {tuple(plan.stream.columns)}
            return after if titles and not after.rows - before.rows else None
        lost = any(after.counts[name] < count for name, count in before.counts.items())
        if lost or not _contained(before, after):
            return None
        if change.choice:
            return after
        if not after.counts - before.counts:
            return None
        if change.typed and any(2 * after.counts[n] < after.given[n] for n in plan.stream.columns):
            return None
        rival = change.rival
        if rival is not None and all(rival.fullmatch(one.strip()) for one in gains(before, after)):
            return None
        return after

    def _accepted(self, change: Change) -> bool:
        """Whether a launch would accept the changed plan."""
        plan = self.changed(change)
        try:
            if plan is None or not plan.recipes:
                return False
            check_launch(plan)
        except AmelesError:
            return False
        return True

    def _relations(self, plan: Plan) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
        zone = plan.stream.zone
        if self._files:
            dialect = DIALECTS[self._kind](plan.kinds, plan.form, raw=True)
            blocks: dict[tuple[str, ...], list[bytes]] = {}
            for name, parts in self._parts.items():
                for names, lines in _lines_of(dialect, name, parts, plan.stream.last_line):
                    blocks.setdefault(names, []).append(lines)
            with closing(connect(zone=zone, memory=_MEMORY)) as duck:
                for names, some in blocks.items():
                    for relation in handed_over(duck, dialect, names, [b"".join(some)]):
                        yield duck, relation
            return
        source = plan_source(plan, raw=True)
        if not isinstance(source, SeekableSource):
            return
        reading = source.reading(None)
        reading = replace(reading, pieces=reading.pieces[:_PIECES])
        with closing(connect(zone=zone, memory=_MEMORY, readable=reading.paths)) as duck:
            for relation in reading.scans(duck):
                yield duck, f"(SELECT * FROM {relation} LIMIT {_ROWS})"

    @cached_property
    def _parts(self) -> dict[str, list[SamplePart]]:
        """The sample: parts of some files."""
        step = -(-len(self._files) // _FILES) or 1
        some = list(dict.fromkeys([*self._odd, *self._files[::step]]))
        parts: dict[str, list[SamplePart]] = {}
        for file in some:
            try:
                parts[file.name] = _parts(file, max(_WINDOW, _SIZE // len(some)))
            except (OSError, Incomplete, Damaged):
                continue
        return parts

    def _add(self, duck: duckdb.DuckDBPyConnection, plan: Plan, read: Read) -> None:
        kinds = plan.stream.columns
        asked = [identifier(given_name(name)) for name in kinds]
        asked += [
            f"epoch_us({identifier(name)})" if kind == "timestamp" else identifier(name)
            for name, kind in kinds.items()
        ]
        rows = duck.execute(f"SELECT {', '.join(asked)}, count(*) FROM tried GROUP BY ALL")
        for *row, count in rows.fetchall():
            sound = True
            read.counts["\nevents"] += count
            texts = row[: len(kinds)]
            for name, text, value in zip(kinds, texts, row[len(kinds) :], strict=True):
                if text is None:
                    continue
                read.given[name] += count
                whole = _is_text(text, plan)
                sound = sound and whole
                if value is not None and (whole or kinds[name] != "text"):
                    read.counts[name] += count
                    read.values[name][text.strip()] = (
                        value.strip() if isinstance(value, str) else value
                    )
            if sound:
                plain = tuple(text and (text.strip() or None) for text in texts)
                read.rows[plain] += count
        moment = moment_at(plan, self._released, self._now)
        sql = EventSql(plan)
        cells = [sql.cells[one.name] for one in plan.releases]
        asked = ["count(*)", *(f"count({cell})" for cell in cells)]
        events = sql.select("tried", moment, b"")
        (numbers,) = duck.execute(f"SELECT {', '.join(asked)} FROM ({events})").fetchall()
        names = ["\ncounted", *(f"\nrelease {one.name}" for one in plan.releases)]
        read.counts.update(dict(zip(names, numbers, strict=True)))


@dataclass(frozen=True, repr=False)
class SamplePart:
    """Some bytes of a file, and where they are; the last ones end with the file."""

    place: int
    data: bytes
    last: bool

    def __repr__(self) -> str:
        return "<SamplePart>"


def _parts(file: NamedFile, most: int) -> list[SamplePart]:
    """The bytes of a file if there are few; otherwise some in even distances, and the last ones."""
    with opened(file.path) as stream:
        if is_compressed(file.path):
            data = stream.read(most)
            return [SamplePart(0, data, not stream.read(1))]
        size = os.fstat(stream.fileno()).st_size
        if size <= most:
            return [SamplePart(0, stream.read(most), True)]
        number = max(2, most // _WINDOW)
        apart = (size - _WINDOW) // (number - 1)
        parts = []
        for one in range(number):
            last = one == number - 1
            place = (size - _WINDOW if last else one * apart) // 4 * 4  # no unit is cut
            stream.seek(place)
            parts.append(SamplePart(place, stream.read(_WINDOW + 4 if last else _WINDOW), last))
        return parts


def _lines_of(
    dialect: Dialect, name: str, parts: Sequence[SamplePart], last_line: str
) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """The whole lines of a file's parts, with their columns; none if the plan cannot read it."""
    head = parts[0].data
    start = start_of(dialect, lambda size: head[:size], name)
    try:
        check_start(dialect, start, name)
    except PlanError:
        return
    script = start.script
    for part in parts:
        data = part.data
        begin = script.after_first_newline(data) if part.place else start.body
        if part.place and not begin:  # inside a long line
            continue
        take = part.last and last_line == "take"
        lines = script.utf8(data[begin : len(data) if take else script.after_last_newline(data)])
        if lines:
            yield start.names, lines if lines.endswith(b"\n") else lines + b"\n"


def document_of(plan: Plan) -> dict[str, Any]:
    """The tables of a plan, as its file could have them."""
    sections = {"stream": plan.stream, "privacy": plan.privacy, "store": plan.store}
    written = {
        name: section.model_dump(mode="json", exclude_unset=True)
        for name, section in (*sections.items(), ("serve", plan.serve))
    }
    several = {"release": plan.releases, "sink": plan.sinks}
    return written | {
        name: [one.model_dump(mode="json", exclude_unset=True) for one in some]
        for name, some in several.items()
    }


def gains(before: Read, after: Read) -> list[str]:
    """The texts that fit only after a change."""
    return [
        text
        for column, values in after.values.items()
        for text in values
        if text not in before.values.get(column, {})
    ]


def has_early(times: Mapping[str, Any]) -> bool:
    """Whether some of these times are before the year 100, as if two digits were a whole year."""
    return any(time < _YEAR_100 for time in times.values())


def _contained(before: Read, after: Read) -> bool:
    """Whether all that fitted before is there, and means the same."""
    if before.rows - after.rows:
        return False
    return not any(
        text in after.values[column] and after.values[column][text] != value
        for column, values in before.values.items()
        for text, value in values.items()
    )


def _fitting(change: Change, read: Read) -> int:
    """How much fits.  If all times are read anew, how many of them lie inside the stream says
    nothing: a wrong day may do so too."""
    return sum(
        count for name, count in read.counts.items() if not (change.anew and name.startswith("\n"))
    )


def _differ(one: Read, other: Read) -> bool:
    """Whether two readings give some text or row different meanings."""
    return one.rows != other.rows or one.values != other.values


def _is_text(text: str, plan: Plan) -> bool:
    """Whether a text is free of what a wrong encoding leaves behind."""
    if text.isascii():
        return True
    if _NO_TEXT.search(text):
        return False
    codec = _SINGLE_BYTES.get(plan.stream.encoding)
    if codec is None:
        return True
    try:
        text.encode(codec).decode("utf-8")
    except UnicodeError:
        return True
    return False  # it is UTF-8, taken for another encoding
