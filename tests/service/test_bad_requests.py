"""Bad requests are refused without a server error, a change or a leak; 100,000 of them with
``./run bench bad_requests``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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


def sent(requests: BadRequests, count: int) -> Iterator[str]:
    """What is wrong with so many answers."""
    return (one for _ in range(count) for one in requests.send(requests.one()))


def test_nothing_gets_past(requests: BadRequests) -> None:
    assert list(sent(requests, 400)) == []
    assert requests.changes() == []


def told(name: str) -> Any:
    """A mistake: what a description would say."""
    return {"words": [name], "releases": []}


@pytest.mark.parametrize(
    ("mistake", "found"),
    [
        (lambda *given: told(f"{CANARY}1"), "a secret"),
        (lambda *given: told("zqxj") | {"guarantee": 7}, "ValidationError in the log"),
        (lambda *given: 1 // 0, "status 500"),
        (lambda *given: told('like "closed"'), "the hidden stream 'closed'"),
    ],
)
def test_mistakes_are_noticed(
    requests: BadRequests,
    small: Small,
    monkeypatch: pytest.MonkeyPatch,
    mistake: Any,
    found: str,
) -> None:
    app: Any = small.client.app
    monkeypatch.setattr(app.state.published, "description", mistake)
    assert any(found in one for one in sent(requests, 1000))


def test_a_change_is_noticed(requests: BadRequests, small: Small, folder: Path) -> None:
    small.token("read")
    assert requests.changes() == [str(folder / "both.db")]
