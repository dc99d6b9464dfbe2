"""The short way of a batch: the same answers as those of the route, and only for plain requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from ameles.core.exceptions import StoreRefused
from ameles.service.headers import HEADERS
from ameles.service.ingest import posts
from ameles.service.ingest.direct_posts import DirectPosts, plain_post
from ameles.service.ingest.unfinished import UnfinishedBodies
from ameles.service.proxies import TrustedProxies
from ameles.service.refusals import Refused
from ameles.service.views import Right
from tests.service.asgi import Answer, Client
from tests.service.small_service import NOW, Doorless, Small, reading_door, three_streams

PATH = "/v1/streams/closed/events"
GOOD = {"Ameles-Batch": "b", "Ameles-Step": "1", "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    base = tmp_path_factory.mktemp("direct")
    with three_streams(base) as made:
        made.doors.doors = {"closed": reading_door(base)}
        yield made


def scope(*headers: tuple[str, str], path: str = PATH, **given: Any) -> Scope:
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "headers": raw,
        "client": None,
        "query_string": b"",
    } | given


async def receive() -> Message:
    raise AssertionError("nothing is read here")


def test_a_plain_request_is_read_as_it_is() -> None:
    found = plain_post(
        scope(
            ("Ameles-Batch", "\xe9"),
            ("Ameles-Step", "9007199254740992"),
            ("Authorization", "Bearer x"),
            ("Content-Type", "text/csv"),
            ("Content-Encoding", "gzip"),
            ("Content-Length", "7"),
            ("Accept", "*/*"),
            ("Accept", "text/html"),
            client=("192.0.2.1", 5),
        ),
        receive,
        TrustedProxies(),
    )
    assert found is not None
    assert (found.stream, found.batch, found.step) == ("closed", "\xe9", 1 << 53)
    assert (found.authorization, found.address) == ("Bearer x", "192.0.2.1")
    assert (found.content_type, found.encoding, found.length) == ("text/csv", "gzip", "7")


@pytest.mark.parametrize(
    "odd",
    [
        scope(("Ameles-Batch", "b")),
        scope(("Ameles-Step", "1")),
        *(
            scope(("Ameles-Batch", "b"), ("Ameles-Step", step))
            for step in ("", "0", "01", "+1", " 1", "1.0", "-1", "x", "9007199254740993", "9" * 17)
        ),
        *(scope(("Ameles-Batch", name), ("Ameles-Step", "1")) for name in ("", "x" * 129)),
        *(scope(*GOOD.items(), (name, "1")) for name in GOOD),
        scope(*GOOD.items(), ("Authorization", "a"), ("Authorization", "b")),
        scope(*GOOD.items(), path="/v1/streams/a/b/events"),
        scope(*GOOD.items(), path=f"/v1/streams/{'x' * 65}/events"),
        scope(*GOOD.items(), path="/v1/streams/closed/events/"),
        scope(*GOOD.items(), path="/v1/streams//events"),
        scope(*GOOD.items(), method="GET"),
        scope(*GOOD.items(), query_string=b"a"),
        {"type": "lifespan"},
    ],
    ids=repr,
)
def test_everything_unusual_goes_to_the_route(odd: Scope) -> None:
    assert plain_post(odd, receive, TrustedProxies()) is None


def test_a_trusted_proxy_says_for_whom_it_posts() -> None:
    asked = scope(*GOOD.items(), ("X-Forwarded-For", "192.0.2.7"), client=("10.0.0.1", 5))
    found = plain_post(asked, receive, TrustedProxies(["10.0.0.1"]))
    assert found is not None
    assert found.address == "192.0.2.7"


def both(small: Small, token: str | None, headers: dict[str, str], body: bytes) -> Answer:
    """The answer of the short way, after a check that the route says the same."""
    ways = [
        small.client.get(
            PATH, token, method="POST", headers=headers | {"Ameles-Step": step}, body=body
        )
        for step in ("1", "01")  # which only the route reads
    ]
    assert ways[0] == ways[1]
    return ways[0]


def test_both_ways_answer_alike(small: Small) -> None:
    token, body = small.token("ingest"), json.dumps([{"age": 7}]).encode()
    closed = both(small, token, GOOD, body)
    assert (closed.status, closed.json["step"]) == (409, 1)
    assert closed.headers["content-type"] == "application/json"
    assert closed.headers["cache-control"] == "no-store"
    for status, given, sent in (
        (400, GOOD, b"["),
        (413, GOOD, b" " * ((1 << 20) + 1)),
        (413, GOOD | {"Content-Length": str((1 << 20) + 1)}, b""),
        (415, GOOD | {"Content-Type": "text/html"}, body),
        (415, GOOD | {"Content-Encoding": "br"}, body),
    ):
        assert both(small, token, given, sent).status == status
    for status, other in (
        (401, "ameles_" + "0" * 64),
        (403, small.token("read")),
        (404, small.token("ingest", "apart")),
        (404, None),
    ):
        assert both(small, other, GOOD, body).status == status
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(small.doors, "doors", {})
        assert both(small, token, GOOD, body).status == 503


def test_the_short_way_does_not_pass_the_routes(small: Small) -> None:
    async def nowhere(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("the routes are not asked")

    def gate(*asked: object) -> Any:
        raise problems[-1]

    problems: list[Exception] = []
    refused: list[object] = []
    told: list[Exception] = []
    refusing: Any = type("Gate", (), {"check": staticmethod(gate)})()
    with closing(
        Client(
            DirectPosts(
                nowhere,
                refusing,
                Doorless(),
                UnfinishedBodies(),
                told.append,
                TrustedProxies(),
                lambda *one: refused.append(one),
            )
        )
    ) as client:
        for problem, status in (
            (StoreRefused("The store is locked."), 503),
            (ValueError("a mistake, locked"), 500),
            (Refused(401, "No."), 401),
        ):
            problems.append(problem)
            answer = client.get(PATH, method="POST", headers=GOOD)
            assert answer.status == status
            assert "locked" not in answer.body.decode()
            if status == 503:
                assert answer.json["outcome"] == "not counted", "its token could not be looked up"
            assert {name.lower() for name in HEADERS} <= set(answer.headers)
    assert [type(one) for one in told] == [StoreRefused, ValueError]
    assert refused == [("POST", "/v1/streams/{name}/events", 401)]


def test_no_holder_of_a_token_can_name_a_batch_of_another() -> None:
    named = [("web", "b"), ("app", "b"), ("a:b", "c"), ("a", "b:c"), ("1:a", "b"), ("1", "a:b")]
    digests = {
        posts._digest(Right(name=name, stream="s", scope="ingest", expires=NOW), batch)
        for name, batch in named
    }
    assert len(digests) == len(named)


def test_a_body_in_pieces_is_whole_and_small(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = UnfinishedBodies(most=6)
    right = Right(name="web", stream="s", scope="ingest", expires=NOW)

    def body(*messages: Message) -> bytes:
        left = list(messages)

        async def receive() -> Message:
            return left.pop(0)

        return asyncio.run(posts._body(receive, right, bodies))

    def piece(content: bytes, *, more: bool = True) -> Message:
        return {"type": "http.request", "body": content, "more_body": more}

    empty = {"type": "http.request", "more_body": True}
    assert body(piece(b"a"), empty, piece(b"b", more=False)) == b"ab"
    gone = {"type": "http.disconnect"}
    for most, status, messages in (
        (9, 400, [gone]),
        (9, 400, [piece(b"a"), gone]),
        (3, 413, [piece(b"abcd", more=False)]),
        (3, 413, [piece(b"ab"), piece(b"cd")]),
        (9, 429, [piece(b"abcd"), piece(b"efg")]),
        (9, 429, [piece(b"abcdefg", more=False)]),
    ):
        monkeypatch.setattr(posts, "MOST_BYTES", most)
        with pytest.raises(Refused) as caught:
            body(*messages)
        assert caught.value.status == status
        assert bodies.total == 0
