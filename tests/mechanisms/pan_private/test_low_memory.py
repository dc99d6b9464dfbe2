"""Densities in little memory: who is in, the hash, estimates."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours
from ameles.core.noise import Noise
from ameles.mechanisms.pan_private.low_memory import (
    BucketDensity,
    SampledDensity,
    buckets,
    distinct,
)
from ameles.mechanisms.snapshot import unpack
from ameles.noise import System, Tape, Zero
from tests.mechanisms.pan_private.laws import law_of, loss

SHARED: dict[str, Any] = {"epsilon_state": 1, "epsilon_output": 1}
UP, US = Neighbours.USER_PRESENCE, Neighbours.USER_SUBSTITUTION


@pytest.mark.parametrize(("users", "count"), [(5, 1), (5, 2), (4, 3), (4, 4)])
def test_every_sample_is_as_likely(users: int, count: int) -> None:
    law = law_of(lambda noise: tuple(distinct(noise, users, count).tolist()))
    assert len(law) == math.comb(users, count)
    assert min(law.values()) == pytest.approx(1 / len(law)) == max(law.values())


def test_a_sample_without_randomness_is_one_too() -> None:
    assert len(set(distinct(Zero(), 100, 50).tolist())) == 50


def test_a_large_sample_is_a_sample() -> None:
    sample = distinct(System.direct(), 10**12, 100_000)
    assert np.all(np.diff(sample) > 0)
    assert sample.size == 100_000
    # a mean of 100,000 uniforms: false alarm 1e-6 at 4.9 standard deviations
    assert abs(sample.mean() / 10**12 - 0.5) < 4.9 / math.sqrt(12 * 100_000)


def test_a_sampled_user_loses_epsilon_and_no_other() -> None:
    recipe = SampledDensity(users=4, sample=2, neighbours=UP, **SHARED)

    def state(users: list[int]) -> dict[tuple[tuple[int, ...], ...], float]:
        def program(noise: Noise) -> tuple[tuple[int, ...], ...]:
            run = recipe.start(noise)
            run.add(users)
            _, words, sample = unpack(run.snapshot(), recipe.fingerprint).parts
            return tuple(words.view(np.uint8)[:2].tolist()), tuple(sample.tolist())

        return law_of(program)

    absent = state([])
    for users in ([3], [3, 3]):
        present = state(users)
        assert loss(present, absent) == pytest.approx(1)
        elsewhere = loss(present, absent, among=lambda outcome: 3 not in outcome[1])
        assert elsewhere == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("relation", [UP, US])
@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
def test_estimates_from_a_sample(relation: Neighbours, density: float) -> None:
    recipe = SampledDensity(users=2_000_000, sample=100_000, neighbours=relation, **SHARED)
    run = recipe.start(System.direct())
    run.add(np.arange(int(density * 2_000_000)))
    estimate = run.release(beta=1e-6)
    assert estimate.low <= density <= estimate.high  # false alarm 1e-6
    assert abs(estimate.value - density) < 5 * estimate.standard_error  # false alarm 6e-7


@pytest.mark.parametrize("relation", [UP, US])
@pytest.mark.parametrize("present", [0, 50_000, 200_000])
def test_estimates_from_buckets(relation: Neighbours, present: int) -> None:
    recipe = BucketDensity(users=10**6, buckets=200_000, neighbours=relation, **SHARED)
    run = recipe.start(System.direct())
    run.add(np.arange(present) * 5)
    estimate = run.release(beta=1e-6)
    assert estimate.low <= present / 10**6 <= estimate.high  # false alarm 1e-6
    # to first order in an error of less than 1%: false alarm 1e-6
    assert abs(estimate.value - present / 10**6) < 5.2 * estimate.standard_error


def test_the_hash_hits_as_many_buckets_as_a_random_function() -> None:
    key = System.direct().uniform(1 << 63, 2)
    hit = len(set(buckets(np.arange(50_000), key, 50_000).tolist())) / 50_000
    # the variance of the fraction hit is below 1 / 4m: false alarm 1e-6 at 4.9
    assert abs(hit - (1 - math.exp(-1))) < 4.9 / (2 * math.sqrt(50_000))


def test_a_user_stays_in_the_same_bucket() -> None:
    # a stream that was launched before goes on with the table that it has
    users, key = np.array([0, 1, 2, 10**12]), np.array([3, -7])
    assert buckets(users, key, 1000).tolist() == [897, 229, 33, 570]
    assert users.tolist() == [0, 1, 2, 10**12]


def test_buckets_are_inverted() -> None:
    recipe = BucketDensity(users=1000, buckets=100, neighbours=UP, **SHARED)
    for d in (0, 1, 50, 400):
        assert recipe.fraction(1 - (1 - 1 / 100) ** d) == pytest.approx(d / 1000, abs=1e-9)
    assert recipe.fraction(1.2) == math.inf
    full = recipe.start(Zero())
    full.add(np.arange(1000))
    assert full.release().value == 1.0


def test_the_error_of_the_sample_is_added() -> None:
    recipe = SampledDensity(users=10**9, sample=10_000, neighbours=UP, **SHARED)
    bits = 1 / (4 * recipe.gamma**2 * 10_000)
    assert recipe.error.std(1) ** 2 == pytest.approx(bits + 1 / 40_000, rel=1e-2)


def test_samples_and_buckets_survive_announced_intrusions() -> None:
    for recipe in (
        SampledDensity(users=10**6, sample=50_000, neighbours=UP, intrusions=2, **SHARED),
        BucketDensity(users=10**6, buckets=500_000, neighbours=UP, intrusions=2, **SHARED),
    ):
        run = recipe.start(System.direct())
        run.add(np.arange(200_000))
        run.intruded()
        run.add(np.arange(100_000, 300_000))
        estimate = run.release(beta=1e-6)
        assert estimate.low <= 0.3 <= estimate.high  # false alarm 1e-6


def test_a_sample_of_most_users_is_refused() -> None:
    with pytest.raises(BadInput, match="at most half"):
        SampledDensity(users=10, sample=6, neighbours=UP, **SHARED)


def test_all_128_bits_of_the_key_are_drawn() -> None:
    recipe = BucketDensity(
        users=10, buckets=8, neighbours=UP, epsilon_state=Fraction(1), epsilon_output=1
    )
    tape = Tape()
    recipe.start(tape)
    assert [draw.scale for draw in tape.draws[-4:]] == [1 << 63, 1 << 63, 2, 2]


def test_buckets_are_not_biased_and_their_error_is_one_of_users() -> None:
    # 0.400 of the users; the mean of 300 releases is known to 0.0041, so a difference of 0.022
    # happens by chance less than once in 10^7.  Without its correction the mean is larger.
    recipe = BucketDensity(
        users=1000, buckets=1000, neighbours="user-presence", epsilon_state=1, epsilon_output=1
    )
    values = []
    for _ in range(300):
        run = recipe.start(System.direct())
        run.add(np.arange(400))
        values.append(run.release().value)
    assert abs(np.mean(values) - 0.4) < 0.022
    assert np.std(values) < recipe.error.std(1) < 0.2
    far = np.abs(np.array(values) - 0.4) > recipe.error.bound(1, 0.05)
    assert far.mean() < 0.05


def test_the_error_of_buckets_is_that_of_the_fullest() -> None:
    few, many = (
        BucketDensity(
            users=users,
            buckets=10_000,
            neighbours="user-presence",
            epsilon_state=1,
            epsilon_output=1,
        ).error
        for users in (1000, 20_000)
    )
    # with so many users every bucket is hit, and nothing is known
    full = BucketDensity(
        users=10**9, buckets=50, neighbours="user-presence", epsilon_state=1, epsilon_output=1
    ).error
    assert full.std(1) <= 1
    assert full.bound(1, 0.05) == pytest.approx(1, abs=1e-3)
    assert few.hits.std(1) == many.hits.std(1)
    assert few.std(1) > many.std(1)
    assert few.bound(1, 0.05) < 1
