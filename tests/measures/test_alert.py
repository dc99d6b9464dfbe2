"""``alert``: what is said, when it halts, what a unit pays, where it is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import USER, Neighbours
from ameles.core.loss import Approx, Pure
from ameles.mechanisms.continual.monitor import LONGEST, WindowMonitor
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.noise import System
from tests.measures.asked import EVENTS, asked, largest_change, measure, problems, published, terms

FIELDS = {"threshold": 3, "times": 2, "over": "step"}

ALERT: dict[str, Any] = {"threshold": 3, "times": 1, "over": "2d"}


def test_without_noise_it_tells_the_truth_and_halts() -> None:
    release = measure("alert", by={"region": ["north", "south"]}, **ALERT)
    answer = published(release, terms(window=2), asked(release))
    assert answer.label is not None
    assert answer.label.tolist() == [["below", "below"], ["above", "above"], ["halted", "halted"]]
    assert answer.value[:2].tolist() == [[0, 0], [1, 1]]
    assert np.isnan(answer.value[2]).all()
    assert np.isnan(answer.low).all()
    assert release.keys == ("north", "south")
    assert largest_change(release, EVENTS) == 1


def test_what_a_user_pays_is_over_all_keys() -> None:
    release = measure("alert", by={"region": ["north", "south", "west"]}, **ALERT)
    on = terms(unit=USER, per_step=2, max_steps=5, window=2, horizon=30)
    recipe = release.recipe(on, Approx(1, "1e-6"))
    assert recipe.sensitivity == 2 * 5  # more than the 2 * 2 of one key
    assert recipe.guarantee.loss == Pure(1)
    assert recipe.guarantee.neighbours is Neighbours.USER_PRESENCE
    event = release.recipe(terms(window=2), Pure(1))
    assert (event.sensitivity, event.monotone) == (1, True)
    one = WindowMonitor(epsilon=1, window=2, threshold=3, aboves=1, monotone=True)
    assert event.error == one.error


def test_the_forecast_is_how_close_it_may_be_wrong() -> None:
    # 4000 keys at each distance; beta is 0.05; false alarm below 1e-6 for each of 4
    release = measure("alert", **{**ALERT, "threshold": 1000, "by": {"age": list(range(4000))}})
    on = terms(window=1, horizon=1)
    recipe = release.recipe(on, Pure(1))
    (half,) = release.half_widths(recipe, on, np.array([1]))
    for distance, wrong in ((-half, 1), (half, 0)):
        rows = np.full((1, 4000), int(1000 + distance))
        answer = published(release, on, rows, noise=System())
        assert (answer.value == wrong).sum() <= 280
        nearer = published(
            release, on, np.full((1, 4000), int(1000 + distance / 4)), noise=System()
        )
        assert (nearer.value == wrong).sum() > 280


def test_refusals() -> None:
    release = measure("alert", **ALERT)
    assert not list(release.refusals(terms(window=2), weighted=False))
    assert [r.key for r in release.refusals(terms(window=None), weighted=False)] == ["over"]
    two = measure("alert", by={"region": ["north", "south"]}, **ALERT)
    most = LONGEST // 2  # windows of two cells are held in as many places as one of twice the steps
    assert not list(two.refusals(terms(window=most), weighted=False))
    assert [r.key for r in two.refusals(terms(window=most + 1), weighted=False)] == ["over"]
    assert [r.key for r in release.refusals(terms(window=2), weighted=True)] == ["measure"]
    with pytest.raises(BadInput, match="window"):
        release.recipe(terms(window=None), Pure(1))
    with pytest.raises(BadInput, match="WindowMonitors"):
        release.half_widths(SimpleTwoCounter(epsilon=1), terms(window=2), np.array([1]))
    with pytest.raises(BadInput):
        measure("alert", **{**ALERT, "times": 2**40}).recipe(terms(window=2), Pure("1e-9"))


@pytest.mark.parametrize("fields", [{"times": 0}, {"threshold": 2**62}, {"threshold": 1.5}])
def test_bad_fields(fields: dict[str, Any]) -> None:
    assert len(problems("alert", **{**ALERT, **fields})) == 1


def test_noise_is_counted_for_shares() -> None:
    release = measure("alert", **ALERT)
    few = release.variance(terms(window=2), Pure(1))
    many = measure("alert", **{**ALERT, "times": 50}).variance(terms(window=2), Pure(1))
    assert few < many
    assert release.variance(terms(window=2), Pure(2)) < few / 3
