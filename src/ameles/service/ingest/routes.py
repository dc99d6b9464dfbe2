"""Posting events: ``/v1/streams/{name}/events``."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any, Literal, Protocol

from fastapi import APIRouter, Header, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import ClientDisconnect

from ameles.connectors.http_source import Batch, Outcome
from ameles.service.dependencies import BEARER, NAME, REFUSALS, address, gate
from ameles.service.ingest.door import Door
from ameles.service.ingest.framing import MOST_BYTES, framed, too_large
from ameles.service.ingest.unfinished import UnfinishedBodies
from ameles.service.refusals import Problem, Refused, bad_parameters
from ameles.service.views import Right, Scope

INGEST: frozenset[Scope] = frozenset({"ingest"})
DIGEST = 16


class TellingRoute(APIRoute):
    """Routes whose refusals, too, tell the open step: to those who may post to the stream.

    Nobody else learns from a refusal whether there is such a stream.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def telling(request: Request) -> Response:
            name = str(request.path_params.get("name", ""))
            try:
                return await handle(request)
            except RequestValidationError as wrong:
                refusal = _of_parameters(request, name, wrong)
            except Refused as problem:
                refusal = problem
            holder = refusal.holder or getattr(request.state, "holder", None)
            if holder is not None and holder.stream == name and holder.scope in INGEST:
                refusal.more = _doors(request).open_step(name).model_dump(mode="json")
            raise refusal

        return telling


router = APIRouter(tags=["ingest"], route_class=TellingRoute)


def events_path(stream: str) -> str:
    """Where the events of a stream are posted."""
    return f"/v1/streams/{stream}/events"


class OpenStep(BaseModel):
    """The step that batches must name now, and when it closes; null if the stream has ended."""

    step: int | None
    closes: datetime | None


class Taken(OpenStep):
    """A batch whose events count."""

    outcome: Literal["counted"] = "counted"


class NotTaken(Problem, OpenStep):
    """Why a batch does not count, and which step is open."""


class Doors(Protocol):
    """The ways into the streams of a service."""

    def door(self, stream: str) -> Door | None:
        """The way into a stream; None if it takes no events over HTTP, or does not run now."""

    def open_step(self, stream: str) -> OpenStep:
        """The step of a stream that is open now."""


SAID: dict[Outcome, tuple[int, str, str, str]] = {
    Outcome.CLOSED: (
        409,
        "The batch names a step that is not open.",
        "it was not counted now; an earlier attempt without an answer may have been",
        "if there was no such attempt, send it again with the step that is open",
    ),
    Outcome.FULL: (
        429,
        "The open step takes no more batches.",
        "what a step keeps is bounded",
        "send the same batch again later; larger batches need less room",
    ),
    Outcome.ENDED: (410, "The stream has ended.", "its last step is released", "stop sending"),
    Outcome.UNKNOWN: (
        503,
        "Nobody knows whether the batch counts.",
        "the service could not store it, or is about to end",
        "send the same batch again, with the same id and step",
    ),
}


def _model(status: int) -> Any:
    """What a refusal has: always the open step, unless nobody knows yet who asks."""
    return NotTaken | Problem if status in (400, 429, 503) else NotTaken


@router.get(
    "/v1/streams/{name}/events",
    response_model=OpenStep,
    responses={
        **REFUSALS,
        **{code: REFUSALS[code] | {"model": _model(code)} for code in (429, 503)},
    },
    dependencies=[Security(BEARER)],
)
async def open_step(request: Request, name: Annotated[str, NAME]) -> OpenStep:
    """The step that batches must name now."""
    _right(request, name)
    _door(request, name)
    return _doors(request).open_step(name)


@router.post(
    "/v1/streams/{name}/events",
    response_model=Taken,
    responses={
        **{code: REFUSALS[code] for code in (401, 403, 404)},
        422: {"model": NotTaken, "description": "A parameter cannot be used."},
        **{
            code: {"model": _model(code), "description": "The body is refused as a whole."}
            for code in (400, 408, 413, 415)
        },
        **{
            status: {"model": _model(status), "description": what}
            for status, what, _, _ in SAID.values()
        },
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"type": "array", "maxItems": 1000}},
                "application/x-ndjson": {"schema": {"type": "string"}},
                "text/csv": {"schema": {"type": "string"}},
            },
        }
    },
    dependencies=[Security(BEARER)],
)
async def post_events(
    request: Request,
    name: Annotated[str, NAME],
    batch: Annotated[
        str,
        Header(
            alias="Ameles-Batch",
            description="An id of your choice, new for each batch and the same for each attempt.",
            min_length=1,
            max_length=128,
        ),
    ],
    step: Annotated[
        int,
        Header(
            alias="Ameles-Step",
            description="The step that was open when the batch was first sent.",
            ge=1,
            le=1 << 53,
        ),
    ],
    content_type: Annotated[str, Header(include_in_schema=False)] = "",
    content_encoding: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Post a batch of events; it counts once, however often it is sent while its step is open."""
    right = _right(request, name)
    door = _door(request, name)
    digest = _digest(right, batch)

    async def read() -> Batch:
        body = await _body(request, right)
        events = framed(body, content_type, content_encoding, door.source)
        return Batch(digest, step, time.time_ns() // 1000, events.form, events.lines)

    outcome = await door.take(read)
    now = _doors(request).open_step(name)
    if outcome is Outcome.COUNTED:
        return _json(200, Taken(step=now.step, closes=now.closes))
    status, what, why, tip = SAID[outcome]
    said = NotTaken(what=what, why=why, tip=tip, step=now.step, closes=now.closes)
    return _json(status, said, **({"Retry-After": "1"} if status in (429, 503) else {}))


def _of_parameters(request: Request, name: str, wrong: RequestValidationError) -> Refused:
    """The refusal of parameters; those who may not post are refused for that alone."""
    try:
        _right(request, name)
    except Refused as refusal:
        return refusal
    return bad_parameters(wrong)


def _json(status: int, said: BaseModel, **headers: str) -> JSONResponse:
    kept = {"Cache-Control": "no-store", **headers}
    return JSONResponse(said.model_dump(mode="json"), status_code=status, headers=kept)


def _right(request: Request, name: str) -> Right:
    authorization = request.headers.get("Authorization")
    right = gate(request).check(authorization, address(request), name, INGEST)
    if right is None:  # nobody posts without a token
        raise AssertionError("a gate lets nobody post without a token")
    request.state.holder = right
    return right


def _doors(request: Request) -> Doors:
    doors: Doors = request.app.state.doors
    return doors


def _door(request: Request, name: str) -> Door:
    door = _doors(request).door(name)
    if door is None:
        raise Refused(
            503,
            "This stream takes no events now.",
            why='it is not running, or its plan has another source than "http"',
            tip="try again later",
            headers={"Retry-After": "1"},
        )
    return door


def _digest(right: Right, batch: str) -> bytes:
    """What the engine knows a batch by: no holder of one token can name a batch of another."""
    return sha256(f"{len(right.name)}:{right.name}:{batch}".encode()).digest()[:DIGEST]


async def _body(request: Request, right: Right) -> bytes:
    """The body, as long as it is not too large."""
    length = request.headers.get("Content-Length", "")
    if length.isdigit() and int(length) > MOST_BYTES:
        raise too_large()
    bodies: UnfinishedBodies = request.app.state.bodies
    pieces = list[bytes]()
    stream: AsyncIterator[Any] = request.stream()
    try:
        with bodies.of(right.name) as body:
            async for piece in stream:
                pieces.append(piece)
                body.add(len(piece))
                if body.size > MOST_BYTES:
                    raise too_large()
    except ClientDisconnect:
        raise Refused(400, "The body is not whole.") from None
    return b"".join(pieces)
