"""Users by their number of events modulo a number: what shared cells do, the interval, the one
release, refusals and words."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from ameles.core.guarantee import EVENT, Intrusions
from ameles.core.loss import Pure
from ameles.measures import modular
from ameles.measures.modular import Modular
from ameles.mechanisms.continual.modular_once import ModularOnce
from ameles.mechanisms.continual.renewed import Renewed
from ameles.mechanisms.continual.transformation import CODE
from ameles.mechanisms.pan_private.modular import ModularIncidence
from ameles.noise import System
from tests.measures.test_table_measures import CELLS, HASHES, SOME, terms

FIELDS = {"modulus": 3, "table": 4000, "users": 2000}
NONE = np.zeros((0, 3), np.int64)


def measure(**given: Any) -> Modular:
    return Modular.model_validate({"name": "r", "measure": "modular", **FIELDS, **given})


def test_the_truth_is_among_what_the_mean_cells_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    """For every four users with up to four events each, and for all their hashes."""
    release = measure(table=CELLS, users=SOME)
    monkeypatch.setattr(modular, "_half", lambda table, most: 1e-9)
    recipe: Any = release.recipe(terms(1), Pure(4))
    error = recipe.table.error
    for events in combinations_with_replacement(range(5), SOME):
        sums = np.einsum("huc,u->hc", HASHES, events).astype(int) % 3
        mean = np.array([(sums == i).sum() for i in range(3)]) / len(HASHES)
        # what the bins would be on average, as real numbers
        outputs = (mean / CELLS / error.unit + error.chances[0] * CELLS)[None, :]
        told = release.publish(recipe, terms(1), outputs, 1, NONE)
        truth = np.bincount(np.array(events) % 3, minlength=3) / SOME
        assert (told.low[0] - 1e-6 <= truth).all()
        assert (truth <= told.high[0] + 1e-6).all()
        assert (told.low <= told.value + 1e-6).all()
        assert (told.value <= told.high + 1e-6).all()


EVENTS = np.repeat([0, 1, 2, 3, 4], 400)


# 60 runs of three residues each; false alarm 1e-6 for each of them
def missed(release: Modular, narrowed: float = 1.0, runs: int = 60) -> int:
    recipe: Any = release.recipe(terms(1), Pure(8))
    noise = System.direct()
    truth = np.bincount(EVENTS % 3, minlength=3) / release.users
    outputs = []
    for _ in range(runs):
        run = recipe.start(noise)
        run.add(np.repeat(noise.uniform(release.table, EVENTS.size), EVENTS))
        outputs.append(run.release())
    told = release.publish(recipe, terms(1), np.array(outputs), 1, NONE)
    low = told.value - narrowed * (told.value - told.low)
    high = told.value + narrowed * (told.high - told.value)
    return int(((truth < low) | (truth > high)).sum(axis=0).max())


def test_the_interval_holds() -> None:
    assert missed(measure()) <= binom.isf(1e-6, 60, 0.05)


def test_a_much_narrower_interval_is_caught() -> None:
    assert missed(measure(table=20_000), narrowed=0.1) > binom.isf(1e-6, 60, 0.05)


def test_one_release_with_the_best_division_of_epsilon() -> None:
    release = measure()
    once: Any = release.recipe(terms(30), Pure(2))
    assert isinstance(once, ModularOnce)
    assert (once.horizon, once.guarantee.loss) == (30, Pure(2))
    windows: Any = release.recipe(terms(None, 7), Pure(2))
    assert isinstance(windows, Renewed)
    assert (windows.window, windows.guarantee.loss) == (7, Pure(2))
    best = modular._half(once.table, 2000)
    for part in range(1, 10):
        state = Fraction(part, 5)
        other = replace(once.table, epsilon_state=state, epsilon_output=2 - state)
        assert best <= modular._half(other, 2000)
    assert release.variance(terms(), Pure(1)) > release.variance(terms(), Pure(4)) > 0
    half = release.half_widths(once, terms(30), np.array([1, 30]))
    assert half[0] == half[1] > 0


def test_labels_and_words() -> None:
    release, on = measure(), terms(2)
    recipe: Any = release.recipe(on, Pure(8))
    outputs = np.array([[CODE] * 3, [1300, 1300, 1400]])
    told = release.publish(recipe, on, outputs, 1, NONE)
    assert told.label is not None
    assert told.label.tolist() == [["waiting"] * 3, [""] * 3]
    assert np.isnan(told.value[0]).all()
    assert np.isfinite(told.high[1]).all()
    again = release.publish(recipe, replace(on, ended=(1,)), outputs[1:], 2, NONE)
    assert again.label is not None
    assert again.label.tolist() == [["restarted"] * 3]
    assert release.keys == ("0", "1", "2")
    assert "can be published once, with step 2" in release.why(recipe, on)
    windows = release.recipe(terms(None, 7), Pure(2))
    assert "the last step of each window" in release.why(windows, on)
    assert "random offset" in release.noise_in_words(recipe, on, 1)
    assert "at the end" in release.forecast_of(on)
    assert "share a cell" in release.interval_in_words(recipe, on)


def test_refusals() -> None:
    def refused(release: Modular, on: Any) -> set[str]:
        return {one.key for one in release.refusals(on, weighted=False)}

    assert refused(measure(), terms()) == set()
    assert refused(measure(), replace(terms(), unit=EVENT)) == {"measure"}
    assert refused(measure(), replace(terms(), intrusions=Intrusions.NONE)) == {"measure"}
    odd = measure(over="step", by={"region": ["north", "south"]}, users=5000)
    assert refused(odd, terms()) == {"over", "by", "table"}


def test_what_would_never_be_published_is_refused() -> None:
    (told,) = measure().refusals(terms(6, 7), weighted=False)
    assert told.what == "It would never be published within 6 steps."
    assert "a window has 7 steps" in told.why
    for horizon in (7, 8, None):
        assert list(measure().refusals(terms(horizon, 7), weighted=False)) == []


def test_the_hash_is_in_the_error() -> None:
    table = _table(Pure(8))
    error = table.error
    peak = error.chances[1] - error.chances[0]
    hashed = replace(error, rest=2000 * peak**2)
    assert hashed.exponent(0.1) == pytest.approx(error.exponent(0.1) + 1000 * peak**2 * 0.01)
    assert modular._half(table, 2000) == max(hashed.margins(0.05)) * 4000
    assert modular._half(table, 2000) > max(error.margins(0.05)) * 4000


def _table(loss: Pure) -> ModularIncidence:
    once = measure().recipe(terms(1), loss)
    assert isinstance(once, ModularOnce)
    return once.table
