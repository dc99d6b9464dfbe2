"""Every tape in turn: the exact law of a program, and the leaks that it shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import pytest

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.noise.enumeration import every_tape, law_of

MODULUS = 7

Program = Callable[[Noise], int]


def noisy(x: int, scale: Fraction = Fraction(1)) -> Program:
    """A count with noise, wrapped as the noise is."""
    return lambda noise: (x + int(noise.laplace(scale, 1)[0])) % MODULUS


def worst_ratio(program: Callable[[int], Program], modulus: int = MODULUS) -> Fraction:
    """How much likelier an outcome is on one of two neighbouring inputs, at most."""
    worst = Fraction(0)
    for x in (0, 1):
        one, other = law_of(program(x), modulus=modulus), law_of(program(1 - x), modulus=modulus)
        if not one.keys() <= other.keys():
            raise AssertionError("an outcome that only one of the inputs has")
        worst = max(worst, *(one[outcome] / other[outcome] for outcome in one))
    return worst


@pytest.mark.parametrize("modulus", [3, 5, 7, 21])
@pytest.mark.parametrize("rate", [1, 2, 5])
def test_wrapped_laplace_noise_is_the_sum_over_all_turns(modulus: int, rate: int) -> None:
    law = law_of(lambda noise: int(noise.laplace(Fraction(1, rate), 1)[0]), modulus=modulus)
    assert sum(law.values()) == 1
    half = modulus // 2
    assert set(law) == set(range(-half, half + 1))
    b = Fraction(1, 2**rate)
    # 40 turns either way leave out less than 2**-100
    turns: dict[int, Fraction] = {
        k: sum((b ** abs(k + modulus * turn) for turn in range(-40, 41)), Fraction(0)) for k in law
    }
    total = sum(turns.values(), Fraction(0))
    assert all(abs(law[k] - turns[k] / total) < Fraction(1, 2**100) for k in law)


@pytest.mark.parametrize("modulus", [3, 5, 7, 21])
@pytest.mark.parametrize("rate", [1, 2, 3])
def test_neighbours_of_wrapped_laplace_noise_are_within_their_claim(
    modulus: int, rate: int
) -> None:
    # Wrapping is post-processing, so the ratio is below 2**rate; from the two weights next to
    # zero it is (1 + b**m) / (b + b**(m - 1)) with b = 2**-rate, which tends to 2**rate.
    def shifted(x: int) -> Program:
        return lambda noise: (x + int(noise.laplace(Fraction(1, rate), 1)[0])) % modulus

    b = Fraction(1, 2**rate)
    worst = worst_ratio(shifted, modulus)
    assert worst == (1 + b**modulus) / (b + b ** (modulus - 1))
    assert worst < 2**rate
    assert worst > 2 ** (rate - 1)  # so noise for a claim half as large would be refused


def test_noise_of_half_the_scale_is_caught() -> None:
    assert worst_ratio(lambda x: noisy(x)) < 2
    assert worst_ratio(lambda x: noisy(x, Fraction(1, 2))) > 2


def test_a_doubled_noise_that_leaks_the_parity_is_caught() -> None:
    # As real numbers 2 eta + x is noise enough; as integers its parity is that of x.
    def doubled(x: int) -> Program:
        return lambda noise: x + 2 * int(noise.laplace(Fraction(1), 1)[0])

    with pytest.raises(AssertionError, match="only one of the inputs"):
        worst_ratio(doubled)


def test_noise_that_is_left_out_on_one_input_is_caught() -> None:
    def careless(x: int) -> Program:
        return noisy(x) if x else lambda noise: 0

    with pytest.raises(AssertionError, match="only one of the inputs"):
        worst_ratio(careless)


def test_noise_that_is_used_twice_is_caught() -> None:
    # Two counts that move together, and the same noise on both: their difference is bare.
    def reused(x: int) -> Program:
        def program(noise: Noise) -> int:
            eta = int(noise.laplace(Fraction(1), 1)[0])
            return (x + eta) % MODULUS * 10 + (2 * x + eta) % MODULUS

        return program

    with pytest.raises(AssertionError, match="only one of the inputs"):
        worst_ratio(reused)


def test_independent_draws_multiply() -> None:
    one = law_of(lambda noise: int(noise.laplace(Fraction(1), 1)[0]), modulus=3)
    two = law_of(lambda noise: tuple(noise.laplace(Fraction(1), 2).tolist()), modulus=3)
    assert two == {(a, b): one[a] * one[b] for a in one for b in one}


def test_draws_may_depend_on_what_was_drawn_before() -> None:
    def program(noise: Noise) -> str:
        if noise.bernoulli(Fraction(1, 3), 1)[0]:
            return "heads"
        return f"tails {int(noise.uniform(2, 1)[0])}"

    assert law_of(program, modulus=3) == {
        "heads": Fraction(1, 3),
        "tails 0": Fraction(1, 3),
        "tails 1": Fraction(1, 3),
    }


def test_every_tape_is_run_once_with_its_probability() -> None:
    runs = list(every_tape(lambda noise: tuple(noise.uniform(3, (2, 2)).flat), modulus=3))
    assert len(runs) == 81
    assert Counter(outcome for outcome, _ in runs).most_common(1)[0][1] == 1
    assert {chance for _, chance in runs} == {Fraction(1, 81)}


def test_a_program_without_noise_has_one_outcome() -> None:
    assert law_of(lambda noise: "always", modulus=3) == {"always": 1}
    assert law_of(lambda noise: noise.laplace(Fraction(1), (0, 2)).size, modulus=3) == {0: 1}


def test_what_cannot_happen_is_not_enumerated() -> None:
    never = law_of(lambda noise: bool(noise.bernoulli(Fraction(0), 1)[0]), modulus=3)
    always = law_of(lambda noise: bool(noise.bernoulli(Fraction(1), 1)[0]), modulus=3)
    assert never == {False: 1}
    assert always == {True: 1}


def test_exponential_coins_and_choices_are_in_base_2() -> None:
    coin = law_of(lambda noise: bool(noise.bernoulli_exp(Fraction(3), 1)[0]), modulus=3)
    assert coin == {True: Fraction(1, 8), False: Fraction(7, 8)}
    choice = law_of(lambda noise: noise.choose([Fraction(2), Fraction(0), Fraction(1)]), modulus=3)
    assert choice == {0: Fraction(1, 7), 1: Fraction(4, 7), 2: Fraction(2, 7)}


def test_only_differences_of_penalties_matter() -> None:
    gammas = [Fraction(-5, 2), Fraction(-3, 2), Fraction(1, 2)]
    choice = law_of(lambda noise: noise.choose(gammas), modulus=3)
    assert choice == {0: Fraction(8, 13), 1: Fraction(4, 13), 2: Fraction(1, 13)}


def test_a_program_that_remembers_its_last_run_is_refused() -> None:
    seen: list[int] = []

    def forgetless(noise: Noise) -> int:
        seen.append(1)
        return int(noise.uniform(2 if len(seen) == 1 else 3, 1)[0])

    with pytest.raises(BadInput, match="do not sum to 1") as refusal:
        law_of(forgetless, modulus=3)
    assert "keeps nothing between its runs" in refusal.value.tip


@pytest.mark.parametrize("modulus", [-3, 0, 1, 2, 4, (1 << 16) + 1])
def test_a_modulus_is_odd_and_at_least_3(modulus: int) -> None:
    with pytest.raises(BadInput, match="modulus"):
        law_of(noisy(0), modulus=modulus)


def test_gaussian_noise_is_refused() -> None:
    with pytest.raises(BadInput, match="Gaussian noise cannot be enumerated"):
        law_of(lambda noise: noise.gaussian(Fraction(1), 1).size, modulus=3)


@pytest.mark.parametrize(
    "program",
    [
        lambda noise: noise.laplace(Fraction(2), 1).size,
        lambda noise: noise.bernoulli_exp(Fraction(1, 2), 1).size,
        lambda noise: noise.choose([Fraction(0), Fraction(1, 2)]),
    ],
)
def test_exponents_that_are_not_whole_are_refused(program: Program) -> None:
    with pytest.raises(BadInput, match="needs a whole"):
        law_of(program, modulus=3)


def test_draws_with_too_many_values_are_refused() -> None:
    with pytest.raises(BadInput, match="'n' parameter must be a whole number from 1 to 65536"):
        law_of(lambda noise: noise.uniform(1 << 40, 1).size, modulus=3)


def test_draws_with_different_numbers_of_options_are_all_gone_through() -> None:
    def program(noise: Noise) -> tuple[int, ...]:
        first = int(noise.uniform(2, 1)[0])
        others = [int(noise.uniform(n, 1)[0]) for n in ((3, 2) if first else (4,))]
        return (first, *others)

    chances = dict(every_tape(program, modulus=3))
    assert set(chances) == {(0, b) for b in range(4)} | {
        (1, b, c) for b in range(3) for c in (0, 1)
    }
    assert sum(chances.values()) == 1


def test_what_is_enumerated_is_not_the_noise_of_the_operating_system() -> None:
    assert [genuine for genuine, _ in every_tape(lambda noise: noise.genuine, modulus=3)] == [False]
