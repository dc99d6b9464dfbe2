"""Noise that a test decides: zeros, scripts, impulses, recordings."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.noise import Draw, System, Tape, Zero

from .sources import Stream


def play(noise: Noise) -> list[object]:
    """Some draws of every kind."""
    return [
        noise.laplace(Fraction(10), (2, 3)).tolist(),
        noise.gaussian(Fraction(50), 4).tolist(),
        noise.bernoulli(Fraction(1, 3), (2, 2)).tolist(),
        noise.bernoulli_exp(Fraction(1, 2), 3).tolist(),
        noise.uniform(100, 5).tolist(),
        noise.choose([Fraction(1), Fraction(0), Fraction(3)]),
        noise.laplace(Fraction(1), ()).tolist(),
    ]


def test_zero_is_the_likeliest_value_of_every_law() -> None:
    assert play(Zero()) == [
        [[0] * 3] * 2,
        [0] * 4,
        [[False] * 2] * 2,
        [True] * 3,  # exp(-1/2) is above a half
        [0] * 5,
        1,
        0,
    ]
    assert Zero().bernoulli(Fraction(2, 3), 2).tolist() == [True, True]
    assert Zero().bernoulli(Fraction(1, 2), 1).tolist() == [False]
    assert Zero().bernoulli_exp(Fraction(7, 10), 1).tolist() == [False]  # ln 2 = 0.693
    assert Zero().bernoulli_exp(Fraction(69, 100), 1).tolist() == [True]
    assert Zero().bernoulli_exp(Fraction(0), 1).tolist() == [True]
    assert Zero().choose([Fraction(2), Fraction(-1), Fraction(-1)]) == 1
    assert Zero().uniform(1, 2).tolist() == [0, 0]
    with pytest.raises(BadInput):
        Zero().uniform(0, 1)


def test_what_tests_decide_is_not_genuine() -> None:
    for noise in (Zero(), Tape(), Tape(beyond=System())):
        assert not noise.genuine
        assert noise.forgetful  # so that mechanisms that insist on it can be tested


def test_a_script_is_drawn_row_by_row_and_zeros_after_it() -> None:
    tape = Tape([1, 2, 3, 4, 5, 6, 7])
    assert tape.laplace(Fraction(2), (2, 2)).tolist() == [[1, 2], [3, 4]]
    assert tape.gaussian(Fraction(3), 5).tolist() == [5, 6, 7, 0, 0]
    assert tape.laplace(Fraction(1), 1).tolist() == [0]


def test_every_draw_is_recorded_with_its_law_and_its_parameter() -> None:
    tape = Tape([5, -1, 1, 0, 42, 2])
    tape.laplace(Fraction(2), 1)
    tape.gaussian(Fraction(3), 1)
    assert tape.bernoulli(Fraction(1, 4), 1).tolist() == [True]
    assert tape.bernoulli_exp(Fraction(1, 5), 1).tolist() == [False]
    assert tape.uniform(100, 1).tolist() == [42]
    assert tape.choose([Fraction(0), Fraction(1), Fraction(2)]) == 2
    assert tape.draws == [
        Draw("laplace", Fraction(2), 5),
        Draw("gaussian", Fraction(3), -1),
        Draw("bernoulli", Fraction(1, 4), 1),
        Draw("bernoulli_exp", Fraction(1, 5), 0),
        Draw("uniform", 100, 42),
        Draw("choose", (Fraction(0), Fraction(1), Fraction(2)), 2),
    ]
    assert tape.values == [5, -1, 1, 0, 42, 2]
    assert tape.laws == [(draw.law, draw.scale) for draw in tape.draws]
    tape.laplace(Fraction(7), (2, 1))  # what is drawn after somebody asked is there, too
    assert tape.draws[6:] == [Draw("laplace", Fraction(7), 0)] * 2
    assert tape.laws[6:] == [("laplace", Fraction(7))] * 2
    assert tape.count == len(tape.draws) == len(tape.values) == 8


def test_coins_are_booleans_in_the_program_and_ones_on_the_tape() -> None:
    tape = Tape([1, 0, 1])
    heads = tape.bernoulli(Fraction(1, 2), 3)
    assert heads.dtype == np.bool_
    assert heads.tolist() == [True, False, True]
    assert tape.values == [1, 0, 1]


@pytest.mark.parametrize("place", range(6))
def test_an_impulse_is_a_single_one(place: int) -> None:
    # The columns of the identity: what a program adds up linearly, an impulse shows.
    tape = Tape.impulse(place)
    drawn = (
        tape.laplace(Fraction(1), (2, 2)).ravel().tolist() + tape.gaussian(Fraction(1), 2).tolist()
    )
    assert drawn == np.eye(6, dtype=np.int64)[place].tolist()


def test_an_impulse_beyond_the_last_draw_is_never_seen() -> None:
    assert not Tape.impulse(9).laplace(Fraction(1), 9).any()


def test_a_recording_plays_the_same_again() -> None:
    recording = Tape(beyond=System(entropy=Stream("recording")))
    first = play(recording)
    replay = Tape(recording.values)
    assert play(replay) == first
    assert replay.draws == recording.draws
    assert first == play(System(entropy=Stream("recording")))  # recording changes nothing
    assert first != play(System(entropy=Stream("another")))


def test_a_recording_with_one_draw_changed_is_seen() -> None:
    recording = Tape(beyond=System(entropy=Stream("recording")))
    first = play(recording)
    changed = list(recording.values)
    changed[7] += 1
    assert play(Tape(changed)) != first


def test_a_script_goes_on_with_the_noise_beyond_it() -> None:
    tape = Tape([99], beyond=System(entropy=Stream("beyond")))
    alone = System(entropy=Stream("beyond")).laplace(Fraction(10), 4)
    assert tape.laplace(Fraction(10), 4).tolist() == [99, *alone.tolist()[1:]]


def test_tapes_can_be_nested() -> None:
    inner = Tape([1, 2, 3])
    outer = Tape([7], beyond=inner)
    assert outer.laplace(Fraction(1), 3).tolist() == [7, 2, 3]
    assert inner.values == [1, 2, 3]
    assert outer.values == [7, 2, 3]


def test_what_a_program_does_to_its_draws_does_not_change_the_tape() -> None:
    tape = Tape([1, 2])
    drawn = tape.laplace(Fraction(1), 2)
    drawn += 10
    assert tape.values == [1, 2]


def test_no_draws_leave_nothing_on_the_tape() -> None:
    tape = Tape([1])
    assert tape.laplace(Fraction(1), 0).tolist() == []
    assert tape.draws == []
    assert tape.laplace(Fraction(1), 1).tolist() == [1]
