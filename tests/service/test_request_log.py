"""The log of a service: complete, one JSON object a line, and without anything that was sent."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.core.token import new_token, token_digest
from ameles.service.log import MOST, Log
from ameles.service.metrics.answer_counts import AnswerCounts, CountedAnswers
from ameles.service.request_log import RequestLog
from ameles.service.service import Service
from ameles.store import open_store
from tests.service.asgi import Client
from tests.service.small_service import CANARY, Small, plan_of, released, world

SENT = "zqxj"  # in everything that requests send


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_flood_of_refusals_is_logged_in_part() -> None:
    out, clock = io.StringIO(), Clock()
    requests = RequestLog(Log(out, as_json=True), clock)
    for _ in range(MOST + 25):
        requests.refused("GET", "/metrics", 401)
    assert len(lines(out)) == MOST
    clock.now = 1.0
    requests.refused("BREW", "/metrics", 401)
    last = lines(out)[-1]
    assert (last["left_out"], last["method"]) == (25, "other")
    requests.refused("GET", "/metrics", 401)
    assert "left_out" not in lines(out)[-1]


@pytest.fixture
def told(service: Small) -> Iterator[tuple[Client, list[tuple[str, str, int]]]]:
    """The service of the tests, and what is told of its requests."""
    seen: list[tuple[str, str, int]] = []
    app = CountedAnswers(service.client.app, AnswerCounts(), lambda *one: seen.append(one))
    with closing(Client(app)) as client:
        yield client, seen


def test_refused_requests_are_told_by_their_route(
    service: Small, told: tuple[Client, list[tuple[str, str, int]]]
) -> None:
    client, seen = told
    ingest, read = service.token("ingest"), service.token("read")
    client.get("/v1/streams/open")
    client.get("/v1/streams")
    client.get("/metrics", read)
    client.get("/v1/streams/closed/events", read, method="POST", body=b"[]")
    client.get("/v1/streams/closed/events", ingest, method="POST", body=b"[]")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(service.health, "failed", {"open": "its store cannot be used now"})
        assert client.get("/readyz").status == 503, "an answer like others"
    statuses = [(method, status) for method, _, status in seen]
    assert statuses == [("POST", 403)]
    client.get(f"/v1/streams/{SENT}/releases?key={SENT}")
    client.get(f"/{SENT}")
    client.get("/prometheus/api/v1/query?query=" + SENT + "(")
    client.get("/metrics", new_token())
    assert [status for _, _, status in seen[1:]] == [404, 404, 400, 401]
    assert SENT not in str(seen)


def test_a_service_logs_what_happens_and_nothing_that_was_sent(tmp_path: Path) -> None:
    made = world(tmp_path / "a", "a")
    out = io.StringIO()
    with closing(open_store(str(tmp_path / "a.db"))) as store:
        token = new_token()
        with store.writing() as transaction:
            transaction.add_token(
                digest=token_digest(token),
                name="owner",
                stream="a",
                scope="read",
                created=datetime(2026, 1, 1, tzinfo=UTC),
                expires=datetime(2200, 1, 1, tzinfo=UTC),
            )
        service = Service([(plan_of(made), store)], Log(out, as_json=True))
        service.following.start()
        for stream in service.following.streams.values():
            stream.join()  # all of its steps have ended
        with closing(Client(service.app)) as client:
            assert client.get("/metrics", token).status == 200
            for path in (
                f"/v1/streams/{SENT}",
                f"/{SENT}?{SENT}={SENT}",
                f"/v1/streams/a/releases?key={SENT}",
                f"/prometheus/api/v1/query?query={SENT}%7B",
            ):
                client.get(path, token, headers={"User-Agent": SENT, "X-Forwarded-For": SENT})
            client.get("/metrics", SENT)
        service.following.stop()
    written = lines(out)
    events = [line["event"] for line in written]
    assert events[:2] == ["launched", "following"]
    assert "released" in events
    assert "ended" in events
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    assert all(f"`{event}`" in page for event in events)
    refused = [line for line in written if line["event"] == "request"]
    assert [line["status"] for line in refused] == [404, 404, 404, 400, 401]
    assert [line["route"] for line in refused][2:] == [
        "/v1/streams/{name}/releases",
        "/prometheus/api/v1/query",
        "/metrics",
    ]
    whole = out.getvalue()
    for private in (CANARY, SENT, token, "192.0.2.1", str(tmp_path)):
        assert private not in whole


def test_a_failure_is_written_once_a_minute_however_many_requests_meet_it() -> None:
    out, now = io.StringIO(), [0.0]
    requests = RequestLog(Log(out, as_json=True), clock=lambda: now[0])
    away, mistake = StoreRefused("The store is away."), ValueError("of an event")
    for moment in (0.0, 1.0, 59.9, 60.0, 61.0):
        now[0] = moment
        for problem in (away, mistake, away):
            requests.failed(problem)
    said = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line.get("what", line.get("kind")) for line in said] == [away.what, "ValueError"] * 2
    assert len(requests._failures) == 2


def test_a_store_that_is_away_does_not_count_batches_in_the_log(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "w.db"))) as store:
        shown = released(world(tmp_path / "w", "open", public=True), store)
        out = io.StringIO()
        service = Service([(shown.plan, store)], Log(out, as_json=True))

        def away() -> Any:
            raise StoreRefused("The store is away.")

        with pytest.MonkeyPatch.context() as patched, closing(Client(service.app)) as client:
            patched.setattr(store, "reading", away)
            for number in range(20):
                headers = {"Ameles-Batch": str(number), "Ameles-Step": "1"}
                path = "/v1/streams/open/events"
                assert client.get(path, new_token(), method="POST", headers=headers).status == 503
    assert len(out.getvalue().splitlines()) == 1
