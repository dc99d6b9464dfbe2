"""``/v1/preview``: a plan before its launch, at the positions of some sliders.

It is shown by ``ameles preview`` alone.  The season is made up, or it is that of a published stream
of the same process, and then only for those who may read that stream.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field

from ameles.service.dependencies import (
    BEARER,
    READ,
    REFUSALS,
    Holder,
    address,
    authorization,
    gate,
    previews,
)
from ameles.service.refusals import Problem, Refused
from ameles.service.views import Previews

MADE_UP = "made-up"

router = APIRouter(tags=["preview"], dependencies=[Depends(BEARER)])
REFUSED: dict[int | str, dict[str, Any]] = {
    code: REFUSALS[code] for code in (401, 403, 404, 422, 429, 503)
}


class SliderModel(BaseModel):
    """A parameter of a plan and the values that can be tried."""

    label: str
    values: list[str]
    start: int = Field(description="The place of the plan's own value.")


class PreviewModel(BaseModel):
    """What can be tried."""

    stream: str
    sliders: list[SliderModel]
    sizes: list[int] = Field(description="Made-up events in a step.")
    size: int
    seasons: list[str] = Field(description="What noise is drawn around: made up, or published.")
    steps: int


class DrawnKey(BaseModel):
    """One key of a season that might be published."""

    key: str
    around: list[float | None] = Field(description="What the noise was drawn around.")
    value: list[float | None]
    low: list[float | None]
    high: list[float | None]
    label: list[str]


class Drawn(BaseModel):
    """Draws of one release, from the first step on."""

    keys: list[DrawnKey]
    left_out: int = Field(description="How many further keys there are.")


class PreviewRelease(BaseModel):
    """One release of the plan at this position."""

    name: str
    measure: str
    over: str
    mechanism: str
    why: str
    loss: dict[str, str]
    half_width_of: str
    undrawn: str = Field("", description="Why nothing is drawn, if keys are discovered.")
    steps: list[int]
    half_widths: list[float | None]
    drawn: Drawn | None = Field(description="Null if nothing can be drawn around this season.")


class PreviewDraws(BaseModel):
    """A plan at a position of its sliders, and what it might publish."""

    text: str = Field(description="The plan that results.")
    words: list[str]
    releases: list[PreviewRelease]
    problem: Problem | None = Field(description="Why there can be no such plan.")


@router.get("/v1/preview", response_model=PreviewModel, responses=REFUSED)
def preview(request: Request, right: Holder) -> Any:
    """The sliders of the plan, if this process previews one."""
    about = _shown(request).about()
    visible = gate(request).visible(right)
    seasons = [one for one in about["seasons"] if one == MADE_UP or one in visible]
    return {**about, "seasons": seasons}


@router.get("/v1/preview/draws", response_model=PreviewDraws, responses=REFUSED)
def draws(
    request: Request,
    right: Holder,
    at: Annotated[
        str,
        Query(
            pattern=r"^([0-9]{1,2}(\.[0-9]{1,2}){0,15})?$", description="A place of each slider."
        ),
    ],
    season: Annotated[str, Query(max_length=64)] = MADE_UP,
    size: Annotated[int, Query(ge=0, le=99)] = 0,
) -> Any:
    """The plan at a position of its sliders, and a season that it might publish."""
    shown = _shown(request)
    if season != MADE_UP:
        given = authorization(request), address(request)
        gate(request).check(*given, season, READ)
    about, places = shown.about(), tuple(int(place) for place in at.split(".") if place)
    known = [len(slider["values"]) for slider in about["sliders"]]
    if (
        len(places) != len(known)
        or any(place >= values for place, values in zip(places, known, strict=True))
        or size >= len(about["sizes"])
        or season not in about["seasons"]
    ):
        raise Refused(
            422,
            "The sliders have no such position.",
            why="'at' has a place of each slider, counted from 0",
            tip="GET /v1/preview lists the sliders",
        )
    return shown.at(places, season, size)


def _shown(request: Request) -> Previews:
    shown = previews(request)
    if shown is None:
        raise Refused(
            404,
            "No plan is previewed here.",
            why="ameles serve shows streams, and another command shows a plan before its launch",
            tip="ameles preview PLAN",
        )
    return shown
