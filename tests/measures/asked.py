"""Small tables of events, asked a measure's question by DuckDB, and published without an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np
from pydantic import ValidationError

from ameles.core.guarantee import EVENT, USER, Unit
from ameles.core.loss import Loss, Pure
from ameles.core.noise import Noise
from ameles.measures.catalogue import MEASURES
from ameles.measures.measure import Measure, Published, Terms
from ameles.noise import Zero
from ameles.noise.arrays import IntArray

COLUMNS = {
    "step": "BIGINT",
    "region": "VARCHAR",
    "adult": "BOOLEAN",
    "age": "BIGINT",
    "spent": "DOUBLE",
}
NAN, INF = float("nan"), float("inf")
# step, region, adult, age, spent
# Fields of measures of values, on a grid of tenths and on one of ones.
CENTS = {"column": "spent", "lower": -2, "upper": 10, "granularity": "0.1"}
BOUNDS = {"column": "spent", "lower": 0, "upper": 10, "granularity": 1}
EVENTS: list[tuple[Any, ...]] = [
    (1, "north", True, 17, 0.25),
    (1, "north", False, 18, 99.0),
    (1, "south", True, 64, -3.5),
    (1, "west", True, 65, 1.0),
    (2, "south", None, 120, NAN),
    (2, "south", True, 121, INF),
    (2, "north", False, -1, -INF),
    (3, None, True, None, None),
    (3, "north", True, 40, 2.0),
    (3, "it's", True, 2**62, 0.149),
]
STEPS = 3


def measure(kind: str, **fields: Any) -> Any:
    """A release of a plan, as it is read from TOML."""
    return MEASURES[kind].model_validate({"name": "r", "measure": kind, **fields})


def problems(kind: str, **fields: Any) -> list[str]:
    """What is wrong with a release."""
    try:
        measure(kind, **fields)
    except ValidationError as failure:
        return [str(error["msg"]) for error in failure.errors()]
    return []


def terms(**given: Any) -> Terms:
    unit: Unit = given.pop("unit", EVENT)
    fields = {"per_step": 1, "max_steps": 1, "horizon": STEPS, "window": None, **given}
    return Terms(unit=unit, **fields)


def user_terms(**given: Any) -> Terms:
    return terms(**{"unit": USER, "per_step": 2, "max_steps": 2, **given})


def asked(release: Measure, events: Sequence[tuple[Any, ...]] = EVENTS) -> IntArray:
    """The vector of each step: what the engine adds up."""
    question = release.question
    columns = ", ".join(f'"{name}" {kind}' for name, kind in COLUMNS.items())
    answers = ", ".join(f"({amount}) AS a{i}" for i, amount in enumerate(question.amounts))
    sums = ", ".join(f"CAST(sum(a{i}) AS BIGINT)" for i in range(len(question.amounts)))
    with duckdb.cursor() as duck:  # of one database: to make another takes longer than to ask
        duck.execute(f"CREATE TEMP TABLE events ({columns})")
        if events:
            duck.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", [list(e) for e in events])
        rows = duck.execute(
            f"SELECT step, cell, {sums} FROM (SELECT step, ({question.cell}) AS cell, {answers} "
            "FROM events) WHERE cell IS NOT NULL GROUP BY step, cell"
        ).fetchall()
    totals = np.zeros((STEPS, question.width), dtype=np.int64)
    for step, cell, *amounts in rows:
        for i, amount in enumerate(amounts):
            totals[step - 1, cell + i * question.cells] = amount
    return totals


def published(
    release: Any,
    on: Terms,
    rows: IntArray,
    *,
    noise: Noise | None = None,
    loss: Loss | None = None,
) -> Published:
    """What is published of these vectors, by default of the truth."""
    recipe = release.recipe(on, loss or Pure(1))
    outputs = recipe.start(noise or Zero()).feed(rows)
    earlier = np.zeros((on.window or 0, rows.shape[1]), dtype=np.int64)
    answer: Published = release.publish(recipe, on, outputs, 1, earlier)
    assert (
        answer.value.shape
        == answer.low.shape
        == answer.high.shape
        == (len(rows), len(release.keys))
    )
    return answer


def largest_change(release: Measure, events: Sequence[tuple[Any, ...]]) -> int:
    """The most by which any one of these events changes the vectors, in L1."""
    return max(int(np.abs(asked(release, [event])).sum()) for event in events)
