"""What routes ask for in their signatures: the stream that a request may read, and its holder.

The state of the application has a ``Published``, a ``Gate`` and a ``Health``; routes get them here.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Path, Request
from fastapi.security import HTTPBearer

from ameles.service.refusals import Problem, Refused
from ameles.service.views import (
    Gate,
    Health,
    Operations,
    Previews,
    Published,
    Right,
    Sampled,
    Scope,
    StreamView,
)

READ: frozenset[Scope] = frozenset({"read"})
READ_OR_ADMIN: frozenset[Scope] = frozenset({"read", "admin"})
ADMIN: frozenset[Scope] = frozenset({"admin"})

# For the description of the routes only: ``Gate`` reads the header itself.
BEARER = HTTPBearer(auto_error=False, description="A token of 'ameles token create'.")
REFUSALS: dict[int | str, dict[str, Any]] = {
    401: {"model": Problem, "description": "The token is unknown, expired or revoked."},
    403: {"model": Problem, "description": "The token has another scope."},
    404: {"model": Problem, "description": "Unknown, or not for this token."},
    422: {"model": Problem, "description": "A parameter cannot be used."},
    429: {"model": Problem, "description": "Too many requests; see Retry-After."},
    503: {"model": Problem, "description": "The store cannot be read now."},
}
NAME = Path(description="The name of a stream.", max_length=64)


def published(request: Request) -> Published:
    """What was published."""
    kept: Published = request.app.state.published
    return kept


def operations(request: Request) -> Operations:
    """How the streams are run."""
    kept: Operations = request.app.state.operations
    return kept


def samples(request: Request) -> Sampled:
    """Releases by time."""
    kept: Sampled = request.app.state.samples
    return kept


def previews(request: Request) -> Previews | None:
    """The plan that is previewed, if one is."""
    kept: Previews | None = request.app.state.previews
    return kept


def gate(request: Request) -> Gate:
    """Who decides what a request may do."""
    kept: Gate = request.app.state.gate
    return kept


def health(request: Request) -> Health:
    """How the followed streams are doing."""
    kept: Health = request.app.state.health
    return kept


def address(request: Request) -> str:
    """Where a request comes from: only to limit the rate of those without a token."""
    return request.client.host if request.client else ""


def authorization(request: Request) -> str | None:
    """The header with the token of a request; two such headers are joined, and then invalid."""
    given = request.headers.getlist("Authorization")
    return ", ".join(given) if given else None


def readable(request: Request, name: Annotated[str, NAME]) -> StreamView:
    """The stream of a request that may read its releases."""
    return _checked(request, name, READ)


def described(request: Request, name: Annotated[str, NAME]) -> StreamView:
    """The stream of a request that may read what is said about it."""
    return _checked(request, name, READ_OR_ADMIN)


def administered(request: Request, name: Annotated[str, NAME]) -> StreamView:
    """The stream of a request that may see how the service runs it."""
    return _checked(request, name, ADMIN)


def holder(request: Request) -> Right | None:
    """What the token of a request allows; None without a token."""
    return gate(request).right(authorization(request), address(request))


def readable_names(request: Request) -> tuple[str, ...]:
    """The streams whose releases a request may read; refused if there are none.

    That says nothing about other streams: whether some are public is known to everybody.  Streams
    whose stores are away are left out while there are others.
    """
    right = holder(request)
    names = gate(request).visible(None)
    if right is not None and right.scope == "read" and right.stream not in names:
        names = (*names, right.stream)
    if not names and right is None:
        raise Refused(
            401,
            "Nothing can be read here without a token.",
            tip="ameles token create --scope read; send it as 'Authorization: Bearer ...'",
            headers={"WWW-Authenticate": "Bearer"},
        )
    if not names:
        raise Refused(
            403,
            "This token has another scope.",
            why="the request needs the scope read",
            tip="ameles token create --scope read",
        )
    away = published(request).away
    return tuple(name for name in names if not away(name)) or names


def _checked(request: Request, name: str, scopes: frozenset[Scope]) -> StreamView:
    gate(request).check(authorization(request), address(request), name, scopes)
    return published(request).stream(name)


Source = Annotated[Published, Depends(published)]
Readable = Annotated[StreamView, Depends(readable)]
Described = Annotated[StreamView, Depends(described)]
Administered = Annotated[StreamView, Depends(administered)]
ReadableNames = Annotated[tuple[str, ...], Depends(readable_names)]
Holder = Annotated[Right | None, Depends(holder)]
