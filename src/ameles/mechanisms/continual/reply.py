"""What a question about a threshold hears: below, above, or that it is over.

>>> str(Reply(Said.ABOVE, 12)), str(Reply(Said.HALTED))
('above: 12', 'halted')
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Said(Enum):
    """What a query hears."""

    BELOW = "below"
    ABOVE = "above"
    HALTED = "halted"


@dataclass(frozen=True, slots=True)
class Reply:
    """What was said, with a noisy answer where one was paid for and the query was above."""

    said: Said
    answer: int | None = None

    def __str__(self) -> str:
        return self.said.value if self.answer is None else f"{self.said.value}: {self.answer}"
