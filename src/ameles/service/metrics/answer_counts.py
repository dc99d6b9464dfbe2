"""Answers by the class of their status, for those who run the service.

Posted batches are not counted: one batch may be one event.  What readers get is counted in
hundreds, because a page may be read whenever an event happens.  Failures are counted exactly.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ameles.service.refusals import TOKEN_REFUSED

POSTED = "/events"  # the end of the addresses of posted batches
READY = "/readyz"
ROUGH = 100


class AnswerCounts:
    """How many answers there were; every call may come from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[int] = Counter()

    def add(self, status: int) -> None:
        """Counts an answer."""
        with self._lock:
            self._counts[status // 100] += 1

    def rough(self) -> dict[str, int]:
        """The answers by class; all but failures rounded down to hundreds.

        >>> counts = AnswerCounts()
        >>> for status in [200] * 250 + [404, 503]:
        ...     counts.add(status)
        >>> counts.rough()
        {'2xx': 200, '3xx': 0, '4xx': 0, '5xx': 1}
        """
        with self._lock:
            counts = dict(self._counts)
        shown = {f"{kind}xx": counts.get(kind, 0) // ROUGH * ROUGH for kind in (2, 3, 4)}
        return {**shown, "5xx": counts.get(5, 0)}


class CountedAnswers:
    """Counts the answers of an application, apart from those to posted batches.

    ``refused`` is told the method, the route and the status of a request that was refused; of
    posted batches only if their token was.
    """

    def __init__(
        self, app: ASGIApp, counts: AnswerCounts, refused: Callable[[str, str, int], None]
    ) -> None:
        self._app = app
        self._counts = counts
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        posted = scope["path"].endswith(POSTED)

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                status = message["status"]
                if not posted:
                    self._counts.add(status)
                ready = scope["path"] == READY  # where 503 is an answer like others
                if status >= 400 and not ready and (not posted or status in TOKEN_REFUSED):
                    self._refused(scope["method"], _route(scope, posted=posted), status)
            await send(message)

        await self._app(scope, receive, counted)


def _route(scope: Scope, *, posted: bool) -> str:
    """The pattern of an address, in which nothing is what somebody sent."""
    route = scope.get("route")
    short = "/v1/streams/{name}/events" if posted else "unknown"  # these pass by the routes
    return str(getattr(route, "path", short))
