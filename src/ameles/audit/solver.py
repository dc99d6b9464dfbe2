"""The solvers behind the audit: scipy, loaded when first asked for (the ``audit`` extra).

They work in floats, and every result is checked exactly elsewhere.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from ameles.audit.algebra import Floats
from ameles.core.exceptions import MissingExtra
from ameles.noise.arrays import IntArray

# How far the search for one whole shift may go: in nodes of its tree, so that the answer is the
# same on a busy machine, and in seconds, for programs of which one node takes long.  Counters of
# some dozen steps need one node, those of Hats without an end up to some hundred.
NODES, PATIENCE = 1000, 10.0
# Larger programs are not remembered.
MOST_REMEMBERED = 1 << 14


def require() -> None:
    """Raises an error that says how to install scipy, if it is missing."""
    if find_spec("scipy") is None:
        raise MissingExtra(
            "The audit needs scipy, which is not installed.",
            why="it solves a linear program for every pair of neighbours",
            tip="pip install '.[audit]' in the clone of Ameles",
        )


def _load(module: str) -> Any:
    require()
    return importlib.import_module(f"scipy.{module}")


@dataclass(frozen=True)
class Proposal:
    """A shift that should be cheapest, and a dual vector that should prove it."""

    shift: Floats
    dual: Floats


def cheapest(
    matrix: Floats, target: Floats, costs: Floats, *, longest: float | None = None
) -> Proposal | None:
    """Minimises sum(costs * |e|) under matrix @ e = target; None if it finds no such e.

    ``longest`` is the most that any |e_i| may be.
    """
    proposals = cheapest_of_each(matrix, [target], costs, longest=longest)
    return proposals[0] if proposals is not None else None


def cheapest_of_each(
    matrix: Floats, targets: Sequence[Floats], costs: Floats, *, longest: float | None = None
) -> list[Proposal] | None:
    """``cheapest`` for each target, all in one program; None if one of them has no solution."""
    if matrix.size > MOST_REMEMBERED:
        return _solved(matrix, np.array(targets), costs, longest)
    return _remembered(
        matrix.shape, matrix.tobytes(), np.array(targets).tobytes(), costs.tobytes(), longest
    )


@lru_cache(maxsize=512)
def _remembered(
    shape: tuple[int, int], matrix: bytes, targets: bytes, costs: bytes, longest: float | None
) -> list[Proposal] | None:
    """The same for numbers in bytes: many views of a mechanism pose the same program."""
    rows, _ = shape
    return _solved(
        np.frombuffer(matrix).reshape(shape),
        np.frombuffer(targets).reshape(-1, rows),
        np.frombuffer(costs),
        longest,
    )


def _solved(
    matrix: Floats, targets: Floats, costs: Floats, longest: float | None
) -> list[Proposal] | None:
    optimize, sparse = _load("optimize"), _load("sparse")
    times, count = len(targets), len(costs)
    both = sparse.csr_array(np.hstack([matrix, -matrix]))
    solution = optimize.linprog(
        np.tile(costs, 2 * times),
        A_eq=sparse.block_diag([both] * times, format="csr"),
        b_eq=targets.ravel(),
        bounds=(0, longest),
        method="highs-ds",
    )
    if solution.status != 0:
        return None
    parts = np.asarray(solution.x, dtype=np.float64).reshape(times, 2, count)
    duals = np.asarray(solution.eqlin.marginals, dtype=np.float64).reshape(times, len(matrix))
    return [Proposal(e[0] - e[1], dual) for e, dual in zip(parts, duals, strict=True)]


def cheapest_whole(matrix: Floats, target: Floats, costs: Floats) -> Floats | None:
    """As ``cheapest``, among whole e only; None if it finds none in reasonable time."""
    if matrix.size > MOST_REMEMBERED:
        return _solved_whole(matrix, target, costs)
    return _remembered_whole(matrix.shape, matrix.tobytes(), target.tobytes(), costs.tobytes())


@lru_cache(maxsize=512)
def _remembered_whole(
    shape: tuple[int, int], matrix: bytes, target: bytes, costs: bytes
) -> Floats | None:
    """The same for numbers in bytes: one change is hidden again among several."""
    return _solved_whole(
        np.frombuffer(matrix).reshape(shape), np.frombuffer(target), np.frombuffer(costs)
    )


def _solved_whole(matrix: Floats, target: Floats, costs: Floats) -> Floats | None:
    # Whole e, and real sizes that are at least |e|.  Two whole numbers for each e, one for either
    # sign, would be a smaller program that takes four times as long.
    optimize = _load("optimize")
    count = len(costs)
    nothing, one = np.zeros(count), np.eye(count)
    solution = optimize.milp(
        np.concatenate([nothing, costs]),
        constraints=[
            optimize.LinearConstraint(np.hstack([matrix, np.zeros_like(matrix)]), target, target),
            optimize.LinearConstraint(np.hstack([one, -one]), ub=nothing),
            optimize.LinearConstraint(np.hstack([-one, -one]), ub=nothing),
        ],
        bounds=optimize.Bounds(-np.inf, np.inf),
        integrality=np.concatenate([np.ones(count), nothing]),
        options={"node_limit": NODES, "time_limit": PATIENCE},
    )
    return None if solution.x is None else np.asarray(solution.x[:count], dtype=np.float64)


def beta_quantile(level: float, a: IntArray, b: IntArray) -> Floats:
    """The quantiles of Beta laws."""
    return np.asarray(_load("stats").beta.ppf(level, a, b), dtype=np.float64)
