"""What the routes of the service see: small public records, and the protocols of those who give
them.

Nothing here knows a store or a mechanism, so whatever imports only this can show no true value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Scope: TypeAlias = Literal["ingest", "read", "admin"]
Row: TypeAlias = tuple[Any, ...]  # in the order of ``core.release.COLUMNS``, times as text


class State(Enum):
    """What a stream is doing, in one word."""

    STARTING = "starting"  # not launched, or not resumed yet
    RUNNING = "running"
    RESTARTED = "restarted"  # running, after its state was lost at least once
    HALTED = "halted"  # running, but every release has said its last word
    STOPPED = "stopped"  # its thread has ended because the service ends
    FAILED = "failed"  # it has stopped with an error, and may be tried again
    ENDED = "ended"  # the last step is released
    RETIRED = "retired"  # its state was erased by its owner


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamView:
    """A stream as everybody with the right to read may see it."""

    name: str
    public: bool
    state: State
    identity: str | None  # None: not launched yet
    launched: datetime | None
    released: int  # the last released step, 0 before the first
    horizon: int | None
    last_release: datetime | None  # the end of the last released step
    next_release: datetime | None  # when the next one is due
    ends: datetime | None  # the end of the last step, if there is a last one
    restarts: int
    starts: datetime  # the beginning of the first step
    reason: str | None = None  # why it does not run, or why this is old


@dataclass(frozen=True, slots=True, kw_only=True)
class UserBounds:
    """How much of each user counts."""

    events: int  # in a step
    steps: int
    within: str | None  # this time; None: over the stream's life


@dataclass(frozen=True, slots=True)
class SeriesView:
    """One published series: a key of a release."""

    release: str
    key: str
    mechanism: str
    measure: str = ""
    columns: tuple[tuple[str, str], ...] = ()  # those that the key is made of, with their values


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which releases somebody asks for."""

    release: str | None = None
    key: str | None = None
    first: int = 1
    last: int | None = None
    since: datetime | None = None  # steps that begin at this time or later
    until: datetime | None = None  # steps that end by this time


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the order of releases: a step, and how many rows of it come before."""

    step: int
    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Releases in order, and where they go on."""

    rows: Sequence[Row]
    after: Place  # the place after the last row
    more: bool  # whether there are further rows now
    closed: bool  # whether this page can never get another row


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """What the holder of a valid token may do."""

    name: str
    stream: str
    scope: Scope
    expires: datetime


class Published(Protocol):
    """What was published, and texts about it; every call may come from any thread."""

    @property
    def names(self) -> tuple[str, ...]:
        """The streams of this service, by name."""

    def stream(self, name: str) -> StreamView:
        """How a stream of this service is doing; as it was last seen while its store is away."""

    def away(self, name: str) -> bool:
        """Whether the store of a stream cannot be used now."""

    def user_bounds(self, name: str) -> UserBounds | None:
        """How much of each user a stream counts; None: everything."""

    def series(self, name: str) -> tuple[SeriesView, ...]:
        """The series of a stream, in the order of its rows."""

    def page(self, name: str, wanted: Wanted, start: Place, limit: int) -> Page:
        """Up to ``limit`` releases from a place on."""

    def times(self, name: str, step: int) -> tuple[datetime, datetime]:
        """When a step begins and ends."""

    def description(self, name: str, topic: str) -> Any:
        """A stored text as plain data; None if there is none."""

    def attacker(self, name: str) -> dict[str, Any]:
        """What can be learned from this stream, and from all that its population paid for."""

    def ledger(self, name: str) -> dict[str, Any] | None:
        """What a stream has cost, and what its population has left; None before the launch."""


Column: TypeAlias = Literal["value", "low", "high", "label"]


class Sampled(Protocol):
    """Releases by time, for tools that draw numbers over time; from any thread."""

    def now(self) -> int:
        """The present, in milliseconds since 1970."""

    def current_steps(self, name: str, times: Sequence[int]) -> NDArray[np.int64]:
        """For each time, in milliseconds since 1970, the step whose releases are current then.

        A release is current from the end of its step to that of the next released one.  The last
        one is current until the next is overdue by more than the lookback.  0: there is none.
        """

    def step_ends(self, name: str, steps: Sequence[int]) -> NDArray[np.float64]:
        """When these steps end, in seconds since 1970."""

    def steps_between(self, name: str, start: int, end: int) -> tuple[int, int] | None:
        """The first and the last step that are current at some moment between two times."""

    def table(
        self, name: str, release: str, column: Column, steps: Sequence[int], keys: tuple[int, int]
    ) -> NDArray[Any]:
        """One column of a release: a row for each of these steps, a column for each of these keys,
        which are given by their first and last place.

        The steps are released, in order, and without doubles.
        """


class Operations(Protocol):
    """How the service runs its streams: for those who run it."""

    def operation(self, name: str) -> dict[str, Any]:
        """The lag, sinks, intrusions and restarts of a stream, and why it failed if it did."""


class Previews(Protocol):
    """A plan before its launch, with sliders; every call may come from any thread."""

    def about(self) -> dict[str, Any]:
        """What can be tried."""

    def at(self, places: tuple[int, ...], season: str, size: int) -> dict[str, Any]:
        """The plan at a position of its sliders, and what it might publish."""


class Gate(Protocol):
    """Decides who may do what; refuses with a ``Refused``."""

    def check(
        self, authorization: str | None, address: str, stream: str, scopes: frozenset[Scope]
    ) -> Right | None:
        """Lets a request about a stream pass, or refuses it.

        Anybody may read a public stream; the answer is then None.
        """

    def knows(self, authorization: str) -> bool:
        """Whether a check of this token looks into no store."""

    def still_allows(self, authorization: str, stream: str, scopes: frozenset[Scope]) -> bool:
        """Whether a token that let a request pass would do so now; not limited by any rate."""

    def right(self, authorization: str | None, address: str) -> Right | None:
        """What the token of a request allows; None if there is none, refused if it is invalid."""

    def visible(self, right: Right | None) -> tuple[str, ...]:
        """The streams that the holder of a right, or anybody, may know of."""


class Health(Protocol):
    """Whether the service does its work."""

    @property
    def failed(self) -> Mapping[str, str]:
        """Why the streams that have failed do not run, by name; in words that anybody may read."""

    @property
    def starting(self) -> int:
        """How many streams have not begun yet."""
