"""Bad requests are refused without a server error, a change or a leak; 100,000 of them with
``./run bench bad_requests``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.asgi import Answer
from tests.service.bad_requests import BadRequests
from tests.service.small_service import CANARY, Small, reading_door, three_streams


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bad")


@pytest.fixture(scope="module")
def small(folder: Path) -> Iterator[Small]:
    with three_streams(folder) as made:
        made.doors.doors = {"open": reading_door(folder), "closed": reading_door(folder)}
        yield made


@pytest.fixture(scope="module")
def requests(small: Small, folder: Path) -> BadRequests:
    return BadRequests(small, [folder / "both.db", folder / "apart.db"])


def test_nothing_gets_past(requests: BadRequests) -> None:
    assert requests.send(120) == []
    assert requests.methods.total() == 120
    assert requests.changes() == []


def told(name: str) -> Any:
    """A mistake: what a description would say."""
    return {"words": [name], "releases": []}


@pytest.mark.parametrize(
    ("mistake", "found"),
    [
        (lambda *given: told(f"{CANARY}1"), "a secret"),
        (lambda *given: told('like "closed"'), "the hidden stream 'closed'"),
        (lambda *given: 1 // 0, "status 500"),
        (lambda *given: 1 // 0, "ZeroDivisionError in the log"),
    ],
)
def test_mistakes_are_noticed(
    requests: BadRequests, small: Small, monkeypatch: pytest.MonkeyPatch, mistake: Any, found: str
) -> None:
    route = "/v1/streams/{name}"
    assert requests.ask(route, name="open") == []
    app: Any = small.client.app
    monkeypatch.setattr(app.state.published, "description", mistake)
    assert any(found in one for one in requests.ask(route, name="open"))


@pytest.mark.parametrize(
    ("status", "content", "found"),
    [
        (200, {"alive": "yes"}, "JsonSchemaError"),
        (200, {"alive": True, "since": 3}, "JsonSchemaError"),
        (202, {"alive": True}, "UndefinedStatusCode"),
        (200, None, "UndefinedContentType"),
    ],
)
def test_answers_that_are_not_described_are_noticed(
    requests: BadRequests,
    small: Small,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    content: Any,
    found: str,
) -> None:
    async def other(path: str, token: str | None = None, **options: Any) -> Answer:
        kind = "text/plain" if content is None else "application/json"
        return Answer(status, {"content-type": kind}, [json.dumps(content).encode()])

    monkeypatch.setattr(small.client, "ask", other)
    assert any(found in one for one in requests.ask("/healthz"))


def test_a_change_is_noticed(requests: BadRequests, small: Small, folder: Path) -> None:
    small.token("read")
    assert requests.changes() == [str(folder / "both.db")]
