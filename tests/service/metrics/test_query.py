"""Queries: released numbers by time, stale when they are overdue, within limits."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.requests import Request
from starlette.types import Message

from ameles.service.metrics import evaluation, parameters
from ameles.service.metrics.refusals import QueryRefused, refused
from ameles.service.metrics.regexes import _engine, full_matches
from ameles.service.metrics.selectors import MOST_MATCHERS
from ameles.store import open_store
from tests.service.asgi import Answer
from tests.service.small_service import Small, released, small, world

API = "/prometheus/api/v1"
DAY = 86_400
FIRST = 1_767_225_600 + DAY  # when the first step of these streams ends
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def ask(service: Small, path: str, token: str | None = None, **asked: Any) -> Answer:
    return service.client.get(f"{API}/{path}?{urlencode(asked)}", token)


def result(answer: Answer) -> list[Any]:
    assert answer.status == 200, answer.body
    found: list[Any] = answer.json["data"]["result"]
    return found


def at(service: Small, moment: float, query: str = "ameles_stream_step") -> list[str]:
    return [one["value"][1] for one in result(ask(service, "query", query=query, time=moment))]


def test_a_release_is_current_until_the_next_one_and_then_five_minutes(service: Small) -> None:
    assert at(service, FIRST - 0.001) == []
    assert at(service, FIRST) == at(service, FIRST + DAY - 0.001) == ["1"]
    assert at(service, FIRST + DAY) == ["2"]
    overdue = FIRST + 5 * DAY  # when step 6 ends, which was not released
    assert at(service, overdue + 299.999) == ["5"]
    assert at(service, overdue + 300) == []


def test_grace_makes_a_release_due_later(tmp_path: Path) -> None:
    made = world(tmp_path / "a", "a", public=True)
    made.text = made.text.replace('every = "1d"', 'every = "1d"\ngrace = "1h"')
    with closing(open_store(str(tmp_path / "a.db"))) as store:
        shown = released(made, store, until=5)
        with small([shown]) as service:
            with store.reading() as transaction:
                stream = transaction.stream("a")
            assert stream is not None
            overdue = FIRST + stream.released * DAY
            assert at(service, overdue + 3899) == [str(stream.released)]
            assert at(service, overdue + 3900) == []


def test_days_of_a_zone_are_as_long_as_they_are(tmp_path: Path) -> None:
    made = world(tmp_path / "a", "a", public=True)
    made.text = made.text.replace(
        'start = "2026-01-01"', 'start = "2026-03-26"\nzone = "Europe/Rome"'
    )
    with closing(open_store(str(tmp_path / "a.db"))) as store:
        shown = released(made, store, until=100)
        with small([shown]) as service:
            midnight = datetime(2026, 3, 29, 23, tzinfo=UTC).timestamp() - 3600  # of a short day
            start, end = midnight - 3 * DAY, midnight + DAY
            (line,) = result(
                ask(
                    service,
                    "query_range",
                    query="ameles_stream_step_end_timestamp_seconds",
                    start=start,
                    end=end,
                    step="30m",
                )
            )
            ends = sorted({float(number) for _, number in line["values"]})
            assert ends == [midnight + hours * 3600 for hours in (-71, -47, -23, 0, 24)]
            assert all(float(number) <= moment for moment, number in line["values"])


def test_without_a_time_it_is_now(service: Small, tmp_path: Path) -> None:
    assert result(ask(service, "query", query="ameles_stream_step")) == []  # it is February
    noon = datetime.fromtimestamp(FIRST, tz=UTC) + timedelta(hours=12)
    with closing(open_store(str(tmp_path / "a.db"))) as store:
        shown = released(world(tmp_path / "a", "a", public=True), store, until=1)
        with small([shown], now=noon) as later:
            (one,) = result(ask(later, "query", query="ameles_stream_step"))
            assert one["value"] == [FIRST + DAY / 2, "1"]


def test_numbers_are_those_of_the_store(motley: Small) -> None:
    token = motley.token("read", "motley")
    asked = {"query": "ameles_release_value", "start": FIRST, "end": FIRST + 5 * DAY, "step": DAY}
    lines = result(ask(motley, "query_range", token, **asked))
    shown = {
        (line["metric"]["release"], line["metric"].get("key", ""), moment): float(number)
        for line in lines
        for moment, number in line["values"]
    }
    with motley.shown["motley"].store.reading() as transaction:
        stream = transaction.stream("motley")
        assert stream is not None
        stored = {
            (one.release, one.key, FIRST + (one.step - 1) * DAY): one.value
            for one in transaction.releases(stream)
            if one.value is not None
        }
    assert shown == stored


def test_few_of_many_steps_are_read_alone(motley: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    token = motley.token("read", "motley")
    asked = {"query": "ameles_release_value", "start": FIRST, "end": FIRST + 5 * DAY}
    whole = result(ask(motley, "query_range", token, **asked, step=DAY))
    monkeypatch.setattr("ameles.service.samples.DENSE", 1)
    for step in (2 * DAY, 5 * DAY):
        some = result(ask(motley, "query_range", token, **asked, step=step))
        moments = range(FIRST, FIRST + 5 * DAY + 1, step)
        expected = [
            {**line, "values": [pair for pair in line["values"] if pair[0] in moments]}
            for line in whole
        ]
        assert some == [line for line in expected if line["values"]]


def test_a_form_asks_as_an_address_does(service: Small) -> None:
    form = urlencode({"query": "ameles_stream_step", "time": FIRST}).encode()

    def post(path: str, body: bytes, headers: dict[str, str] = FORM) -> Answer:
        return service.client.get(f"{API}/{path}", method="POST", headers=headers, body=body)

    got = ask(service, "query", query="ameles_stream_step", time=FIRST)
    assert post("query", form).json == got.json
    assert post(f"query?time={FIRST + DAY}", form).json == got.json  # the body comes first
    assert post("query", form, {"Content-Type": "text/plain"}).status == 400
    many = b"&a=b" * (parameters.MOST_FIELDS - 2)
    assert post("query", form + many).json == got.json
    assert "200 parameters" in post("query", form + many + b"&a=b").json["error"]
    large = form + b"&x=" + b"a" * parameters.LONGEST_BODY
    assert "bytes" in post("query", large).json["error"]
    whole = urlencode({"query": "1+1", "start": 0, "end": 2, "step": 1}).encode()
    assert result(post("query_range", whole))[0]["values"] == [[0, "2"], [1, "2"], [2, "2"]]
    chosen = b"match[]=ameles_stream_step"
    assert post("series", chosen).json["data"] == [
        {"__name__": "ameles_stream_step", "stream": "open"}
    ]
    assert post("labels", chosen).json["data"] == ["__name__", "stream"]


def test_a_form_that_does_not_come_whole_is_refused(service: Small) -> None:
    async def leaving() -> Message:
        return {"type": "http.disconnect"}

    async def read() -> None:
        scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": []}
        await parameters.parameters(Request(scope, leaving))

    with pytest.raises(QueryRefused, match="not complete"):
        service.client.run(read())


def test_series_come_in_the_order_of_their_labels(motley: Small) -> None:
    token = motley.token("read", "motley")
    found = result(ask(motley, "query", token, query='{stream="motley"}', time=FIRST))
    labels = [sorted(one["metric"].items()) for one in found]
    assert len(labels) > 20
    assert labels == sorted(labels)


def test_limits(motley: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    token = motley.token("read", "motley")

    def status(query: str = "ameles_release_value", **asked: Any) -> tuple[int, str]:
        answer = ask(motley, "query_range", token, query=query, **asked)
        return answer.status, answer.json.get("errorType", "")

    assert status("up", start=FIRST, end=FIRST + 11_000, step=1) == (200, "")
    assert status("up", start=FIRST, end=FIRST + 11_001, step=1) == (400, "bad_data")
    assert status("up", start=FIRST, end=FIRST - 1, step=1) == (400, "bad_data")
    times: dict[str, Any] = {"start": FIRST, "end": FIRST + 5 * DAY, "step": DAY}
    for missing in times:
        asked = {"query": "up"} | times | {missing: ""}
        answer = ask(motley, "query_range", token, **asked)
        assert (answer.status, answer.json["error"]) == (400, f"'{missing}' is missing.")
    series = len(result(ask(motley, "query_range", token, query="ameles_release_value", **times)))
    declared = 18 + 6 + 1 + 2 + 1
    assert series >= declared
    monkeypatch.setattr(evaluation, "MOST_SERIES", declared)
    assert status(**times) == (200, "")
    monkeypatch.setattr(evaluation, "MOST_NUMBERS", declared * 6)
    assert status(**times) == (200, "")
    assert status(**times | {"step": DAY // 2}) == (422, "execution"), "more moments, same steps"
    monkeypatch.setattr(evaluation, "MOST_NUMBERS", declared * 6 - 1)
    assert status(**times) == (422, "execution")
    monkeypatch.undo()
    monkeypatch.setattr(evaluation, "MOST_SERIES", declared - 1)
    assert status(**times) == (422, "execution")
    assert ask(motley, "labels", token).status == 422


def test_a_key_that_is_read_among_others_counts_what_is_read(
    motley: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = motley.token("read", "motley")
    both_ends = 'ameles_release_value{key=~"\\"/a|# EOF/job"}'  # the first and the last of 18
    monkeypatch.setattr(evaluation, "MOST_NUMBERS", 18)
    assert len(result(ask(motley, "query", token, query=both_ends, time=FIRST))) == 2
    monkeypatch.setattr(evaluation, "MOST_NUMBERS", 17)
    assert ask(motley, "query", token, query=both_ends, time=FIRST).status == 422


@pytest.mark.parametrize(
    "hostile", ["(a*)*b", "(x+x+)+y", "([a-z]+)*!", "(.{1,20}){1,10}z", "a" * 10_000]
)
def test_a_hostile_pattern_takes_no_time(motley: Small, hostile: str) -> None:
    """A backtracking engine would take longer than the universe is old."""
    assert full_matches(hostile, ["a" * 5000, "x" * 5000]) == set()
    if len(hostile) > 1000:
        return  # not in an address
    token = motley.token("read", "motley")
    query = f"ameles_release_value{{key=~{json.dumps(hostile)}}}"
    assert result(ask(motley, "query", token, query=query, time=FIRST)) == []


@pytest.mark.parametrize(
    "wrong", ["(x{1000}){1000}", "x{1000}y{0,9}", "x{1001,}", "\\1", "(?P<a>x)(?P=a)"]
)
def test_a_pattern_that_is_too_large_or_not_regular_is_refused(motley: Small, wrong: str) -> None:
    token = motley.token("read", "motley")
    query = f"ameles_release_value{{key=~{json.dumps(wrong)}}}"
    answer = ask(motley, "query", token, query=query)
    assert (answer.status, answer.json["errorType"]) == (400, "bad_data")
    with pytest.raises(QueryRefused):
        full_matches("a" * 10_001, [])


@pytest.mark.parametrize(
    "query",
    [
        *(
            "sum(ameles_release_value)",
            "ameles_release_value[5m]",
            "ameles_release_value offset 1d",
        ),
        *("1", "1+2", "ameles_stream_step + 1", "(ameles_stream_step)", "ameles_stream_step @ 0"),
        *(f"{{stream={quoted}}}" for quoted in (r"'\"'", r'"\'"', r'"\q"', r'"\uD800"', r'"\xff"')),
        r'{stream="\U00110000"}',
        *('{stream="open" release="visits"}', '{="open"}', '{stream"open"}', "{stream=}"),
        'ameles_stream_step{__name__="ameles_stream_step"}',
        *('{stream=""}', '{stream=~".*"}'),
    ],
)
def test_anything_but_a_selector_is_refused(service: Small, query: str) -> None:
    answer = ask(service, "query", query=query)
    assert (answer.status, answer.json["status"]) == (400, "error")
    assert "ameles_stream_step" not in answer.json["error"]


def test_only_refused_queries_are_answered_so() -> None:
    with pytest.raises(ZeroDivisionError):
        refused(Request({"type": "http"}), ZeroDivisionError())


def test_a_pattern_is_text_and_reads_no_file() -> None:
    with pytest.raises(QueryRefused):
        full_matches("\ud800", ["a"])
    (allowed,) = _engine().sql("SELECT current_setting('enable_external_access')").fetchall()
    assert allowed == (False,)


def test_a_selector_has_so_many_matchers(service: Small) -> None:
    def status(many: int) -> int:
        matchers = ",".join(f'absent{n}=""' for n in range(many - 1))
        return ask(service, "query", query=f"ameles_stream_step{{{matchers}}}").status

    assert [status(many) for many in (MOST_MATCHERS, MOST_MATCHERS + 1)] == [200, 400]


def test_listings(service: Small) -> None:
    everything = ask(service, "series", **{"match[]": '{stream!=""}'}).json["data"]
    assert {one["stream"] for one in everything} == {"open"}
    assert ask(service, "label/key/values", limit=1).json["data"] == ["=south"]
    assert ask(service, "series").status == 400
    assert ask(service, "label/no-label/values").status == 400
    every = ask(service, "labels").json["data"]
    assert len(every) > 1
    assert ask(service, "labels", limit=0).json["data"] == every
    for wrong in ("x", "-1", "1.0", "\u00b2", "1" * 10):
        assert ask(service, "labels", limit=wrong).status == 400
    assert ask(service, "labels", start=FIRST - 2, end=FIRST - 1).json["data"] == []
    assert ask(service, "labels", start=FIRST + 5 * DAY + 300).json["data"] == []
    assert "key" in ask(service, "labels", start=FIRST + 5 * DAY + 299).json["data"]
    assert ask(service, "labels", start=2, end=1).json["data"] == []
    metadata = ask(service, "metadata", metric="ameles_stream_step").json["data"]
    assert list(metadata) == ["ameles_stream_step"]
    assert len(ask(service, "metadata", limit=2).json["data"]) == 2
    built = ask(service, "status/buildinfo").json["data"]
    assert built["version"] == "2.42.0"
    several = service.client.get(f"{API}/series?match[]=ameles_stream_step&match[]=nothing")
    assert len(several.json["data"]) == 1
