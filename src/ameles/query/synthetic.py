"""Synthetic data: a noisy histogram over all combinations of public values, by MWEM.

It answers all marginals well: how many rows have each combination of values of up to ``ways``
columns.  Anything computed from it later is free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Unit
from ameles.core.loss import EpsilonLoss
from ameles.core.parameters import whole
from ameles.measures.count import Count
from ameles.measures.measure import BETA
from ameles.mechanisms.linear_queries import FloatArray
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.one_shot.mwem import SyntheticTable
from ameles.noise.arrays import BoolArray
from ameles.query.ending import AnswerRow, AnyRun, Ending, comes_and_goes, key_of
from ameles.query.look import TableLook
from ameles.query.measure_ending import check_columns, measured
from ameles.query.row_set import RowSet
from ameles.query.variance import only_pure

MOST_CELLS = 1 << 16
MOST_QUERIES = 1 << 14
ROUNDED = 1e-6  # made-up counts are published to six decimals


@dataclass(frozen=True)
class SyntheticEnding(Ending):
    """A table of made-up rows that has nearly the marginals of the real one."""

    counted: Count
    rows: int  # public: about how many there are
    ways: int
    rounds: int

    @property
    def name(self) -> str:
        return "synthetic"

    @property
    def key_names(self) -> tuple[str, ...]:
        return tuple(self.counted.by)

    @property
    def value_name(self) -> str:
        return "rows"

    @property
    def about(self) -> str:
        return "the worst of all marginals, if the number of rows is right"

    @property
    def interval_if(self) -> str:
        return f"there are {self.rows} rows"

    def check(self, relation: RowSet, unit: Unit) -> None:
        check_columns(self.counted, relation)
        if relation.stability > 1:
            raise BadInput(
                "Synthetic data needs a table with one row for each unit.",
                why=f"here one unit may change {relation.stability} rows",
                tip="max_rows=1, or a group_by the user first",
            )

    def recipe(self, relation: RowSet, unit: Unit, loss: EpsilonLoss) -> AnyMechanism:
        return SyntheticTable(
            epsilon=only_pure(self.name, loss).epsilon,
            universe=self.counted.cells,
            queries=len(self.marginals()),
            rows=self.rows,
            rounds=self.rounds,
            neighbours=comes_and_goes(unit),
            unit=unit,
        )

    def marginals(self) -> BoolArray:
        """One row for each combination of values of up to ``ways`` columns: the cells with it."""
        values = [range(len(keys)) for keys in self.counted.by.values()]
        cells = np.array(list(product(*values)), dtype=np.int64)
        rows = [
            np.all(cells[:, list(columns)] == wanted, axis=1)
            for ways in range(1, self.ways + 1)
            for columns in combinations(range(len(values)), ways)
            for wanted in product(*(values[column] for column in columns))
        ]
        return np.array(rows)

    def answer(self, look: TableLook, recipe: AnyMechanism, run: AnyRun) -> tuple[AnswerRow, ...]:
        exact = look.totals_of(self.counted.table_question(look.columns))
        marginals = self.marginals()
        made = run.step((marginals, exact))
        keys = (key_of(key, len(self.counted.by)) for key in self.counted.keys)
        low, high = self._intervals(marginals, made, self.half_width(look.relation, recipe))
        return tuple(
            AnswerRow(key=key, value=round(value, 6), low=least, high=most)
            for key, value, least, most in zip(
                keys, made.tolist(), low.tolist(), high.tolist(), strict=True
            )
        )

    def _intervals(
        self, marginals: BoolArray, made: FloatArray, half: float
    ) -> tuple[FloatArray, FloatArray]:
        """What a cell may have if every marginal is right within ``half``.

        A cell has no more rows than any marginal that it is a part of.  Where all columns together
        are one of the marginals, a cell is a marginal of its own.
        """
        rows = float(self.rows)
        most = np.minimum(marginals @ made + (half + ROUNDED), rows)
        high = np.where(marginals, most[:, np.newaxis], rows).min(axis=0)
        alone = self.ways == len(self.counted.by)
        low = np.maximum(made - (half + ROUNDED), 0) if alone else np.zeros_like(made)
        return low, high

    def half_width(self, relation: RowSet, recipe: AnyMechanism) -> float:
        return recipe.error.bound(1, BETA)

    def to_dict(self) -> dict[str, Any]:
        by = {name: [*keys] for name, keys in self.counted.by.items()}
        return {
            "end": self.name,
            "by": by,
            "rows": self.rows,
            "ways": self.ways,
            "rounds": self.rounds,
        }


def synthetic_ending(
    *, keys: Mapping[str, Sequence[str]], rows: int, ways: int = 2, rounds: int = 20
) -> SyntheticEnding:
    """The public values of each column, and about how many rows there are."""
    if not keys:
        raise BadInput("Synthetic data needs columns.", tip='keys={"region": ["north", "south"]}')
    counted = measured("synthetic", Count, measure="count", by={n: [*k] for n, k in keys.items()})
    if counted.cells > MOST_CELLS:
        raise BadInput(
            f"Synthetic data can have up to {MOST_CELLS} combinations of values, and these are "
            f"{counted.cells}.",
            tip="fewer columns, or fewer values",
        )
    ending = SyntheticEnding(
        counted,
        whole(rows, "rows", low=1, high=1 << 40),
        whole(ways, "ways", low=1, high=len(keys)),
        whole(rounds, "rounds", low=1, high=1000),
    )
    sizes = [len(values) for values in counted.by.values()]
    count = sum(
        int(np.prod(some))
        for size in range(1, ending.ways + 1)
        for some in combinations(sizes, size)
    )
    if count > MOST_QUERIES:
        raise BadInput(
            f"These columns have {count} marginals; {MOST_QUERIES} are the most.", tip="ways=1"
        )
    return ending
