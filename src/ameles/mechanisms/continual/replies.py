"""What is published in place of a number: below, above, or that the run is over.

>>> str(Reply(Said.ABOVE, 12)), str(Reply(Said.HALTED))
('above: 12', 'halted')
>>> HALTED
HALTED
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


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


class Halted(Enum):
    """What a run publishes at every step after its last allowed change."""

    HALTED = "halted"

    def __repr__(self) -> str:
        return "HALTED"


HALTED: Final = Halted.HALTED

# The same where only 64-bit numbers are kept; no value that means anything is so small.
CODE: Final = -(1 << 63)
