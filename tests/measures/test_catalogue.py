"""All measures: the names in plans, and what each must have."""

from __future__ import annotations

from importlib import import_module
from typing import Any, get_args

import numpy as np
import pytest
from pydantic import ValidationError

from ameles.core.loss import Approx, Pure
from ameles.measures.catalogue import MEASURES
from ameles.measures.table_measure import HashedMeasure
from ameles.noise import Zero
from tests.measures.asked import asked, measure, terms, user_terms

# Measures of tables that may be seized have generic tests of their own (test_table_measures).
PLAIN = [name for name, kind in MEASURES.items() if not issubclass(kind, HashedMeasure)]
TOLD = "all draws in this number together have standard deviation"


def fields_of(name: str) -> dict[str, Any]:
    """The keys that a measure needs: ``FIELDS`` in its own test."""
    answer: dict[str, Any] = import_module(f"tests.measures.test_{name}").FIELDS
    return answer


def test_every_measure_is_listed_under_its_own_name() -> None:
    for name, kind in MEASURES.items():
        assert kind.model_fields["measure"].annotation is not None
        assert get_args(kind.model_fields["measure"].annotation) == (name,)


@pytest.mark.parametrize("name", PLAIN)
def test_every_measure_from_plan_to_publication(name: str) -> None:
    release = measure(name, **fields_of(name))
    assert type(release) is MEASURES[name]
    on = user_terms(window=1 if release.over == "step" else None)
    assert not list(release.refusals(on, weighted=False))
    rows = asked(release)
    for loss in (Pure(1), Approx(1, "1e-6")):
        recipe: Any = release.recipe(on, loss)
        assert recipe.guarantee.loss in (Pure(1), Approx(1, "1e-6"))
        run = recipe.start(Zero())
        outputs = np.asarray(run.feed(rows))
        answer = release.publish(recipe, on, outputs, 1, rows[: on.window or 0] * 0)
        assert answer.value.shape == (len(rows), len(release.keys))
        half = release.half_widths(recipe, on, np.arange(1, len(rows) + 1))
        assert half.shape == (len(rows),)
        assert (half > 0).all()
        assert release.variance(on, loss) > 0
    assert release.forecast


@pytest.mark.parametrize("name", PLAIN)
def test_unknown_keys_and_wrong_types_are_refused(name: str) -> None:
    for extra in ({"colour": "red"}, {"over": 3}, {"other": "yes"}, {"where": 1}):
        with pytest.raises(ValidationError):
            measure(name, **{**fields_of(name), **extra})


@pytest.mark.parametrize("name", PLAIN)
def test_every_measure_explains_itself(name: str) -> None:
    release = measure(name, **fields_of(name))
    on = user_terms(window=1 if release.over == "step" else None)
    recipe = release.recipe(on, Pure(1))
    assert recipe is not None
    assert release.why(recipe, on)
    noise = release.noise_in_words(recipe, on, 2)
    assert noise.startswith("discrete Laplace")
    assert (TOLD in noise) == getattr(release, "adds_up", False)
    assert TOLD not in release.noise_in_words(recipe, on, None)
    interval = release.interval_in_words(recipe, on)
    assert interval.startswith("none: ") == (name == "alert")


@pytest.mark.parametrize("name", ["mean", "quantile", "alert"])
def test_what_is_no_sum_of_its_draws_has_no_standard_deviation(name: str) -> None:
    release = measure(name, **fields_of(name))
    on = user_terms(window=1 if release.over == "step" else None)
    assert TOLD not in release.noise_in_words(release.recipe(on, Pure(1)), on, 2)


@pytest.mark.parametrize("name", ["count", "mean", "quantile", "top", "histogram"])
def test_publishing_in_two_batches_is_the_same(name: str) -> None:
    release = measure(name, **fields_of(name))
    on = terms(window=2)
    rows = asked(release)
    recipe = release.recipe(on, Pure(1))
    outputs = np.asarray(recipe.start(Zero()).feed(rows))
    padded = np.concatenate([np.zeros((2, rows.shape[1]), dtype=np.int64), outputs])
    whole = release.publish(recipe, on, outputs, 1, padded[:2])
    later = release.publish(recipe, on, outputs[1:], 2, padded[1:3])
    for part in ("value", "low", "high"):
        assert getattr(whole, part)[1:].tolist() == getattr(later, part).tolist()
