"""A parameter that a route does not have is refused: a misspelt filter would return everything."""

from __future__ import annotations

from fastapi import Request

from ameles.service.refusals import Refused


def only_declared(request: Request) -> None:
    """Refuses a request with a parameter that ``/openapi.json`` does not name for its route.

    Raises:
        Refused: if there is one; its name is not repeated, because clients choose it.
    """
    if not request.query_params:
        return
    route = request.app.openapi()["paths"][request.scope["route"].path]
    described = route[request.method.lower()].get("parameters", ())
    names = sorted(one["name"] for one in described if one["in"] == "query")
    if set(request.query_params) - set(names):
        raise Refused(
            422,
            "This address has no such parameter.",
            why="without it, the answer would be another than you asked for",
            tip=f"it takes {', '.join(names)}" if names else "it takes no parameters",
        )
