"""A store that is away: it is waited for, and what is about other stores goes on meanwhile."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from ameles.core.token import new_token, token_digest
from ameles.service.log import Log
from ameles.service.published import Shown
from ameles.service.served_store import ServedStore
from ameles.service.service import Service
from ameles.service.views import State
from ameles.store import Store, StoreAway, Transaction, open_store
from ameles.store.sqlite.store import SqliteStore
from tests.service.asgi import Client
from tests.service.small_service import described, plan_of, released, small, world

AWAY = "its store cannot be used now"
PLACE = "postgresql://me@db.example/flu"


class Server:
    """A server of stores that can be taken away; it knows how often somebody tried to reach it."""

    def __init__(self) -> None:
        self.there = threading.Event()
        self.tried = 0

    def open(self, url: str, *, create: bool) -> Store:
        self.reached()
        return Distant(url, self, create=create)

    def reached(self) -> None:
        self.tried += 1
        if not self.there.is_set():
            raise StoreAway(f"The store '{PLACE}' cannot be reached.", why="no server answers")


class Distant(SqliteStore):
    """A store that can be used while its server is there."""

    def __init__(self, url: str, server: Server, *, create: bool) -> None:
        super().__init__(Path(url), create=create)
        self._server = server

    def writing(self) -> AbstractContextManager[Transaction]:
        self._server.reached()
        return super().writing()

    def reading(self) -> AbstractContextManager[Transaction]:
        self._server.reached()
        return super().reading()

    def holding(self, name: str) -> AbstractContextManager[None]:
        self._server.reached()
        return super().holding(name)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def away(tmp_path: Path, server: Server) -> Iterator[ServedStore]:
    """The store 'away.db', which that server has."""
    with closing(served(tmp_path, server)) as made:
        yield made


def served(folder: Path, server: Server, *, create: bool = True) -> ServedStore:
    return ServedStore(str(folder / "away.db"), create=create, opening=server.open)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ameles.service.served_store.FIRST_PAUSE", 0.001)
    monkeypatch.setattr("ameles.service.served_store.LONGEST_PAUSE", 0.01)
    monkeypatch.setattr("ameles.service.following.FIRST_PAUSE", 600)  # it is woken


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody tries again by himself."""
    monkeypatch.setattr("ameles.service.served_store.FIRST_PAUSE", 600)
    monkeypatch.setattr("ameles.service.following.FIRST_PAUSE", 600)


def until(true: Callable[[], bool]) -> None:
    while not true():
        threading.Event().wait(0.001)


@contextmanager
def running(service: Service) -> Iterator[Client]:
    service.following.start()
    try:
        with closing(Client(service.app)) as client:
            yield client
    finally:
        service.following.stop()


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.mark.usefixtures("quick")
def test_a_service_starts_without_a_store_and_goes_on_when_it_is_there(
    tmp_path: Path, server: Server, away: ServedStore
) -> None:
    near = plan_of(world(tmp_path / "near", "near", public=True, horizon=3))
    far = plan_of(world(tmp_path / "far", "far", public=True, horizon=3))
    away.open()
    out = io.StringIO()
    with closing(open_store(str(tmp_path / "near.db"))) as store:
        service = Service([(near, store), (far, away)], Log(out, as_json=True))
        with running(service) as client:
            until(lambda: service.following.doing("near") is State.ENDED)
            until(lambda: service.following.doing("far") is State.FAILED)
            ready = client.get("/readyz")
            assert (ready.status, ready.json["streams"]) == (503, [{"name": "far", "reason": AWAY}])
            one, other = client.get("/v1/streams").json["streams"]
            assert (one["state"], one["released"], one["reason"]) == ("ended", 3, None)
            assert (other["state"], other["released"], other["reason"]) == ("failed", 0, AWAY)
            assert client.get("/v1/streams/far").json["releases"] == []
            assert client.get("/v1/streams/far/releases").status == 503
            assert client.get("/v1/streams/near/releases").status == 200
            assert b'stream="near"' in client.get("/metrics").body
            assert b"db.example" not in b"".join(
                client.get(path).body for path in ("/readyz", "/v1/streams", "/v1/streams/far")
            )
            server.there.set()
            until(lambda: service.following.doing("far") is State.ENDED)
            assert client.get("/readyz").status == 200
            assert client.get("/v1/streams/far").json["released"] == 3
    told = [line for line in lines(out) if line.get("stream") == "far"]
    assert [line["event"] for line in told[:3]] == ["refused", "launched", "following"]
    assert told[0]["what"] == f"The store '{PLACE}' cannot be reached."


@pytest.mark.usefixtures("slow")
def test_while_a_store_is_away_nothing_else_tries_to_reach_it(
    server: Server, away: ServedStore
) -> None:
    away.open()
    assert server.tried == 1
    for use in (away.reading, away.writing, lambda: away.holding("s"), away.merging_aside):
        with pytest.raises(StoreAway, match="cannot be reached"), use():
            pass
    for look in (away.check, away.shrink, away.scrub, lambda: away.held("s")):
        with pytest.raises(StoreAway):
            look()
    assert (server.tried, away.lost_locks) == (1, False)


@pytest.mark.usefixtures("quick")
def test_a_store_that_leaves_is_known_to_be_away_until_it_is_back(
    server: Server, away: ServedStore
) -> None:
    back = threading.Event()
    away.when_back(back.set)
    server.there.set()
    away.open()
    with away.writing(), away.reading():
        assert not away.away
    server.there.clear()
    with pytest.raises(StoreAway), away.reading():
        pass
    assert away.away
    tried = server.tried
    until(lambda: server.tried > tried + 2)
    server.there.set()
    assert back.wait(600)
    with away.reading():
        assert not away.away


@pytest.mark.usefixtures("slow")
def test_a_stream_whose_store_left_is_shown_as_it_was(
    tmp_path: Path, server: Server, away: ServedStore
) -> None:
    server.there.set()
    away.open()
    far = described(released(world(tmp_path / "far", "far", public=True), away))
    with small([far]) as service:
        assert service.client.get("/v1/streams/far").json["released"] == 5
        server.there.clear()
        with pytest.raises(StoreAway), away.reading():
            pass
        shown = service.client.get("/v1/streams/far").json
        assert (shown["released"], shown["state"], shown["reason"]) == (5, "failed", AWAY)
        assert service.client.get("/metrics").status == 503, "there is nothing else to show"
        service.problems.clear()


@pytest.mark.usefixtures("slow")
def test_tokens_of_other_stores_are_known_while_one_is_away(
    tmp_path: Path, away: ServedStore
) -> None:
    away.open()
    with closing(open_store(str(tmp_path / "near.db"))) as store:
        near = described(released(world(tmp_path / "near", "near"), store))
        far = Shown(plan_of(world(tmp_path / "far", "far")), away)
        with small([far, near]) as service:
            token, other = service.token("read", "near"), new_token()
            assert token_digest(other) != token_digest(token)
            assert service.client.get("/v1/streams/near/releases", token).status == 200
            refused = service.client.get("/v1/streams/near/releases", other)
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            assert [type(problem) for problem in service.problems] == [StoreAway]
            service.problems.clear()


@pytest.mark.usefixtures("quick")
def test_a_stream_about_which_nobody_could_be_asked_is_not_launched(
    tmp_path: Path, server: Server, away: ServedStore
) -> None:
    far = plan_of(world(tmp_path / "far", "far", public=True, horizon=3))
    out = io.StringIO()
    away.open()
    service = Service([(far, away)], Log(out, as_json=True), launches=())
    stream = service.following.streams["far"]
    with running(service):
        until(lambda: stream.state is State.FAILED)
        server.there.set()
        until(lambda: "waits for its launch" in lines(out)[-1].get("what", ""))
        assert stream.failure is not None
        assert stream.failure.reason == "it waits for its launch"
    assert "--yes" in next(one["tip"] for one in lines(out) if "waits" in one.get("what", ""))
    with away.reading() as transaction:
        assert transaction.stream("far") is None


def test_a_store_that_opens_after_the_end_is_closed(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ameles.service.served_store.FIRST_PAUSE", 0.0)
    opened: list[Store] = []
    trying, ended = threading.Event(), threading.Event()

    def late(url: str, *, create: bool) -> Store:
        if trying.is_set() or not server.tried:
            server.reached()
        trying.set()
        assert ended.wait(600)
        opened.append(open_store(url, create=create))
        return opened[0]

    store = ServedStore(str(tmp_path / "late.db"), create=True, opening=late)
    store.open()
    assert trying.wait(600)
    store.close()
    ended.set()
    until(lambda: bool(opened) and not store.opened and _closed(opened[0]))


def _closed(store: Store) -> bool:
    try:
        with store.reading():
            return False
    except Exception as problem:
        return "was closed" in str(problem)


def test_a_store_that_does_not_answer_keeps_nobody_else_waiting(
    tmp_path: Path, server: Server, away: ServedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop goes on, and a token is looked for in the store of its stream first."""
    server.there.set()
    away.open()
    with closing(open_store(str(tmp_path / "near.db"))) as store:
        far = released(world(tmp_path / "far", "far"), away)
        near = released(world(tmp_path / "near", "near"), store)
        with small([far, near]) as service:
            token, other = service.token("ingest", "near"), service.token("ingest", "far")
            hangs, go = threading.Event(), threading.Event()

            def hanging() -> None:
                hangs.set()
                assert go.wait(600)

            async def both() -> list[int]:
                first = asyncio.create_task(service.client.ask("/v1/streams/far/events", other))
                await asyncio.to_thread(hangs.wait)
                statuses = [
                    (await service.client.ask(path, given)).status
                    for path, given in (("/healthz", None), ("/v1/streams/near/events", token))
                ]
                go.set()
                return [*statuses, (await first).status]

            monkeypatch.setattr(server, "reached", hanging)
            assert service.client.run(both()) == [200, 503, 503], "no stream takes events here"
