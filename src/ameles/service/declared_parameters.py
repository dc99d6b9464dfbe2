"""A parameter that a route does not have is refused: a misspelt filter would return everything.

So is one that comes twice, because only one of its values would be used.  The addresses of others'
protocols take what they do not know, as those protocols want it: ``/prometheus``, health checks,
and the page, whose parameters are read in the browser.
"""

from __future__ import annotations

from fastapi import Request
from fastapi.openapi.utils import get_openapi

from ameles.service.refusals import Refused


def only_declared(request: Request) -> None:
    """Refuses a request with a parameter that ``/openapi.json`` does not name for its route.

    Raises:
        Refused: if there is one; its name is not repeated, because clients choose it.
    """
    given = [name for name, _ in request.query_params.multi_items()]
    if not given:
        return
    names = _declared(request)
    if set(given) - set(names):
        raise Refused(
            422,
            "This address has no such parameter.",
            why="without it, the answer would be another than you asked for",
            tip=f"it takes {', '.join(names)}" if names else "it takes no parameters",
        )
    twice = sorted(name for name in names if given.count(name) > 1)
    if twice:
        raise Refused(
            422,
            f"The parameter '{twice[0]}' comes more than once.",
            why="only one of its values would be used",
            tip="one request for each value",
        )


def _declared(request: Request) -> list[str]:
    """The parameters of a route, described at its first request: all routes take a quarter of a
    second."""
    route, method = request.scope["route"], request.method.lower()
    known: dict[tuple[str, str], list[str]] = request.app.state.parameters
    if (route.path, method) not in known:
        described = get_openapi(title="", version="", routes=[route])["paths"][route.path]
        parameters = described[method].get("parameters", ())
        queries = sorted(one["name"] for one in parameters if one["in"] == "query")
        known[route.path, method] = queries
    return known[route.path, method]
