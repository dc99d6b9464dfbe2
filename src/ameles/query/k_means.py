"""k-means: the centres of clusters, from noisy counts and noisy sums in a fixed number of rounds.

Each round assigns every row to the nearest centre of the round before, which is public, and
replaces each centre by noisy sum / noisy count of its rows (catalogue 45).  The number of rounds is
fixed in advance: a test for convergence would have to be private, too.  A cluster
that seems to have no rows keeps its centre.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Unit
from ameles.core.loss import EpsilonLoss
from ameles.core.parameters import Exact, exact, whole
from ameles.measures.bins import real, real_literal
from ameles.measures.measure import BETA, NUMERIC
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.one_shot.series import LaplaceSeries
from ameles.query.ending import AnswerRow, AnyRun, Ending
from ameles.query.look import TableLook
from ameles.query.measure_ending import check_column
from ameles.query.row_set import RowSet
from ameles.query.variance import only_pure

# A coordinate is a whole number from -UNITS to UNITS.
UNITS = 1000
MOST_CLUSTERS, MOST_ROUNDS = 64, 100

Centres = NDArray[np.float64]  # clusters x columns, from -1 to 1


@dataclass(frozen=True)
class KMeansEnding(Ending):
    """Clusters of rows in the space of some columns."""

    bounds: Mapping[str, tuple[Fraction, Fraction]]
    clusters: int
    rounds: int

    @property
    def name(self) -> str:
        return "k_means"

    @property
    def key_names(self) -> tuple[str, ...]:
        return ("cluster", "of")

    @property
    def per_row(self) -> bool:
        return True

    @property
    def about(self) -> str:
        return "a centre, times the number of rows in its cluster, as a share of half the range"

    def check(self, relation: RowSet, unit: Unit) -> None:
        for column in self.bounds:
            check_column(column, relation)
            if relation.columns[column] not in NUMERIC:
                raise BadInput(f"The column '{column}' must be integer or number here.")

    def recipe(self, relation: RowSet, unit: Unit, loss: EpsilonLoss) -> AnyMechanism:
        each = only_pure(self.name, loss).epsilon / (2 * self.rounds)
        rows, size = relation.stability, len(self.bounds)
        return LaplaceSeries(
            epsilons=(each, each) * self.rounds,
            sensitivities=(rows, rows * size * UNITS) * self.rounds,
            widths=(self.clusters, self.clusters * size) * self.rounds,
            neighbours="step",
            unit=unit,
        )

    def answer(self, look: TableLook, recipe: AnyMechanism, run: AnyRun) -> tuple[AnswerRow, ...]:
        centres, look = self.start(), look.copied([*self.bounds])
        count = total = np.zeros(0)
        for _ in range(self.rounds):
            count, total = self._round(look, run, centres)
            some = np.maximum(count, 1)[:, None]
            means = np.clip(total / some / UNITS, -1.0, 1.0)
            centres = np.where(count[:, None] > 0, means, centres)
        return self._rows(recipe, centres, count, total)

    def start(self) -> Centres:
        """The first centres: spread evenly over the diagonal, independent of the data."""
        places = (2 * np.arange(self.clusters) + 1) / self.clusters - 1
        return np.repeat(places[:, None], len(self.bounds), axis=1)

    def _round(self, look: TableLook, run: AnyRun, centres: Centres) -> tuple[Centres, Centres]:
        amounts = ["1", *(self._units(column) for column in self.bounds)]
        known = " AND ".join(f"{real(column)} IS NOT NULL" for column in self.bounds)
        cell = f"CASE WHEN {known} THEN {self._nearest(centres)} END"
        exact = look.totals(cell, amounts, self.clusters)
        count = run.step(exact[: self.clusters])
        total = run.step(exact[self.clusters :])
        return count.astype(float), total.reshape(-1, self.clusters).T.astype(float)

    def _units(self, column: str) -> str:
        """SQL: a coordinate as a whole number from -UNITS to UNITS."""
        low, high = self.bounds[column]
        middle, half = real_literal((low + high) / 2), real_literal((high - low) / 2)
        clamped = f"least(greatest({real(column)}, {real_literal(low)}), {real_literal(high)})"
        rounded = f"round(({clamped} - {middle}) / {half} * {UNITS})"
        # before the cast: of bounds that are close to each other the quotient may be of any size
        return f"CAST(least(greatest({rounded}, -{UNITS}), {UNITS}) AS BIGINT)"

    def _nearest(self, centres: Centres) -> str:
        """SQL: the number of the nearest centre; among equals the first."""
        units = [self._units(column) for column in self.bounds]
        distances = [
            " + ".join(
                f"power({unit} - ({place * UNITS!r}), 2)"
                for unit, place in zip(units, centre.tolist(), strict=True)
            )
            for centre in centres
        ]
        return f"list_position([{', '.join(distances)}], list_min([{', '.join(distances)}])) - 1"

    def _rows(
        self, recipe: AnyMechanism, centres: Centres, count: Centres, total: Centres
    ) -> tuple[AnswerRow, ...]:
        last = 2 * self.rounds
        size = len(self.bounds)
        beta = BETA / (size + 1)
        few, off = recipe.error.bound(last - 1, beta), recipe.error.bound(last, beta)
        rows = []
        for place in range(self.clusters):
            key = str(place + 1)
            number = int(count[place])
            rows.append(
                AnswerRow(
                    key=(key, "rows"), value=number, low=number - int(few), high=number + int(few)
                )
            )
            for i, (column, (low, high)) in enumerate(self.bounds.items()):
                middle, half = float(low + high) / 2, float(high - low) / 2
                least, most = -1.0, 1.0
                if number > few:
                    ends = [float(total[place, i]) + sign * off for sign in (-1, 1)]
                    over = [number - few, number + few]
                    least = max(-1.0, min(ends[0] / n for n in over) / UNITS)
                    most = min(1.0, max(ends[1] / n for n in over) / UNITS)
                rows.append(
                    AnswerRow(
                        key=(key, column),
                        value=middle + half * float(centres[place, i]),
                        low=middle + half * min(least, most),
                        high=middle + half * max(least, most),
                    )
                )
        return tuple(rows)

    def half_width(self, relation: RowSet, recipe: AnyMechanism) -> float:
        return recipe.error.bound(2 * self.rounds, BETA) / UNITS

    def to_dict(self) -> dict[str, Any]:
        bounds = {name: [str(low), str(high)] for name, (low, high) in self.bounds.items()}
        return {
            "end": self.name,
            "bounds": bounds,
            "clusters": self.clusters,
            "rounds": self.rounds,
        }


def k_means_ending(
    *,
    bounds: Mapping[str, Sequence[Exact]],
    clusters: int,
    rounds: int = 5,
) -> KMeansEnding:
    """The columns with their bounds, and how many clusters and rounds."""
    if not bounds:
        raise BadInput("k_means needs bounds of its columns.", tip='bounds={"age": (0, 120)}')
    ranges = {}
    for column, ends in bounds.items():
        given = [exact(end, column) for end in ends]
        if len(given) != 2 or given[0] >= given[1]:
            raise BadInput(f"The bounds of '{column}' must be a lower and an upper one.")
        low, high = given
        ranges[column] = low, high
    return KMeansEnding(
        ranges,
        whole(clusters, "clusters", low=1, high=MOST_CLUSTERS),
        whole(rounds, "rounds", low=1, high=MOST_ROUNDS),
    )
