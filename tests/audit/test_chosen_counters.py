"""Whatever the chooser picks, the audit certifies it."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from itertools import cycle
from typing import Any

from ameles import counter
from ameles.audit import Verdict, exact_loss
from ameles.audit.encoded_parts import encodes
from ameles.mechanisms.counters.hats.counter import HatsCounter
from ameles.mechanisms.counters.recipe import CounterRecipe

LONG, SHORTER = 100_000, 100
HORIZONS: list[int | None] = [3, LONG, None]
LOSSES = [(1, "1e-6"), (5, "1e-3")]
# For each number of contributions another loss, width, bound and unit, so that all meet.
GRID = list(
    zip(
        [(horizon, m) for m in range(1, 6) for horizon in HORIZONS],
        cycle(LOSSES),
        cycle(
            [(None, 1, "event"), (2, 1, "user"), (None, 3, "user"), (3, 2, "event")][::-1] * 4
            + [(None, 1, "event")]
        ),
        strict=False,
    )
)
# Linear programs take longer than columns.
ENCODED, LINEAR = 8, 3


def certified(recipe: CounterRecipe) -> None:
    most = ENCODED if encodes(recipe) else LINEAR
    finding = exact_loss(recipe, steps=min(most, recipe.guarantee.horizon or most))
    assert finding.verdict is Verdict.CERTIFIED, (recipe, finding)


def test_the_chosen_counter_is_certified() -> None:
    kinds: set[str] = set()
    for (horizon, m), (epsilon, delta), (width, bound, unit) in GRID:
        recipe: Any = counter(
            epsilon=epsilon,
            delta=delta,
            horizon=horizon,
            contributions=m,
            width=width,
            bound=bound,
            unit=unit,
        )
        kinds.add(type(recipe).__name__)
        if isinstance(recipe, HatsCounter) and horizon == LONG:
            recipe = HatsCounter(**{**_terms(recipe), "horizon": SHORTER})
        # a vector of linear counters is the same counter for each key
        certified(recipe if encodes(recipe) else replace(recipe, width=None))
        if "rho" in {field.name for field in fields(recipe)}:
            certified(replace(recipe, epsilon=None, delta=None, rho=Fraction(1, 3)))
    assert {"NormalisedCounter", "SmoothCounter", "HatsCounter"} <= kinds


def _terms(recipe: HatsCounter) -> dict[str, Any]:
    """All but the shape, which depends on the horizon."""
    shape = {"radices", "offset", "tops", "lows"}
    return {one.name: getattr(recipe, one.name) for one in fields(recipe) if one.name not in shape}


def test_hats_of_a_long_stream_are_read_and_not_refuted() -> None:
    """Their weights have denominators of millions, so the search for a whole shift may give up."""
    finding = exact_loss(HatsCounter(epsilon=1, horizon=LONG), steps=1)
    assert finding.verdict in {Verdict.CERTIFIED, Verdict.NOT_CERTIFIED}
    assert 0 < finding.lower <= 1
