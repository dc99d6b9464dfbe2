r"""Lines about refused requests: the method, the route and the status, and nothing that was sent.

Answered requests are not logged, because a page may be read whenever an event happens; and of
posted batches only those whose token was refused.  A flood of refusals is logged in part.  If the
store fails, every request fails with it: the reason is written once a minute, so that nobody can
count batches by it.

>>> import io
>>> from datetime import UTC, datetime
>>> out = io.StringIO()
>>> requests = RequestLog(Log(out, as_json=True, now=lambda: datetime(2026, 1, 3, tzinfo=UTC)))
>>> requests.refused("GET", "/v1/streams/{name}", 404)
>>> out.getvalue()[29:]
'"event":"request","method":"GET","route":"/v1/streams/{name}","status":404}\n'
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ameles.service.log import MOST, Log, reason
from ameles.service.rate_limit import RateLimit

EVERY = 60.0  # seconds between two lines about the same failure
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestLog:
    """Writes lines about refused requests into a log; from any thread."""

    def __init__(self, log: Log, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._limit = RateLimit(clock)
        self._failures: dict[str, float] = {}  # when each was written last
        self._lock = threading.Lock()
        self._left_out = 0

    def refused(self, method: str, route: str, status: int) -> None:
        """Writes that a request was refused; ``route`` is as the OpenAPI document has it."""
        with self._lock:
            if self._limit.wait("", MOST):
                self._left_out += 1
                return
            more = {"left_out": self._left_out} if self._left_out else {}
            self._left_out = 0
        shown = method if method in METHODS else "other"
        self._log.say("request", method=shown, route=route, status=status, **more)

    def failed(self, problem: BaseException) -> None:
        """Writes why a request could not be answered, if that was not written a moment ago."""
        why = str(reason(problem))
        with self._lock:
            now = self._clock()
            recent = {one: at for one, at in self._failures.items() if now < at + EVERY}
            known = why in recent
            self._failures = recent if known else recent | {why: now}
        if not known:
            self._log.failed(problem)
