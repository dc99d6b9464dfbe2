"""The facts that the owner is shown.  They are exact and secret, so no ``repr`` has a number."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from ameles.connectors.text.lines import LinePlace


class Secret:
    """A value whose ``repr`` is empty of data, so that a log cannot leak it."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


@dataclass(repr=False)
class FileFacts(Secret):
    """One file of the source."""

    name: str
    size: int
    open_line: bool = False  # its last line has no newline yet


@dataclass(repr=False)
class LineFacts(Secret):
    """How many lines or rows of the source are events, and what is wrong with the others."""

    events: int = 0
    flaws: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[LinePlace]] = field(default_factory=dict)  # the first of each flaw
    replaced: int = 0  # events with characters that the declared encoding does not have


@dataclass(repr=False)
class ValueShape(Secret):
    """What some values look like, and how many look like that."""

    shape: str
    count: int
    example: str | None = None  # only if the owner asked for values


@dataclass(repr=False)
class ColumnFacts(Secret):
    """What one column holds."""

    name: str
    kind: str
    read: int = 0
    missing: int = 0
    unfit: int = 0
    named: int = 0  # of those that do not fit, values that are the column's name
    shapes: list[ValueShape] = field(default_factory=list)  # of values that do not fit
    # time formats that would fit some of those, and how many; the most likely first
    formats: dict[str, int] = field(default_factory=dict)
    tried: int = 0  # how many of them were tried with other formats


@dataclass(repr=False)
class TimeFacts(Secret):
    """Which events have a step."""

    without: int = 0
    before: int = 0
    after: int = 0
    late: int = 0
    waiting: int = 0  # events of steps that have not ended yet
    first: datetime | None = None
    last: datetime | None = None
    counted: int = 0  # events that count in some step, before users are bounded


@dataclass(repr=False)
class WeightFacts(Secret):
    """The weights of lines, if the plan has a weight column."""

    missing: int = 0
    negative: int = 0
    zero: int = 0
    clamped: int = 0
    total: int = 0  # sum over the lines that count in a step


@dataclass(repr=False)
class Choice(Secret):
    """One pair of bounds, with the events that it keeps and the noise that it needs."""

    max_per_step: int
    max_steps: int
    kept: int
    half_widths: dict[str, float | None] = field(default_factory=dict)  # at the last step


@dataclass(repr=False)
class UserFacts(Secret):
    """How many events of users the bounds keep."""

    without: int = 0  # events without an id
    users: int = 0
    events: int = 0
    kept: int = 0
    bounded: int = 0  # users with events that the bounds leave out
    most_in_a_step: int = 0
    most_steps: int = 0
    choices: list[Choice] = field(default_factory=list)


@dataclass(repr=False)
class ReleaseFacts(Secret):
    """What one release counts, before users are bounded."""

    name: str
    measure: str
    matched: int = 0  # events that meet its condition
    counted: int = 0  # of those, events in one of its cells
    keys: dict[str, int] = field(default_factory=dict)  # events (or their weight) by key
    found: int | None = None  # different keys, if they are discovered
    undeclared: dict[str, int] = field(default_factory=dict)  # by column: values that are not a key
    nearly: dict[str, int] = field(default_factory=dict)  # of those, keys except for case or spaces
    others: dict[str, list[tuple[str, int]]] = field(default_factory=dict)  # if values were wanted
    valueless: int = 0
    below: int = 0  # below the lower bound or the first edge
    above: int = 0


@dataclass(repr=False)
class CheckFinding(Secret):
    """A probable mistake, and how to fix it: a change of the plan was tried on a sample."""

    what: str
    mend: str = ""
    by_looking: bool = False  # following it is a choice by the data, outside of the guarantee


@dataclass(repr=False)
class Facts(Secret):
    """All facts about a source."""

    stream: str
    source: str
    released: int = 0  # steps of a launched stream that are published
    unreadable: str = ""  # why the source cannot be read as the plan declares it
    files: list[FileFacts] = field(default_factory=list)
    lines: LineFacts = field(default_factory=LineFacts)
    columns: list[ColumnFacts] = field(default_factory=list)
    times: TimeFacts = field(default_factory=TimeFacts)
    weights: WeightFacts | None = None
    users: UserFacts | None = None
    releases: list[ReleaseFacts] = field(default_factory=list)
    findings: list[CheckFinding] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The facts as a dictionary; the program that gets it must keep it secret."""
        document = asdict(self)
        document["lines"]["flaws"] = dict(self.lines.flaws)  # asdict would count its pairs
        return document
