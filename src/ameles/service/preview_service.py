"""A service that follows nothing: it shows a plan before its launch, and published seasons to draw
its noise around."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence

from starlette.types import ASGIApp

from ameles.plan.plan import Plan
from ameles.service.access import Access
from ameles.service.app import build_app
from ameles.service.ingest.answers import Closed, OpenStep
from ameles.service.ingest.door import Door
from ameles.service.log import Log
from ameles.service.published import Shown, StorePublished
from ameles.service.readout.feed import Feed
from ameles.service.run_streams import RunStreams
from ameles.service.samples import StoreSamples
from ameles.service.server import run_server
from ameles.service.views import Previews, Published, State
from ameles.store import Store


class PreviewService:
    """One preview over HTTP; the streams of ``around`` are read by those who may read them."""

    def __init__(self, previews: Previews, around: Sequence[tuple[Plan, Store]], log: Log) -> None:
        shown = [Shown(plan, store) for plan, store in around]
        self._log = log
        self._feed = Feed()
        published = StorePublished(shown, lambda name: State.STOPPED)
        idle = _Idle(published)
        self.app: ASGIApp = build_app(
            published,
            Access(shown),
            idle,
            self._feed,
            idle,
            RunStreams(shown, lambda name: None),
            StoreSamples(shown),
            log.failed,
            previews,
        )

    def run(self, opened: socket.socket, stop: threading.Event) -> None:
        """Serves until ``stop`` is set."""
        run_server(self.app, opened, self._log, stop, self._feed.close)


class _Idle:
    """Takes no events, and follows nothing that could fail."""

    starting = 0

    def __init__(self, published: Published) -> None:
        self._published = published
        self.failed: dict[str, str] = {}

    def door(self, stream: str) -> Door | None:
        return None

    def open_step(self, stream: str) -> OpenStep:
        shown = self._published.stream(stream)
        return OpenStep(step=shown.released + 1, closes=shown.next_release)

    def closed(self, stream: str) -> Closed:
        return Closed.NOT_RUNNING
