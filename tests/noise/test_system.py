"""The noise of production: exact laws by counting, and refusals before a byte is read.

Every check of a law has samples that are nearly right, which it must reject.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise, Shape
from ameles.noise import System, Tape, Zero
from ameles.noise.arrays import IntArray
from ameles.noise.entropy import Keystream, OperatingSystem
from ameles.noise.enumeration import every_tape
from tests.each import together

from .sources import Scripted, Stream
from .truth import ALARM, cells, doubt, gaussian_cdf, laplace_cdf

# Each sample below has so many draws, in up to 81 cells of at least 50 expected draws; the
# false alarm is ALARM for each assertion, and the stream is the same in every run.
DRAWS = 1 << 21

with_and_without_kernels = pytest.mark.parametrize(
    "compiled", [False, True], ids=["numpy", "compiled"]
)


def laplace_doubt(sample: IntArray, scale: Fraction) -> float:
    return doubt(sample, *cells(laplace_cdf(scale), float(scale), sample.size))


def gaussian_doubt(sample: IntArray, variance: Fraction) -> float:
    return doubt(sample, *cells(gaussian_cdf(variance), float(variance) ** 0.5, sample.size))


@with_and_without_kernels
@pytest.mark.parametrize(
    "scale",
    [
        Fraction(1, 8),
        Fraction(1, 3),
        Fraction(1),
        Fraction(7, 3),
        Fraction(50),
        Fraction(1000),
        Fraction(3 * 2**20 + 1, 3),
        Fraction(1 << 33),
        Fraction(1 << 45),
    ],
    ids=str,
)
def test_laplace_noise_has_its_law(scale: Fraction, compiled: bool) -> None:
    noise = System(entropy=Stream(f"laplace {scale}"), compiled=compiled)
    assert laplace_doubt(noise.laplace(scale, DRAWS), scale) > ALARM


@with_and_without_kernels
@pytest.mark.parametrize(
    "variance",
    [
        Fraction(1, 18),
        Fraction(1, 3),
        Fraction(1),
        Fraction(100),
        Fraction(10**6),
        Fraction(3 * 2**66 + 1, 3),
        Fraction(1 << 90),
    ],
    ids=str,
)
def test_gaussian_noise_has_its_law(variance: Fraction, compiled: bool) -> None:
    noise = System(entropy=Stream(f"gaussian {variance}"), compiled=compiled)
    assert gaussian_doubt(noise.gaussian(variance, DRAWS), variance) > ALARM


@with_and_without_kernels
def test_noise_far_narrower_than_an_integer_is_zero(compiled: bool) -> None:
    # P(not 0) is below 3 exp(-50): once in 10**15 samples of this size
    noise = System(compiled=compiled)
    assert not noise.laplace(Fraction(1, 50), DRAWS).any()
    assert not noise.gaussian(Fraction(1, 100), DRAWS).any()
    assert not noise.laplace(Fraction(1, 1 << 100), DRAWS).any()
    assert not noise.gaussian(Fraction(1, 1 << 100), DRAWS).any()


class Reused(Stream):
    """Planted: the bits that select a block are used again to decide whether to keep it."""

    def read(self, count: int) -> bytearray:
        taken = super().read(count)
        if count % 5 == 0:  # a round at a scale whose offsets have one byte
            taken[3 * count // 5 :] = taken[count // 5 : 3 * count // 5]
        return taken


def fair_sign(noise: System) -> IntArray:
    """Planted: a fair sign on a geometric variable counts zero twice."""
    drawn = noise.laplace(Fraction(10), DRAWS)
    distance = np.where(drawn < 0, ~drawn, drawn)
    return np.where(noise.bernoulli(Fraction(1, 2), DRAWS), distance, -distance)


def cut_off(noise: System) -> IntArray:
    """Planted: a tail that ends at nine scales, where 1 in 8,000 draws lies."""
    drawn = noise.laplace(Fraction(10), DRAWS)
    return drawn[abs(drawn) < 90]


def one_sided(noise: System) -> IntArray:
    """Planted: one draw in 50 loses its sign."""
    drawn = noise.laplace(Fraction(10), DRAWS)
    return np.where(noise.bernoulli(Fraction(1, 50), DRAWS), abs(drawn), drawn)


@pytest.mark.parametrize("planted", [fair_sign, cut_off, one_sided])
def test_laplace_noise_that_is_nearly_right_is_seen(planted: Callable[[System], IntArray]) -> None:
    sample = planted(System(entropy=Stream("planted")))
    assert laplace_doubt(sample, Fraction(10)) < ALARM


@pytest.mark.parametrize("scale", [Fraction(7, 3), Fraction(1000), Fraction(1 << 45)], ids=str)
def test_laplace_noise_of_another_scale_is_seen(scale: Fraction) -> None:
    sample = System(entropy=Stream("planted")).laplace(scale * Fraction(99, 100), DRAWS)
    assert laplace_doubt(sample, scale) < ALARM


@pytest.mark.parametrize("variance", [Fraction(1), Fraction(100), Fraction(1 << 90)], ids=str)
def test_gaussian_noise_of_another_variance_is_seen(variance: Fraction) -> None:
    sample = System(entropy=Stream("planted")).gaussian(variance * Fraction(101, 100), DRAWS)
    assert gaussian_doubt(sample, variance) < ALARM


def test_noise_from_reused_bits_is_seen() -> None:
    sample = System(entropy=Reused("planted")).laplace(Fraction(1000), DRAWS)
    assert laplace_doubt(sample, Fraction(1000)) < ALARM


def test_noise_wraps_where_it_leaves_int64() -> None:
    # At scale 2**100 the lower 64 bits are uniform but for 2**-30; 8 cells of 4,000 draws,
    # false alarm ALARM.
    sample = System(entropy=Stream("wrap")).laplace(Fraction(1 << 100), 4_000)
    edges = [i << 61 for i in range(-3, 4)]
    assert doubt(sample, edges, [1 / 8] * 8) > ALARM


@pytest.mark.parametrize("scale", [Fraction(1, 1 << 100), 1, 5, Fraction(7, 3), 1 << 100])
def test_whole_numbers_are_exact_too(scale: Fraction | int) -> None:
    number: Any = scale
    ours, theirs = System(entropy=Stream("int")), System(entropy=Stream("int"))
    assert np.array_equal(ours.laplace(number, 9), theirs.laplace(Fraction(scale), 9))
    assert np.array_equal(ours.gaussian(number, 9), theirs.gaussian(Fraction(scale), 9))


# What each method of a noise accepts and refuses: the system, and what replaces it in tests.

METHODS: dict[str, Callable[[Noise, Shape], Any]] = {
    "laplace": lambda noise, size: noise.laplace(Fraction(1), size),
    "gaussian": lambda noise, size: noise.gaussian(Fraction(1), size),
    "bernoulli": lambda noise, size: noise.bernoulli(Fraction(1, 2), size),
    "bernoulli_exp": lambda noise, size: noise.bernoulli_exp(Fraction(1), size),
    "uniform": lambda noise, size: noise.uniform(7, size),
    "truncated": lambda noise, size: noise.truncated_laplace(Fraction(1), 1, size),
}
NOISES: dict[str, Callable[[], Noise]] = {
    "system": System,
    "direct": System.direct,
    "zero": Zero,
    "tape": Tape,
}

every_method = pytest.mark.parametrize("draw", METHODS.values(), ids=METHODS)
every_noise = pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)


@every_noise
@every_method
@together("size", [0, 1, 5, (), (3,), (2, 3), (0, 3), (2, 0), np.int64(4)])
def test_draws_come_in_the_shape_that_was_asked_for(
    noise: Callable[[], Noise], draw: Callable[[Noise, Shape], Any], size: Any
) -> None:
    drawn = draw(noise(), size)
    assert drawn.shape == np.empty(size).shape
    assert drawn.dtype in (np.int64, np.bool_)


NO_SHAPES: list[Any] = [
    *(-1, (-1, -1), (2, -1), (-1,), 2.0, (2.0,), True, (True,), "3", None, [2, 3]),
    *(1 << 41, (1 << 30, 1 << 30), float("nan")),
]


def refuses(call: Callable[[], object]) -> None:
    """The call is refused with a sentence that is finished."""
    with pytest.raises(BadInput) as refusal:
        call()
    assert refusal.value.what.endswith(".")
    assert "must be" in refusal.value.what


@every_method
@together("size", NO_SHAPES)
def test_what_is_no_shape_is_refused_before_a_byte_is_read(
    draw: Callable[[Noise, Shape], Any], size: Any
) -> None:
    entropy = Scripted()
    refuses(lambda: draw(System(entropy=entropy), size))
    assert entropy.used == 0
    refuses(lambda: draw(Zero(), size))
    refuses(lambda: draw(Tape(), size))


NOT_EXACT: list[Any] = [
    *(0.5, float("nan"), float("inf"), True, False, "1", None, 1j),
    *(Decimal(1), np.float64(1), np.int64(1)),
]
NEVER: list[Any] = [*NOT_EXACT, -1, Fraction(-1, 10**9)]
TOO_MUCH = [0, (1 << 100) + 1, Fraction(1, (1 << 100) + 1), 10**5000, Fraction(1, 10**5000)]

BAD_CALLS: dict[str, Callable[[Noise, Any], object]] = {
    "laplace": lambda noise, bad: noise.laplace(bad, 1),
    "gaussian": lambda noise, bad: noise.gaussian(bad, 1),
    "bernoulli": lambda noise, bad: noise.bernoulli(bad, 1),
    "bernoulli_exp": lambda noise, bad: noise.bernoulli_exp(bad, 1),
    "uniform": lambda noise, bad: noise.uniform(bad, 1),
    "choose": lambda noise, bad: noise.choose([Fraction(1), bad]),
    "truncated": lambda noise, bad: noise.truncated_laplace(bad, 1 << 62, 1),
    "within": lambda noise, bad: noise.truncated_laplace(Fraction(7, 3), bad, 1),
}
BAD: list[tuple[str, Any]] = [
    *((law, bad) for law in ("laplace", "gaussian") for bad in [*NEVER, *TOO_MUCH]),
    *(("bernoulli", bad) for bad in [*NEVER, 2, Fraction(10**9 + 1, 10**9)]),
    *(("bernoulli_exp", bad) for bad in NEVER),
    *(("uniform", bad) for bad in [0.5, 2.0, True, None, "2", Fraction(2), -1, 0, (1 << 63) + 1]),
    *(("choose", bad) for bad in NOT_EXACT),
    *(("truncated", bad) for bad in [*NEVER, *TOO_MUCH, 1 << 63]),
    *(("within", bad) for bad in [0.5, 9.0, True, None, "9", Fraction(9), -9, 0, 2, 1 << 63]),
]


@together(("law", "bad"), BAD)
def test_bad_parameters_are_refused_before_a_byte_is_read(law: str, bad: Any) -> None:
    call = BAD_CALLS[law]
    entropy = Scripted()
    refuses(lambda: call(System(entropy=entropy), bad))
    assert entropy.used == 0
    refuses(lambda: call(Zero(), bad))
    tape = Tape()
    refuses(lambda: call(tape, bad))
    assert tape.draws == []
    if law != "gaussian":
        refuses(lambda: list(every_tape(lambda noise: call(noise, bad), modulus=3)))


@every_noise
def test_there_must_be_something_to_choose_from(noise: Callable[[], Noise]) -> None:
    with pytest.raises(BadInput, match="at least one candidate"):
        noise().choose([])


def test_where_the_bytes_come_from() -> None:
    assert System().genuine
    assert not System().forgetful  # a keystream holds bytes of the noise to come
    assert System.direct().genuine
    assert System.direct().forgetful
    assert not System(entropy=Scripted()).genuine
    assert System(entropy=OperatingSystem()).forgetful
    assert not System(entropy=Keystream()).forgetful


def test_direct_noise_keeps_nothing_but_where_its_bytes_come_from() -> None:
    noise = System.direct()
    noise.laplace(Fraction(100), 100_000)
    assert {type(value) for value in vars(noise).values()} == {OperatingSystem, bool}
