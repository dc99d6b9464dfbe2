"""Live releases: a reader who comes and goes misses nothing and gets nothing twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ameles.core.release import COLUMNS
from ameles.service.readout import live
from ameles.service.readout.feed import Feed
from ameles.service.readout.formats import Format
from ameles.service.readout.live import LiveReaders, LiveResponse
from ameles.service.readout.shared_reads import SharedReads
from ameles.service.views import Place, Wanted
from ameles.store import Store, open_store
from tests.engine.worlds import World
from tests.service.asgi import LIMIT, Answer
from tests.service.small_service import Small, released, small, world

LIVE = "/v1/streams/open/live"


@dataclass(frozen=True)
class Event:
    kind: str
    number: str
    data: Any


def events(answer: Answer) -> list[Event]:
    """What a browser makes of the pieces."""
    assert answer.headers["content-type"].startswith("text/event-stream")
    read = []
    for block in answer.body.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "event" in fields:
            read.append(Event(fields["event"], fields["id"], json.loads(fields["data"])))
    return read


def rows(read: list[Event]) -> list[tuple[Any, ...]]:
    return [
        tuple(one[name] for name in COLUMNS)
        for event in read
        if event.kind == "releases"
        for one in event.data["releases"]
    ]


class Station:
    """A service whose stream releases when a test says so."""

    def __init__(self, made: World, store: Store, service: Small) -> None:
        self.made = made
        self.store = store
        self.service = service

    async def release(self, until: int) -> None:
        await asyncio.to_thread(released, self.made, self.store, until)
        self.service.feed.tell("open")

    def stored(self, first: int = 1) -> list[tuple[Any, ...]]:
        with self.store.reading() as transaction:
            stream = transaction.stream("open")
            assert stream is not None
            return list(transaction.release_rows(stream, first=first))

    def read(
        self, path: str = LIVE, *, pieces: int = 0, rows: int = 0, until: int = 0, **options: Any
    ) -> Answer:
        """Reads until there are as many pieces or rows; releases once the state was heard."""

        async def both() -> Answer:
            heard = asyncio.Event()

            def enough(got: list[bytes]) -> bool:
                if len(got) >= 2:
                    heard.set()
                if rows:
                    return b"".join(got).count(b'"step":') >= rows
                return len(got) >= pieces

            asked = asyncio.create_task(self.service.client.ask(path, enough=enough, **options))
            async with asyncio.timeout(LIMIT):
                await heard.wait()
            for step in range(2, until + 1):
                await self.release(step)
            return await asked

        answer: Answer = self.service.client.run(both())
        return answer


@pytest.fixture
def station(tmp_path: Path) -> Iterator[Station]:
    made = world(tmp_path / "w", "open", public=True)
    with (
        closing(open_store(str(tmp_path / "w.db"))) as store,
        small([released(made, store, until=1)]) as service,
    ):
        yield Station(made, store, service)


def test_a_reader_gets_each_step_when_it_is_released(station: Station) -> None:
    answer = station.read(rows=6, until=3)
    read = events(answer)
    assert {event.kind for event in read} == {"state", "releases"}
    assert (read[0].kind, read[0].data["released"]) == ("state", 1)
    assert rows(read) == station.stored(first=2)
    assert answer.body.startswith(b"retry: ")
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("left_after", range(1, 6))
def test_who_comes_back_misses_nothing_and_gets_nothing_twice(
    station: Station, monkeypatch: pytest.MonkeyPatch, left_after: int
) -> None:
    """Wherever the connection breaks, also within a step."""
    monkeypatch.setattr(live, "AT_ONCE", 2)
    app: Any = station.service.client.app
    monkeypatch.setattr(app.state.live, "_heartbeat", 0.0)
    station.service.client.run(station.release(4))
    known = station.stored()
    begin = station.service.client.get("/v1/streams/open/releases?limit=1").json["next"]
    whole = known[:1]
    last, pieces = begin, 2 + left_after
    while len(whole) < len(known):
        answer = station.read(pieces=pieces, headers={"Last-Event-ID": last})
        read = events(answer)
        whole += rows(read)
        last = read[-1].number
    assert whole == known


def test_a_reader_can_begin_where_a_page_ended(station: Station) -> None:
    station.service.client.run(station.release(3))
    page = station.service.client.get("/v1/streams/open/releases?limit=4").json
    read = events(station.read(f"{LIVE}?cursor={page['next']}", rows=5))
    assert rows(read) == station.stored()[4:]


def test_a_reader_may_want_one_series_and_columns(station: Station) -> None:
    path = f"{LIVE}?release=visits&key=north&format=series"
    read = events(station.read(path, rows=1, until=2))
    (event,) = [event for event in read if event.kind == "releases"]
    (series,) = event.data["series"]
    assert (series["release"], series["key"], series["step"]) == ("visits", "north", [2])


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("?format=csv", 422),
        ("?cursor=x", 422),
        ("?cursor=00000000.1.0", 409),
        ("?release=x", 404),
        ("?key=x", 404),
    ],
)
def test_what_cannot_be_followed_is_refused(service: Small, query: str, status: int) -> None:
    assert service.client.get(LIVE + query).status == status


@pytest.mark.parametrize(("last", "status"), [("x", 422), ("00000000.1.0", 409)])
def test_a_last_event_that_is_none_is_called_by_its_header(
    service: Small, last: str, status: int
) -> None:
    refused = service.client.get(LIVE, headers={"Last-Event-ID": last})
    assert refused.status == status
    assert refused.json["what"].startswith("The header 'Last-Event-ID'")


def quiet(station: Station, **options: Any) -> LiveReaders:
    return LiveReaders(station.service.feed, **options)


def heard(station: Station, readers: LiveReaders, allowed: Callable[[], bool]) -> list[bytes]:
    """What a reader hears until he may not go on."""
    published = _published(station)

    async def listening() -> list[bytes]:
        view = published.stream("open")
        start, wanted, form = Place(2), Wanted(), Format.JSON
        return [
            chunk async for chunk in readers.events(published, view, wanted, start, form, allowed)
        ]

    got: list[bytes] = station.service.client.run(listening())
    return got


def test_silence_is_broken_and_the_right_to_read_is_checked_again(station: Station) -> None:
    answers = iter((True, True, False))
    readers = quiet(station, heartbeat=0.0, recheck=0.0)
    got = heard(station, readers, lambda: next(answers))
    assert got[2:] == [b": \n\n"] * 2, "the third time it may not go on"


def test_the_right_to_read_is_checked_also_if_there_is_always_something_new(
    station: Station,
) -> None:
    """A stream with a release a second is never silent."""
    times, answers = iter(range(100)), iter((True, False))

    def allowed() -> bool:
        released(station.made, station.store, until=3)
        station.service.feed.tell("open")
        return next(answers)

    readers = quiet(station, heartbeat=LIMIT, recheck=1.0, clock=lambda: next(times))
    station.service.feed.tell("open")
    got = b"".join(heard(station, readers, allowed))
    assert got.count(b"event: releases") == 1
    assert b": \n\n" not in got


def _published(station: Station) -> Any:
    app: Any = station.service.client.app
    return app.state.published


@pytest.mark.parametrize("flooded", [False, True])
def test_a_revoked_token_ends_its_reader(
    service: Small, monkeypatch: pytest.MonkeyPatch, flooded: bool
) -> None:
    """Also if its holder sends so many requests that those without a valid token are refused."""
    app: Any = service.client.app
    monkeypatch.setattr(app.state.live, "_heartbeat", 0.0)
    monkeypatch.setattr(app.state.live, "_recheck", 0.0)
    if flooded:
        monkeypatch.setattr(app.state.gate._limit, "wait", flood := Flood())
    token = service.token("read")
    beats = [0]

    def enough(pieces: list[bytes]) -> bool:
        beats[0] = pieces.count(b": \n\n")
        if beats[0] == 2:
            with service.shown["closed"].store.writing() as transaction:
                (number,) = (t.number for t in transaction.tokens() if t.name == token[-20:])
                transaction.revoke_token(number, transaction.tokens()[0].created)
            app.state.gate._known.clear()
            if flooded:
                flood.seconds = 1.0
        return False

    answer = service.client.get("/v1/streams/closed/live", token, enough=enough)
    assert answer.status == 200
    assert beats[0] == 2


class Flood:
    """A rate limit that a test sets."""

    seconds = 0.0

    def __call__(self, name: str, rate: float) -> float:
        return self.seconds


def test_who_does_not_take_what_is_sent_is_disconnected(station: Station) -> None:
    readers = quiet(station, slow=0.0)
    stuck = asyncio.Event()

    async def forever() -> Any:
        yield b"one"
        yield b"two"

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            await stuck.wait()

    async def receive() -> Any:
        await stuck.wait()

    async def respond() -> None:
        async with asyncio.timeout(LIMIT):
            await LiveResponse(forever(), readers)({}, receive, send)

    station.service.client.run(respond())
    assert readers.count == 0


def test_a_service_that_ends_ends_its_readers(station: Station) -> None:
    async def both() -> Answer:
        heard = asyncio.Event()

        def enough(pieces: list[bytes]) -> bool:
            heard.set()
            return False

        asked = asyncio.create_task(station.service.client.ask(LIVE, enough=enough))
        await heard.wait()
        await asyncio.to_thread(station.service.feed.close)
        return await asked

    assert station.service.client.run(both()).status == 200
    assert station.service.client.get(LIVE).status == 200, "and ends at once who comes then"


def test_head_does_not_wait_for_an_end(service: Small) -> None:
    answer = service.client.get(LIVE, method="HEAD")
    assert (answer.status, answer.body) == (200, b"")


def test_there_is_a_bound_on_readers(service: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_READERS", 0)
    answer = service.client.get(LIVE)
    assert answer.status == 503
    assert answer.headers["retry-after"] == "10"


def test_news_between_a_look_and_a_wait_are_not_missed() -> None:
    async def waits() -> list[bool]:
        feed = Feed()
        feed.tell("a")  # before anybody waits
        seen = feed.news("a")
        feed.tell("a")
        first = await feed.wait("a", seen, 0.0)
        second = await feed.wait("a", feed.news("a"), 0.0)
        return [first, second]

    assert asyncio.run(waits()) == [True, False]


def test_many_readers_cost_one_read() -> None:
    calls = []

    def read(what: int) -> int:
        calls.append(what)
        return what

    async def many() -> list[int]:
        shared: SharedReads[int] = SharedReads(kept=2)
        keep = partial(lambda least, got: got > least, 0)
        same = [shared.read("a", partial(read, 1), keep) for _ in range(100)]
        got = await asyncio.gather(*same)
        got.append(await shared.read("a", partial(read, 2), keep))  # kept
        got.append(await shared.read("b", partial(read, 0), keep))  # not to be kept
        got.append(await shared.read("b", partial(read, 3), keep))
        return got

    assert asyncio.run(many()) == [1] * 101 + [0, 3]
    assert calls == [1, 0, 3]


def test_a_failed_read_is_tried_again() -> None:
    async def twice() -> int:
        shared: SharedReads[int] = SharedReads()
        with pytest.raises(ZeroDivisionError):
            await shared.read("a", lambda: 1 // 0, lambda got: True)
        return await shared.read("a", lambda: 1, lambda got: True)

    assert asyncio.run(twice()) == 1
