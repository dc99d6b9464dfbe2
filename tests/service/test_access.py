"""The matrix: route × scope × stream, allowed only as listed."""

from __future__ import annotations

from collections import OrderedDict
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from starlette.routing import Route

from ameles.core.token import new_token
from ameles.service.access import Access
from ameles.service.dashboard import routes as page
from ameles.service.refusals import Refused
from ameles.store.tokens import Scope
from tests.service.asgi import Answer
from tests.service.small_service import NOW, Small

SCOPES: tuple[Scope, ...] = ("ingest", "read", "admin")
# Who may use each address about a stream.  An address that is missing here fails.
ALLOWED: dict[str, set[Scope]] = {
    "/v1/streams/{name}": {"read", "admin"},
    "/v1/streams/{name}/releases": {"read"},
    "/v1/streams/{name}/live": {"read"},
    "/v1/streams/{name}/ledger": {"read", "admin"},
    "/v1/streams/{name}/explain": {"read"},
    "/v1/streams/{name}/attacker": {"read", "admin"},
    "/v1/streams/{name}/events": {"ingest"},
    "/v1/streams/{name}/operation": {"admin"},
}
LET_PASS = {"/v1/streams/{name}/events": 503}  # no stream of this service takes events
QUERIES = {"/v1/streams/{name}/explain": "?release=visits&step=1"}
WITHOUT_STREAM = {
    "/v1/preview",
    "/v1/preview/draws",
    "/v1/streams",
    "/v1/me",
    "/healthz",
    "/readyz",
}
# The page: the same bytes for everybody (tests/service/dashboard).
PAGE = {"/", "/preview", "/streams/{name}", "/embed/{name}", "/static/{version}/{path:path}"}
PROMETHEUS = "/prometheus/api/v1"
# Addresses about all streams that a request may read, each with a query that shows their names.
READABLE = {
    "/metrics": "",
    f"{PROMETHEUS}/query": "?query=ameles_stream_step&time=1767400000",
    f"{PROMETHEUS}/query_range": "?query=ameles_stream_step&start=1767400000&end=1767400000&step=1",
    f"{PROMETHEUS}/labels": "",
    f"{PROMETHEUS}/label/{{label}}/values": "",
    f"{PROMETHEUS}/series": "?match[]=ameles_stream_step",
    f"{PROMETHEUS}/metadata": "",
    f"{PROMETHEUS}/status/buildinfo": "",
}
ADMIN_ALONE = {"/metrics/process"}  # about the stream of the token
NAMELESS = {f"{PROMETHEUS}/{last}" for last in ("labels", "metadata", "status/buildinfo")}


def ask(service: Small, route: str, stream: str, token: str | None) -> Answer:
    path = route.replace("{name}", stream) + QUERIES.get(route, "")
    return service.client.get(path, token, enough=lambda pieces: True)


def test_known_tokens_are_changed_by_one_request_at_a_time(
    service: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests run in many threads, and an ordered dictionary cannot bear that."""
    access = Access(list(service.shown.values()), now=lambda: NOW, clock=lambda: 0.0)
    changed = list[str]()

    class Watched(OrderedDict[Any, Any]):
        def __setitem__(self, key: Any, value: Any) -> None:
            changed.append("set")
            assert access._lock.locked()
            super().__setitem__(key, value)

        def get(self, key: Any, default: Any = None) -> Any:
            assert access._lock.locked()
            return super().get(key, default)

        def move_to_end(self, key: Any, last: bool = True) -> None:
            assert access._lock.locked()
            super().move_to_end(key, last)

        def popitem(self, last: bool = True) -> Any:
            changed.append("pop")
            assert access._lock.locked()
            return super().popitem(last)

    monkeypatch.setattr(access, "_known", Watched())
    monkeypatch.setattr("ameles.service.access.MOST_KNOWN", 1)
    for _ in range(2):
        token = service.token("read", "open")
        assert access.right(f"Bearer {token}", "192.0.2.7") is not None
    assert changed == ["set", "set", "pop"]


def test_the_matrix_has_every_address(service: Small) -> None:
    paths = service.client.get("/openapi.json").json["paths"]
    assert set(paths) == {*ALLOWED, *WITHOUT_STREAM, *READABLE, *ADMIN_ALONE}
    assert {route.path for route in page.router.routes if isinstance(route, Route)} == PAGE


@pytest.mark.parametrize("route", ALLOWED)
def test_a_token_allows_what_is_listed_and_nothing_else(service: Small, route: str) -> None:
    tokens = {
        (scope, stream): service.token(scope, stream)
        for scope, stream in product(SCOPES, ("open", "closed", "apart"))
    }
    for ((scope, own), token), asked in product(
        tokens.items(), ("open", "closed", "apart", "absent")
    ):
        status = ask(service, route, asked, token).status
        public = asked == "open" and "read" in ALLOWED[route]
        passes = public or (asked == own and scope in ALLOWED[route])
        allowed = LET_PASS.get(route, 200)
        assert status == (allowed if passes else 403 if asked == own else 404)


@pytest.mark.parametrize("route", sorted(ADMIN_ALONE))
def test_addresses_for_administrators_show_their_own_stream_alone(
    service: Small, route: str
) -> None:
    for scope, own in product(SCOPES, ("open", "closed", "apart")):
        answer = service.client.get(route, service.token(scope, own))
        assert answer.status == (200 if scope == "admin" else 403)
        names = ("open", "closed", "apart")
        named = {name for name in names if f'"{name}"'.encode() in answer.body}
        assert named == ({own} if scope == "admin" else set())
    assert service.client.get(route).status == 401
    for wrong in (service.token("admin", revoked=True), new_token()):
        assert service.client.get(route, wrong).status == 401


@pytest.mark.parametrize("route", READABLE)
def test_addresses_about_all_streams_show_those_that_can_be_read(
    service: Small, route: str
) -> None:
    path = route.replace("{label}", "stream") + READABLE[route]
    posts = [path] if "post" in service.client.get("/openapi.json").json["paths"][route] else []
    forms = {"Content-Type": "application/x-www-form-urlencoded"}

    def named(token: str | None) -> list[set[str]]:
        """The streams in an answer, asked in each way."""
        answers = [service.client.get(path, token)]
        for one in posts:
            where, _, query = one.partition("?")
            given = {"method": "POST", "headers": forms, "body": query.encode()}
            answers.append(service.client.get(where, token, **given))
        assert {answer.status for answer in answers} == {200}
        names = ("open", "closed", "apart", "absent")
        return [{name for name in names if f'"{name}'.encode() in a.body} for a in answers]

    for token, expected in [
        (None, {"open"}),
        *((service.token(scope, "closed"), {"open"}) for scope in ("ingest", "admin")),
        *((service.token("read", own), {"open", own}) for own in ("open", "closed", "apart")),
    ]:
        assert all(seen == (set() if route in NAMELESS else expected) for seen in named(token))
    expired = service.token("read", made=NOW - timedelta(days=90))
    for wrong in (expired, service.token("read", revoked=True), new_token(), "ameles_"):
        assert service.client.get(path, wrong).status == 401


@pytest.mark.parametrize("route", ALLOWED)
def test_without_a_valid_token_only_public_streams_are_read(service: Small, route: str) -> None:
    public = "read" in ALLOWED[route]
    assert ask(service, route, "open", None).status == (200 if public else 404)
    hidden = [ask(service, route, name, None) for name in ("closed", "apart", "absent")]
    assert {answer.status for answer in hidden} == {404}
    assert len({answer.body for answer in hidden}) == 1, "an answer says which of them exist"
    assert len({str(sorted(answer.headers.items())) for answer in hidden}) == 1
    expired = service.token("read", made=NOW - timedelta(days=90))
    revoked = service.token("read", revoked=True)
    for wrong in (expired, revoked, new_token(), "ameles_", "x" * 71, expired.upper()):
        answers = [ask(service, route, name, wrong) for name in ("open", "closed", "absent")]
        assert {answer.status for answer in answers} == {401}
        assert len({answer.body for answer in answers}) == 1
        assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Basic {}", "bearer  {}", "Bearer {} ", "Bearer {}, Bearer {}", "{}"]
)
def test_a_token_comes_in_one_way(service: Small, header: str) -> None:
    token = service.token("read")
    given = {"Authorization": header.replace("{}", token)}
    assert service.client.get("/v1/streams/closed", headers=given).status == 401
    twice = [("Authorization", f"Bearer {token}")] * 2
    assert service.client.get("/v1/streams/closed", headers=twice).status == 401
    right = {"Authorization": f"bearer {token}"}
    assert service.client.get("/v1/streams/closed", headers=right).status == 200


@pytest.mark.parametrize("place", ["token={}", "a=1&access_token={}", "x=%61{}"])
def test_a_token_in_a_url_is_refused_and_not_used(service: Small, place: str) -> None:
    token = service.token("read")
    inside = token[1:] if "%61" in place else token
    answer = service.client.get(f"/v1/streams/open?{place.replace('{}', inside)}")
    assert answer.status == 400
    assert token.encode() not in answer.body
    assert "revoke" in answer.json["tip"]


def test_what_a_token_may_do_is_told_to_its_holder_alone(service: Small) -> None:
    token = service.token("ingest", "apart")
    me = service.client.get("/v1/me", token).json
    assert (me["stream"], me["scope"], me["expires"]) == ("apart", "ingest", "2026-05-01T00:00:00Z")
    assert service.client.get("/v1/me").json == dict.fromkeys(me)
    assert service.client.get("/v1/me", new_token()).status == 401


def test_who_has_no_right_sees_public_streams_alone(service: Small) -> None:
    def names(token: str | None) -> list[str]:
        listed = service.client.get("/v1/streams", token).json["streams"]
        return [one["name"] for one in listed]

    assert names(None) == ["open"]
    assert names(service.token("read", "closed")) == ["open", "closed"]
    assert names(service.token("ingest", "apart")) == ["open", "apart"]


def test_a_token_counts_in_the_store_of_its_stream_alone(service: Small) -> None:
    """Whoever owns another store of the service cannot make tokens for this one's streams."""
    apart, closed = service.shown["apart"], service.shown["closed"]
    service.shown["closed"] = apart  # a token for 'closed' in the store of 'apart'
    foreign = service.token("read", "closed")
    service.shown["closed"] = closed
    assert service.client.get("/v1/streams/closed", foreign).status == 401


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def access(service: Small, clock: Clock, rate: float = 1e9) -> Access:
    shown, rates = list(service.shown.values()), dict.fromkeys((*SCOPES, None), rate)
    return Access(shown, now=lambda: NOW, clock=clock, rates=rates)


def status(refused: pytest.ExceptionInfo[Refused]) -> int:
    return refused.value.status


def test_a_revoked_token_is_refused_a_second_later(service: Small) -> None:
    clock, token = Clock(), f"Bearer {service.token('read')}"
    gate = access(service, clock)
    right = gate.right(token, "")
    assert right is not None
    with service.shown["closed"].store.writing() as transaction:
        (number,) = (t.number for t in transaction.tokens() if t.name == right.name)
        transaction.revoke_token(number, NOW)
    clock.now = 1.0
    with pytest.raises(Refused) as refused:
        gate.right(token, "")
    assert status(refused) == 401


def test_the_tokens_that_were_looked_up_last_are_remembered_for_a_second(
    service: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ameles.service.access.MOST_KNOWN", 2)
    clock, reads = Clock(), list[None]()
    gate, store = access(service, clock), service.shown["closed"].store
    tokens = [f"Bearer {service.token('read')}" for _ in range(3)]
    reading = store.reading

    def counted() -> Any:
        reads.append(None)
        return reading()

    monkeypatch.setattr(store, "reading", counted)

    def looked_up(number: int) -> bool:
        before = len(reads)
        assert gate.right(tokens[number], "") is not None
        return len(reads) > before

    assert [looked_up(number) for number in (0, 0, 1, 0)] == [True, False, True, False]
    clock.now = 1.0
    assert [looked_up(number) for number in (0, 2, 0, 2)] == [True, True, False, False]
    assert len(gate._known) == 2


def test_a_right_lasts_as_long_as_its_token_allows_it(service: Small) -> None:
    gate, read = access(service, Clock()), frozenset[Scope]({"read"})
    token = f"Bearer {service.token('read')}"
    lasting = [gate.still_allows(token, name, read) for name in ("closed", "open", "apart")]
    assert lasting == [True, True, False], "anybody may read 'open'"
    assert not gate.still_allows(token, "closed", frozenset({"admin"}))
    assert not gate.still_allows("Bearer nothing", "open", read)


def test_each_token_has_its_own_rate_and_the_rest_share_that_of_an_address(service: Small) -> None:
    clock = Clock()
    gate = access(service, clock, rate=2)
    tokens = [f"Bearer {service.token('read')}" for _ in range(2)]
    for token in tokens * 2:
        gate.right(token, "a")
    for token in tokens:
        with pytest.raises(Refused) as refused:
            gate.right(token, "b")
        assert status(refused) == 429
        assert refused.value.headers == {"Retry-After": "1"}
    gate.right(None, "a")
    with pytest.raises(Refused) as wrong:
        gate.right("Bearer nothing", "a")
    assert status(wrong) == 401
    with pytest.raises(Refused) as refused:
        gate.right(None, "a")
    assert status(refused) == 429
    gate.right(None, "b")
    clock.now = 0.5
    gate.right(tokens[0], "a")
