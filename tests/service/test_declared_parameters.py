"""No address uses a request of which it understands a part."""

from __future__ import annotations

import pytest

from ameles.store.tokens import Scope
from tests.service.small_service import Small
from tests.service.test_access import PROMETHEUS, READABLE

LENIENT = {"/healthz", "/readyz", *(route for route in READABLE if PROMETHEUS in route)}
ODD = ["canary=1", "canary", "=canary", "canary&canary", "%63anary[]=", "Canary=\x00", "canary;"]


def test_a_parameter_that_a_route_does_not_have_is_refused(service: Small) -> None:
    paths = service.client.get("/openapi.json").json["paths"]
    refused, taken = set[str](), set[str]()
    for route, methods in paths.items():
        path = route.replace("{name}", "open").replace("{label}", "stream")
        scope: Scope = "ingest" if route.endswith("events") else "admin"
        token = None if scope == "admin" and "process" not in path else service.token(scope, "open")
        query = READABLE.get(route, "").removeprefix("?") + "&"
        for method in {"HEAD", *(name.upper() for name in methods)}:
            for odd in ODD:
                answer = service.client.get(f"{path}?{query}{odd}", token, method=method)
                assert b"anary" not in answer.body
                (refused if answer.status == 422 else taken).add(route)
    assert (taken, refused) == (LENIENT, set(paths) - LENIENT)


@pytest.mark.parametrize("query", ["release=visits&release=visits", "first=1&last=2&first=2"])
def test_a_parameter_comes_once(service: Small, query: str) -> None:
    answer = service.client.get(f"/v1/streams/open/releases?{query}")
    assert answer.status == 422
    assert "more than once" in answer.json["what"]


@pytest.mark.parametrize("query", ["", "&", "&&"])
def test_a_query_may_be_empty(service: Small, query: str) -> None:
    assert service.client.get(f"/v1/streams/open?{query}").status == 200
