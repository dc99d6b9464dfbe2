"""Which steps of a stream are released, closing and open when rows are read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """The last released step, the last step that closes now, and the last step of the stream.

    ``arrived`` is the step of events without a time of their own.
    """

    released: int
    target: int
    last: int
    arrived: int | None = None
