"""A small service in this process, without its threads: over streams that were released before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ameles.connectors.http_source import Batch, HttpSource, Outcome
from ameles.core.token import new_token, token_digest
from ameles.engine.engine import Engine
from ameles.engine.running.descriptions import Descriptions
from ameles.plan.plan import Plan, read_plan_text
from ameles.plan.source import plan_source
from ameles.service.access import RATES, Access
from ameles.service.app import build_app
from ameles.service.ingest.answers import Closed, OpenStep
from ameles.service.ingest.door import Door
from ameles.service.published import Shown, StorePublished
from ameles.service.readout.feed import Feed
from ameles.service.run_streams import RunStreams
from ameles.service.samples import StoreSamples
from ameles.service.stream_failure import StreamFailure
from ameles.service.views import State
from ameles.store import Store, open_store
from ameles.store.tokens import Scope
from tests.engine.worlds import World, day, row
from tests.service.asgi import Client

CANARY = "cafebabe"  # in the events, and nowhere else
NOW = datetime(2026, 2, 1, tzinfo=UTC)
RELEASES = """
[[release]]
name = "visits"
measure = "count"
by = { region = ["north", "=south"] }
[[release]]
name = "ages"
measure = "mean"
column = "age"
lower = 0
upper = 100
granularity = 1
"""


class Steady:
    """A health that a test sets."""

    starting = 0

    def __init__(self) -> None:
        self.failed: dict[str, str] = {}


class ReadingDoor(Door):
    """Reads batches as a service does, and counts none."""

    async def take(self, read: Callable[[], Awaitable[Batch]], sender: str = "") -> Outcome:
        await read()
        return Outcome.CLOSED


class Doorless:
    """Streams that take no events over HTTP, except those that are given a door."""

    def __init__(self) -> None:
        self.doors: dict[str, Door] = {}

    def door(self, stream: str) -> Door | None:
        return self.doors.get(stream)

    def open_step(self, stream: str) -> OpenStep:
        return OpenStep(step=1, closes=None)

    def closed(self, stream: str) -> Closed:
        return Closed.NOT_RUNNING


@dataclass
class Small:
    """A service without its threads, and what it is made of."""

    client: Client
    shown: dict[str, Shown]
    feed: Feed
    health: Steady
    problems: list[Exception]
    doors: Doorless
    refused: dict[str, StreamFailure]  # why streams have failed

    def token(
        self,
        scope: Scope,
        stream: str = "closed",
        *,
        made: datetime = NOW - timedelta(days=1),
        days: int = 90,
        revoked: bool = False,
    ) -> str:
        """A new token in the store of its stream."""
        text = new_token()
        with self.shown[stream].store.writing() as transaction:
            number = transaction.add_token(
                digest=token_digest(text),
                name=text[-20:],
                stream=stream,
                scope=scope,
                created=made,
                expires=made + timedelta(days=days),
            )
            if revoked:
                transaction.revoke_token(number, NOW - timedelta(hours=1))
        return text


def world(
    folder: Path, name: str, *, public: bool = False, horizon: int | None = 8, more: str = ""
) -> World:
    """A stream with two releases, whose store is beside its events; and more of them."""
    rest = "[serve]\npublic = true\n" if public else ""
    made = World(folder, RELEASES + more, horizon=horizon, rest=rest, epsilon="2")
    made.text = made.text.replace('name = "s"', f'name = "{name}"', 1)
    made.text = made.text.replace('url = "s.db"', f'url = "{folder.name}.db"')
    made.text = made.text.replace('population = "people"', f'population = "of-{name}"')
    return made.write(row(n, f"{CANARY}{n}", age=20 + n) for n in range(1, 6))


def plan_of(made: World) -> Plan:
    return read_plan_text(made.text, base=made.folder)


def released(made: World, store: Store, until: int = 5) -> Shown:
    """The world's stream in a store, released up to a day."""
    plan = plan_of(made)
    Engine(plan, store).run(day(until + 1, 0))
    return Shown(plan, store)


def described(shown: Shown) -> Shown:
    """The same, with the texts about it."""
    texts = Descriptions(shown.plan, shown.store)
    texts.begin()
    texts.catch_up()
    return shown


@contextmanager
def small(
    shown: list[Shown],
    doing: Callable[[str], State] = lambda name: State.RUNNING,
    now: datetime = NOW,
) -> Iterator[Small]:
    """A service over released streams, in which it is always the same moment."""
    feed, health, problems, doors = Feed(), Steady(), list[Exception](), Doorless()
    refused: dict[str, StreamFailure] = {}
    rates = dict.fromkeys(RATES, 1e9)
    published = StorePublished(shown, doing, now=lambda: now)
    run = RunStreams(shown, refused.get, now=lambda: now)
    access = Access(shown, now=lambda: now, clock=lambda: 0.0, rates=rates)
    samples = StoreSamples(shown, now=lambda: now)
    app = build_app(published, access, health, feed, doors, run, samples, problems.append)
    named = {one.plan.stream.name: one for one in shown}
    with closing(Client(app)) as client:
        yield Small(client, named, feed, health, problems, doors, refused)
        assert problems == []


@contextmanager
def three_streams(base: Path) -> Iterator[Small]:
    """Streams 'open' (public), 'closed' and, in a store of its own, 'apart'."""
    with (
        closing(open_store(str(base / "both.db"))) as both,
        closing(open_store(str(base / "apart.db"))) as apart,
        small(
            [
                described(released(world(base / "open", "open", public=True), both)),
                described(released(world(base / "closed", "closed"), both)),
                described(released(world(base / "apart", "apart"), apart)),
            ]
        ) as made,
    ):
        yield made


def reading_door(base: Path) -> ReadingDoor:
    """A door for batches with the columns of these streams."""
    made = world(base / "posted", "posted")
    made.text = made.text.replace('source = "events.csv"', 'source = "http"')
    source = plan_source(plan_of(made))
    assert isinstance(source, HttpSource)
    return ReadingDoor(source)
