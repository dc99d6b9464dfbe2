"""Batches that a test posts to a followed stream, as a service would."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from ameles.connectors.http_source import Batch, HttpSource, Outcome, csv_form
from ameles.engine.engine import Engine
from ameles.engine.following.follow import follow
from ameles.noise import Zero
from ameles.plan.clock import microseconds
from ameles.plan.source import plan_source
from ameles.store import StreamRecord, open_store
from tests.engine.worlds import COUNT, EVENT, HEADER, World, day

STEP = COUNT.replace('"visits"', '"daily"') + 'over = "step"\n'
SEIZED = EVENT + '\nintrusions = "every"'
LIMIT = 600.0  # seconds until a test gives up


def posted_world(world: World, *, timed: bool = True) -> World:
    """The world, with a plan whose events are posted."""
    world.text = world.text.replace('source = "events.csv"', 'source = "http"')
    if not timed:
        world.text = world.text.replace('time = "at"\n', "")
    return world


def daily_world(folder: Path, unit: str = EVENT, horizon: int | None = 8) -> World:
    """A world whose plan releases the number of posted events of each day."""
    world = posted_world(World(folder, STEP, unit=unit, horizon=horizon), timed=unit != SEIZED)
    world.text = world.text.replace('url = "s.db"', 'url = "s.db"\nvault = "../keys"')
    return world


def source_of(world: World) -> HttpSource:
    """A source of its own for the plan of a world."""
    source = plan_source(world.plan)
    assert isinstance(source, HttpSource)
    return source


class Posting:
    """A stream that is followed in a thread, under a clock that the test sets."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.time = microseconds(day(1, 1))
        self.stop = threading.Event()
        self.told: list[int] = []
        self.problem: BaseException | None = None
        self._happened = threading.Condition()
        self.store = open_store(str(world.folder / "s.db"))
        self._engine = Engine(world.plan, self.store, noise=Zero())
        source = self._engine.source(waiting=True)
        assert isinstance(source, HttpSource)
        self.source = source
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._begun.wait(LIMIT)

    def _run(self) -> None:
        try:
            follow(
                self._engine,
                self.stop,
                source=self.source,
                begun=lambda report: self._begun.set(),
                told=self._tell,
                clock=lambda: self.time,
            )
        except BaseException as problem:
            with self._happened:
                self.problem = problem
                self._happened.notify_all()
        finally:
            self.store.close()
            self._begun.set()

    def _tell(self, step: int) -> None:
        with self._happened:
            self.told.append(step)
            self._happened.notify_all()

    def post(self, name: str, *rows: str, step: int | None = None, form: str = "") -> Outcome:
        """Posts rows as one batch, and waits for what becomes of it."""
        (outcome,) = self.together((name, rows), step=step, form=form)
        return outcome

    def together(
        self, *batches: tuple[str, Sequence[str]], step: int | None = None, form: str = ""
    ) -> list[Outcome]:
        """Hands batches over at the same time."""
        opened = self.world.plan.clock.ended(self.time) + 1
        made = [
            Batch(
                sha256(name.encode()).digest()[:16],
                opened if step is None else step,
                self.time,
                form or csv_form(HEADER),
                "".join(f"{row}\n" for row in rows).encode(),
            )
            for name, rows in batches
        ]
        answered, outcomes = threading.Event(), list[Outcome]()

        def answer(given: Sequence[Outcome]) -> None:
            outcomes.extend(given)
            answered.set()

        assert self.source.hand_over(made, answer), "there is room"
        assert answered.wait(LIMIT), "an answer comes"
        return outcomes

    def until(self, number: int, hour: int = 0) -> None:
        """Sets the clock to an hour of a day, and waits for the releases that are due by then."""
        self.time = microseconds(day(number, hour))
        horizon = self.world.plan.stream.horizon or 99
        due = min(horizon, self.world.plan.clock.ended(self.time))
        with self._happened:
            assert self._happened.wait_for(lambda: due in self.told or self.problem, LIMIT)

    def wait(self, happened: Callable[[], bool]) -> None:
        """Waits for something that the thread does."""
        since = time.monotonic()
        while not happened():
            assert self.problem is None
            assert time.monotonic() - since < LIMIT
            time.sleep(0.005)

    @property
    def record(self) -> StreamRecord:
        """The stream, as the store has it."""
        with self.store.reading() as transaction:
            stream = transaction.stream("s")
        assert stream is not None
        return stream

    @property
    def waiting(self) -> int:
        """How many bytes of batches the store has."""
        with self.store.reading() as transaction:
            return transaction.waiting_bytes(self.record)

    def end(self) -> None:
        self.stop.set()
        self._thread.join(LIMIT)
        assert not self._thread.is_alive()


@contextmanager
def posting(world: World) -> Iterator[Posting]:
    """A followed stream to post to; its exceptions are raised at the end."""
    posted = Posting(world)
    try:
        yield posted
    finally:
        posted.end()
    if posted.problem is not None:
        raise posted.problem
