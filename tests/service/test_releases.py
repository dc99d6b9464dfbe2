"""Pages of releases: whatever is asked, in whatever format, equals the store."""

from __future__ import annotations

import csv
import importlib
import io
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ameles.core.release import COLUMNS
from ameles.core.release_lines import shielded
from ameles.service.headers import same_tag
from ameles.service.published import Shown
from ameles.service.readout.models import SeriesPage
from ameles.store import open_store
from tests.engine.worlds import day
from tests.service.asgi import Answer
from tests.service.small_service import Small, plan_of, released, small, world

RELEASES = "/v1/streams/open/releases"


def stored(service: Small, **wanted: Any) -> list[tuple[Any, ...]]:
    one = service.shown["open"]
    with one.store.reading() as transaction:
        stream = transaction.stream("open")
        assert stream is not None
        return list(transaction.release_rows(stream, **wanted))


def rows(answer: Answer) -> list[tuple[Any, ...]]:
    assert answer.status == 200, answer.body
    return [tuple(one[name] for name in COLUMNS) for one in answer.json["releases"]]


def test_everything_is_as_the_store_has_it(service: Small) -> None:
    answer = service.client.get(RELEASES)
    assert rows(answer) == stored(service)
    assert len(rows(answer)) == 15
    assert answer.json["more"] is False


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("release=visits", {"release": "visits"}),
        ("key=north", {"key": "north"}),
        ("release=visits&key=%3Dsouth", {"release": "visits", "key": "=south"}),
        ("first=2&last=3", {"first": 2, "last": 3}),
        ("since=2026-01-02T00:00:00Z&until=2026-01-04", {"first": 2, "last": 3}),
        ("since=2026-01-02T00:00:01Z", {"first": 3}),
        ("until=2026-01-03T23:59:59%2B00:00", {"last": 2}),
        ("since=2025-01-01&until=2027-01-01", {}),
        ("until=2025-06-01", {"last": 0}),
        ("first=6", {"first": 6}),
    ],
)
def test_what_is_asked_for(service: Small, query: str, wanted: dict[str, Any]) -> None:
    assert rows(service.client.get(f"{RELEASES}?{query}")) == stored(service, **wanted)


@pytest.mark.parametrize(
    ("query", "status"),
    [("release=x", 404), ("key=x", 404), ("first=0", 422), ("from=2026-01-02", 422)],
)
def test_what_does_not_exist_is_refused_without_an_echo(
    service: Small, query: str, status: int
) -> None:
    answer = service.client.get(f"{RELEASES}?{query}")
    assert answer.status == status
    assert set(answer.json) == {"what", "why", "tip"}
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7, 14, 15, 16])
@pytest.mark.parametrize("query", ["", "release=visits&", "first=2&last=4&", "key=north&"])
def test_pages_together_are_everything(service: Small, limit: int, query: str) -> None:
    asked: dict[str, dict[str, Any]] = {
        "": {},
        "release=visits&": {"release": "visits"},
        "first=2&last=4&": {"first": 2, "last": 4},
        "key=north&": {"key": "north"},
    }
    path, together = f"{RELEASES}?{query}limit={limit}", []
    while True:
        answer = service.client.get(path)
        together += rows(answer)
        assert len(rows(answer)) <= limit
        assert answer.headers["ameles-more"] == str(answer.json["more"]).lower()
        link, _, rel = answer.headers["link"].partition("; ")
        assert (rel, link[0], link[-1]) == ('rel="next"', "<", ">")
        path = link[1:-1]
        if not answer.json["more"]:
            break
    assert together == stored(service, **asked[query])
    assert rows(service.client.get(path)) == [], "after the end there is nothing yet"


def typed(table: Any) -> list[tuple[Any, ...]]:
    return [
        tuple(
            f"{row[name]:%Y-%m-%dT%H:%M:%SZ}" if name in ("start", "end") else row[name]
            for name in COLUMNS
        )
        for row in table.to_pylist()
    ]


def test_every_format_has_the_same_values(service: Small) -> None:
    ipc, parquet = (importlib.import_module(f"pyarrow.{name}") for name in ("ipc", "parquet"))
    known = stored(service)
    get = service.client.get
    text = get(f"{RELEASES}?format=csv").body.decode()
    header, *lines = csv.reader(io.StringIO(text, newline=""))
    cells = [["" if cell is None else shielded(str(cell)) for cell in row] for row in known]
    numbers = {COLUMNS.index(name) for name in ("value", "low", "high")}
    plain = [
        [str(cell) if at in numbers and cell is not None else shown for at, (cell, shown) in pairs]
        for pairs in (
            list(enumerate(zip(row, line, strict=True)))
            for row, line in zip(known, cells, strict=True)
        )
    ]
    assert (tuple(header), lines) == (COLUMNS, plain)
    assert "'=south" in text
    assert typed(ipc.open_stream(get(f"{RELEASES}?format=arrow").body).read_all()) == known
    file = io.BytesIO(get(f"{RELEASES}?format=parquet").body)
    assert typed(parquet.read_table(file)) == known
    series = get(f"{RELEASES}?format=series").json
    assert SeriesPage.model_validate(series).model_dump(mode="json") == series
    ends = {one["step"]: (one["start"], one["end"]) for one in series["steps"]}
    flat = [
        ("open", one["release"], one["key"], step, *ends[step], *values)
        for one in series["series"]
        for step, *values in zip(
            *(one[name] for name in ("step", "value", "low", "high", "label")), strict=True
        )
    ]
    assert sorted(flat) == sorted(row[:10] for row in known)


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("text/csv", "text/csv; charset=utf-8"),
        ("application/vnd.apache.parquet", "application/vnd.apache.parquet"),
        ("application/vnd.apache.arrow.stream;q=1", "application/vnd.apache.arrow.stream"),
        ("text/html, text/*;q=0.5, */*;q=0.1", "text/csv; charset=utf-8"),
        ("text/csv;q=0, application/json;q=x, */*", "application/json"),
        ("", "application/json"),
    ],
)
def test_the_accepted_format_is_given(service: Small, accept: str, media: str) -> None:
    answer = service.client.get(RELEASES, headers={"Accept": accept})
    assert answer.headers["content-type"] == media
    told = service.client.get(f"{RELEASES}?format=json", headers={"Accept": accept})
    assert told.headers["content-type"] == "application/json"


def test_a_format_that_nobody_can_write_is_refused(
    service: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert service.client.get(RELEASES, headers={"Accept": "image/png"}).status == 406
    assert service.client.get(f"{RELEASES}?format=png").status == 422
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = service.client.get(f"{RELEASES}?format=arrow&limit=77")  # a page that nobody keeps
    assert answer.status == 406
    assert "dataframes" in answer.json["tip"]


def test_a_closed_page_may_be_kept_for_ever_and_an_open_one_asks_again(service: Small) -> None:
    token = service.token("read", "closed")
    kept = {
        query: service.client.get(f"{RELEASES}{query}").headers["cache-control"]
        for query in ("", "?limit=15", "?limit=14", "?last=5", "?last=6", "?until=2026-01-06")
    }
    forever, again = "public, max-age=31536000, immutable", "public, no-cache"
    assert kept == {
        "": again,
        "?limit=15": again,
        "?limit=14": forever,
        "?last=5": forever,
        "?last=6": again,
        "?until=2026-01-06": forever,
    }
    private = service.client.get("/v1/streams/closed/releases?last=5", token)
    assert private.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert "Authorization" in private.headers["vary"]


@pytest.mark.parametrize("form", ["json", "csv", "series", "arrow", "parquet"])
def test_what_has_not_changed_is_not_sent_again(service: Small, form: str) -> None:
    path = f"{RELEASES}?format={form}"
    first = service.client.get(path)
    tag = first.headers["etag"]
    again = service.client.get(path, headers={"If-None-Match": f'"x", W/{tag}'})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert again.headers["cache-control"] == first.headers["cache-control"]
    other = service.client.get(f"{path}&last=4", headers={"If-None-Match": tag})
    assert other.status == 200
    assert other.headers["etag"] != tag
    assert not tag.startswith("W/")
    assert not same_tag("", tag)


def test_closed_pages_stay_and_open_ones_grow(tmp_path: Path) -> None:
    made = world(tmp_path / "w", "open", public=True)
    with (
        closing(open_store(str(tmp_path / "w.db"))) as store,
        small([released(made, store, until=3)]) as service,
    ):
        closed = service.client.get(f"{RELEASES}?limit=7")
        open_ = service.client.get(f"{RELEASES}?limit=9")
        cursor = open_.json["next"]
        released(made, store, until=5)
        again = service.client.get(f"{RELEASES}?limit=7")
        assert (again.body, again.headers["etag"]) == (closed.body, closed.headers["etag"])
        grown = service.client.get(
            f"{RELEASES}?limit=9", headers={"If-None-Match": open_.headers["etag"]}
        )
        assert grown.status == 200
        assert rows(grown) == rows(open_), "the same rows, but now there is more"
        assert grown.json["more"] is True
        rest = rows(service.client.get(f"{RELEASES}?cursor={cursor}"))
        assert rest == stored(service, first=4)


@pytest.mark.parametrize(
    ("cursor", "status"),
    [("", 422), ("x", 422), ("00000000.1.0", 409), ("{}.0.0", 422), ("{}.1", 422), ("{}.9.9", 200)],
)
def test_a_cursor_of_another_stream_is_refused(service: Small, cursor: str, status: int) -> None:
    own = service.client.get(RELEASES).json["next"].partition(".")[0]
    answer = service.client.get(f"{RELEASES}?cursor={cursor.replace('{}', own)}")
    assert answer.status == status


def test_head_has_the_headers_alone(service: Small) -> None:
    whole = service.client.get(RELEASES)
    head = service.client.get(RELEASES, method="HEAD")
    assert (head.status, head.body, head.headers) == (200, b"", whole.headers)


def test_a_stream_that_was_not_launched_has_nothing(tmp_path: Path) -> None:
    made = world(tmp_path / "w", "open", public=True)
    with (
        closing(open_store(str(tmp_path / "w.db"))) as store,
        small([Shown(plan_of(made), store)]) as service,
    ):
        answer = service.client.get(RELEASES)
        assert (answer.status, answer.json["releases"]) == (200, [])
        assert service.client.get("/v1/streams/open").json["released"] == 0
        assert service.client.get("/v1/streams/open/ledger").status == 404


def test_times_are_those_of_the_clock(service: Small) -> None:
    stream = service.client.get("/v1/streams/open").json
    assert stream["next_release"] == f"{day(7, 0):%Y-%m-%dT%H:%M:%SZ}"
    assert stream["last_release"] == f"{day(6, 0):%Y-%m-%dT%H:%M:%SZ}"
