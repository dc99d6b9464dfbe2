"""``density``: the fraction of the users who came at all, from a table that may be seized.

It is ``distinct`` divided by the public number of users.
"""

from __future__ import annotations

from typing import Literal

from ameles.measures.collisions import Hits, users_hitting
from ameles.measures.table_measure import PRESENCE, TableMeasure
from ameles.mechanisms.continual.estimators.distinct import NoisyDistinct


class Density(TableMeasure):
    """Users who came, as a fraction."""

    measure: Literal["density"]

    @property
    def estimator(self) -> NoisyDistinct:
        """How many cells were hit."""
        return NoisyDistinct(users=self.table, epsilon=1, neighbours=PRESENCE)

    def from_hits(self, hits: Hits) -> Hits:
        """Corrected for collisions."""
        return users_hitting(hits, self.table)

    def ends(self, low: Hits, high: Hits) -> tuple[Hits, Hits]:
        """The same of both ends."""
        return users_hitting(low, self.table), users_hitting(high, self.table)
