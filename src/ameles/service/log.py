"""The log of a service: one line an event, with parameters and times and nothing private.

It names streams and steps.  It has no address of a client, no header, no query, no event value and
no text of an unexpected exception.

>>> import io
>>> out = io.StringIO()
>>> Log(out, as_json=True, now=lambda: datetime(2026, 1, 3, tzinfo=UTC)).say("released", step=3)
>>> out.getvalue()
'{"at":"2026-01-03T00:00:00Z","event":"released","step":3}\\n'
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from ameles.core.exceptions import AmelesError
from ameles.service.rate_limit import RateLimit

PACKAGE = Path(__file__).parents[1]
MOST = 10  # lines a second about what anybody can cause


class Log:
    """Writes lines to a stream; every call may come from any thread."""

    def __init__(
        self,
        out: TextIO,
        *,
        as_json: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._out = out
        self._as_json = as_json
        self._now = now
        self._lock = threading.Lock()

    def say(self, event: str, **fields: Any) -> None:
        """Writes one event."""
        at = f"{self._now():%Y-%m-%dT%H:%M:%SZ}"
        if self._as_json:
            line = json.dumps({"at": at, "event": event, **fields}, separators=(",", ":"))
        else:
            line = " ".join([at, event, *(f"{name}={_text(v)}" for name, v in fields.items())])
        with self._lock:
            self._out.write(line + "\n")
            self._out.flush()

    def failed(self, problem: BaseException, **fields: Any) -> None:
        """Writes a failure: a refusal in its own words, anything else by its kind and place."""
        event = "refused" if isinstance(problem, AmelesError) else "failed"
        self.say(event, **fields, **reason(problem))

    def take_over(self, name: str) -> None:
        """Makes this log the only one of another package, by the name of its logger."""
        logger = logging.getLogger(name)
        logger.handlers = [_Templates(self)]
        logger.setLevel(logging.WARNING)
        logger.propagate = False


class _Templates(logging.Handler):
    """Passes on what another package logs, without the values that it would fill in.

    Anybody can make the web server say something, so a flood of it is logged in part.
    """

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log
        self._limit = RateLimit()
        self._left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        if self._limit.wait("", MOST):
            self._left_out += 1
            return
        fields: dict[str, Any] = {"said": str(record.msg).partition("\n")[0][:200]}
        if record.exc_info and record.exc_info[0] is not None:
            fields = {"kind": record.exc_info[0].__name__}
        if self._left_out:
            fields["left_out"] = self._left_out
        self._left_out = 0
        self._log.say("server", level=record.levelname.lower(), **fields)


def reason(problem: BaseException) -> dict[str, str]:
    """What may be said about a failure, by field.

    >>> reason(ZeroDivisionError("7 events by 0"))
    {'kind': 'ZeroDivisionError'}
    """
    if isinstance(problem, AmelesError):
        words = {"what": problem.what, "why": problem.why, "tip": problem.tip}
    else:
        words = {"kind": type(problem).__name__, "place": _place(problem)}
    return {name: text for name, text in words.items() if text}


def _text(value: Any) -> str:
    text = str(value)
    return text if text and not any(c.isspace() or c in '"=' for c in text) else json.dumps(text)


def _place(problem: BaseException) -> str:
    """The last line of this package that an exception went through."""
    place, trace = "", problem.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(PACKAGE):
            place = f"{file.relative_to(PACKAGE)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
