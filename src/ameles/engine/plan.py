"""Plans: what is to be published about a stream, checked whole before anything is read or spent.

>>> plan = read_plan_text('''
... [stream]
... name = "flu"
... source = "events.csv"
... time = "at"
... columns = { at = "timestamp", region = "text" }
... start = "2026-01-01"
... every = "1d"
... horizon = 365
... [privacy]
... population = "visitors"
... unit = "event"
... epsilon = 1.0
... [[release]]
... name = "visits"
... measure = "count"
... by = { region = ["north", "south"] }
... [store]
... url = "flu.db"
... ''')
>>> plan.stream.name, plan.releases[0].keys
('flu', ('north', 'south'))
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ameles.core.exceptions import AmelesError, BadInput, PlanError
from ameles.core.guarantee import Unit
from ameles.core.loss import Approx, Loss, Pure
from ameles.core.recipe import Recipe
from ameles.engine.clock import Clock
from ameles.engine.condition import check_condition
from ameles.engine.durations import Duration
from ameles.engine.problems import BadPlan, Problem, problems_of
from ameles.engine.sections import PrivacySection, SinkSection, StoreSection, StreamSection
from ameles.measures.catalogue import MEASURES, Release
from ameles.measures.measure import Measure, Terms
from ameles.measures.shares import default_shares

SECTIONS = ("stream", "privacy", "release", "store", "sink")
LARGEST_FILE = 1 << 20
MOST_RELEASES = 64
_RELEASE: TypeAdapter[Measure] = TypeAdapter(Release)


@dataclass(frozen=True)
class Plan:
    """A checked plan."""

    stream: StreamSection
    privacy: PrivacySection
    releases: tuple[Measure, ...]
    store: StoreSection
    sinks: tuple[SinkSection, ...]
    base: Path  # what relative paths are relative to

    @cached_property
    def clock(self) -> Clock:
        """Where the steps begin and end."""
        return self.stream.clock

    @cached_property
    def unit(self) -> Unit:
        """Who is protected."""
        return self.privacy.unit_of(self.stream.every, self.stream.zone)

    @property
    def loss(self) -> Loss:
        """What the whole plan spends, once."""
        if self.privacy.delta:
            return Approx(self.privacy.epsilon, self.privacy.delta)
        return Pure(self.privacy.epsilon)

    def window(self, release: Measure) -> int | None:
        """The steps that a release is about; None: all so far."""
        return _window(release.over, self.stream)

    def terms(self, release: Measure) -> Terms:
        """What decides the noise of a release."""
        return Terms(
            unit=self.unit,
            per_step=self.privacy.max_per_step or 1,
            max_steps=self.privacy.max_steps or 1,
            horizon=self.stream.horizon,
            window=self.window(release),
        )

    @cached_property
    def shares(self) -> dict[str, Loss]:
        """What each release spends: its share of the plan's loss."""
        shares = default_shares(
            [(release, self.terms(release)) for release in self.releases], self.privacy.delta
        )
        return {
            release.name: _part(self.loss, share)
            for release, share in zip(self.releases, shares, strict=True)
        }

    @cached_property
    def recipes(self) -> dict[str, Recipe]:
        """The mechanism of each release, chosen by computed error."""
        return {
            release.name: release.recipe(self.terms(release), self.shares[release.name])
            for release in self.releases
        }

    def to_json(self) -> str:
        """What cannot change once the stream has been launched, in one order."""
        document = {
            "stream": self.stream.model_dump(mode="json", exclude_defaults=True),
            "privacy": self.privacy.model_dump(mode="json", exclude_defaults=True, exclude={"cap"}),
            "release": [r.model_dump(mode="json", exclude_defaults=True) for r in self.releases],
        }
        return json.dumps(document, separators=(",", ":"), sort_keys=True, default=str)


def read_plan(file: Path) -> Plan:
    """The plan in a file; relative paths in it are relative to its folder."""
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise PlanError(f"'{file}' is too large for a plan.", tip="a TOML file below 1 MiB")
        text = file.read_text(encoding="utf-8")
    except OSError as problem:
        raise PlanError(
            f"The plan '{file}' cannot be read: {problem.strerror or problem}.",
            tip="ameles init FILE.csv writes a plan for a file",
        ) from None
    except UnicodeDecodeError:
        raise PlanError(f"'{file}' is not a text in UTF-8.") from None
    return read_plan_text(text, base=file.parent)


def read_plan_text(text: str, base: Path = Path()) -> Plan:
    """The plan in a TOML text."""
    try:
        document = tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as problem:
        raise PlanError(
            f"The plan is not TOML: {problem}.",
            tip="a text in quotes, a table in square brackets",
        ) from None
    return check_plan(document, base=base)


def check_plan(document: Mapping[str, Any], base: Path = Path()) -> Plan:
    """A plan from its tables, or all problems that it has."""
    checking = _Checking(document)
    plan = checking.plan(base)
    if plan is None or checking.problems:
        raise BadPlan(checking.problems)
    return plan


class _Checking:
    """Collects the problems of one document, section by section, then across them."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.problems = [
            Problem(name, "There is no such table.", tip=f"one of {', '.join(SECTIONS)}")
            for name in document
            if name not in SECTIONS
        ]

    def plan(self, base: Path) -> Plan | None:
        stream = self._section("stream", StreamSection)
        privacy = self._section("privacy", PrivacySection)
        store = self._section("store", StoreSection)
        sinks = [self._table(f"sink.{i}", SinkSection, t) for i, t in self._tables("sink")]
        releases = [self._release(i, table) for i, table in self._tables("release")]
        if not self.document.get("release"):
            self.problems.append(
                Problem("release", "Nothing is to be released.", tip="a table [[release]]")
            )
        if stream is None or privacy is None:
            return None
        found = [release for release in releases if release is not None]
        self._across(stream, privacy, found)
        if self.problems or store is None:
            return None
        return Plan(
            stream, privacy, tuple(found), store, tuple(s for s in sinks if s is not None), base
        )

    def _tables(self, name: str) -> Iterator[tuple[int, Any]]:
        tables = self.document.get(name, [])
        if not isinstance(tables, list) or len(tables) > MOST_RELEASES:
            self.problems.append(
                Problem(name, f"It must be up to {MOST_RELEASES} tables.", tip=f"[[{name}]]")
            )
            return
        yield from enumerate(tables, start=1)

    def _section(self, name: str, kind: type[Any]) -> Any:
        if name not in self.document:
            self.problems.append(Problem(name, "The table is missing.", tip=f"[{name}]"))
            return None
        return self._table(name, kind, self.document[name])

    def _table(self, place: str, kind: type[Any], table: Any) -> Any:
        try:
            return kind.model_validate(table)
        except ValidationError as failure:
            self.problems += problems_of(failure, place, kind.model_fields)
            return None

    def _release(self, place: int, table: Any) -> Measure | None:
        named = isinstance(table, dict) and isinstance(table.get("name"), str)
        where = f"release '{table['name'][:64]}'" if named else f"release {place}"
        measure = table.get("measure") if isinstance(table, dict) else None
        kind = MEASURES.get(measure) if isinstance(measure, str) else None
        if kind is None:
            self.problems.append(
                Problem(
                    f"{where}.measure",
                    "It must be a measure that there is.",
                    tip=f"one of {', '.join(MEASURES)}",
                )
            )
            return None
        found: Measure | None = self._table(where, kind, table)
        return found

    def _across(
        self, stream: StreamSection, privacy: PrivacySection, releases: list[Measure]
    ) -> None:
        self._names(releases)
        self._stream(stream, privacy)
        try:
            unit = privacy.unit_of(stream.every, stream.zone)
        except BadInput as refusal:
            self.problems.append(Problem("privacy.window", refusal.what, refusal.why, refusal.tip))
            return
        steps = unit.window or stream.horizon
        if privacy.max_steps is not None and steps is not None and privacy.max_steps > steps:
            self.problems.append(
                Problem(
                    "privacy.max_steps",
                    f"It is more than the {steps} steps that there are.",
                    tip=f"max_steps = {steps}",
                )
            )
        for release in releases:
            self._release_across(release, stream, privacy, unit)
        self._shares(releases)

    def _names(self, releases: list[Measure]) -> None:
        names = [release.name for release in releases]
        for name in sorted({name for name in names if names.count(name) > 1}):
            self.problems.append(Problem(f"release '{name}'", "Two releases have this name."))

    def _stream(self, stream: StreamSection, privacy: PrivacySection) -> None:
        if stream.time is None:
            self.problems.append(
                Problem(
                    "stream.time",
                    "It is missing: events of a file need a time of their own.",
                    why="a replay has no arrival times",
                    tip='time = "reported_at", declared as timestamp in columns',
                )
            )
        steps = stream.clock.latest
        if (stream.horizon or 1) > steps:
            self.problems.append(
                Problem(
                    "stream.horizon" if stream.horizon else "stream.every",
                    "The stream would go beyond the year 9998.",
                    why="dates have four digits",
                    tip=f"horizon = {steps}" if steps else 'every = "1d"',
                )
            )
        if privacy.user is not None and privacy.user not in stream.columns:
            self.problems.append(_undeclared("privacy.user", privacy.user))
        if stream.weight is not None and privacy.unit != "event":
            self.problems.append(
                Problem(
                    "stream.weight",
                    "A weight goes with the unit event alone.",
                    why="a row that stands for many events does not say whose they are",
                    tip='unit = "event"',
                )
            )
        if privacy.intrusions != "none":
            self.problems.append(
                Problem(
                    "privacy.intrusions",
                    "A file keeps its raw events, so its state is no better protected than it.",
                    why="pan-private state is for events that are seen once, on standard input",
                    tip='intrusions = "none"',
                )
            )

    def _release_across(
        self, release: Measure, stream: StreamSection, privacy: PrivacySection, unit: Unit
    ) -> None:
        place = f"release '{release.name}'"
        missing = [name for name in release.columns if name not in stream.columns]
        self.problems += [_undeclared(place, name) for name in missing]
        if release.where is not None:
            try:
                check_condition(release.where, stream.columns)
            except AmelesError as refusal:
                self.problems.append(
                    Problem(f"{place}.where", refusal.what, refusal.why, refusal.tip)
                )
        try:
            window = _window(release.over, stream)
        except BadInput as refusal:
            self.problems.append(Problem(f"{place}.over", refusal.what, refusal.why, refusal.tip))
            return
        terms = Terms(
            unit=unit,
            per_step=privacy.max_per_step or 1,
            max_steps=privacy.max_steps or 1,
            horizon=stream.horizon,
            window=window,
        )
        if not missing:
            for found in (
                *release.refusals(terms, weighted=stream.weight is not None),
                *release.column_refusals(stream.columns),
            ):
                self.problems.append(
                    Problem(f"{place}.{found.key}", found.what, found.why, found.tip)
                )

    def _shares(self, releases: list[Measure]) -> None:
        declared = [release.share for release in releases if release.share is not None]
        total, open_ones = sum(declared), len(declared) < len(releases)
        if total > 1 or (total == 1 and open_ones):
            self.problems.append(
                Problem(
                    "release",
                    "The shares add up to more than there is."
                    if total > 1
                    else "The declared shares leave nothing for the releases without one.",
                    why="every release of a stream adds to its loss",
                    tip="shares that sum to at most 1, or below 1 where some are left out",
                )
            )


def _undeclared(place: str, column: str) -> Problem:
    return Problem(
        place,
        f"The column '{column[:64]}' is not declared.",
        tip=f'columns = {{ {column[:64]} = "text", ... }} in [stream]',
    )


def _window(over: str, stream: StreamSection) -> int | None:
    if over == "total":
        return None
    if over == "step":
        return 1
    try:
        duration = Duration.read(over)
    except BadInput:
        raise BadInput(
            'It must be "total", "step" or a window.', tip='over = "7d" for the last seven days'
        ) from None
    return duration.steps(stream.every, zone=stream.zone)


def _part(loss: Loss, share: Any) -> Loss:
    if isinstance(loss, Approx):
        return Approx(loss.epsilon * share, loss.delta * share)
    if isinstance(loss, Pure):
        return Pure(loss.epsilon * share)
    raise TypeError(loss)
