"""Why a stream failed, and whether it is tried again.

>>> from ameles.core.exceptions import StoreRefused
>>> stream_failure(StoreRefused("The disk is full."), pause=2.0, now=datetime(2026, 1, 3)).again
datetime.datetime(2026, 1, 3, 0, 0, 2)
>>> stream_failure(ZeroDivisionError("7 events by 0"), pause=2.0, now=datetime(2026, 1, 3)).what
'The stream failed for a reason that nobody expected.'
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ameles.core.exceptions import AmelesError, BudgetExceeded, PlanError

LASTING = frozenset({PlanError.exit_code, BudgetExceeded.exit_code})  # trying again changes nothing


@dataclass(frozen=True, slots=True)
class StreamFailure:
    """What may be told about a failure: no exception, because its trace may have events."""

    what: str
    why: str
    tip: str
    again: datetime | None  # when the stream is tried again, if it is


def stream_failure(problem: BaseException, pause: float, now: datetime) -> StreamFailure:
    """The failure of a stream by an exception; it is tried again after a pause, unless that would
    change nothing."""
    again = None if _lasts(problem) else now + timedelta(seconds=pause)
    if isinstance(problem, AmelesError):
        return StreamFailure(problem.what, problem.why, problem.tip, again)
    return StreamFailure(
        "The stream failed for a reason that nobody expected.",
        "the log of the service says what kind of error it was, and where",
        "",
        again,
    )


def _lasts(problem: BaseException) -> bool:
    """Whether a failure would be the same at each attempt."""
    if isinstance(problem, AmelesError):
        return problem.exit_code in LASTING
    return not isinstance(problem, Exception)
