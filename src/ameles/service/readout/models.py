"""The answers of the routes that read, as the OpenAPI document describes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from ameles.service.refusals import Problem
from ameles.service.views import Scope, State


class ReleaseModel(BaseModel):
    """One published number; low to high covers the privacy noise alone."""

    stream: str
    release: str
    key: str
    step: int
    start: datetime
    end: datetime
    value: int | float | None
    low: int | float | None
    high: int | float | None
    label: str
    mechanism: str
    entry: int = Field(description="The number of the ledger entry that paid for it.")


class ReleasesPage(BaseModel):
    """Releases by step and series."""

    stream: str
    next: str = Field(description="The cursor after the last row.")
    more: bool = Field(description="Whether there are further rows now.")
    releases: list[ReleaseModel]


class StepTimes(BaseModel):
    """When a step begins and ends."""

    step: int
    start: datetime
    end: datetime


class SeriesColumns(BaseModel):
    """The releases of one key, by column."""

    release: str
    key: str
    step: list[int]
    value: list[int | float | None]
    low: list[int | float | None]
    high: list[int | float | None]
    label: list[str]


class SeriesPage(BaseModel):
    """The same by column, with ``format=series``."""

    stream: str
    next: str
    more: bool
    steps: list[StepTimes]
    series: list[SeriesColumns]


class StreamSummary(BaseModel):
    """How a stream is doing."""

    name: str
    public: bool = Field(description="Whether anybody may read it.")
    state: State
    launched: datetime | None
    released: int = Field(description="The last released step, 0 before the first.")
    horizon: int | None = Field(description="The last step that there will be.")
    last_release: datetime | None = Field(description="The end of the last released step.")
    next_release: datetime | None = Field(description="When the next step is due.")
    starts: datetime = Field(description="The beginning of its first step.")
    ends: datetime | None = Field(description="The end of its last step; null: it has none.")
    restarts: int = Field(description="How often it began anew after its state was lost.")
    reason: str | None = Field(description="Why it does not run, in a few words; or null.")


class Streams(BaseModel):
    """The streams that a request may see."""

    streams: list[StreamSummary]


class ReleaseSummary(BaseModel):
    """One release of a stream: what it shows and how exact it is."""

    name: str
    keys: list[str]
    mechanism: str
    measure: str | None = None
    over: str | None = None
    why: str | None = Field(None, description="Why this mechanism.")
    loss: dict[str, str] | None = Field(None, description="What it spends, exactly.")
    half_width_of: str | None = Field(None, description="The quantity that half-widths are about.")
    steps: list[int] = Field([], description="The steps of the forecast.")
    half_widths: list[float | None] = Field([], description="Of the 95% interval at these steps.")
    discovered: str | None = Field(None, description="The column whose keys are discovered.")
    users_needed: list[int] | None = Field(
        None, description="How many users a key needs, to be discovered by these steps."
    )


class UserBoundsModel(BaseModel):
    """How much of each user counts."""

    events: int = Field(description="At most so many of one user in a step.")
    steps: int = Field(description="In at most so many steps.")
    within: str | None = Field(description="Within this time; null: over the stream's life.")


class StreamModel(StreamSummary):
    """A stream, its plan in words, its guarantee, and its releases."""

    words: list[str] = Field(description="The plan in words, for the people in the data.")
    guarantee: str | None
    population: str | None
    unit: str | None
    user_bounds: UserBoundsModel | None = Field(description="Null: all events count.")
    every: str | None
    zone: str | None
    loss: dict[str, str] | None
    posterior: list[float] | None = Field(
        description="What an attacker can believe at most, for each prior from 0% to 100%."
    )
    releases: list[ReleaseSummary]


class Explanation(BaseModel):
    """Where the numbers of one release and step come from."""

    release: str
    step: int
    measure: str
    over: str
    since: datetime = Field(description="The beginning of the time that the numbers are about.")
    until: datetime
    values: list[ReleaseModel]
    mechanism: str
    noise: str
    interval: str
    covers: str
    guarantee: str
    ledger: str
    restart: str | None = None


class LedgerEntry(BaseModel):
    """One payment of this stream."""

    number: int
    at: datetime
    on: str
    why: str
    paid: dict[str, str]
    mechanism: str


class BudgetModel(BaseModel):
    """A part of a population's budget; without a cap of its own, that of the population holds."""

    name: str
    cap: dict[str, str] | None
    spent: dict[str, str]
    left: dict[str, str] | None


class LedgerModel(BaseModel):
    """What a stream has cost, and what its population has left; exact fractions as text."""

    population: str
    unit: str
    neighbours: str
    cap: dict[str, str]
    spent: dict[str, str]
    left: dict[str, str]
    renewed: dict[str, str] = Field(description="What renewals have added to the cap.")
    rate: str = Field(description="How fast the budget is spent, in words.")
    recent: dict[str, str] = Field(description="Spent within the window.")
    window_days: float
    per_day: dict[str, str] | None = Field(description="Null before a window has passed.")
    used_up: datetime | None = Field(description="When the cap is used up, at this rate.")
    budget: BudgetModel | None = Field(description="The named budget that paid, if one did.")
    entries: list[LedgerEntry] = Field(description="Of this stream; others are in the sums.")
    renewals: list[dict[str, Any]]


class SinkModel(BaseModel):
    """How far a sink has come."""

    sink: str
    step: int | None = Field(description="The last step that it has; null if unknown.")
    behind: int | None = Field(description="How many more steps the store has.")
    problem: str | None = Field(description="Why it cannot be written.")


class Fired(BaseModel):
    """A step at whose end an alert was above its threshold."""

    step: int
    at: datetime


class AlertModel(BaseModel):
    """What an alert says now, and when it was last above its threshold."""

    release: str
    key: str
    label: str
    above: list[Fired] = Field(description="Of the last 1,000 steps, at most 100.")


class Incident(BaseModel):
    """An announced intrusion, or a restart after a lost state."""

    number: int
    at: datetime
    why: str


class Failure(Problem):
    """Why a stream does not run."""

    again: datetime | None = Field(description="When it is tried again; null if it is not.")


class Operation(StreamSummary):
    """How the service runs a stream."""

    lag: int = Field(description="How many steps are due and not released.")
    queue: float | None = Field(
        None, description="How full the queue of posted batches is, in quarters."
    )
    sinks: list[SinkModel]
    alerts: list[AlertModel]
    intrusions: list[Incident]
    restarted: list[Incident]
    problem: Failure | None = Field(description="Why the stream does not run.")


class Me(BaseModel):
    """What a token may do; all null without one."""

    token: str | None = None
    stream: str | None = None
    scope: Scope | None = None
    expires: datetime | None = None


class Alive(BaseModel):
    """The process answers."""

    alive: bool = True


class FailedStream(BaseModel):
    """A stream that does not run."""

    name: str
    reason: str = Field(description="Why, in a few words; the log has more.")


class Ready(BaseModel):
    """Whether all streams are followed."""

    ready: bool
    starting: int = Field(description="How many streams have not begun yet.")
    failed: int = Field(description="How many have failed.")
    streams: list[FailedStream] = Field(description="Those that have failed.")
