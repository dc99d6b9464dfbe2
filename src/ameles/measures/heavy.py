"""``heavy``: the fraction of the users who came ``at_least`` so often."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ameles.measures.collisions import Hits, fewest_among, users_hitting
from ameles.measures.cropped_mean import MOST_TIMES
from ameles.measures.table_measure import PRESENCE, TableMeasure
from ameles.mechanisms.continual.estimators.noisy_counts import NoisyHeavy


class Heavy(TableMeasure):
    """Users with many events, as a fraction."""

    adds_up: ClassVar[bool] = True

    measure: Literal["heavy"]
    at_least: int = Field(ge=2, le=MOST_TIMES)

    @property
    def estimator(self) -> NoisyHeavy:
        """How many cells have so many events."""
        return NoisyHeavy(users=self.table, epsilon=1, neighbours=PRESENCE, at_least=self.at_least)

    def from_hits(self, hits: Hits) -> Hits:
        """Heavy users who share a cell are put back; users who are heavy only together are not
        taken away."""
        return users_hitting(hits, self.table)

    def ends(self, low: Hits, high: Hits) -> tuple[Hits, Hits]:
        """Cells without a heavy user may be hit by two others together, or not."""
        return fewest_among(low, self.table, self.users), users_hitting(high, self.table)
