"""Posting events: ``/v1/streams/{name}/events``."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from ameles.service.declared_parameters import only_declared
from ameles.service.dependencies import BEARER, NAME, REFUSALS, address, authorization, gate
from ameles.service.ingest.answers import SAID, NotTaken, OpenStep, Taken, Untold
from ameles.service.ingest.direct_posts import LAST_STEP, LONGEST_ID
from ameles.service.ingest.posts import (
    Doors,
    Post,
    held_by,
    open_door,
    over,
    right_to_post,
    take_batch,
    with_open_step,
)
from ameles.service.ingest.unfinished import UnfinishedBodies
from ameles.service.refusals import Problem, Refused, bad_parameters
from ameles.service.views import Right


class TellingRoute(APIRoute):
    """Routes whose refusals, too, tell the open step: to those who may post to the stream."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def telling(request: Request) -> Response:
            name = str(request.path_params.get("name", ""))
            try:
                await _check_form(request, name)
                return await handle(request)
            except RequestValidationError as wrong:
                refusal = bad_parameters(wrong)
                refusal.tip = HOW_TO_POST
                refusal = await _of_parameters(request, name, refusal)
            except Refused as problem:
                refusal = problem
            raise with_open_step(refusal, name, _doors(request), posted=request.method == "POST")

        return telling


HOW_TO_POST = (
    "'Ameles-Batch': an id of your choice, new for each batch, of at most "
    f"{LONGEST_ID} characters; 'Ameles-Step': the open step, as a GET of this address tells it"
)
SINGLE = ("Ameles-Batch", "Ameles-Step", "Content-Type", "Content-Encoding")
router = APIRouter(tags=["ingest"], route_class=TellingRoute)


def _model(status: int) -> Any:
    """What a refusal has: always the open step, unless nobody knows yet who asks."""
    return NotTaken | Problem if status in (400, 429, 503) else NotTaken


@router.get(
    "/v1/streams/{name}/events",
    response_model=OpenStep,
    responses={
        **REFUSALS,
        **{code: REFUSALS[code] | {"model": Untold | Problem} for code in (422, 429, 503)},
    },
    dependencies=[Security(BEARER)],
)
async def open_step(request: Request, name: Annotated[str, NAME]) -> OpenStep:
    """The step that batches must name now."""
    doors = _doors(request)
    with held_by(await _right(request, name)):
        if not over(doors, name):
            open_door(doors, name)
    return doors.open_step(name)


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
            status: {
                "model": _model(status),
                "description": " ".join(
                    what for code, what, _, _ in SAID.values() if code == status
                ),
            }
            for status, *_ in SAID.values()
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
            max_length=LONGEST_ID,
        ),
    ],
    step: Annotated[
        int,
        Header(
            alias="Ameles-Step",
            description="The step that was open when the batch was first sent.",
            ge=1,
            le=LAST_STEP,
        ),
    ],
    content_type: Annotated[str, Header(include_in_schema=False)] = "",
    content_encoding: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Post a batch of events; it counts once, however often it is sent while its step is open."""
    post = Post(
        stream=name,
        batch=batch,
        step=step,
        authorization=authorization(request),
        address=address(request),
        content_type=content_type,
        encoding=content_encoding,
        length=request.headers.get("Content-Length", ""),
        receive=request.receive,
    )
    bodies: UnfinishedBodies = request.app.state.bodies
    answer = await take_batch(post, gate(request), _doors(request), bodies)
    return Response(answer.content, status_code=answer.status, headers=answer.headers)


def _doors(request: Request) -> Doors:
    doors: Doors = request.app.state.doors
    return doors


async def _right(request: Request, name: str) -> Right:
    return await right_to_post(gate(request), authorization(request), address(request), name)


async def _check_form(request: Request, name: str) -> None:
    """Refuses a query, and headers of which only one would be used."""
    try:
        only_declared(request)
        twice = [header for header in SINGLE if len(request.headers.getlist(header)) > 1]
        if twice:
            raise Refused(
                422,
                f"The header '{twice[0]}' comes more than once.",
                why="only one of its values would be used",
                tip="send it once",
            )
    except Refused as wrong:
        raise await _of_parameters(request, name, wrong) from None


async def _of_parameters(request: Request, name: str, refusal: Refused) -> Refused:
    """The refusal of parameters; those who may not post are refused for that alone."""
    try:
        refusal.holder = await _right(request, name)
    except Refused as other:
        return other
    return refusal
