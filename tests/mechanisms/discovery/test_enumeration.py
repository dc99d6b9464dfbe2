"""The exact (epsilon, delta) of the whole mechanism on tiny instances, from the code itself."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import pytest

from ameles.accounting.concentrated import zcdp_delta
from ameles.mechanisms.discovery import DiscoveryRun
from tests.mechanisms.discovery import broken_runs
from tests.mechanisms.discovery.tiny_worlds import (
    Records,
    TinyDiscovery,
    crossing,
    deltas,
    tiny,
)

EPSILONS = [0.5, 1.0, 2.0, 4.0, 8.0]
# What the values of draws that are left out weigh, at most: four draws beyond 4 at variance 1.
TAILS = 1e-4
# What a user does: nothing else than one record; the same key twice; both keys, in any order.
USERS: list[Records] = [((1, 0),), ((1, 0), (2, 0)), ((1, 1), (2, 0)), ((2, 0), (2, 1))]


@lru_cache(maxsize=64)
def alone(recipe: TinyDiscovery, reach: int) -> float:
    """The largest probability with which one user alone makes a key public."""
    return max(crossing(recipe, ((step, 0),), reach=reach) for step in (1, 2))


def claimed(recipe: TinyDiscovery, epsilon: float, *, values: bool, reach: int) -> float:
    """What the theorem says: delta of the Gaussian parts, and one crossing for each slot."""
    slots = recipe.used_slots
    rho = Fraction(sum(weight**2 for weight in slots), 2 * recipe.selection_variance)
    if values:
        rho += Fraction(recipe.records * recipe.per_key, 2 * recipe.value_variance)
    honest = tiny(**{name: getattr(recipe, name) for name in ("slots", "records", "heights")})
    union = len(slots) * alone(honest, reach)
    return float(zcdp_delta(rho=rho, epsilon=epsilon)) + union


def check(
    recipe: TinyDiscovery,
    others: list[Records],
    user: Records,
    *,
    keys: int = 1,
    reach: int = 5,
    value_reach: int = 0,
) -> None:
    found = deltas(recipe, others, user, EPSILONS, keys=keys, reach=reach, value_reach=value_reach)
    for epsilon, both in zip(EPSILONS, found, strict=True):
        claim = claimed(recipe, epsilon, values=value_reach > 0, reach=reach)
        assert max(both) <= claim + TAILS


@pytest.mark.parametrize("others", [(), (1,), (2,), (1, 2), (2, 2, 2), (1, 1, 1, 2)])
def test_one_key_with_its_values(others: tuple[int, ...]) -> None:
    recipe = tiny(slots=(1,), records=1, heights=("5/2", "7/2"))
    for step in (1, 2):
        users: list[Records] = [((when, 0),) for when in others]
        check(recipe, users, ((step, 0),), reach=4, value_reach=4)


@pytest.mark.parametrize("others", [(), ((1, 0),), ((2, 0), (2, 1)), ((1, 1), (2, 0))])
def test_two_keys_and_what_a_user_does_to_them(others: tuple[tuple[int, int], ...]) -> None:
    recipe = tiny(slots=(2, 1), heights=("7/2", "9/2"))
    for user in USERS:
        check(recipe, [(record,) for record in others], user, keys=2, reach=4)


def test_the_crossing_is_paid_once_and_in_full() -> None:
    """With nobody else there, a large epsilon leaves the crossing and nothing else."""
    recipe = tiny(slots=(1,), records=1, heights=("5/2", "7/2"))
    [(_, found)] = deltas(recipe, [], ((1, 0),), [30.0], reach=5)
    assert found == pytest.approx(crossing(recipe, ((1, 0),), reach=5), abs=TAILS)


@dataclass(frozen=True, kw_only=True)
class Late(TinyDiscovery):
    def run_class(self) -> type[DiscoveryRun]:
        return broken_runs.NoiseStartsWithTheKey


@dataclass(frozen=True, kw_only=True)
class ByRecords(TinyDiscovery):
    def run_class(self) -> type[DiscoveryRun]:
        return broken_runs.LiveByRecords


BASE: dict[str, Any] = {"epsilon": 1, "delta": "0.1", "horizon": 2}


def test_noise_that_starts_with_the_key_is_caught() -> None:
    """One world has the noise of two looks where the other has that of one."""
    fields: dict[str, Any] = {"slots": (1,), "records": 1, "heights": ("7", "13/2")}
    others: list[Records] = [((2, 0),)] * 9
    check(tiny(**fields), others, ((1, 0),))
    with pytest.raises(AssertionError):
        check(Late(**BASE, **fields), others, ((1, 0),))


def test_a_key_that_is_found_without_a_slot_is_caught() -> None:
    fields: dict[str, Any] = {"slots": (1,), "records": 2, "heights": ("3/2", "5/2")}
    user = ((1, 0), (1, 1))
    check(tiny(**fields), [], user, keys=2)
    with pytest.raises(AssertionError):
        check(ByRecords(**BASE, **fields), [], user, keys=2)
