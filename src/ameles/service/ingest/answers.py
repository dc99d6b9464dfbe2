"""What senders of batches are told: the open step, and what became of a batch."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Literal, NamedTuple

import orjson
from pydantic import BaseModel, Field

from ameles.connectors.http_source import Outcome
from ameles.service.refusals import Problem, Refused


class OpenStep(BaseModel):
    """The step that batches must name now, and when it closes; null if the last one is over."""

    step: int | None
    closes: datetime | None


class Taken(OpenStep):
    """A batch whose events count."""

    outcome: Literal["counted"] = "counted"


class Untold(Problem, OpenStep):
    """Why nobody can post now, and which step is open."""


class NotTaken(Untold):
    """Why this attempt counted nothing, whether that is certain, and which step is open."""

    outcome: Literal["not counted", "unknown"] = Field(
        description="Unknown, too, if an earlier attempt may have counted the same batch."
    )


class Answer(NamedTuple):
    """An answer to a batch, as it is sent."""

    status: int
    content: bytes
    headers: dict[str, str]


class Closed(Enum):
    """Why nobody can post to a stream now: a reason, and what to do."""

    OTHER_SOURCE = 'its plan has another source than "http"', "its events come from that source"
    NOT_LAUNCHED = "it is not launched yet", "try again later"
    NEVER_LAUNCHED = (
        "it was never launched, because its plan or its budget was refused",
        "whoever runs the service finds the reason in its log",
    )
    NOT_RUNNING = "it does not run now", "try again later"


SAID: dict[Outcome, tuple[int, str, str, str]] = {
    Outcome.CLOSED: (
        409,
        "The batch names a step that is not open.",
        "it was not counted now; an earlier attempt may have been",
        "if there was none, send it again with the step that is open",
    ),
    Outcome.REUSED: (
        409,
        "The id of this batch belongs to another batch of this step.",
        "the batch that came first with this id has another body, and counts; this one does not",
        "send this one with an id of its own: a new one for each batch, the same for each attempt",
    ),
    Outcome.FULL: (
        429,
        "The open step takes no more batches.",
        "what a step keeps is bounded",
        "send the same batch again later; larger batches need less room",
    ),
    Outcome.ENDED: (
        410,
        "The stream takes no more events.",
        "its last step has ended",
        "stop sending",
    ),
    Outcome.UNKNOWN: (
        503,
        "Nobody knows whether the batch counts.",
        "the service could not store it, or is about to end",
        "send the same batch again, with the same id and step",
    ),
}
# The step of the batch may be over: nobody looks up whether it was counted there.
UNKNOWN = frozenset({Outcome.CLOSED, Outcome.ENDED, Outcome.UNKNOWN})
HEADERS = {"Content-Type": "application/json", "Cache-Control": "no-store"}
NOT_COUNTED = {"outcome": "not counted"}  # of every refusal: a batch is handed over last
AGAIN = {**HEADERS, "Retry-After": "1"}


def answer_to(outcome: Outcome, now: OpenStep) -> Answer:
    """The answer to a batch, with the step that is open now."""
    if outcome is Outcome.COUNTED:
        return _taken(now.step, now.closes)
    status, what, why, tip = SAID[outcome]
    said = NotTaken(
        what=what,
        why=why,
        tip=tip,
        step=now.step,
        closes=now.closes,
        outcome="unknown" if outcome in UNKNOWN else "not counted",
    )
    headers = AGAIN if status in (429, 503) else HEADERS
    return Answer(status, said.model_dump_json().encode(), headers)


@lru_cache(maxsize=64)  # all batches of a step get the same answer
def _taken(step: int | None, closes: datetime | None) -> Answer:
    return Answer(200, Taken(step=step, closes=closes).model_dump_json().encode(), HEADERS)


def refusal_answer(refusal: Refused) -> Answer:
    """The answer to a refused batch, as ``refusal_of`` gives it, in less time: under overload there
    are more refusals than batches."""
    said = {"what": refusal.what, "why": refusal.why, "tip": refusal.tip, **refusal.more}
    return Answer(refusal.status, orjson.dumps(said), {**HEADERS, **refusal.headers})
