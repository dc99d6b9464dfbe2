"""``/metrics``: the last releases of the streams that a request may read, as gauges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from fastapi import APIRouter, Depends, Request, Response

from ameles.service.dependencies import BEARER, REFUSALS, ReadableNames, Source, samples
from ameles.service.metrics.evaluation import Line, at_steps, choose
from ameles.service.metrics.exposition import OPEN, PLAIN, Metric, exposition, wants_openmetrics
from ameles.service.metrics.families import FAMILIES
from ameles.service.metrics.number_text import number_text
from ameles.service.metrics.selectors import NAME
from ameles.service.metrics.series_labels import groups_of

router = APIRouter(tags=["metrics"], dependencies=[Depends(BEARER)])
TEXTS = {form.partition(";")[0]: {"schema": {"type": "string"}} for form in (PLAIN, OPEN)}


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        **{code: REFUSALS[code] for code in (401, 403, 429, 503)},
        200: {"description": "Gauges, as 'Accept' says.", "content": TEXTS},
    },
)
def metrics(request: Request, names: ReadableNames, source: Source) -> Response:
    """The last releases of the streams that a request may read, for Prometheus."""
    groups = groups_of(source, names)
    last = {name: np.array([source.stream(name).released]) for name in names}
    lines = at_steps(samples(request), choose(groups, ()), last)
    return text_response(request, _metrics(list(lines)))


def text_response(request: Request, metrics: Iterator[Metric]) -> Response:
    """Metrics in the format that a request asks for."""
    openmetrics = wants_openmetrics(request.headers.get("Accept", ""))
    media = OPEN if openmetrics else PLAIN
    body = exposition(metrics, openmetrics=openmetrics)
    return Response(body, headers={"Content-Type": media, "Vary": "Accept, Authorization"})


def _metrics(lines: Sequence[Line]) -> Iterator[Metric]:
    by_name: dict[str, list[Line]] = {}
    for line in lines:
        by_name.setdefault(line.labels[NAME], []).append(line)
    for family in FAMILIES:
        shown = (
            (
                {name: text for name, text in line.labels.items() if name != NAME},
                number_text(number),
            )
            for line in by_name.get(family.name, ())
            for number in line.numbers.tolist()
            if number == number
        )
        yield Metric(family.name, "gauge", family.help, shown, family.unit)
