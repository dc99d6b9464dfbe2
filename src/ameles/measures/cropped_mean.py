"""``cropped_mean``: how often users came on average, each counted at most ``crop`` times."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ameles.measures.collisions import Hits, most_cropped, users_hitting
from ameles.measures.measure import Terms
from ameles.measures.table_measure import PRESENCE, TableMeasure
from ameles.mechanisms.continual.estimators.noisy_counts import NoisyCropped

MOST_TIMES = 1000


class CroppedMean(TableMeasure):
    """The mean over all users of min(events, crop)."""

    measure: Literal["cropped_mean"]
    crop: int = Field(ge=1, le=MOST_TIMES)

    @property
    def estimator(self) -> NoisyCropped:
        """The cropped events of the cells, in parts of a crop."""
        return NoisyCropped(users=self.table, epsilon=1, neighbours=PRESENCE, crop=self.crop)

    @property
    def worth(self) -> int:
        """A user who came so often that nothing more counts."""
        return self.crop

    def forecast_of(self, terms: Terms) -> str:
        """The interval is wider if users share many cells."""
        return "a mean that is small"

    def from_hits(self, hits: Hits) -> Hits:
        """In the middle between no event lost to collisions and as many as can be."""
        low, high = self.ends(hits, hits)
        return (low + high) / 2

    def ends(self, low: Hits, high: Hits) -> tuple[Hits, Hits]:
        """Events of a cell are cropped together, and so some are lost, or none; of a crop of 1 it
        is known how many, on average."""
        if self.crop == 1:
            return users_hitting(low, self.table), users_hitting(high, self.table)
        return low, most_cropped(high, self.table)
