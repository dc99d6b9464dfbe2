"""The law of a release's noise: the parts of a span after restarts, and that they add up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, Intrusions
from ameles.core.loss import Pure
from ameles.measures.count import Count
from ameles.measures.laws import law_of, parts_of
from ameles.measures.measure import Terms
from ameles.mechanisms.counters.gaussian.steps import GaussianStepsCounter
from ameles.mechanisms.laplace.mixture import LaplaceMixture
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter

TERMS = Terms(
    unit=EVENT,
    per_step=1,
    max_steps=1,
    horizon=64,
    window=None,
    intrusions=Intrusions.ONE,
    ended=(0, 5, 5, 8),
)
COUNTS = Count(name="c", measure="count")
RECIPE = COUNTS.counter(TERMS, Pure(1))
ERROR: Any = RECIPE.error


def restarted(terms: Terms, steps: list[int], beta: float) -> NDArray[np.float64]:
    return COUNTS.noise(RECIPE, terms, np.array(steps), beta)


def test_parts_cover_the_span_once() -> None:
    ended = (3, 7, 12)
    for t in range(13, 30):
        for window in (None, *range(1, 30)):
            before = 0 if window is None else max(t - window, 0)
            covered: list[int] = []
            edge = 0
            for start, until in parts_of(ended, window, t):
                edge = max([0, *(step for step in ended if step < until)])
                covered += range(max(start, edge) + 1, until + 1)
            assert covered == list(range(before + 1, t + 1))


def test_the_law_is_that_of_all_parts_together() -> None:
    (bound,) = restarted(TERMS, [20], 0.06)
    laws = [ERROR.between(0, step) for step in (5, 8, 20)]
    together = LaplaceMixture(tuple(part for law in laws for part in law.parts))
    assert bound == together.quantile(0.06)
    assert max(law.quantile(0.06) for law in laws) < bound
    assert bound < sum(law.quantile(0.02) for law in laws)  # what a union bound would give


def test_a_window_within_the_epoch_is_as_it_was() -> None:
    terms = replace(TERMS, window=4)
    steps = np.array([13, 20])
    assert restarted(terms, [13, 20], 0.05) == pytest.approx(
        ERROR.between_bounds(steps - 4, steps, 0.05)
    )
    # at its edge it is the whole new counter, and before it both
    assert restarted(terms, [12], 0.05) == pytest.approx(ERROR.bounds(np.array([12]), 0.05))
    parts = (*ERROR.between(6, 8).parts, *ERROR.between(0, 10).parts)
    across = restarted(terms, [10], 0.05)
    assert across == [LaplaceMixture(parts).quantile(0.05)]


def test_laws_that_do_not_add_up_so_are_none() -> None:
    gaussian = GaussianStepsCounter(rho="1/50", width=1)
    assert law_of(gaussian, 4, 20).std > 0
    with pytest.raises(BadInput, match="LaplaceMixture"):
        law_of(gaussian, None, 20, ended=(5,))


def test_an_intrusion_that_was_announced_widens_the_law() -> None:
    recipe = PanPrivateTreeCounter(epsilon=1, horizon=64, width=1, intrusions="announced")
    seen = [law_of(recipe, None, 20, announced=count).std ** 2 for count in range(3)]
    assert seen[0] < seen[1] < seen[2]
    assert seen[2] - seen[1] == pytest.approx(seen[1] - seen[0])
    assert law_of(recipe, None, 20, announced=1, ended=(8,)).std ** 2 == pytest.approx(
        seen[1] + law_of(recipe, None, 8, announced=1).std ** 2
    )
