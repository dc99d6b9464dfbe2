"""Posting over HTTP: statuses, retries, tokens; every answer tells the open step."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors import http_source
from ameles.connectors.http_source import Outcome
from ameles.core.token import new_token, token_digest
from ameles.plan.plan import read_plan_text
from ameles.service.ingest import door
from ameles.service.ingest.answers import Closed, OpenStep, answer_to
from ameles.service.ingest.door import SealedDoor
from ameles.service.ingest.first_lines import MOST
from ameles.service.ingest.unfinished import UnfinishedBodies
from ameles.service.log import Log
from ameles.service.rate_limit import RateLimit
from ameles.service.service import Service
from ameles.service.stream_failure import StreamFailure
from ameles.store import Store, open_store
from ameles.store.tokens import Scope
from tests.service.asgi import Answer, Client

PLAN = """
[stream]
name = "{name}"
source = "http"
columns = {{ region = "text", fever = "boolean" }}
start = "{start}"
every = "7d"
[privacy]
population = "of-{name}"
unit = "event"
epsilon = 1
intrusions = "{intrusions}"
[[release]]
name = "fever"
measure = "count"
where = "fever"
by = {{ region = ["north"] }}
[store]
url = "s.db"
vault = "memory"
"""
EVENT = {"region": "north", "fever": True}
CANARY = "a-person-who-must-not-be-named"


class Posts:
    """A service that runs, and a client of it."""

    def __init__(self, folder: Path, store: Store, *, follow: bool = True) -> None:
        self.store = store
        start = datetime.now(UTC).date()
        plans = [
            read_plan_text(PLAN.format(name=name, start=start, intrusions=intrusions), base=folder)
            for name, intrusions in (("plain", "none"), ("sealed", "every"))
        ]
        self.log = io.StringIO()
        self.service = Service([(plan, store) for plan in plans], Log(self.log, as_json=True))
        self.client = Client(self.service.app)
        if follow:
            self.service.following.start()
            self.wait()
        self.tokens = {
            (stream, scope): self.token(stream, scope)
            for stream in ("plain", "sealed")
            for scope in ("ingest", "read", "admin")
        }

    def wait(self) -> None:
        """Until the streams are followed."""
        while self.service.following.starting or self.service.following.door("sealed") is None:
            assert not self.service.following.failed, self.log.getvalue()
            threading.Event().wait(0.001)

    @property
    def bodies(self) -> UnfinishedBodies:
        app: Any = self.service.app
        bodies: UnfinishedBodies = app.state.bodies
        return bodies

    def token(self, stream: str, scope: str, days: int = 1) -> str:
        text, made = new_token(), datetime.now(UTC) - timedelta(hours=1)
        kinds: dict[str, Scope] = {"ingest": "ingest", "read": "read", "admin": "admin"}
        with self.store.writing() as transaction:
            transaction.add_token(
                digest=token_digest(text),
                name=text[-20:],
                stream=stream,
                scope=kinds[scope],
                created=made,
                expires=made + timedelta(days=days),
            )
        return text

    def post(
        self,
        stream: str,
        batch: str = "a",
        body: bytes | None = None,
        *,
        step: object = 1,
        kind: str = "application/json",
        token: str | None = None,
        **headers: str,
    ) -> Answer:
        given = {"Ameles-Batch": batch, "Ameles-Step": str(step), "Content-Type": kind} | headers
        return self.client.get(
            f"/v1/streams/{stream}/events",
            self.tokens[stream, "ingest"] if token is None else token,
            method="POST",
            headers=given,
            body=json.dumps([EVENT]).encode() if body is None else body,
        )

    def stored(self) -> int:
        """The number of batches that the store has."""
        with self.store.reading() as transaction:
            count: int = transaction._session.one("SELECT count(*) FROM batch")
        assert count % 2 == 0, "a digest of the id, and one of the body"
        return count // 2


@pytest.fixture(scope="module")
def posts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Posts]:
    folder = tmp_path_factory.mktemp("posts")
    with closing(open_store(str(folder / "s.db"))) as store:
        made = Posts(folder, store)
        yield made
        made.service.following.stop()
        made.client.close()
        assert made.service.following.failed == {}
        assert CANARY not in made.log.getvalue()


@pytest.mark.parametrize("stream", ["plain", "sealed"])
def test_a_batch_counts_and_every_answer_tells_the_open_step(posts: Posts, stream: str) -> None:
    asked = posts.client.get(f"/v1/streams/{stream}/events", posts.tokens[stream, "ingest"])
    assert (asked.status, asked.json["step"]) == (200, 1)
    closes = datetime.fromisoformat(asked.json["closes"])
    assert timedelta(days=5) < closes - datetime.now(UTC) <= timedelta(days=7)
    for _ in range(2):
        answer = posts.post(stream, "first")
        assert answer.status == 200
        assert answer.json == asked.json | {"outcome": "counted"}
    closed = posts.post(stream, "first", step=2)
    assert (closed.status, closed.json["step"]) == (409, 1)
    assert closed.json["outcome"] == "unknown", "nobody looks whether it was counted in its step"


@pytest.mark.parametrize("stream", ["plain", "sealed"])
@pytest.mark.parametrize(
    ("kind", "body", "encoding"),
    [
        ("application/x-ndjson", b'{"region": "north", "fever": true}\n', ""),
        ("text/csv", b"fever,region\ntrue,north\n", ""),
        ("application/json", gzip.compress(b"[]", mtime=0), "gzip"),
        ("application/json", b'[{"region": 7}, [], "text", {"fever": "perhaps"}]', ""),
    ],
)
def test_rows_do_not_change_the_answer(
    posts: Posts, stream: str, kind: str, body: bytes, encoding: str
) -> None:
    given = {"Content-Encoding": encoding} if encoding else {}
    answer = posts.post(stream, f"{kind} {encoding} {len(body)}", body, kind=kind, **given)
    assert answer.status == 200
    assert sorted(answer.json) == ["closes", "outcome", "step"]


@pytest.mark.parametrize("stream", ["plain", "sealed"])
@pytest.mark.parametrize(
    ("status", "kind", "body", "headers"),
    [
        (400, "application/json", f'["{CANARY}"', {}),
        (400, "text/csv", f"{CANARY}\n1\n", {}),
        (413, "application/json", "[" + " " * (1 << 20) + "]", {}),
        (415, "text/html", CANARY, {}),
        (422, "application/json", "[]", {"Ameles-Step": CANARY}),
        (422, "application/json", "[]", {"Ameles-Step": "0"}),
        (422, "application/json", "[]", {"Ameles-Batch": ""}),
        (422, "application/json", "[]", {"Ameles-Batch": "x" * 129}),
    ],
)
def test_what_is_refused_changes_nothing_and_quotes_nothing(
    posts: Posts, stream: str, status: int, kind: str, body: str, headers: dict[str, str]
) -> None:
    before = posts.stored()
    answer = posts.post(stream, "refused", body.encode(), kind=kind, **headers)
    assert answer.status == status
    assert sorted(answer.json) == ["closes", "outcome", "step", "tip", "what", "why"]
    assert (answer.json["step"], answer.json["outcome"]) == (1, "not counted")
    assert CANARY not in answer.body.decode()
    assert posts.stored() == before


@pytest.mark.parametrize("query", ["x=1", "x", "=", "step=1", "%00", "%ff=%fe", "a=1&a=2", "?"])
def test_a_query_is_refused_before_anything_counts(posts: Posts, query: str) -> None:
    before, path = posts.stored(), f"/v1/streams/plain/events?{query}"
    given = {"Ameles-Batch": "asked", "Ameles-Step": "1", "Content-Type": "application/json"}
    for headers in (given, {}):
        posted: dict[str, Any] = {"method": "POST", "headers": headers, "body": b"[]"}
        answer = posts.client.get(path, posts.tokens["plain", "ingest"], **posted)
        assert (answer.status, answer.json["tip"]) == (422, "it takes no parameters")
        assert (answer.json["step"], answer.json["outcome"]) == (1, "not counted")
        for token, status in ((posts.tokens["plain", "read"], 403), (new_token(), 401), ("", 404)):
            refused = posts.client.get(path, token, **posted)
            assert (refused.status, sorted(refused.json)) == (status, ["tip", "what", "why"])
    asked = posts.client.get(path, posts.tokens["plain", "ingest"])
    assert (asked.status, sorted(asked.json)) == (422, ["closes", "step", "tip", "what", "why"])
    assert posts.stored() == before


def test_a_header_of_which_one_would_be_used_is_refused(posts: Posts) -> None:
    before, token = posts.stored(), posts.tokens["plain", "ingest"]
    given = [("Ameles-Batch", "b"), ("Ameles-Step", "1"), ("Content-Type", "application/json")]
    for twice in (*given, ("Content-Encoding", "identity")):
        posted: dict[str, Any] = {"method": "POST", "body": b"[]"}
        posted["headers"] = [one for one in given if one != twice] + [twice] * 2
        answer = posts.client.get("/v1/streams/plain/events", token, **posted)
        assert (answer.status, answer.json["step"]) == (422, 1)
        assert f"'{twice[0]}'" in answer.json["what"]
    posted = {"method": "POST", "body": b"[]"}
    posted["headers"] = [*given, ("Authorization", f"Bearer {token}")]
    assert posts.client.get("/v1/streams/plain/events", token, **posted).status == 401
    assert posts.stored() == before


def test_only_tokens_to_post_with_may_post(posts: Posts) -> None:
    before = posts.stored()
    for token, status in (
        (posts.tokens["plain", "read"], 403),
        (posts.tokens["plain", "admin"], 403),
        (posts.tokens["sealed", "ingest"], 404),
        (posts.token("plain", "ingest", days=0), 401),
        (new_token(), 401),
        ("", 404),
    ):
        for step in (1, "no step"):
            refused = posts.post("plain", "intruder", token=token, step=step)
            assert (refused.status, sorted(refused.json)) == (status, ["tip", "what", "why"])
        asked = posts.client.get("/v1/streams/plain/events", token)
        assert (asked.status, sorted(asked.json)) == (status, ["tip", "what", "why"])
    for path in ("", "/releases", "/live", "/ledger"):
        answer = posts.client.get(f"/v1/streams/plain{path}", posts.tokens["plain", "ingest"])
        assert answer.status == 403
    assert posts.stored() == before


def test_the_id_of_one_token_is_not_that_of_another(posts: Posts) -> None:
    before = posts.stored()
    assert posts.post("plain", "shared").status == 200
    assert posts.post("plain", "shared", token=posts.token("plain", "ingest")).status == 200
    assert posts.post("plain", "shared").status == 200
    assert posts.stored() == before + 2


@pytest.mark.parametrize("step", ["1", "01"], ids=["the short way", "the route"])
def test_an_id_with_another_body_is_a_conflict(posts: Posts, step: str) -> None:
    name = f"reused {step}"
    before = posts.stored()
    body = json.dumps([EVENT] * 2).encode()
    assert posts.post("plain", name, step=step).status == 200
    other = posts.post("plain", name, body, step=step)
    assert (other.status, other.json["outcome"], other.json["step"]) == (409, "not counted", 1)
    assert "an id of its own" in other.json["tip"]
    packed = gzip.compress(json.dumps([EVENT]).encode(), mtime=0)
    again = posts.post("plain", name, packed, step=step, **{"Content-Encoding": "gzip"})
    assert again.status == 200, "the same events, packed otherwise"
    assert posts.stored() == before + 1


def test_a_queue_that_is_full_answers_429(posts: Posts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_source, "MOST_BATCHES", 0)
    for stream in ("plain", "sealed"):
        answer = posts.post(stream, "too much")
        assert (answer.status, answer.headers["retry-after"], answer.json["step"]) == (429, "1", 1)


def test_a_token_that_is_too_fast_still_hears_the_open_step(
    posts: Posts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RateLimit, "wait", lambda *_: 0.5)
    for step in (1, "no step"):
        answer = posts.post("plain", "quick", step=step)
        assert (answer.status, answer.headers["retry-after"], answer.json["step"]) == (429, "1", 1)
    for token in (posts.tokens["plain", "read"], posts.tokens["sealed", "ingest"], new_token(), ""):
        answer = posts.post("plain", "quick", token=token)
        assert (answer.status, sorted(answer.json)) == (429, ["tip", "what", "why"])


def test_a_state_that_may_be_seized_has_a_door_of_its_own(posts: Posts) -> None:
    assert isinstance(posts.service.following.door("sealed"), SealedDoor)
    assert not isinstance(posts.service.following.door("plain"), SealedDoor)
    assert posts.service._sealed == {"/v1/streams/sealed/events"}


def test_a_stream_that_takes_no_events_says_so(
    posts: Posts, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed = posts.service.following.streams["plain"]
    monkeypatch.setattr(followed, "door", None)
    for step in ("1", "+1"):  # the second does not take the short way
        answer = posts.post("plain", "early", step=step)
        assert (answer.status, answer.headers["retry-after"], answer.json["step"]) == (503, "1", 1)
        assert answer.json["outcome"] == "not counted"
    asked = posts.client.get("/v1/streams/plain/events", posts.tokens["plain", "ingest"])
    assert (asked.status, asked.json["step"]) == (503, 1)
    assert "outcome" not in asked.json


@pytest.mark.parametrize("outcome", Outcome)
def test_every_answer_says_whether_it_is_certain(outcome: Outcome) -> None:
    answer = answer_to(outcome, OpenStep(step=1, closes=None))
    certain = {Outcome.FULL: "not counted", Outcome.REUSED: "not counted"}
    told = ({Outcome.COUNTED: "counted"} | certain).get(outcome, "unknown")
    assert json.loads(answer.content)["outcome"] == told
    again = outcome in (Outcome.FULL, Outcome.UNKNOWN)
    assert answer.headers.get("Retry-After") == ("1" if again else None)


def test_a_body_that_comes_too_slowly_is_refused_with_the_open_step(
    posts: Posts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "SECONDS_TO_READ", 0.0)
    answer = posts.post("sealed", "slow")
    assert (answer.status, answer.json["step"]) == (408, 1)


def test_a_stream_that_has_ended_says_so_for_ever(
    posts: Posts, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed = posts.service.following.streams["plain"]
    monkeypatch.setattr(followed, "open_step", lambda: OpenStep(step=None, closes=None))
    monkeypatch.setattr(followed, "door", None)
    asked = posts.client.get("/v1/streams/plain/events", posts.tokens["plain", "ingest"])
    assert (asked.status, asked.json) == (200, {"step": None, "closes": None})
    for step in ("1", "+1"):  # the second does not take the short way
        answer = posts.post("plain", "late", step=step)
        assert (answer.status, answer.json["step"]) == (410, None)
        assert answer.json["outcome"] == "unknown", "it may have counted before the end"


@pytest.mark.parametrize("refused", [False, True])
def test_a_stream_that_was_never_launched_has_not_ended(
    posts: Posts, monkeypatch: pytest.MonkeyPatch, refused: bool
) -> None:
    """Also when the last step of its plan is over."""
    followed = posts.service.following.streams["plain"]
    monkeypatch.setattr(followed, "open_step", lambda: OpenStep(step=None, closes=None))
    monkeypatch.setattr(followed, "door", None)
    monkeypatch.setattr(followed, "_launched", False)
    again = None if refused else datetime.now(UTC)
    monkeypatch.setattr(followed, "failure", StreamFailure("No.", "", "", again))
    why = Closed.NEVER_LAUNCHED if refused else Closed.NOT_LAUNCHED
    asked = posts.client.get("/v1/streams/plain/events", posts.tokens["plain", "ingest"])
    assert (asked.status, asked.json["why"]) == (503, why.value[0])
    for step in ("1", "+1"):  # the second does not take the short way
        answer = posts.post("plain", "early", step=step)
        assert (answer.status, answer.json["why"]) == (503, why.value[0])
        assert (answer.json["outcome"], answer.headers["retry-after"]) == ("not counted", "1")


def test_missing_headers_are_named_with_what_to_send(posts: Posts) -> None:
    def refused(**headers: str) -> dict[str, str]:
        answer = posts.client.get(
            "/v1/streams/plain/events",
            posts.tokens["plain", "ingest"],
            method="POST",
            headers={"Content-Type": "application/json"} | headers,
            body=b"[]",
        )
        assert answer.status == 422
        assert "GET" in answer.json["tip"]
        told: dict[str, str] = answer.json
        return told

    both = refused()
    assert both["what"] == "The headers 'Ameles-Batch' and 'Ameles-Step' are missing."
    assert both["why"]
    one = refused(**{"Ameles-Batch": "a"})
    assert one["what"] == "The header 'Ameles-Step' is missing."
    wrong = refused(**{"Ameles-Batch": "x" * 129, "Ameles-Step": "0"})
    assert wrong["what"] == (
        "The headers 'Ameles-Batch' and 'Ameles-Step' cannot be used as given."
    )
    assert "'Ameles-Batch' must be at most 128 characters long" in wrong["why"]
    assert "'Ameles-Step' must be at least 1" in wrong["why"]
    mixed = refused(**{"Ameles-Step": CANARY})
    assert mixed["what"] == (
        "The header 'Ameles-Batch' is missing. The header 'Ameles-Step' cannot be used as given."
    )
    assert "'Ameles-Step' must be a whole number" in mixed["why"]


def test_a_token_uses_few_different_first_lines(posts: Posts) -> None:
    def post(number: int, token: str) -> int:
        body = f"region,fever,x{number}\nnorth,true,1\n".encode()
        name = f"first line {number}"
        return posts.post("plain", name, body, kind="text/csv", token=token).status

    token, other = posts.token("plain", "ingest"), posts.token("plain", "ingest")
    assert [post(number, token) for number in range(MOST + 2)] == [200] * MOST + [400] * 2
    assert post(1, token) == 200, "those that it has used"
    assert post(MOST, other) == 200, "and others may use others"


def test_many_at_once_each_get_an_answer(posts: Posts) -> None:
    async def all_of_them(stream: str) -> Sequence[Answer]:
        body = json.dumps([EVENT] * 10).encode()
        return await asyncio.gather(
            *(
                posts.client.ask(
                    f"/v1/streams/{stream}/events",
                    posts.tokens[stream, "ingest"],
                    method="POST",
                    headers={
                        "Ameles-Batch": f"many {number % 40}",
                        "Ameles-Step": "1",
                        "Content-Type": "application/json",
                    },
                    body=body,
                )
                for number in range(80)
            )
        )

    before = posts.stored()
    for stream in ("plain", "sealed"):
        answers = posts.client.run(all_of_them(stream))
        assert {answer.status for answer in answers} == {200}
    assert posts.stored() == before + 40
