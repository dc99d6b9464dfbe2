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

from ameles.core.exceptions import (
    AmelesError,
    BudgetExceeded,
    NotLaunched,
    PlanError,
    SourceUnreadable,
    StoreRefused,
)
from ameles.store import StreamInUse

LASTING = frozenset({PlanError.exit_code, BudgetExceeded.exit_code})  # trying again changes nothing
AWAY = "its store cannot be used now"
_REASONS: tuple[tuple[type[AmelesError], str], ...] = (  # the first that fits
    (NotLaunched, "it waits for its launch"),
    (StreamInUse, "another process runs it"),
    (StoreRefused, AWAY),
    (SourceUnreadable, "its source cannot be read now"),
    (BudgetExceeded, "its budget is refused"),
    (AmelesError, "its plan, or something that it needs, is refused"),
)


@dataclass(frozen=True, slots=True)
class StreamFailure:
    """What may be told about a failure: no exception, because its trace may have events."""

    what: str
    why: str
    tip: str
    again: datetime | None  # when the stream is tried again, if it is
    reason: str = ""  # the kind of failure, in words that name no place and no person


def stream_failure(problem: BaseException, pause: float, now: datetime) -> StreamFailure:
    """The failure of a stream by an exception; it is tried again after a pause, unless that would
    change nothing."""
    again = None if _lasts(problem) else now + timedelta(seconds=pause)
    if isinstance(problem, AmelesError):
        reason = next(words for kind, words in _REASONS if isinstance(problem, kind))
        return StreamFailure(problem.what, problem.why, problem.tip, again, reason)
    return StreamFailure(
        "The stream failed for a reason that nobody expected.",
        "the log of the service says what kind of error it was, and where",
        "",
        again,
        "nobody expected its failure",
    )


def _lasts(problem: BaseException) -> bool:
    """Whether a failure would be the same at each attempt."""
    if isinstance(problem, AmelesError):
        # somebody may launch a stream that waits for it
        return problem.exit_code in LASTING and not isinstance(problem, NotLaunched)
    return not isinstance(problem, Exception)
