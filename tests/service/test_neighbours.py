"""Two services over neighbouring events: nothing that anybody may ask shows more than releases do.

Without noise, and with events that change no released number, every answer is the same to the byte.
An event that changes numbers changes these numbers and nothing else.
"""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from pathlib import Path

import pytest

from ameles.engine.engine import Engine
from ameles.noise import Zero
from ameles.service.published import Shown
from ameles.store import open_store
from ameles.store.tokens import Scope
from tests.engine.worlds import day, row
from tests.service.small_service import described, plan_of, small, world
from tests.service.test_access import ALLOWED, QUERIES, READABLE, WITHOUT_STREAM

Answers = dict[tuple[str, str], tuple[int, str, str]]  # by scope and address
SCOPES: tuple[Scope | None, ...] = ("read", "admin", "ingest", None)
EVENTS = [row(n, f"u{n}", age=20 + n) for n in range(1, 6)]
UNSEEN = ["broken,,,", row(7, "later", age=3), row(1, "early").replace("2026-", "2025-")]
ASKED = [
    *(route.replace("{name}", "open") + QUERIES.get(route, "") for route in ALLOWED),
    "/v1/streams/open/releases?format=csv&release=visits",
    "/v1/streams/open/releases?format=series&last=3",
    "/v1/streams/open/releases?key=absent",
    "/v1/streams/open/explain?release=visits&step=7",
    *WITHOUT_STREAM,
    *(route.replace("{label}", "key") + query for route, query in READABLE.items()),
    "/prometheus/api/v1/query?query=ameles_release_value&time=1767400000",
    "/prometheus/api/v1/query?query=ameles_release_value%5B1d%5D",
]
# What is drawn or measured anew for each service.
OWN = re.compile(r'\b[0-9a-f]{8}(?=\.\d+\.\d)|"(?:identity|launched|at|expires)":"[^"]*"')
NUMBERS = re.compile(
    r'("(?:value|low|high)":)(?:\[[^\]]*\]|[^,}\]]*)|(?<=\} )-?[\d.]+$|(?<=\d,")-?[\d.]+(?="\])',
    re.MULTILINE,
)
CELLS = re.compile(r"(?<=Z,)-?[\d.]+,-?[\d.]+,-?[\d.]+(?=,)")


def answers(folder: Path, events: list[str]) -> Answers:
    """What a service over these events says to everybody."""
    folder.mkdir()
    made = world(folder / "w", "open", public=True).write(events)
    with ExitStack() as stack:
        store = stack.enter_context(open_store(str(folder / "w.db")))
        plan = plan_of(made)
        Engine(plan, store, noise=Zero()).run(day(6, 0))
        service = stack.enter_context(small([described(Shown(plan, store))]))
        heard: Answers = {}
        for scope in SCOPES:
            token = scope and service.token(scope, "open")
            for path in ASKED:
                answer = service.client.get(path, token, enough=lambda pieces: len(pieces) > 1)
                kept = {name: text for name, text in answer.headers.items() if name != "etag"}
                said = answer.body.decode().replace(token[-20:] if token else "\0", "NAME")
                shown = OWN.sub("OWN", json.dumps(kept)), OWN.sub("OWN", said)
                heard[str(scope), path] = answer.status, *shown
    return heard


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return answers(tmp_path_factory.mktemp("plain") / "x", EVENTS)


def test_events_that_count_nowhere_are_seen_nowhere(tmp_path: Path, plain: Answers) -> None:
    assert answers(tmp_path / "x", EVENTS + UNSEEN) == plain
    assert {status for status, _, _ in plain.values()} >= {200, 403, 404, 503}


def without_numbers(heard: Answers) -> Answers:
    """The same, without released numbers and how long these make a text."""
    return {
        asked: (
            status,
            re.sub(r'"content-length": "\d+"', "", headers),
            CELLS.sub("N", NUMBERS.sub(r"\1N", text)),
        )
        for asked, (status, headers, text) in heard.items()
    }


def test_events_change_numbers_alone(tmp_path: Path, plain: Answers) -> None:
    other = answers(tmp_path / "x", EVENTS + [row(3, f"more{n}", age=30) for n in range(500)])
    assert other != plain
    assert without_numbers(other) == without_numbers(plain)
