"""What is published instead of a value once a run has used up what it may publish.

>>> HALTED
HALTED
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class Halted(Enum):
    """What a run publishes at every step after its last allowed change."""

    HALTED = "halted"

    def __repr__(self) -> str:
        return "HALTED"


HALTED: Final = Halted.HALTED

# The same where only 64-bit numbers are kept; no value that means anything is so small.
CODE: Final = -(1 << 63)
