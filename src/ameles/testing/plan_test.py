"""A plan under test: events from a list, time that the test sets, and no noise unless it asks."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from ameles.connectors.reading import Reading
from ameles.connectors.sources import source_kind
from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.core.release import Release
from ameles.engine.engine import Engine, Report
from ameles.engine.running.session import Session
from ameles.noise import Zero
from ameles.plan.clock import instant
from ameles.plan.plan import Plan, read_plan, read_plan_text
from ameles.store import Store, open_store
from ameles.testing.crashes import Crash, CrashingStore
from ameles.testing.list_sink import ListSink
from ameles.testing.list_source import Event, ListSource
from ameles.testing.manual_clock import ManualClock

Place: TypeAlias = Literal["read", "before commit", "after commit", "publish"]


class PlanTest:
    '''Runs a plan on rows in memory, as ``ameles run`` runs it on its source.

    ``plan`` is the path of a plan, its TOML text, or a plan that was read.  The source, the store,
    the vault and the sinks that it names are never touched: the store of the test is in ``folder``,
    by default a temporary one.  Every run uses a new engine on that store, and commits each step by
    itself.

    By default there is no noise, so the releases are the true values.  Such a store is marked, and
    sinks refuse it.  With a ``sink``, the noise is the operating system's, as in production.

    >>> test = PlanTest("""
    ... [stream]
    ... name = "visits"
    ... source = "visits.csv"
    ... time = "at"
    ... columns = { at = "timestamp", region = "text" }
    ... start = "2026-01-01"
    ... every = "1d"
    ... horizon = 30
    ... [privacy]
    ... population = "visitors"
    ... unit = "event"
    ... epsilon = 1
    ... [[release]]
    ... name = "visits"
    ... measure = "count"
    ... by = { region = ["north", "south"] }
    ... [store]
    ... url = "visits.db"
    ... """)
    >>> test.add({"at": "2026-01-01T09:00:00Z", "region": "north"})
    >>> test.crash("before commit", step=1)
    >>> test.run(through=2).released
    2
    >>> test.values("visits", "north")
    [1, 1]
    '''

    def __init__(
        self,
        plan: Plan | Path | str,
        *,
        noise: Noise | None = None,
        sink: ListSink | None = None,
        folder: Path | None = None,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ameles-test-")) if folder is None else folder
        if folder is None:
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.plan = _isolated(plan, self.folder / "store")
        self.plan.base.mkdir(parents=True, exist_ok=True)
        self.noise = Zero() if noise is None and sink is None else noise
        self.sink = sink
        self.source = ListSource(self.plan.kinds)
        self.clock = ManualClock(instant(self.plan.clock.first), self.plan.stream.zone)
        self._arrivals: list[int] = []  # when each row came
        self._taken = 0  # how many rows a live source has handed out
        self._crash_reading: int | None = None  # the step in which to crash while reading

    def __repr__(self) -> str:
        return f"<PlanTest of '{self.plan.stream.name}'>"

    def add(self, *rows: Event) -> None:
        """Append events; those of a live source arrive now, by the clock of the test."""
        self.source.add(*rows)
        self._arrivals += [self.clock()] * (len(self.source.rows) - len(self._arrivals))

    def run(self, *, through: int | None = None) -> Report:
        """Take in the new rows, and release every step that has ended by the test's clock.

        ``through`` first sets the clock to the instant at which this step ends.
        """
        if through is not None:
            self._end(through)
        with closing(self._open()) as store:
            return self._run(store)

    def crash(self, where: Place, *, step: int) -> None:
        """Run until step ``step`` has ended, and crash on the way; the next ``run`` goes on.

        ``"read"``: while the source is read.  ``"before commit"``: the step is computed and not yet
        stored.  ``"after commit"``: it is stored and not yet published.  ``"publish"``: the sink
        has a part of it.  Step 0 is the launch of the stream, which has nothing but a commit.

        A live source, such as standard input, loses the rows that were read and not yet stored.
        """
        self._check_crash(where, step)
        if step:
            self._end(step)
        with closing(self._open()) as store:
            try:
                self._run(self._prepared(store, where, step))
            except Crash:
                return
            finally:
                self._crash_reading = None
                self.source.crash_next = False
                if self.sink is not None:
                    self.sink.crash_at = None
        raise AssertionError(f"The run ended without the crash {where!r} in step {step}.")

    def values(self, release: str, key: str = "") -> list[int | float | None]:
        """The released values of one release and key in the store of the test, step by step.

        A key that was not discovered has none.
        """
        keys = {each.name: each.keys for each in self.plan.releases}
        discovered = {each.name for each in self.plan.releases if each.discovered and not each.keys}
        if key not in keys.get(release, ()) and release not in discovered:
            known = ", ".join(f"{name!r} {list(some)}" for name, some in keys.items())
            raise BadInput(
                f"The plan has no release {release!r} with the key {key!r}.",
                tip=f"one of its releases and keys: {known}",
            )
        releases = self.releases()
        return [each.value for each in releases if (each.release, each.key) == (release, key)]

    def releases(self) -> list[Release]:
        """All releases in the store of the test."""
        with closing(self._open()) as store, store.reading() as transaction:
            stream = transaction.stream(self.plan.stream.name)
            return [] if stream is None else list(transaction.releases(stream))

    def _open(self) -> Store:
        return open_store(str(self.plan.base / self.plan.store.url))

    def _end(self, step: int) -> None:
        """Set the clock to the instant at which a step closes, unless it is later already."""
        end = self.plan.clock.end_of(step) + (self.plan.stream.grace_us if self._live else 0)
        if end > self.clock():
            self.clock.set(instant(end))

    @property
    def _live(self) -> bool:
        """Whether events arrive one by one, and cannot be read again."""
        return source_kind(self.plan.stream.source).live

    def _run(self, store: Store) -> Report:
        sinks = () if self.sink is None else (self.sink,)
        engine = Engine(self.plan, store, noise=self.noise, sinks=sinks, batch=1)
        with engine.session(None if self._live else self.source) as session:
            if self._live:
                self._take_live(session)
            elif not session.over:
                self.source.crash_next = self._crash_reading is not None
                engine.take(session, self.source, engine.target(self.clock()))
            session.publish()
            return session.report

    def _take_live(self, session: Session) -> None:
        """Hand out the rows in the order in which they came; a step closes at its instant."""
        clock, timed = self.plan.clock, self.plan.stream.time is not None
        while self._taken < len(self._arrivals):
            at = self._arrivals[self._taken]
            self._close_by(session, at)
            arrived = None if timed else max(clock.ended(at), session.stream.released) + 1
            self._taken += 1  # whatever comes of it
            session.take(self._passing(session, self._taken - 1), 0, arrived=arrived)
        self._close_by(session, self.clock())

    def _close_by(self, session: Session, at: int) -> None:
        """Close, one after the other, the steps that have ended by an instant."""
        stream = self.plan.stream
        ended = self.plan.clock.ended(at - stream.grace_us)
        last = ended if stream.horizon is None else min(ended, stream.horizon)
        for step in range(session.stream.released + 1, last + 1):
            session.take(self._passing(session, self._taken), step)

    def _passing(self, session: Session, first: int) -> Reading:
        """The rows that were handed out since ``first``."""
        self.source.crash_next = session.stream.released + 1 == self._crash_reading
        return self.source.slice(first, self._taken)

    def _check_crash(self, where: Place, step: int) -> None:
        """Refuse a crash to which no run can come."""
        places = get_args(Place)
        if where not in places:
            raise BadInput(
                f"There is no crash {where!r}.", tip=f"one of {', '.join(map(repr, places))}"
            )
        if where == "publish" and self.sink is None:
            raise BadInput("A crash during publishing needs a sink.", tip="sink=ListSink()")
        if step == 0 and where in ("read", "publish"):
            raise BadInput("The launch reads and publishes nothing.", tip="step=1")
        with closing(self._open()) as store, store.reading() as transaction:
            stream = transaction.stream(self.plan.stream.name)
        if stream is not None and stream.released >= step:
            raise BadInput(f"Step {step} is released already.", tip=f"step={stream.released + 1}")

    def _prepared(self, store: Store, where: Place, step: int) -> Store:
        """Prepare a crash; gives the store to run with."""
        if where == "read":
            self._crash_reading = step
        elif where == "publish" and self.sink is not None:
            self.sink.crash_at = step
        elif where != "publish":
            name, before = self.plan.stream.name, where == "before commit"
            return CrashingStore(store, name, step, before=before)
        return store


def _isolated(given: Plan | Path | str, base: Path) -> Plan:
    """The plan with a store of the test's own, and without its sinks."""
    match given:
        case Plan():
            plan = given
        case Path():
            plan = read_plan(given)
        case str():
            plan = read_plan_text(given)
    # the key of a vault may not lie in the folder of the store
    store = plan.store.model_copy(update={"url": "test.db", "vault": "../keys"})
    return replace(plan, base=base, file=None, store=store, sinks=())
