"""Flaws that data gets on its way from a phone to a file, for tests and the demo."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ameles.core.parameters import refuse
from ameles.simulate.draws import Words, low

DAMAGES = 5  # kinds of broken lines: see ameles.simulate.files


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaws:
    """For each kind of flaw, the share of visits that have it, independently of other flaws.

    >>> Flaws.all(0.01).late
    0.01
    """

    late: float = 0.0  # written down up to three days after it happened
    duplicated: float = 0.0  # the form was sent twice: two rows, the same in every column
    unparsable: float = 0.0  # a broken line; in CSV alone, because Parquet has types
    missing: float = 0.0  # the device, the region, the age or the temperature is not there
    undeclared: float = 0.0  # a region that no plan declares: abroad

    def __post_init__(self) -> None:
        for field in fields(self):
            part = getattr(self, field.name)
            if isinstance(part, bool) or not isinstance(part, int | float) or not 0 <= part <= 1:
                raise refuse(field.name, "a part of the visits, from 0 to 1", part)

    @classmethod
    def all(cls, part: float) -> Flaws:
        """Every kind of flaw, each for the same part of the visits."""
        return cls(**{field.name: part for field in fields(cls)})

    @property
    def any(self) -> bool:
        """Whether there are any flaws."""
        return any(getattr(self, field.name) for field in fields(self))


def fallen(drawn: Words, part: float) -> NDArray[np.bool_]:
    """Which draws fall into this share."""
    return low(drawn) < part


def some(drawn: Words, kinds: int) -> NDArray[np.int64]:
    """One of several kinds for each draw, from the bits that ``fallen`` does not use."""
    return ((drawn >> np.uint64(32)) % np.uint64(kinds)).astype(np.int64)
