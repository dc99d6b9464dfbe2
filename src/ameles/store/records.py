"""What a store returns: small frozen records; their secret fields are never printed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours, Unit
from ameles.core.loss import Loss

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationRecord:
    """Whose data this is, and the terms on which it may be used."""

    name: str
    cap: Loss  # at the opening; renewals add to it
    unit: Unit
    neighbours: Neighbours
    window: str | None  # the length of a user-window, such as "30d"
    phase: str | None = None  # where such a window begins, and in which zone
    contributions: int | None
    opened: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRecord:
    """A launched stream and its progress."""

    number: int
    name: str
    population: str
    plan: str = field(repr=False)  # canonical JSON
    identity: UUID
    salt: bytes = field(repr=False)  # secret: keys the hashes of user ids
    launched: datetime
    released: int  # the last released step, 0 before the first
    scheduled: int  # the last step that is committed to close
    rules: int  # version of the rules for reading its source (core/rules.py)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseState:
    """The state of the mechanism of one release."""

    entry: int
    mechanism: str
    recipe: str  # JSON
    snapshot: bytes = field(repr=False)  # secret
    history: bytes = field(repr=False)  # public outputs of earlier steps


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRecord:
    """A question that was paid for; its answer is None until it is stored, empty if it failed."""

    population: str
    entry: int  # of the ledger, that paid for it
    question: str
    label: str | None  # the owner's public version of the data
    snapshot: bytes = field(repr=False)  # secret: the bought run; empty once it is answered
    answer: str | None = None
    asked: datetime
    answered: datetime | None = None


@dataclass(frozen=True, slots=True)
class IntrusionRecord:
    """An announced intrusion."""

    number: int
    at: datetime
    why: str


@dataclass(frozen=True, slots=True)
class Series:
    """One published series: a key of a release."""

    number: int
    release: str
    key: str
    mechanism: str
    entry: int


@dataclass(frozen=True, slots=True)
class Seen:
    """The users that were found, by their place in the query, and what the store knows of them."""

    place: NDArray[np.int64]
    steps: NDArray[np.int64] = field(repr=False)
    marks: NDArray[np.int64] = field(repr=False)


def microseconds(time: datetime) -> int:
    """A time as microseconds since 1970, UTC.

    >>> microseconds(datetime(1970, 1, 2, tzinfo=UTC))
    86400000000
    """
    if time.tzinfo is None:
        raise BadInput(
            "A store keeps times with a zone.",
            why="a time without a zone means a different moment on every machine",
            tip="datetime(2026, 1, 3, tzinfo=UTC)",
        )
    return (time - _EPOCH) // timedelta(microseconds=1)


def moment(microseconds: int) -> datetime:
    """The time that is this many microseconds after 1970, UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)
