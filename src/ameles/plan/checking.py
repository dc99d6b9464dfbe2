"""Checks a plan: each section by itself, then all together; reports all problems at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from ameles.core.exceptions import AmelesError, BadInput
from ameles.core.guarantee import Unit
from ameles.measures.alert import Alert
from ameles.measures.catalogue import MEASURES
from ameles.measures.measure import Measure
from ameles.plan.condition import check_condition
from ameles.plan.discovered_keys import discovered_keys
from ameles.plan.problems import Problem, problems_of
from ameles.plan.sections import (
    SINK_TABLE,
    PrivacySection,
    ServeSection,
    SinkSection,
    StoreSection,
    StreamSection,
)
from ameles.plan.seized_users import seized_users
from ameles.plan.terms import quiet_steps, terms_of
from ameles.plan.weight_column import weight_elsewhere

SECTIONS = ("stream", "privacy", "release", "store", "sink", "serve")
MOST_RELEASES = 64


class Sections(NamedTuple):
    """The tables of a plan, each checked."""

    stream: StreamSection
    privacy: PrivacySection
    releases: tuple[Measure, ...]
    store: StoreSection
    sinks: tuple[SinkSection, ...]
    serve: ServeSection


class Checking:
    """Collects the problems of one document, section by section, then across them."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.problems = [
            Problem(name, "There is no such table.", tip=f"one of {', '.join(SECTIONS)}")
            for name in document
            if name not in SECTIONS
        ]

    def sections(self) -> Sections | None:
        """All sections, or None if there are problems."""
        stream = self._section("stream", StreamSection)
        privacy = self._section("privacy", PrivacySection)
        store = self._section("store", StoreSection)
        sinks = [self._table(f"sink.{i}", SINK_TABLE, t) for i, t in self._tables("sink")]
        releases = [self._release(i, table) for i, table in self._tables("release")]
        serve = self._table("serve", ServeSection, self.document.get("serve", {}))
        if not self.document.get("release"):
            self.problems.append(
                Problem("release", "Nothing is to be released.", tip="a table [[release]]")
            )
        if stream is None or privacy is None:
            return None
        sound = [release for release in releases if release is not None]
        self._across(stream, privacy, sound)
        self._alerts(sinks, sound)
        if self.problems or store is None:
            return None
        return Sections(stream, privacy, tuple(sound), store, tuple(sinks), serve)

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
            why, key = _NEEDED[name]
            self.problems.append(
                Problem(name, "The table is missing.", why=why, tip=f"[{name}] and below it {key}")
            )
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
                    "There is no such measure.",
                    tip=f"one of {', '.join(MEASURES)}",
                )
            )
            return None
        release: Measure | None = self._table(where, kind, table)
        return release

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
                    f"It is more than the {steps} steps of "
                    f"{'the stream' if unit.window is None else 'a window'}.",
                    tip=f"max_steps = {steps}",
                )
            )
        for release in releases:
            self._release_across(release, stream, privacy, unit)
        self.problems += weight_elsewhere(stream, releases)
        self._shares(releases)

    def _alerts(self, sinks: list[SinkSection | None], releases: list[Measure]) -> None:
        for place, sink in enumerate(sinks, start=1):
            wanted = sink is not None and sink.settings.get("send") == "alerts"
            if wanted and not any(isinstance(release, Alert) for release in releases):
                self.problems.append(
                    Problem(
                        f"sink.{place}.send",
                        "No release is an alert, so nothing would be sent.",
                        tip='send = "releases", or a release with measure = "alert"',
                    )
                )

    def _names(self, releases: list[Measure]) -> None:
        names = [release.name for release in releases]
        for name in sorted({name for name in names if names.count(name) > 1}):
            self.problems.append(
                Problem(
                    f"release '{name}'",
                    "Two releases have this name.",
                    why="published values are found by the name of their release",
                    tip=f'name = "{name}-2" for one of them',
                )
            )

    def _stream(self, stream: StreamSection, privacy: PrivacySection) -> None:
        kind = stream.source_kind
        seizable = privacy.intrusions != "none"  # such a plan needs another source, and no time
        if stream.time is None and not kind.live and not seizable:
            self.problems.append(
                Problem(
                    "stream.time",
                    "It is missing: events of this source need a time of their own.",
                    why="only standard input and posted events are counted when they arrive",
                    tip='time = "reported_at", declared as timestamp in columns',
                )
            )
        if not kind.takes_format and "format" in stream.model_fields_set:
            self.problems.append(
                Problem(
                    "stream.format",
                    "It is for standard input: the ending of a file says its format, and so does "
                    "each batch that is posted.",
                    tip='source = "-", or leave it out',
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
                    "A weight is possible with the unit event only.",
                    why="a row that stands for many events does not say whose they are",
                    tip='unit = "event"',
                )
            )
        if privacy.intrusions != "none":
            self._pan_private(stream, privacy)
        elif privacy.restarts:
            self.problems.append(
                Problem(
                    "privacy.restarts",
                    "They are for a state that may be seized.",
                    why="a secret state is in the store and is never erased, so it is not lost",
                    tip='leave it out, or intrusions = "one"',
                )
            )

    def _pan_private(self, stream: StreamSection, privacy: PrivacySection) -> None:
        """Problems of a plan whose state may be seized."""
        asked = f'intrusions = "{privacy.intrusions}"'
        if stream.source_kind.keeps_events:
            self.problems.append(
                Problem(
                    "privacy.intrusions",
                    "The source keeps raw events, so protecting the state alone would be useless.",
                    why="pan-private state is for events that are seen once, on standard input or "
                    "posted to a service",
                    tip='source = "-", source = "http", or intrusions = "none"',
                )
            )
        if stream.time is not None:
            self.problems.append(
                Problem(
                    "stream.time",
                    f"{asked} counts events in the step in which they arrive.",
                    why="an event of a later step would have to wait in the state, unprotected",
                    tip="leave time out",
                )
            )
        if stream.grace is not None:
            self.problems.append(
                Problem(
                    "stream.grace",
                    f"{asked} closes a step when it ends.",
                    why="an event counts in the step in which it arrives, so none is late",
                    tip="leave grace out",
                )
            )
        if privacy.unit != "event":
            self.problems += seized_users(stream, privacy)

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
        self.problems += discovered_keys(release, stream, privacy)
        try:
            quiet_steps(release, stream)
        except BadInput as refusal:
            self.problems.append(
                Problem(f"{place}.drop_after", refusal.what, refusal.why, refusal.tip)
            )
            return
        try:
            terms = terms_of(stream, privacy, unit, release)
        except BadInput as refusal:
            self.problems.append(Problem(f"{place}.over", refusal.what, refusal.why, refusal.tip))
            return
        if not missing:
            for refused in (
                *release.refusals(terms, weighted=stream.weight is not None),
                *release.column_refusals(stream.columns),
            ):
                self.problems.append(
                    Problem(f"{place}.{refused.key}", refused.what, refused.why, refused.tip)
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


# Tables that every plan has: what each is for, and the first of its keys.
_NEEDED = {
    "stream": ("it says where events come from, and when steps end", 'source = "events.csv"'),
    "privacy": ("it says who is protected, and how well", "epsilon = 1"),
    "store": ("it says where the state, the ledger and the releases are", 'url = "flu.db"'),
}


def _undeclared(place: str, column: str) -> Problem:
    return Problem(
        place,
        f"The column '{column[:64]}' is not declared.",
        tip=f'columns = {{ {column[:64]} = "text", ... }} in [stream]',
    )
