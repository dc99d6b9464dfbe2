"""A service: the parts of one process, put together."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Collection, Sequence

from starlette.types import ASGIApp

from ameles.engine.following.arrivals import now
from ameles.plan.clock import instant
from ameles.plan.plan import Plan
from ameles.service.access import Access
from ameles.service.app import NO_PROXIES, build_app
from ameles.service.following import Following
from ameles.service.ingest.posts import events_path
from ameles.service.log import Log
from ameles.service.proxies import TrustedProxies
from ameles.service.published import Shown, StorePublished
from ameles.service.readout.feed import Feed
from ameles.service.request_log import RequestLog
from ameles.service.run_streams import RunStreams
from ameles.service.samples import StoreSamples
from ameles.service.server import allow_open_files, run_server
from ameles.store import Store


class Service:
    """Some plans with their stores: followed, and shown over HTTP.

    ``clock`` says when steps end, in microseconds since 1970.  ``launches`` names the streams that
    may be launched; ``None``: all.
    """

    def __init__(
        self,
        plans: Sequence[tuple[Plan, Store]],
        log: Log,
        *,
        clock: Callable[[], int] = now,
        proxies: TrustedProxies = NO_PROXIES,
        launches: Collection[str] | None = None,
    ) -> None:
        shown = [Shown(plan, store) for plan, store in plans]
        self._log = log
        self._feed = Feed()
        requests = RequestLog(log)
        self.following = Following(shown, log, self._feed.tell, clock, launches)
        self.app: ASGIApp = build_app(
            StorePublished(shown, self.following.doing, reason=self.following.reason),
            Access(shown),
            self.following,
            self._feed,
            self.following,
            RunStreams(
                shown, self.following.failure, lambda: instant(clock()), self.following.queue
            ),
            StoreSamples(shown, lambda: instant(clock())),
            requests.failed,
            proxies=proxies,
            refused=requests.refused,
        )
        self._sealed = frozenset(
            events_path(one.plan.stream.name)
            for one in shown
            if one.plan.stream.source_kind.needs_service and one.plan.privacy.intrusions != "none"
        )

    def run(self, opened: socket.socket, stop: threading.Event) -> int:
        """Follows and serves until ``stop`` is set; returns how many streams have failed.

        The server ends first, so that requests under way still meet the threads that answer them.
        """
        allow_open_files()  # before anything is opened
        self.following.start()
        try:
            run_server(self.app, opened, self._log, stop, self._feed.close, self._sealed)
        finally:
            self.following.stop()
        return len(self.following.failed)
