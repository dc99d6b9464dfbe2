"""``/v1/streams``: the streams of this service, what they promise, and how they are doing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Depends, Request

from ameles.service.dependencies import BEARER, REFUSALS, Described, Holder, Source, gate
from ameles.service.readout.models import Me, StreamModel, Streams
from ameles.service.views import SeriesView, StreamView

router = APIRouter(tags=["streams"], dependencies=[Depends(BEARER)])
LIMITED: dict[int | str, dict[str, Any]] = {code: REFUSALS[code] for code in (401, 429, 503)}


@router.get("/v1/streams", response_model=Streams, responses=LIMITED)
def streams(request: Request, right: Holder, source: Source) -> Any:
    """The streams that a request may see: public ones, and that of its token."""
    names = gate(request).visible(right)
    return {"streams": [summary(source.stream(name)) for name in names]}


@router.get("/v1/streams/{name}", response_model=StreamModel, responses=REFUSALS)
def stream(stream: Described, source: Source) -> Any:
    """The plan of a stream in words, its guarantee, and its next release."""
    away = source.away(stream.name)
    about = {} if away else source.description(stream.name, "plan") or {}
    lines = () if away else source.series(stream.name)
    return {
        **summary(stream),
        "words": about.get("words", []),
        **{name: about.get(name) for name in _TOLD},
        "user_bounds": source.user_bounds(stream.name),
        "releases": _releases(lines, about.get("releases", [])),
    }


_TOLD = ("guarantee", "population", "unit", "every", "zone", "loss", "posterior")


@router.get("/v1/me", response_model=Me, responses=LIMITED)
def me(right: Holder) -> Any:
    """What the token of this request may do."""
    if right is None:
        return {}
    return {"token": right.name, **{name: getattr(right, name) for name in _HELD}}


_HELD = ("stream", "scope", "expires")


def summary(stream: StreamView) -> dict[str, Any]:
    """A stream as plain data."""
    return {name: value for name, value in asdict(stream).items() if name != "identity"}


def _releases(lines: tuple[SeriesView, ...], told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What each release shows, with its keys."""
    known = {one["name"]: one for one in told}
    # a release whose keys are to be discovered may have none yet
    waiting = [one for one in told if one.get("discovered") is not None]
    keys: dict[str, list[str]] = {one["name"]: [] for one in waiting}
    mechanisms: dict[str, str] = {one["name"]: one["mechanism"] for one in waiting}
    for line in lines:
        keys.setdefault(line.release, []).append(line.key)
        mechanisms[line.release] = line.mechanism
    return [
        {**known.get(name, {}), "name": name, "keys": keys[name], "mechanism": mechanisms[name]}
        for name in sorted(keys, key=lambda name: [*known, name].index(name))
    ]
