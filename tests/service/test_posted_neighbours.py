"""Two services with one tape of noise and neighbouring batches: only the numbers of a cell differ.

Everything that anybody gets is compared to the byte: statuses, headers with tags and lengths,
pages, live events, metrics, answers to batches, and the log.
"""

from __future__ import annotations

import io
import json
import re
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ameles.core.token import token_digest
from ameles.engine.engine import Engine
from ameles.noise import Tape
from ameles.plan.clock import microseconds
from ameles.plan.plan import read_plan_text
from ameles.service.ingest.framing import Framed, framed
from ameles.service.log import Log
from ameles.service.service import Service
from ameles.service.views import Scope
from ameles.store import Store, open_store
from tests.engine.worlds import START, day
from tests.service.asgi import Client
from tests.service.test_access import ALLOWED, QUERIES, READABLE, WITHOUT_STREAM

PLAN = """
[stream]
name = "s"
source = "http"
columns = { region = "text", age = "integer", who = "text" }
start = "2026-01-01"
every = "1d"
horizon = 8
[privacy]
population = "people"
epsilon = 1
%s
[[release]]
name = "visits"
measure = "count"
by = { region = ["north", "south"] }
[[release]]
name = "old"
measure = "count"
where = "age > 60"
over = "%s"
[store]
url = "s.db"
vault = "../keys-%s"
"""
KINDS = {
    "events": ('unit = "event"', "step"),
    "users": ('unit = "user"\nuser = "who"\nmax_per_step = 2\nmax_steps = 3', "step"),
    "sealed": ('unit = "event"\nintrusions = "one"', "total"),
}
NOISE = [(37 * place * place + 11 * place) % 101 - 50 for place in range(20_000)]
SCOPES: tuple[Scope, ...] = ("ingest", "read", "admin")
JSON, LINES, CSV = "application/json", "application/x-ndjson", "text/csv"
FIRST = b'[{"region":"north","age":70,"who":"a"},{"region":"south","age":9,"who":"b"}]'
# Each is one event that counts nowhere, in a body of its own kind with others around it.
NOWHERE = {
    "a region that is not declared": (LINES, b'{"region":"x","age":61.5,"who":"e"}'),
    "a row of another kind": (LINES, b'[["north", 70]]'),
    "a number that is too large": (LINES, b'{"region":["north"],"age":1e999,"who":"e"}'),
    "texts that break others": (LINES, rb'{"region":"\u0000\ud800\"},{","age":"NaN","who":"e"}'),
    "values that are nested too deep for parsers": (
        LINES,
        b'{"region":%b,"age":61.5,"who":%b}' % ((b"[" * 5000 + b"]" * 5000,) * 2),
    ),
    "an unbalanced quote": (CSV, b'"north,70,e'),
    "too few columns": (CSV, b"north"),
    "bytes that end no line": (CSV, b"\r\x0b\x0c,70\x00,\xe2\x80\xa8e"),
}
AROUND = {
    LINES: (b"", b'{"region":"south","age":80,"who":"c"}\n%b\n{"region":"north","who":"d"}\n'),
    CSV: (b"region,age,who\n", b"south,80,c\n%b\nnorth,,d\n"),
}
ASKED = [
    *(route.replace("{name}", "s") + QUERIES.get(route, "") for route in ALLOWED),
    "/v1/streams/s/releases?format=csv",
    "/v1/streams/s/releases?format=series&release=old",
    "/v1/streams/s/releases?release=visits&key=south",
    "/v1/streams/s/explain?release=visits&step=2&key=north",
    *WITHOUT_STREAM,
    *(route.replace("{label}", "key") + query for route, query in READABLE.items()),
    "/prometheus/api/v1/query?query=ameles_release_value&time=1767400000",
    "/metrics/process",
]
# When something was launched, bought or logged, and what the process itself uses.
CLOCKS = re.compile(
    r'"(?:launched|at)":"[^"]*"|^(?:process_\w+|ameles_http_\w+.*) .*$', re.MULTILINE
)


class Watched:
    """A service on one tape; a test sets its clock."""

    def __init__(self, folder: Path, kind: str, store: Store) -> None:
        plan = read_plan_text(PLAN % (*KINDS[kind], folder.name), base=folder)
        self._at = microseconds(day(1))
        self.log = io.StringIO()
        self.service = Service([(plan, store)], Log(self.log, as_json=True), clock=lambda: self._at)
        self.client = Client(self.service.app)
        self.seen: list[tuple[str, int, str, str]] = []
        self._tokens = {scope: f"ameles_{number:064x}" for number, scope in enumerate(SCOPES)}
        with store.writing() as transaction:
            for scope, text in self._tokens.items():
                transaction.add_token(
                    digest=token_digest(text),
                    name=scope,
                    stream="s",
                    scope=scope,
                    created=START - timedelta(days=1),
                    expires=datetime(2100, 1, 1, tzinfo=UTC),
                )
        self.service.following.start()
        self._wait("following")

    def _wait(self, event: str, **fields: object) -> None:
        """Until the log says so."""
        while not any(
            {"event": event, **fields}.items() <= json.loads(line).items()
            for line in self.log.getvalue().splitlines()
        ):
            assert not self.service.following.failed, self.log.getvalue()
            threading.Event().wait(0.001)

    def ask(self, path: str, scope: Scope | None, **options: object) -> int:
        token = None if scope is None else self._tokens[scope]
        answer = self.client.get(path, token, enough=lambda pieces: len(pieces) > 1, **options)
        said = CLOCKS.sub("CLOCK", answer.body.decode())
        self.seen.append((f"{scope} {path}", answer.status, json.dumps(answer.headers), said))
        return answer.status

    def post(self, number: int, kind: str, body: bytes, step: int) -> None:
        headers = {"Ameles-Batch": str(number), "Ameles-Step": str(step), "Content-Type": kind}
        for _ in range(2):  # the second time it is known
            status = self.ask(
                "/v1/streams/s/events", "ingest", method="POST", headers=headers, body=body
            )
            assert status == 200

    def end(self, step: int) -> None:
        """A step ends and is released."""
        self._at = microseconds(day(step + 1))
        self._wait("released", step=step)

    def look(self) -> None:
        """Everybody looks at everything."""
        for scope in (*SCOPES, None):
            for path in ASKED:
                self.ask(path, scope)

    def close(self) -> None:
        self.service.following.stop()
        self.client.close()
        said = [json.loads(line) for line in self.log.getvalue().splitlines()]
        self.seen += [
            ("log", 0, "", str(line | {"at": ""}))
            for line in said
            if line["event"] != "request"  # of those only ten a second are told
        ]


@contextmanager
def running(folder: Path, kind: str) -> Iterator[Watched]:
    folder.mkdir()
    with (
        closing(open_store(str(folder / "s.db"))) as store,
        closing(Watched(folder, kind, store)) as watched,
    ):
        yield watched


@pytest.fixture(autouse=True)
def one_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every service draws the same noise, under the same identity."""
    monkeypatch.setattr("ameles.engine.engine.uuid4", lambda: UUID(int=7))
    for module in ("arrivals", "batch_writer"):  # the clock of a test jumps
        monkeypatch.setattr(f"ameles.engine.following.{module}.PATIENCE", 0.01)
    monkeypatch.setattr(
        "ameles.service.following.Engine",
        lambda *given, **named: Engine(*given, **named, noise=Tape(NOISE)),
    )


def seen(
    folder: Path, kind: str, bodies: list[tuple[str, bytes]]
) -> list[tuple[str, int, str, str]]:
    """What a service shows to which these bodies are posted in its second step."""
    with running(folder, kind) as watched:
        watched.post(0, JSON, FIRST, step=1)
        watched.end(1)
        for number, (content, body) in enumerate(bodies):
            watched.post(number, content, body, step=2)
        watched.end(2)
        watched.look()
    return watched.seen


def bodies_with(events: dict[str, tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """Bodies of equal shape around events."""
    return [
        (content, AROUND[content][0] + AROUND[content][1] % event)
        for content, event in events.values()
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_differ_in_the_numbers_of_one_cell(tmp_path: Path, kind: str) -> None:
    harmless = {
        name: (content, b'{"region":"x"}' if content == LINES else b"x,,")
        for name, (content, _) in NOWHERE.items()
    }
    plain = seen(tmp_path / "plain", kind, bodies_with(harmless))
    assert {status for _, status, _, _ in plain} >= {200, 401, 403, 404}
    assert seen(tmp_path / "nowhere", kind, bodies_with(NOWHERE)) == plain, "not a byte"
    counted = harmless | {"a row of another kind": (LINES, b'{"region":"north","who":"e"}')}
    differences = [
        (asked, before, after)
        for (asked, *before), (_, *after) in zip(
            plain, seen(tmp_path / "counted", kind, bodies_with(counted)), strict=True
        )
        if before != after
    ]
    for asked, (status, _, said), (status_after, _, said_after) in differences:
        assert status == status_after, asked
        assert without_north(str(said)) == without_north(str(said_after)), asked
        assert "key=south" not in asked
        assert "release=old" not in asked
    assert differences, "the event was counted"


def test_a_service_that_tells_what_a_row_is_like_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(body: bytes, *given: Any) -> Framed:
        read = framed(body, *given)
        return Framed(f"{read.form},x", read.lines) if b'"north,70' in body else read

    monkeypatch.setattr("ameles.service.ingest.posts.framed", careless)
    plain = {"it": (CSV, b"x,,")}
    broken = {"it": (CSV, b'"north,70,e')}
    first = seen(tmp_path / "first", "events", bodies_with(plain))
    assert seen(tmp_path / "second", "events", bodies_with(broken)) != first


def without_north(said: str) -> str:
    """A text without the numbers of the cell in which the event counted."""
    number = r"-?\d+(?:\.\d+)?"
    for pattern in (
        rf'("key":"north"[^}}]*?"value":){number}(,"low":){number}(,"high":){number}',
        rf"(,north,[^\n]*?Z,){number}(,){number}(,){number}",
        rf'(key="north"[^}}]*\}} )({number})',
        rf'("key": "north"[^}}]*\}},"value":\[[^,]*,")({number})',
    ):
        said = re.sub(pattern, "NORTH", said)
    return said
