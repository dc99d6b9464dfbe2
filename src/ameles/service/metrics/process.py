"""``/metrics/process``: how the process and one stream are doing, for those who run the stream.

Nothing here counts events or batches.  Whoever scrapes it may show it to others, so the queue is in
quarters, memory in MiB and processor time in seconds.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Depends, Request, Response

from ameles.service.dependencies import BEARER, REFUSALS, Holder, Source, operations
from ameles.service.metrics.answer_counts import AnswerCounts
from ameles.service.metrics.exposition import Metric
from ameles.service.metrics.number_text import number_text
from ameles.service.metrics.scrape import TEXTS, text_response
from ameles.service.refusals import Refused
from ameles.service.views import State, StreamView

MIB = 1 << 20
STARTED = time.time()

router = APIRouter(tags=["metrics"], dependencies=[Depends(BEARER)])


@router.get(
    "/metrics/process",
    response_class=Response,
    responses={
        **{code: REFUSALS[code] for code in (401, 403, 429, 503)},
        200: {"description": "Gauges and counters, as 'Accept' says.", "content": TEXTS},
    },
)
def process(request: Request, right: Holder, source: Source) -> Response:
    """How the process and the stream of a token of the scope admin are doing."""
    if right is None:
        raise Refused(
            401,
            "This needs a token of the scope admin.",
            tip="ameles token create --scope admin; send it as 'Authorization: Bearer ...'",
            headers={"WWW-Authenticate": "Bearer"},
        )
    if right.scope != "admin":
        raise Refused(
            403,
            "This token has another scope.",
            why="the request needs the scope admin",
            tip="ameles token create --scope admin",
        )
    counts: AnswerCounts = request.app.state.answers
    stream = source.stream(right.stream)
    told = operations(request).operation(right.stream)
    return text_response(request, _all(stream, told, counts))


def _all(stream: StreamView, told: dict[str, Any], counts: AnswerCounts) -> Iterator[Metric]:
    yield from _of_process()
    answers = [({"class": kind}, str(count)) for kind, count in counts.rough().items()]
    yield Metric(
        "ameles_http_responses_total",
        "counter",
        "Answers by class, without those to posted batches; all but 5xx in hundreds.",
        answers,
    )
    yield from _of_stream(stream, told)


def _of_process() -> Iterator[Metric]:
    """The names are those that Prometheus has for every process."""

    def gauge(name: str, about: str, number: float, unit: str = "") -> Metric:
        return Metric(name, "gauge", about, [({}, number_text(float(number)))], unit)

    version = {"version": metadata.version("ameles")}
    yield Metric("ameles_build_info", "gauge", "The version of Ameles.", [(version, "1")])
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime)
    about = "Processor time, in whole seconds."
    yield Metric("process_cpu_seconds_total", "counter", about, [({}, str(seconds))], "seconds")
    memory = _resident(used.ru_maxrss) // MIB * MIB
    yield gauge("process_resident_memory_bytes", "Memory, in whole MiB.", memory, "bytes")
    yield gauge("process_start_time_seconds", "When it started.", int(STARTED), "seconds")
    with suppress(OSError):
        opened = len(os.listdir("/dev/fd"))
        yield gauge("process_open_fds", "Open files and connections.", opened)
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield gauge("process_max_fds", "How many may be open.", most)


def _resident(most: int) -> int:
    """The memory of the process; where the system does not say, the most that it ever had."""
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize()
    return most * (1 if sys.platform == "darwin" else 1024)


def _of_stream(stream: StreamView, told: dict[str, Any]) -> Iterator[Metric]:
    own = {"stream": stream.name}
    states = [({**own, "state": one.value}, str(int(one is stream.state))) for one in State]
    yield Metric("ameles_stream_state", "gauge", "1 for the state of the stream.", states)
    lag = [(own, str(told["lag"]))]
    yield Metric("ameles_stream_lag_steps", "gauge", "Steps that are due, not released.", lag)
    sinks = [
        ({**own, "sink": sink["sink"]}, str(sink["behind"]))
        for sink in told["sinks"]
        if sink["behind"] is not None
    ]
    yield Metric("ameles_sink_lag_steps", "gauge", "Steps that a sink does not have yet.", sinks)
    wrong = [
        ({**own, "sink": sink["sink"]}, str(int(sink["problem"] is not None)))
        for sink in told["sinks"]
    ]
    yield Metric("ameles_sink_failing", "gauge", "1 if a sink cannot be written.", wrong)
    if told["queue"] is not None:
        fill = [(own, number_text(told["queue"]))]
        about = "How full the queue of posted batches is, in quarters."
        yield Metric("ameles_ingest_queue_ratio", "gauge", about, fill, "ratio")
