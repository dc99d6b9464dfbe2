"""Streams whose keys are discovered, for tests: a world of tags, and the rule in plain Python.

The rule is written again here, record by record with dictionaries, and shares no code with the
engine: which events count at which step, in which order, and what the mechanism gets.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

from ameles.core.noise import Noise
from ameles.core.release import Release
from ameles.engine.engine import Engine, Report
from ameles.engine.gathering.event_sql import EventSql
from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
from ameles.noise import Zero
from ameles.plan.plan import Plan, read_plan_text
from ameles.store import StreamRecord, open_store

START = datetime(2026, 1, 1, tzinfo=UTC)
HEADER = ("at", "who", "tag", "region", "amount")
REGIONS = ("north", "south")
USER = 'unit = "user"\nuser = "who"\nmax_per_step = 3\nmax_steps = 4'
WINDOW = 'unit = "user-window"\nuser = "who"\nmax_per_step = 3\nmax_steps = 2\nwindow = "3d"'
TAGS = '[[release]]\nname = "tags"\nmeasure = "count"\nby = { tag = "discovered" }\n'


class Event(NamedTuple):
    """One line of the source."""

    day: float  # from 1, as steps
    who: str
    tag: str
    region: str = "north"
    amount: int = 1

    @property
    def at(self) -> datetime:
        return START + timedelta(seconds=round((self.day - 1) * 86400))

    @property
    def fields(self) -> tuple[str, ...]:
        return (f"{self.at:%Y-%m-%dT%H:%M:%SZ}", *self[1:4], str(self.amount))


def same_salt() -> Any:
    """The same salt for every world that is launched within."""
    return mock.patch("ameles.engine.running.launch.os", SimpleNamespace(urandom=bytes))


def pick(below: int, *what: object) -> int:
    """A number that looks random, and is the same every time."""
    return int.from_bytes(hashlib.sha256(repr(what).encode()).digest()[:8], "big") % below


def crowd(days: int, users: int, events: int, seed: int) -> list[Event]:
    """Users who repeat themselves, some tags common and some rare."""
    some = []
    for n in range(events):
        tag = f"t{min(pick(9, seed, n, 'a'), pick(9, seed, n, 'b'))}"
        tag = tag if pick(8, seed, n, "rare") else f"rare {n // 2}"
        region = ("north", "south", "east")[pick(3, seed, n, "region")]
        day = 1 + pick(days * 24, seed, n, "hour") / 24
        amount = pick(9, seed, n, "amount") - 3
        some.append(Event(day, f"u{pick(users, seed, n, 'user')}", tag, region, amount))
    return some


class Tags:
    """One plan, one file, one store."""

    def __init__(
        self,
        folder: Path,
        releases: str = TAGS,
        *,
        unit: str = USER,
        horizon: int = 6,
        late: str = "next",
        privacy: str = "epsilon = 100\ndelta = 0.01",
        rest: str = "",
        url: str = "s.db",
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.url = str(folder / url) if url == "s.db" else url
        self.text = (
            '[stream]\nname = "s"\nsource = "events.csv"\ntime = "at"\ncolumns = { at = '
            '"timestamp", who = "text", tag = "text", region = "text", amount = "integer" }\n'
            f'start = "2026-01-01"\nevery = "1d"\nhorizon = {horizon}\nlate = "{late}"\n'
            f'[privacy]\npopulation = "people"\n{unit}\n{privacy}\n'
            f'{releases}\n[store]\nurl = "{url}"\n{rest}\n'
        )
        self.file = folder / "events.csv"
        self.file.write_text(",".join(HEADER) + "\n", encoding="utf-8")

    def in_json(self) -> Tags:
        """The same with a source in JSON, which can say every text."""
        self.text = self.text.replace("events.csv", "events.jsonl")
        self.file = self.folder / "events.jsonl"
        self.file.touch()
        return self

    @property
    def plan(self) -> Plan:
        return read_plan_text(self.text, base=self.folder)

    def append(self, events: Iterable[Event]) -> Tags:
        if self.file.suffix == ".jsonl":
            lines = [json.dumps(dict(zip(HEADER, event.fields, strict=True))) for event in events]
            with self.file.open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
            return self
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerows(event.fields for event in events)
        with self.file.open("a", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())
        return self

    def run(self, until: int, *, noise: Noise | None = None, **options: Any) -> Report:
        """Closes the steps that have ended when day ``until`` ends; without noise by default."""
        with closing(open_store(self.url)) as store:
            engine = Engine(self.plan, store, noise=Zero() if noise is None else noise, **options)
            return engine.run(START + timedelta(days=until))

    def stream(self) -> StreamRecord:
        with (
            closing(open_store(self.url, create=False)) as store,
            store.reading() as transaction,
        ):
            stream = transaction.stream("s")
            assert stream is not None
            return stream

    def releases(self) -> list[Release]:
        with (
            closing(open_store(self.url, create=False)) as store,
            store.reading() as transaction,
        ):
            return list(transaction.releases(self.stream()))

    def published(self) -> dict[tuple[str, int, str], tuple[float | None, str]]:
        """Every number, by release, step and key, with its label."""
        return {(r.release, r.step, r.key): (r.value, r.label) for r in self.releases()}


@dataclass
class Rule:
    """The same stream, by the book."""

    plan: Plan
    salt: bytes = field(repr=False)
    released: int = 0
    waiting: dict[int, list[Event]] = field(default_factory=lambda: defaultdict(list))
    used: dict[tuple[int, str], set[int]] = field(default_factory=lambda: defaultdict(set))
    books: dict[str, Book] = field(default_factory=dict)

    def take(self, events: Iterable[Event], target: int) -> None:
        """Reads events, then closes steps."""
        horizon = self.plan.stream.horizon or 0
        for event in events:
            step = int(event.day)
            if 0 < step <= self.released:
                step = self.released + 1 if self.plan.stream.late == "next" else 0
            if 1 <= step <= horizon:
                self.waiting[step].append(event)
        for step in range(self.released + 1, min(target, horizon) + 1):
            self.close(step)

    def close(self, step: int) -> None:
        privacy, window = self.plan.privacy, self.plan.unit.window
        span = 0 if window is None else (step - 1) // window
        by_user: dict[str, list[Event]] = defaultdict(list)
        for event in self.waiting.pop(step, []):
            by_user[event.who].append(event)
        kept: dict[str, list[Event]] = {}
        for who, mine in by_user.items():
            steps = self.used[span, who]
            if len(steps) < (privacy.max_steps or 1):
                steps.add(step)
                kept[who] = self.order(mine, step, "kept")[: privacy.max_per_step]
        for release in self.plan.releases:
            if release.name not in self.books:
                self.books[release.name] = Book(self.plan, release)
            book = self.books[release.name]
            records = {
                who: self.order(
                    [event for event in mine if book.cell(event) is not None], step, "record", book
                )
                for who, mine in kept.items()
            }
            book.step(step, span, records)
        self.released = step

    def order(
        self, mine: Iterable[Event], step: int, use: str, book: Book | None = None
    ) -> list[Event]:
        """Events of one user and step in that user's order, by the answers of one release or all.

        Of the engine it asks only in which order the answers stand.
        """
        sql = EventSql(self.plan)
        answers: dict[str, Callable[[Event], object]] = {}
        for release in self.plan.releases:
            if book is None or book.release.name == release.name:
                here = Book(self.plan, release)
                answers[sql.cells[release.name]] = here.cell
                answers[sql.words[release.name]] = lambda event: f"{len(event.tag)}:{event.tag}"
                for name in sql.amounts[release.name]:
                    answers[name] = lambda event: max(-2, min(5, event.amount))
        names = [name for name in sql.columns if name in answers]
        numbers: Counter[tuple[str, ...]] = Counter()
        places = []
        for event in mine:
            found = (answers[name](event) for name in names)
            texts = tuple("" if one is None else str(one) for one in found)
            numbers[texts] += 1
            user = hashlib.sha256(f"{self.salt.hex()}{event.who}".encode()).hexdigest()[:32]
            told = [self.salt.hex(), use, user, str(step), *texts, str(numbers[texts])]
            places.append((hashlib.sha256(chr(31).join(told).encode()).digest()[:8], event))
        return [event for _, event in sorted(places)]

    def published(self) -> dict[tuple[str, int, str], tuple[float | None, str]]:
        return {
            (name, *where): value
            for name, book in self.books.items()
            for where, value in book.published.items()
        }


class Book:
    """The records of one release."""

    def __init__(self, plan: Plan, release: Any) -> None:
        self.release, self.terms = release, plan.terms(release)
        recipe = plan.recipes[release.name]
        assert isinstance(recipe, KeyDiscovery)
        self.recipe, self.run = recipe, recipe.start(Zero())
        self.counts: Counter[tuple[int, str, str]] = Counter()
        self.slots: Counter[tuple[int, str]] = Counter()
        self.public: set[str] = set()
        self.totals: dict[int, dict[str, list[int]]] = {}
        self.published: dict[tuple[int, str], tuple[float | None, str]] = {}

    def cell(self, event: Event) -> int | None:
        """The declared cell of an event."""
        if "region" in self.release.by:
            return REGIONS.index(event.region) if event.region in REGIONS else None
        if self.release.measure == "histogram":
            edges = [float(edge) for edge in self.release.edges]
            inside = edges[0] <= event.amount <= edges[-1]
            below = sum(edge <= event.amount for edge in edges[1:-1])
            return below if inside else None
        return 0

    def step(self, step: int, span: int, kept: dict[str, list[Event]]) -> None:
        recipe, cells = self.recipe, self.recipe.cells
        given: dict[str, list[int]] = {}
        for who, events in kept.items():
            named = set()
            for event in events:
                cell = self.cell(event)
                if cell is None or (self.release.measure == "distinct" and event.tag in named):
                    continue
                named.add(event.tag)
                mine = self.counts[span, who, event.tag]
                everything = sum(n for k, n in self.counts.items() if k[:2] == (span, who))
                if mine >= recipe.per_key or everything >= recipe.records:
                    continue
                added = given.setdefault(event.tag, [0] * (1 + cells))
                if mine == 0 and event.tag not in self.public:
                    if self.slots[span, who] < len(recipe.slots):
                        added[0] += recipe.slots[self.slots[span, who]]
                    self.slots[span, who] += 1
                amount = event.amount if self.release.measure == "sum" else 1
                added[1 + cell] += max(-2, min(5, amount))
                self.counts[span, who, event.tag] += 1
        out = self.run.step(given)
        names = self.run.names(out.public)
        since = dict(zip(names, out.since.tolist(), strict=True))
        self.totals[step] = dict(zip(names, out.values.tolist(), strict=True))
        self.public = set(names) - set(self.run.names(out.dropped))
        window = self.terms.window or 0
        rows: list[tuple[str, int]] = []
        for name in names:
            if since[name] + window > step:
                continue
            values = self.totals[step][name]
            before = self.totals[step - window][name] if window else [0] * cells
            rows += zip(
                self.release.names_of(name),
                (now - then for now, then in zip(values, before, strict=True)),
                strict=True,
            )
        self.publish(step, rows)

    def publish(self, step: int, rows: Sequence[tuple[str, int]]) -> None:
        if self.release.measure != "top":
            self.published |= {(step, name): (value, "") for name, value in rows}
            return
        ranked = sorted(rows, key=lambda row: -row[1])  # stable
        for rank in range(1, self.release.k + 1):
            name, value = ranked[rank - 1] if rank <= len(ranked) else ("", None)
            self.published[step, str(rank)] = value, name


def followed(
    tags: Tags,
    deliveries: Sequence[tuple[Sequence[Event], int]],
    run: Callable[[Tags, int], object] = lambda tags, until: tags.run(until),
) -> Rule:
    """Brings each delivery to the engine and to the rule; returns the rule."""
    rule = None
    for events, until in deliveries:
        run(tags.append(events), until)
        rule = rule or Rule(tags.plan, tags.stream().salt)
        rule.take(events, until)
    assert rule is not None
    return rule
