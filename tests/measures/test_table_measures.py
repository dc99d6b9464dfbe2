"""Fractions of users from a table that may be seized: what hits say about users who share cells,
intervals that hold, the choice of a mechanism, refusals and words."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import binom

from ameles.core.guarantee import EVENT, USER, Intrusions, user_window
from ameles.core.loss import Approx, Pure
from ameles.measures import collisions
from ameles.measures.catalogue import MEASURES
from ameles.measures.measure import Terms
from ameles.measures.table_choice import HALTS, counted_anew, inner_of, reach, table_of
from ameles.measures.table_measure import TableMeasure
from ameles.mechanisms.continual.afresh import Afresh
from ameles.mechanisms.continual.monotone import continual_monotone
from ameles.mechanisms.continual.renewed import Renewed
from ameles.mechanisms.continual.transformation import CODE, Continual
from ameles.noise import System

KINDS: dict[str, dict[str, Any]] = {
    "density": {},
    "cropped_mean": {"crop": 3},
    "heavy": {"at_least": 2},
    "incidence": {"exactly": 2},
}
EACH = [*KINDS.items(), ("incidence", {"exactly": 1}), ("cropped_mean", {"crop": 1})]
each = pytest.mark.parametrize(("kind", "given"), EACH, ids=lambda part: str(part))


def measure(kind: str, given: dict[str, Any] | None = None, **fields: Any) -> TableMeasure:
    table = {"name": "r", "measure": kind, "table": 4000, "users": 2000}
    own = KINDS[kind] if given is None else given
    made = MEASURES[kind].model_validate({**table, **own, **fields})
    assert isinstance(made, TableMeasure)
    return made


def terms(horizon: int | None = 5, window: int | None = None) -> Terms:
    return Terms(
        unit=USER if window is None else user_window(window),
        per_step=1,
        max_steps=1,
        horizon=horizon,
        window=None,
        intrusions=Intrusions.ONE,
    )


def truth(release: TableMeasure, events: Any) -> float:
    """The sum of the statistic over users, in parts of what one user can be worth."""
    given: Any = release
    counts = np.asarray(events)
    match release.measure:
        case "density":
            return float((counts > 0).sum())
        case "cropped_mean":
            return float(np.minimum(counts, given.crop).sum() / given.crop)
        case "heavy":
            return float((counts >= given.at_least).sum())
    return float((counts == given.exactly).sum())


# Users who share cells ------------------------------------------------------------------------


CELLS, SOME = 5, 4
# For each hash of some users into cells, who is where: all equally likely.
HASHES = np.eye(CELLS)[np.array(list(product(range(CELLS), repeat=SOME)))]


def mean_hits(release: TableMeasure, events: tuple[int, ...]) -> float:
    """The exact mean over all hashes of users into cells."""
    return truth(release, np.einsum("huc,u->hc", HASHES, events)) / len(HASHES)


@each
def test_the_truth_is_among_what_the_mean_hits_allow(kind: str, given: dict[str, Any]) -> None:
    """For every four users with up to four events each, and for all their hashes."""
    release = measure(kind, given, table=CELLS, users=SOME)
    widest = 0.0
    for events in combinations_with_replacement(range(5), SOME):
        hits = np.array([mean_hits(release, events)])
        low, high = release.ends(hits, hits)
        assert low[0] - 1e-9 <= truth(release, events) <= high[0] + 1e-9
        widest = max(widest, float(high[0] - low[0]))
        middle = float(release.from_hits(hits)[0])
        assert low[0] - 1e-9 <= middle <= high[0] + 1e-9
    assert (widest < 1e-9) == (kind == "density" or given == {"crop": 1})


@pytest.mark.parametrize(
    ("kind", "function"),
    [("cropped_mean", "most_cropped"), ("heavy", "fewest_among"), ("incidence", "most_alone")],
)
def test_ends_that_forget_shared_cells_are_caught(
    monkeypatch: pytest.MonkeyPatch, kind: str, function: str
) -> None:
    module = f"ameles.measures.{'cropped_mean' if kind == 'cropped_mean' else kind}"
    monkeypatch.setattr(f"{module}.{function}", lambda hits, *rest: hits)
    with pytest.raises(AssertionError):
        test_the_truth_is_among_what_the_mean_hits_allow(kind, KINDS[kind])


def test_bounds_meet_where_nobody_shares_a_cell() -> None:
    hits = np.array([-3.0, 0.0, 7.0])
    roomy = 1 << 24
    for bound in (
        collisions.users_hitting(hits, roomy),
        collisions.most_cropped(hits, roomy),
        collisions.fewest_among(hits, roomy, 10),
        collisions.most_alone(hits, roomy, 10),
    ):
        assert bound == pytest.approx(hits, abs=1e-4)


# Intervals ------------------------------------------------------------------------------------

EVENTS = np.repeat([0, 1, 2, 3, 6], 400)  # of 2,000 users


def missed(release: TableMeasure, recipe: Any, runs: int, narrowed: float = 1.0) -> int:
    """How often the interval misses the truth about users who are hashed at random."""
    noise = System.direct()
    right = truth(release, EVENTS) * release.worth / release.users
    outputs = []
    for _ in range(runs):
        run = recipe.start(noise)
        run.add(np.repeat(noise.uniform(release.table, EVENTS.size), EVENTS))
        outputs.append([run.release()])
    told = release.publish(recipe, terms(), np.array(outputs), 1, np.zeros((0, 1), np.int64))
    low = told.value - narrowed * (told.value - told.low)
    high = told.value + narrowed * (told.high - told.value)
    return int(((right < low) | (right > high)).sum())


# 100 runs of one step each; false alarm 1e-6.  Interval: 95%, by bounds that are on the safe side.
@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_holds(kind: str) -> None:
    release = measure(kind)
    recipe = release.recipe(terms(1), Pure(8))
    assert missed(release, recipe, 100) <= binom.isf(1e-6, 100, 0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_a_much_narrower_interval_is_caught(kind: str) -> None:
    release = measure(kind, table=20_000)  # where users hardly share cells
    recipe = release.recipe(terms(1), Pure(8))
    assert missed(release, recipe, 60, narrowed=0.1) > binom.isf(1e-6, 60, 0.05)


def test_the_interval_of_the_transformation_holds_where_counts_come_and_go() -> None:
    # 10 runs of 39 steps; groups of users come once and then again, so that the number of users
    # with exactly one event rises and falls; a run is wrong if its last interval misses
    release = measure("incidence", {"exactly": 1}, table=5000, users=1000)
    chosen = release.recipe(replace(terms(), horizon=1 << 20), Pure(40))
    assert isinstance(chosen, Continual)
    noise, wrong = System.direct(), 0
    recipe = replace(chosen, horizon=40)
    for _ in range(10):
        places = noise.uniform(5000, 1000)
        run = recipe.start(noise)
        for step in range(39):
            group = places[50 * (step // 2) : 50 * (step // 2) + 50]
            run.add(group)
            output = run.release()
        told = release.publish(
            recipe, terms(), np.array([[output]]), 39, np.zeros((0, 1), np.int64)
        )
        wrong += not told.low[0, 0] <= 50 / 1000 <= told.high[0, 0]
    assert wrong <= binom.isf(1e-6, 10, 0.05)


# The choice -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_mechanism_is_the_one_with_the_smaller_reach(kind: str) -> None:
    release = measure(kind)
    few, many = (release.recipe(terms(steps), Pure(1)) for steps in (5, 5000))
    assert isinstance(few, Afresh)
    assert isinstance(many, Continual)
    assert few.sensitivity == table_of(few).sensitivity == many.sensitivity
    windows = release.recipe(terms(None, 7), Pure(1))
    assert isinstance(windows, Renewed)
    assert windows.window == 7
    for made in (few, many, windows):
        assert made.guarantee.loss == Pure(1)
    gaussian: Any = release.recipe(terms(200), Approx(1, "1e-6"))
    assert gaussian.variance is not None
    assert gaussian.guarantee.loss == Approx(1, "1e-6")
    best = reach(few, 5, hashes=release.hashes)
    for part in range(1, 10):
        table = replace(table_of(few), epsilon=Fraction(part, 10))
        other = replace(few, algorithm=table, epsilon=1 - Fraction(part, 10))
        assert best <= reach(other, 5, hashes=release.hashes)


def test_users_who_come_and_go_need_twice_the_changes() -> None:
    # of 4,000 cells at most 2,000 can be hit, each of them crosses the range so often
    for kind, crossings in (("incidence", 2), ("heavy", 1)):
        found = measure(kind).recipe(terms(5000), Pure(1))
        assert isinstance(found, Continual)
        table = table_of(found)
        assert found == continual_monotone(
            table,
            highest=math.ceil(table.gamma * 2000),
            horizon=5000,
            epsilon=found.epsilon,
            sensitivity=table.sensitivity,
            beta=HALTS,
            crossings=crossings,
        )
    incidence = measure("incidence")
    assert incidence.hashes == pytest.approx(4 * 2000 / 4000)
    assert measure("heavy").hashes == pytest.approx(2000 / 4000)
    assert measure("density", users=10**6).hashes == 1.0


# Labels, words and refusals -------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_labels(kind: str) -> None:
    release = measure(kind)
    on = terms()
    recipe: Any = release.recipe(on, Pure(8))
    table = table_of(recipe)
    high = int(table.gamma * 4000)
    outputs = np.array([[0], [CODE], [high]])
    told = release.publish(recipe, on, outputs, 1, np.zeros((0, 1), np.int64))
    assert told.label is not None
    assert told.label[:, 0].tolist() == ["", "halted", "" if kind == "incidence" else "full"]
    assert np.isnan([told.value[1, 0], told.low[1, 0], told.high[1, 0]]).all()
    assert np.isfinite([told.value[0, 0], told.low[0, 0], told.high[2, 0]]).all()
    again = release.publish(
        recipe, replace(on, ended=(1,)), outputs[:1], 2, np.zeros((0, 1), np.int64)
    )
    assert again.label is not None
    assert again.label.tolist() == [["restarted"]]
    windows: Any = release.recipe(terms(None, 2), Pure(8))
    whole = release.publish(
        windows, replace(on, ended=(1,)), outputs[[0, 0]], 3, np.zeros((0, 1), np.int64)
    )
    assert whole.label is not None
    assert whole.label.tolist() == [[""], [""]], "the window began after the restart"
    for ended in ((0,), (1, 0)):
        open_step = release.publish(
            recipe, replace(on, ended=ended), outputs[:1], 2, np.zeros((0, 1), np.int64)
        )
        assert open_step.label is not None
        assert open_step.label.tolist() == [["restarted"]], "what step 1 had by then is lost"


def test_a_step_that_was_open_at_a_restart_has_lost_events() -> None:
    steps = np.arange(1, 7)
    for window, ended, anew in (
        (6, (), ""),
        (6, (0,), "123456"),
        (6, (2,), "3456"),
        (2, (2,), "34"),
        (2, (3,), "4"),
        (1, (3,), "4"),
        (3, (1, 1, 4), "2356"),
    ):
        found = steps[counted_anew(steps, window, ended)]
        assert "".join(map(str, found)) == anew


@pytest.mark.parametrize("kind", KINDS)
def test_shares_and_forecast(kind: str) -> None:
    release, on = measure(kind), terms()
    recipe = release.recipe(on, Pure(1))
    assert release.variance(on, Pure(1)) > release.variance(on, Pure(4)) > 0
    half = release.half_widths(recipe, on, np.array([1, 5]))
    nothing = np.array([[0], [0]])
    told = release.publish(recipe, on, nothing, 4, np.zeros((0, 1), np.int64))
    assert half[1] == pytest.approx((told.high - told.low)[1, 0] / 2)
    quantity = "mean" if kind == "cropped_mean" else "fraction"
    assert release.forecast_of(on) == f"a {quantity} that is small"
    assert "afresh at each of 5 steps" in release.why(recipe, on)
    words = release.noise_in_words(recipe, on, 1)
    assert "4,000 cells" in words
    assert "discrete Laplace" in words
    assert ("a bit" in words) == (kind in ("density", "cropped_mean"))
    assert "share a cell" in release.interval_in_words(recipe, on)
    assert isinstance(inner_of(recipe), Afresh)


def refused(release: TableMeasure, on: Terms) -> dict[str, str]:
    return {
        one.key: f"{one.what} {one.why} {one.tip}" for one in release.refusals(on, weighted=False)
    }


@pytest.mark.parametrize("kind", KINDS)
def test_refusals(kind: str) -> None:
    release = measure(kind)
    assert refused(release, terms()) == {}
    assert "unit that is a user" in refused(release, replace(terms(), unit=EVENT))["measure"]
    secret = replace(terms(), intrusions=Intrusions.NONE)
    assert "may be seized" in refused(release, secret)["measure"]
    odd = measure(kind, over="step", by={"region": ["north", "south"]}, users=5000)
    refusals = refused(odd, terms())
    assert {"over", "by"} <= refusals.keys()
    assert ("table" in refusals) == (kind in ("heavy", "incidence"))
    assert refused(measure(kind, users=4000), terms()) == {}, "as many cells as users"
    some = release.full(np.array([3998.9, 3999.0, 3999.1]))
    assert some.tolist() == [False, False, kind != "incidence"], "all cells but one"


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_keys_and_wrong_types_are_refused(kind: str) -> None:
    assert [*KINDS] == [name for name, one in MEASURES.items() if issubclass(one, TableMeasure)]
    for extra in ({"colour": "red"}, {"over": 3}, {"users": 0}, {"table": 1}, {"table": 1 << 25}):
        with pytest.raises(ValidationError):
            measure(kind, **extra)
