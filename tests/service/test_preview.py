"""``/v1/preview``: who may see which season, and positions that there are."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

import pytest

from ameles.core.token import new_token
from ameles.service.log import Log
from ameles.service.preview_service import PreviewService
from ameles.service.published import Shown
from ameles.simulate.preview.preview import Preview
from ameles.simulate.preview.released import released_season
from ameles.store import Store, open_store
from ameles.store.tokens import Scope
from tests.service.asgi import Client
from tests.service.small_service import Small, plan_of, released, small, world

DRAWS = "/v1/preview/draws"
AT = "?at=3.3"  # epsilon, and the upper bound of ages


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with closing(open_store(str(tmp_path_factory.mktemp("preview") / "s.db"))) as opened:
        yield opened


@pytest.fixture(scope="module", params=[True, False], ids=["public", "closed"])
def around(
    store: Store, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Shown:
    name = "open" if request.param else "closed"
    folder = tmp_path_factory.mktemp("around") / name
    return released(world(folder, name, public=request.param), store)


@pytest.fixture(scope="module")
def client(around: Shown, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    made = world(tmp_path_factory.mktemp("plan") / "next", "next")
    name = around.plan.stream.name
    preview = Preview(plan_of(made), made.text, {name: released_season(around.store, name)})
    pairs = [(around.plan, around.store)]
    service = PreviewService(preview, pairs, Log(io.StringIO()))
    with closing(Client(service.app)) as opened:
        yield opened


def token(around: Shown, scope: Scope) -> str:
    with small([around]) as service:
        return service.token(scope, around.plan.stream.name, made=datetime.now(UTC))


def test_anybody_may_try_the_plan_on_a_made_up_season(client: Client) -> None:
    about = client.get("/v1/preview").json
    assert [one["label"] for one in about["sliders"]] == ["epsilon", "upper bound of ages"]
    told = client.get(DRAWS + AT).json
    assert [one["name"] for one in told["releases"]] == ["visits", "ages"]
    assert "cafebabe" not in str(told)
    assert client.get("/preview").status == 200, "the page itself"


def test_a_published_season_is_for_those_who_may_read_it(client: Client, around: Shown) -> None:
    name, public = around.plan.stream.name, around.plan.serve.public
    season = f"{DRAWS}{AT}&season={name}"
    assert client.get(season).status == (200 if public else 404)
    assert client.get("/v1/preview").json["seasons"] == ["made-up", *([name] if public else [])]
    reading = client.get(season, token(around, "read"))
    assert reading.status == 200
    values = released_season(around.store, name)["visits", "north"]
    drawn = reading.json["releases"][0]["drawn"]["keys"][0]
    assert drawn["around"][: len(values)] == values
    if not public:
        others: tuple[Scope, ...] = ("ingest", "admin")
        for scope in others:
            assert client.get(season, token(around, scope)).status == 403
    for path in ("/v1/preview", DRAWS + AT, season):
        assert client.get(path, new_token()).status == 401


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?at=",
        "?at=3",
        "?at=3.3.3",
        "?at=3.99",
        "?at=x",
        "?at=3.3&size=5",
        "?at=3.3&size=-1",
        "?at=3.-3",
        "?at=3.3&season=" + "x" * 65,
    ],
)
def test_other_positions_are_refused(client: Client, query: str) -> None:
    answer = client.get(DRAWS + query)
    assert (answer.status, set(answer.json)) == (422, {"what", "why", "tip"})


def test_a_season_that_is_not_here_is_a_stream_that_is_not_here(client: Client) -> None:
    assert client.get(f"{DRAWS}{AT}&season=absent").status == 404


def test_a_service_without_a_preview_says_how_to_get_one(service: Small) -> None:
    for path in ("/v1/preview", DRAWS + AT):
        answer = service.client.get(path)
        assert (answer.status, answer.json["tip"]) == (404, "ameles preview PLAN")


def test_a_preview_follows_nothing_and_takes_no_events(client: Client, around: Shown) -> None:
    assert client.get("/readyz").status == 200
    path = f"/v1/streams/{around.plan.stream.name}"
    assert client.get(path, token(around, "read")).json["state"] == "stopped"
    headers = {"Ameles-Batch": "b", "Ameles-Step": "1", "Content-Type": "application/json"}
    asked = client.ask(
        f"{path}/events", token(around, "ingest"), method="POST", headers=headers, body=b"[]"
    )
    assert client.run(asked).status == 503
