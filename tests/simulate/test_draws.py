"""Seeded draws: the same for the same question, different for another, and of the right law.

All draws have fixed seeds, so a test gives one answer for ever; the tolerances are those that a
false alarm of 1e-5 would have if the seed were drawn.
"""

from __future__ import annotations

import hashlib
import math
import struct

import numpy as np

from ameles.simulate.draws import along, bell, high, low, scattered, words


def test_the_words_are_those_of_shake_256_in_one_byte_order() -> None:
    stream = hashlib.shake_256(b"ameles.simulate/7/visits/3").digest(32)
    drawn = words(7, "visits", 3, rows=2, each=2)
    assert drawn.ravel().tolist() == list(struct.unpack("<4Q", stream))


def test_every_part_of_the_question_matters() -> None:
    asked = [(7, "visits", 3), (8, "visits", 3), (7, "flaws", 3), (7, "visits", 4)]
    answers = {words(*question, rows=4, each=1).tobytes() for question in asked}
    assert len(answers) == len(asked)


def test_halves_are_uniform() -> None:
    # 100,000 draws; the largest gap to the diagonal exceeds 2.47 / sqrt(n) once in 1e5 (DKW).
    drawn = words(1, "halves", 0, rows=100_000, each=1)[0]
    for half in (low(drawn), high(drawn)):
        assert half.min() >= 0
        assert half.max() < 1
        gap = np.abs(np.sort(half) - np.arange(len(half)) / len(half)).max()
        assert gap < 2.47 / math.sqrt(len(half))


def test_the_bell_has_mean_0_and_deviation_1() -> None:
    # 100,000 draws; 4.42 standard errors each; the fourth moment of four uniforms is 2.7.
    drawn = bell(words(1, "bell", 0, rows=100_000, each=1)[0])
    assert abs(drawn.mean()) < 4.42 / math.sqrt(len(drawn))
    assert abs((drawn**2).mean() - 1) < 4.42 * math.sqrt(1.7 / len(drawn))
    assert np.abs(drawn).max() <= 2 * math.sqrt(3)


def test_no_two_numbers_are_scattered_to_one_place() -> None:
    numbers = np.arange(100_000, dtype=np.uint64)
    assert len(np.unique(scattered(numbers, 5))) == len(numbers)
    assert (scattered(numbers, 5) != scattered(numbers, 6)).any()


def test_along_agrees_with_numpy() -> None:
    knots, values = np.array([0.0, 1, 3]), np.array([2.0, 4, 0])
    places = np.linspace(0, 3, 31)
    assert np.allclose(along(places, knots, values), np.interp(places, knots, values))
