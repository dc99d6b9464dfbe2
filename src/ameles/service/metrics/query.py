"""``query`` and ``query_range`` of the API of Prometheus, over all that was ever released."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

import numpy as np
from fastapi import APIRouter, Depends, Request, Response
from numpy.typing import NDArray

from ameles.service.dependencies import BEARER, ReadableNames, Source, samples
from ameles.service.metrics.both_methods import get_and_post
from ameles.service.metrics.evaluation import Line, choose, evaluate
from ameles.service.metrics.models import QueryAnswer
from ameles.service.metrics.number_text import number_text, time_text
from ameles.service.metrics.parameters import Asked, Parameters
from ameles.service.metrics.query_times import duration
from ameles.service.metrics.refusals import QueryRefused
from ameles.service.metrics.selectors import read_selector
from ameles.service.metrics.series_labels import groups_of

PREFIX = "/prometheus/api/v1"
MOST_POINTS = 11_000
_HEALTH_CHECK = re.compile(r"\s*1\s*\+\s*1\s*")  # Grafana asks it of a new data source

router = APIRouter(tags=["prometheus"], prefix=PREFIX, dependencies=[Depends(BEARER)])
_AT, _RANGE = ("query", "time"), ("query", "start", "end", "step")


@get_and_post(router, "/query", QueryAnswer, *_AT, required=frozenset({"query"}))
def query(request: Request, names: ReadableNames, source: Source, asked: Asked) -> Response:
    """The series that a selector chooses, at one moment."""
    now = samples(request).now()
    at = asked.moment("time", now)
    if _HEALTH_CHECK.fullmatch(asked.first("query")):
        return _answer("scalar", f'{time_text(at)},"2"')
    lines = _lines(request, names, source, asked, [at])
    return _answer("vector", ",".join(_points(lines, [at], "value")))


@get_and_post(router, "/query_range", QueryAnswer, *_RANGE, required=frozenset(_RANGE))
def query_range(request: Request, names: ReadableNames, source: Source, asked: Asked) -> Response:
    """The series that a selector chooses, at equally distant moments."""
    times = _moments(asked)
    if _HEALTH_CHECK.fullmatch(asked.first("query")):
        twos = ",".join(f'[{time_text(at)},"2"]' for at in times)
        return _answer("matrix", f'{{"metric":{{}},"values":[{twos}]}}')
    lines = _lines(request, names, source, asked, times)
    return _answer("matrix", ",".join(_points(lines, times, "values")))


def _moments(asked: Parameters) -> list[int]:
    missing = [name for name in ("start", "end", "step") if not asked.first(name)]
    if missing:
        raise QueryRefused(f"'{missing[0]}' is missing.")
    start, end = asked.range
    step = duration(asked.first("step"))
    if end < start:
        raise QueryRefused("'end' must not be before 'start'.")
    if (end - start) // step > MOST_POINTS:
        raise QueryRefused(f"A query may have {MOST_POINTS:,} points: ask with a longer step.")
    return list(range(start, end + 1, step))


def _lines(
    request: Request, names: Sequence[str], source: Source, asked: Parameters, times: list[int]
) -> list[Line]:
    """The series in the order of their labels, as Prometheus has them."""
    matchers = read_selector(asked.first("query"))
    chosen = choose(groups_of(source, names), matchers)
    lines = evaluate(samples(request), chosen, times)
    return sorted(lines, key=lambda line: sorted(line.labels.items()))


def _points(lines: Iterable[Line], times: Sequence[int], name: str) -> Iterable[str]:
    """Each series that has a number, with its moments and numbers."""
    moments = [f'[{time_text(at)},"' for at in times]
    for line in lines:
        pairs = _pairs(line.numbers, line.seen, moments)
        if pairs:
            shown = pairs[0] if name == "value" else f"[{','.join(pairs)}]"
            yield f'{{"metric":{json.dumps(line.labels)},"{name}":{shown}}}'


def _pairs(
    numbers: NDArray[np.float64], seen: NDArray[np.int64], moments: Sequence[str]
) -> list[str]:
    """Each number is written once, however many moments see it."""
    texts = [number_text(number) + '"]' if number == number else "" for number in numbers.tolist()]
    there = np.flatnonzero((seen >= 0) & ~np.isnan(numbers)[seen])
    return [
        moments[at] + texts[step]
        for at, step in zip(there.tolist(), seen[there].tolist(), strict=True)
    ]


def _answer(kind: str, result: str) -> Response:
    data = f'{{"status":"success","data":{{"resultType":"{kind}","result":[{result}]}}}}'
    return Response(data.encode(), media_type="application/json")
