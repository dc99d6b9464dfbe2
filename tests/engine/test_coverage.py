"""Published intervals hold the truth at least 95 times of 100, with the operating system's noise.

Every key has noise of its own.  So at one step of one release the misses of 500 keys are at most
Binomial(500, 1/20), which exceeds 54 with probability 6e-8.  Fewer than 100 pairs of a release and
a step are looked at, so all of them together raise a false alarm with probability below 1e-5.
Steps of one release share noise; that does not matter, as probabilities are added up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import comb
from pathlib import Path
from typing import Any

import pytest

from ameles.measures.linear import LinearMeasure
from tests.engine.worlds import EVENT, World, day

KEYS, MOST = 500, 54
STEPS = (1, 3, 4, 8)
NAMES = [f"k{n:03}" for n in range(KEYS)]
BY = f"by = {{ region = {NAMES} }}\n"
RANGE = 'column = "amount"\nlower = -10\nupper = 30\ngranularity = 0.5\n'
MANY = 10**6  # events of each key on the first day, in one row, of amount 5
USER = 'unit = "user"\nuser = "who"\nmax_per_step = 2\nmax_steps = 2'

Truth = Callable[[int], float | None]
EVENTS: dict[str, tuple[str, Truth]] = {
    "count-total": ('measure = "count"\n', lambda step: MANY),
    "count-step": ('measure = "count"\nover = "step"\n', lambda step: MANY * (step == 1)),
    "count-window": ('measure = "count"\nover = "3d"\n', lambda step: MANY * (step <= 3)),
    "sum-total": (f'measure = "sum"\n{RANGE}', lambda step: 5 * MANY),
    "sum-window": (f'measure = "sum"\nover = "3d"\n{RANGE}', lambda step: 5 * MANY * (step <= 3)),
    "mean-total": (f'measure = "mean"\n{RANGE}', lambda step: 5),
    "mean-step": (
        f'measure = "mean"\nover = "step"\n{RANGE}',
        lambda step: 5 if step == 1 else None,
    ),
}
USERS: dict[str, tuple[str, Truth]] = {
    "distinct-total": ('measure = "distinct"\n', lambda step: 0),
    "distinct-step": ('measure = "distinct"\nover = "step"\n', lambda step: 0),
    "count-total": ('measure = "count"\n', lambda step: 0),
    "count-window": ('measure = "count"\nover = "3d"\n', lambda step: 0),
}
GAUSSIAN = "1\ndelta = 1e-6"


def test_the_probability_of_a_false_alarm() -> None:
    tail = sum(comb(KEYS, n) * 0.05**n * 0.95 ** (KEYS - n) for n in range(MOST + 1, KEYS + 1))
    pairs = len(STEPS) * (2 * len(EVENTS) + len(USERS))
    assert pairs < 100
    assert pairs * tail < 1e-5


def misses(
    folder: Path, asked: dict[str, tuple[str, Truth]], unit: str, epsilon: str = "1"
) -> Counter[tuple[str, int]]:
    """For each release and step how many keys have an interval without the truth."""
    tables = "".join(f'[[release]]\nname = "{n}"\n{text}{BY}' for n, (text, _) in asked.items())
    weight = 'weight = "age"' if unit == EVENT else ""
    world = World(folder, tables, unit=unit, epsilon=epsilon, stream=weight)
    rows = [f"{day(1):%Y-%m-%dT%H:%M:%SZ},ada,{name},{MANY},5,true" for name in NAMES]
    world.write(rows if weight else [])
    world.earnest(8)
    missed: Counter[tuple[str, int]] = Counter()
    for release in world.releases():
        true = asked[release.release][1](release.step)
        if release.step in STEPS and true is not None:
            low, high = release.low, release.high
            assert low is not None
            assert high is not None
            missed[release.release, release.step] += not low <= true <= high
    return missed


def too_often(missed: Counter[tuple[str, int]]) -> set[str]:
    return {release for (release, _), number in missed.items() if number > MOST}


@pytest.mark.parametrize("epsilon", ["1", GAUSSIAN], ids=["laplace", "gaussian"])
def test_events(tmp_path: Path, epsilon: str) -> None:
    missed = misses(tmp_path, EVENTS, EVENT, epsilon)
    assert len(missed) == len(STEPS) * (len(EVENTS) - 1) + 1
    assert too_often(missed) == set()


def test_users(tmp_path: Path) -> None:
    assert too_often(misses(tmp_path, USERS, USER)) == set()


def test_an_interval_that_is_too_narrow_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half as wide; the mean's interval is of the worst case, so there it is a third."""
    noise = LinearMeasure.noise

    def narrow(self: LinearMeasure, *given: Any) -> Any:
        return noise(self, *given) / (3 if self.measure == "mean" else 2)

    monkeypatch.setattr(LinearMeasure, "noise", narrow)
    assert too_often(misses(tmp_path / "events", EVENTS, EVENT)) == {*EVENTS}
    assert too_often(misses(tmp_path / "users", USERS, USER)) == {*USERS}
