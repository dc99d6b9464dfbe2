"""Answers by the class of their status, for those who run the service.

Posted batches are not counted: one batch may be one event.  What readers get is counted in
hundreds, because a page may be read whenever an event happens.  Failures are counted exactly.
"""

from __future__ import annotations

import threading
from collections import Counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

POSTED = "/events"  # the end of the addresses of posted batches
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
    """Counts the answers of an application, apart from those to posted batches."""

    def __init__(self, app: ASGIApp, counts: AnswerCounts) -> None:
        self._app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].endswith(POSTED):
            await self._app(scope, receive, send)
            return

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._counts.add(message["status"])
            await send(message)

        await self._app(scope, receive, counted)
