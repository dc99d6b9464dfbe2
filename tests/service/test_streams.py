"""What is said about streams: states, plans in words, explanations, the ledger."""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.core.guarantee import EVENT, Neighbours
from ameles.core.loss import Pure
from ameles.engine.running import descriptions
from ameles.plan.forecast import in_words
from ameles.service.headers import Outermost
from ameles.service.proxies import TrustedProxies
from ameles.service.published import Shown, StorePublished
from ameles.service.readout import ledger
from ameles.service.stream_failure import StreamFailure
from ameles.service.views import State
from ameles.store import open_store
from tests.engine.worlds import EVENT as EVENT_UNIT
from tests.engine.worlds import USER, WINDOW
from tests.service.small_service import NOW, Small, plan_of, released, small, world

EXPLAIN = "/v1/streams/open/explain"


def test_a_stream_says_its_plan_in_words(service: Small) -> None:
    told = service.client.get("/v1/streams/open").json
    plan = service.shown["open"].plan
    assert told["words"] == in_words(plan)
    assert told["guarantee"] == "epsilon 2 for one event"
    assert {one["name"]: one["keys"] for one in told["releases"]} == {
        "visits": ["north", "=south"],
        "ages": [""],
    }
    assert told["releases"][0]["mechanism"] == type(plan.recipes["visits"]).__name__
    assert len(told["releases"][0]["half_widths"]) == 3
    assert (told["state"], told["released"], told["horizon"]) == ("running", 5, 8)
    assert "identity" not in told


@pytest.mark.parametrize("launched", [True, False])
def test_a_stream_says_how_much_of_a_user_counts(tmp_path: Path, launched: bool) -> None:
    def told(unit: str, changed: tuple[str, str] = ("", "")) -> Any:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        made = world(folder, "open", public=True)
        made.text = made.text.replace(EVENT_UNIT, unit)
        with closing(open_store(str(folder / "w.db"))) as store:
            if launched:
                released(made, store)
            made.text = made.text.replace(*changed)
            with small([Shown(plan_of(made), store)]) as service:
                answer = service.client.get("/v1/streams/open").json
                assert answer["starts"] == "2026-01-01T00:00:00Z"
                return answer["user_bounds"]

    assert told(EVENT_UNIT) is None
    assert told(USER) == {"events": 2, "steps": 3, "within": None}
    assert told(WINDOW) == {"events": 2, "steps": 2, "within": "4d"}
    steps = 3 if launched else 2  # those of the launch, whatever the file says now
    assert told(USER, ("max_steps = 3", "max_steps = 2"))["steps"] == steps


def test_a_number_is_explained(service: Small) -> None:
    told = service.client.get(f"{EXPLAIN}?release=visits&step=2&key=north").json
    plan = service.shown["open"].plan
    measure = plan.releases[0]
    assert told["noise"] == measure.noise_in_words(plan.recipes["visits"], plan.terms(measure), 2)
    assert (told["since"], told["until"]) == ("2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z")
    (value,) = told["values"]
    assert (value["key"], value["step"]) == ("north", 2)
    assert told["ledger"].startswith("entry 1 of population 'of-open'")
    assert told["restart"] is None
    every = service.client.get(f"{EXPLAIN}?release=visits&step=2").json
    assert [one["key"] for one in every["values"]] == ["north", "=south"]


def test_both_sides_cut_the_steps_alike() -> None:
    assert ledger.PART == descriptions.PART


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("release=visits&step=6", 404),
        ("release=nothing&step=1", 404),
        ("release=ages&step=1&key=north", 404),
        ("release=visits", 422),
        ("step=1", 422),
        ("release=visits&step=0", 422),
    ],
)
def test_what_cannot_be_explained_is_refused(service: Small, query: str, status: int) -> None:
    assert service.client.get(f"{EXPLAIN}?{query}").status == status


def test_before_its_texts_are_written_a_stream_can_be_read(tmp_path: Path) -> None:
    made = world(tmp_path / "w", "open", public=True)
    with (
        closing(open_store(str(tmp_path / "w.db"))) as store,
        small([released(made, store)]) as service,
    ):
        assert service.client.get("/v1/streams/open").json["words"] == []
        answer = service.client.get(f"{EXPLAIN}?release=visits&step=1")
        assert (answer.status, answer.json["why"]) == (404, "its texts are being written")


def test_the_ledger_has_the_entries_of_this_stream_alone(tmp_path: Path) -> None:
    first, second = (world(tmp_path / name, name, public=True) for name in ("first", "second"))
    for made in (first, second):
        made.text = made.text.replace('population = "of-', 'cap = 5\npopulation = "shared" #')
    with (
        closing(open_store(str(tmp_path / "w.db"))) as store,
        small([released(made, store) for made in (first, second)]) as service,
    ):
        told = service.client.get("/v1/streams/first/ledger").json
        assert {entry["on"] for entry in told["entries"]} == {"first/visits", "first/ages"}
        assert told["spent"]["epsilon"] == "4", "the sums are those of the population"
        assert told["left"]["epsilon"] == "1"
        assert "second" not in str(told)
        learned = service.client.get("/v1/streams/first/attacker").json["losses"]
        assert [one["words"] for one in learned] == ["epsilon 2", "epsilon 4"]
        assert "second" not in str(learned)


def told_after(service: Small, days: int) -> dict[str, Any]:
    later = datetime.now(UTC) + timedelta(days=days)
    shown = list(service.shown.values())
    told = StorePublished(shown, lambda name: State.RUNNING, now=lambda: later).ledger("open")
    assert told is not None
    return told


def test_an_owner_sees_the_rate_the_end_and_the_budget_that_paid(tmp_path: Path) -> None:
    made = world(tmp_path / "w", "open", public=True)
    made.text = made.text.replace('population = "of-open"', 'population = "p"\nbudget = "study"')
    with closing(open_store(str(tmp_path / "w.db"))) as store:
        with store.writing() as transaction:
            transaction.open_population(
                "p", cap=Pure(8), unit=EVENT, neighbours=Neighbours.ADD_REMOVE
            )
            transaction.open_budget("p", "study", cap=Pure(3))
        with small([released(made, store)]) as service:
            told = service.client.get("/v1/streams/open/ledger").json
            assert told["budget"]["name"] == "study"
            assert (told["budget"]["spent"]["epsilon"], told["budget"]["left"]["epsilon"]) == (
                "2",
                "1",
            )
            assert (told["cap"]["epsilon"], told["left"]["epsilon"]) == ("8", "6")
            assert (told["window_days"], told["renewed"]["epsilon"]) == (30, "0")
            rates = [told_after(service, days)["per_day"] for days in (29, 31)]
            assert rates == [None, {"currency": "pure", "epsilon": "0"}]
            assert service.client.get("/v1/streams/open").json["ends"] == "2026-01-09T00:00:00Z"


def state(service: Small, doing: State = State.RUNNING) -> str:
    shown = list(service.shown.values())
    return StorePublished(shown, lambda name: doing).stream("open").state.value


def test_the_state_of_a_stream_is_one_word(tmp_path: Path) -> None:
    """What is final comes first."""
    made = world(tmp_path / "w", "open", public=True)
    with (
        closing(open_store(str(tmp_path / "w.db"))) as store,
        small([released(made, store)]) as service,
    ):
        assert state(service) == "running"
        for doing in (State.STARTING, State.FAILED, State.STOPPED):
            assert state(service, doing) == doing.value
        with store.writing() as transaction:
            stream = transaction.stream("open")
            assert stream is not None
            transaction.add_epoch(stream, at=datetime.now(UTC), why="lost", base=b"")
        assert state(service) == "restarted"
        assert service.client.get("/v1/streams/open").json["restarts"] == 1
        assert state(service, State.FAILED) == "failed"
        released(made, store, until=8)
        assert state(service) == "ended"
        assert service.client.get("/v1/streams/open").json["next_release"] is None
        with store.writing() as transaction:
            transaction.retire(replace(stream, released=8), at=datetime.now(UTC), why="over")
        assert state(service) == "retired"


ALERT = """
[[release]]
name = "outbreak"
measure = "alert"
over = "1d"
threshold = 1
times = 1
"""


def test_a_stream_that_has_said_its_last_word_is_halted(tmp_path: Path) -> None:
    made = world(tmp_path / "w", "open", public=True)
    begin, end = made.text.index("[[release]]"), made.text.index("[store]")
    made.text = made.text[:begin] + ALERT + made.text[end:]
    made.text = made.text.replace("epsilon = 2", "epsilon = 1000")
    made.write(f"2026-01-0{day}T12:00:00Z,u,north,1,1,true" for day in (1,) * 9)
    with (
        closing(open_store(str(tmp_path / "w.db"))) as store,
        small([released(made, store, until=1)]) as service,
    ):
        assert state(service) == "running", "it has just said that the count is above"
        released(made, store, until=2)
        assert state(service) == "halted"


def test_who_runs_a_stream_sees_its_alerts(tmp_path: Path) -> None:
    made = world(tmp_path / "w", "open")
    made.text = made.text.replace(
        "[store]", f"{ALERT}by = {{ region = ['north', 'east'] }}\n[store]"
    )
    made.text = made.text.replace("epsilon = 2", "epsilon = 1000")
    made.write(f"2026-01-02T12:00:00Z,u{n},north,1,1,true" for n in range(9))
    with (
        closing(open_store(str(tmp_path / "w.db"))) as store,
        small([released(made, store)]) as service,
    ):
        admin = service.token("admin", "open")
        told = service.client.get("/v1/streams/open/operation", admin).json
        assert told["alerts"] == [
            {
                "release": "outbreak",
                "key": "north",
                "label": "halted",
                "above": [{"step": 2, "at": "2026-01-03T00:00:00Z"}],
            },
            {"release": "outbreak", "key": "east", "label": "below", "above": []},
        ]


def test_who_runs_a_stream_sees_how_it_does(tmp_path: Path) -> None:
    made = world(tmp_path / "w", "open", public=True)
    made.text = made.text.replace("[serve]", '[[sink]]\ncsv = "out.csv"\n[serve]')
    with (
        closing(open_store(str(tmp_path / "w.db"))) as store,
        small([released(made, store)]) as service,
    ):
        admin = service.token("admin", "open")
        told = service.client.get("/v1/streams/open/operation", admin).json
        assert (told["state"], told["lag"]) == ("running", 3)
        (sink,) = told["sinks"]
        assert (sink["sink"], sink["step"], sink["behind"]) == ("csv:out.csv", 5, 0)
        assert (told["intrusions"], told["restarted"], told["problem"]) == ([], [], None)
        with store.writing() as transaction:
            stream = transaction.stream("open")
            assert stream is not None
            transaction.add_intrusion(stream, at=NOW, why="stolen")
            transaction.add_epoch(stream, at=NOW, why="lost", base=b"")
        service.refused["open"] = StreamFailure("The disk is full.", "no space", "space", NOW)
        told = service.client.get("/v1/streams/open/operation", admin).json
        assert [one["why"] for one in told["intrusions"]] == ["stolen"]
        assert [one["why"] for one in told["restarted"]] == ["lost"]
        reason = {"what": "The disk is full.", "why": "no space", "tip": "space"}
        assert told["problem"] == {**reason, "again": "2026-02-01T00:00:00Z"}


def test_every_answer_has_its_headers(service: Small) -> None:
    for path in ("/healthz", "/v1/streams/open", "/nothing", "/v1/streams/absent", "/openapi.json"):
        headers = service.client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["cache-control"] == "no-store"
        assert not any(name.startswith("access-control") for name in headers)
        assert "server" not in headers
    asked = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "GET"}
    answer = service.client.get("/v1/streams", method="OPTIONS", headers=asked)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    assert not any(name.startswith("access-control") for name in answer.headers)


def test_requests_and_the_beginning_of_the_server_pass_and_nothing_else() -> None:
    seen = list[str]()

    async def noted(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    async def nothing(*given: Any) -> Any:
        raise AssertionError("nobody is asked or told")

    outermost = Outermost(noted, failed=lambda problem: None, proxies=TrustedProxies())
    for kind in ("lifespan", "websocket"):
        asyncio.run(outermost({"type": kind}, nothing, nothing))
    assert seen == ["lifespan"]


def test_the_answer_to_head_has_an_end_and_no_body() -> None:
    sent = list[Any]()

    async def answers(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": b"live", "more_body": True})

    async def unasked() -> Any:
        raise AssertionError("nobody reads a body")

    async def told(message: Any) -> None:
        sent.append(message)

    outermost = Outermost(answers, failed=lambda problem: None, proxies=TrustedProxies())
    scope: Any = {
        "type": "http",
        "method": "HEAD",
        "query_string": b"",
        "client": None,
        "headers": [],
    }
    asyncio.run(outermost(scope, unasked, told))
    assert sent[1:] == [{"type": "http.response.body", "body": b"", "more_body": False}]


def test_a_query_has_a_longest_length(service: Small) -> None:
    asked = [service.client.get(f"/v1/streams?{'&' * length}") for length in (4096, 4097)]
    assert [answer.status for answer in asked] == [200, 414]


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/v1", "/v1/streams/", "/healthz/x"])
def test_there_is_nothing_else(service: Small, path: str) -> None:
    answer = service.client.get(path)
    assert (answer.status, set(answer.json)) == (404, {"what", "why", "tip"})


def test_a_surprise_is_told_to_the_log_and_to_nobody_else(
    service: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: Any) -> None:
        raise ValueError("cafebabe-canary")

    app: Any = service.client.app
    monkeypatch.setattr(app.state.published, "stream", broken)
    answer = service.client.get("/v1/streams/open")
    assert (answer.status, answer.json["what"]) == (500, "The service failed.")
    assert b"canary" not in answer.body
    (problem,) = service.problems
    assert isinstance(problem, ValueError)
    service.problems.clear()


def test_a_store_that_refuses_is_a_reason_to_try_again(
    service: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: Any) -> None:
        raise StoreRefused("The store '/home/me/flu.db' is locked.")

    app: Any = service.client.app
    monkeypatch.setattr(app.state.published, "stream", refuse)
    answer = service.client.get("/v1/streams/open")
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert b"home" not in answer.body
    assert len(service.problems) == 1
    service.problems.clear()


def test_the_framework_reports_to_nobody(service: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.example")
    with small(list(service.shown.values())) as again:
        app: Any = again.client.app
        settings = app._telemetry
    named = ("tracing", "metrics", "logs", "operation_spans", "auto_configure")
    assert not any(settings[name] for name in named)
    assert not any(value is True for value in settings.values()), "a new kind of report"


def test_a_wrong_method_is_told_all_that_the_address_takes(service: Small) -> None:
    for path, allowed in (
        ("/v1/streams/open/events", "GET, HEAD, POST"),
        ("/v1/streams/open", "GET, HEAD"),
        ("/healthz", "GET, HEAD"),
        ("/prometheus/api/v1/query", "GET, HEAD, POST"),
    ):
        answer = service.client.get(path, method="DELETE")
        assert (answer.status, answer.headers["allow"]) == (405, allowed), path


def test_a_service_is_ready_when_all_its_streams_are(service: Small) -> None:
    try:
        assert service.client.get("/readyz").status == 200
        service.health.starting = 1
        assert service.client.get("/readyz").status == 503
        service.health.starting = 0
        service.health.failed = {"closed": "its store cannot be used now"}
        answer = service.client.get("/readyz")
        assert (answer.status, answer.json["failed"]) == (503, 1)
        assert answer.json["streams"] == [
            {"name": "closed", "reason": "its store cannot be used now"}
        ]
    finally:
        service.health.starting, service.health.failed = 0, {}
