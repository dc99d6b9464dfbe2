"""What else Grafana asks of a Prometheus: labels, their values, series, and what answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from typing import Any

from fastapi import APIRouter, Depends, Request, Response

from ameles.service.dependencies import BEARER, ReadableNames, Source, samples
from ameles.service.metrics.both_methods import get_and_post
from ameles.service.metrics.evaluation import MOST_NUMBERS, Chosen, check_series, choose
from ameles.service.metrics.families import FAMILIES
from ameles.service.metrics.like import LIKE
from ameles.service.metrics.models import RESPONSES, BuildInfo, Metadata, Names, SeriesNames
from ameles.service.metrics.parameters import Asked, Parameters, described
from ameles.service.metrics.query import PREFIX
from ameles.service.metrics.refusals import QueryRefused
from ameles.service.metrics.selectors import LABEL, NAME, read_selector
from ameles.service.metrics.series_labels import groups_of
from ameles.service.views import Sampled

MOST_WORDS = MOST_NUMBERS // 10  # labels that are read: those of the last steps

router = APIRouter(tags=["prometheus"], prefix=PREFIX, dependencies=[Depends(BEARER)])
_ASKED = ("match[]", "start", "end", "limit")


@get_and_post(router, "/labels", Names, *_ASKED)
def labels(request: Request, names: ReadableNames, source: Source, asked: Asked) -> Response:
    """The names of all labels."""
    found = {name for one in _series(request, names, source, asked) for name in one}
    return _answer(sorted(found), asked)


@router.get(
    "/label/{label}/values",
    response_model=Names,
    responses=RESPONSES,
    openapi_extra=described(*_ASKED),
)
def label_values(
    request: Request, label: str, names: ReadableNames, source: Source, asked: Asked
) -> Response:
    """The values of a label."""
    if not LABEL.fullmatch(label):
        raise QueryRefused("This cannot be the name of a label.")
    series = _series(request, names, source, asked)
    return _answer(sorted({one[label] for one in series if label in one}), asked)


@get_and_post(router, "/series", SeriesNames, *_ASKED, required=frozenset({"match[]"}))
def series(request: Request, names: ReadableNames, source: Source, asked: Asked) -> Response:
    """The series that selectors choose, by their labels."""
    if not asked.all("match[]"):
        raise QueryRefused("'match[]' is missing.")
    found = {tuple(sorted(one.items())): one for one in _series(request, names, source, asked)}
    return _answer([found[key] for key in sorted(found)], asked)


@router.get(
    "/metadata",
    response_model=Metadata,
    responses=RESPONSES,
    openapi_extra=described("metric", "limit"),
)
def about_metrics(names: ReadableNames, asked: Asked) -> Response:
    """What the metrics are."""
    wanted, limit = asked.first("metric"), asked.limit()
    known = {
        family.name: [{"type": "gauge", "help": family.help, "unit": family.unit}]
        for family in FAMILIES
        if wanted in ("", family.name)
    }
    return _json(dict(list(known.items())[:limit]))


@router.get("/status/buildinfo", response_model=BuildInfo, responses=RESPONSES)
def buildinfo(names: ReadableNames) -> Response:
    """What answers here, and which version of Prometheus it is like."""
    ours = metadata.version("ameles")
    told = {"version": LIKE, "revision": ours, "branch": "ameles", "buildUser": "ameles"}
    return _json({**told, "buildDate": "", "goVersion": ""})


def _series(
    request: Request, names: Sequence[str], source: Source, asked: Parameters
) -> Iterator[dict[str, str]]:
    """The labels of all series that some selector chooses and that have numbers in a range."""
    start, end = asked.range
    selectors = [read_selector(text) for text in asked.all("match[]")]
    groups = groups_of(source, names)
    chosen = [one for matchers in selectors or [()] for one in choose(groups, matchers)]
    check_series(chosen)
    seen = samples(request)
    between = {
        name: seen.steps_between(name, start, end)
        for name in dict.fromkeys(one.group.stream for one in chosen)
    }
    for one in chosen:
        steps = between[one.group.stream]
        if steps is not None:
            yield from _labels(seen, one, *steps)


def _labels(seen: Sampled, one: Chosen, first: int, last: int) -> Iterator[dict[str, str]]:
    named = [{NAME: one.family.name, **one.group.labels[place]} for place in one.places]
    if one.split is None:
        yield from named
        return
    keys = one.places[0], one.places[-1]
    most = max(1, MOST_WORDS // (keys[1] - keys[0] + 1))
    steps = range(max(first, last - most + 1), last + 1)
    words = seen.table(one.group.stream, one.group.release, "label", steps, keys)
    for labels, place in zip(named, one.places, strict=True):
        left: Iterable[str] = set(words[:, place - keys[0]].tolist()) - {""}
        for matcher in one.later:
            left = matcher.accepted(left)
        yield from ({**labels, one.split: word} for word in left)


def _answer(found: Sequence[Any], asked: Parameters) -> Response:
    return _json(found[: asked.limit()])


def _json(data: Any) -> Response:
    return Response(
        json.dumps({"status": "success", "data": data}).encode(), media_type="application/json"
    )
