"""``incidence``: the fraction of the users who came ``exactly`` so often."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ameles.measures.collisions import Hits, fewest_among, most_alone
from ameles.measures.cropped_mean import MOST_TIMES
from ameles.measures.table_measure import PRESENCE, TableMeasure
from ameles.mechanisms.continual.estimators.noisy_counts import NoisyIncidence


class Incidence(TableMeasure):
    """Users with an exact number of events, as a fraction."""

    adds_up: ClassVar[bool] = True

    measure: Literal["incidence"]
    exactly: int = Field(ge=1, le=MOST_TIMES)

    @property
    def estimator(self) -> NoisyIncidence:
        """How many cells have exactly so many events."""
        return NoisyIncidence(
            users=self.table, epsilon=1, neighbours=PRESENCE, exactly=self.exactly
        )

    def from_hits(self, hits: Hits) -> Hits:
        """As if users shared no cells, if that is possible: what these add and what they hide is
        not known."""
        within: Hits = np.clip(hits, *self.ends(hits, hits))
        return within

    def ends(self, low: Hits, high: Hits) -> tuple[Hits, Hits]:
        """A user who shares a cell may be hidden; two others together may be hit, but not once."""
        most = most_alone(high, self.table, self.users)
        return (low if self.exactly == 1 else fewest_among(low, self.table, self.users)), most

    def full(self, high: Hits) -> NDArray[np.bool_]:
        """Never: the upper end needs no logarithm."""
        return np.zeros(high.shape, dtype=np.bool_)
