"""A key on which no record counts gets no number: neither in the run nor in its snapshot."""

from __future__ import annotations

import numpy as np

from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
from ameles.mechanisms.discovery.provisional_numbers import ProvisionalNumbers
from ameles.mechanisms.discovery.user_book import UserBook
from ameles.noise import Zero

RECIPE = KeyDiscovery(epsilon=6, delta="1e-6", horizon=6, records=2)


def test_known_keys_keep_their_numbers_and_new_ones_come_after_them() -> None:
    run = RECIPE.start(Zero())
    assert run.numbers(["b", "a"]).tolist() == [0, 1]
    step = ProvisionalNumbers.of(run, ["c", "a", "d", "c", "b"])
    assert step.number.tolist() == [2, 1, 3, 2, 0]
    assert step.public.tolist() == [False] * 4
    assert run.public.size == 2  # nothing is numbered yet
    assert step.settled(np.array([3])).tolist() == [0, 1, -1, 2]
    assert run.known(["a", "b", "c", "d"]).tolist() == [1, 0, -1, 2]


def test_a_public_key_is_public_here_too() -> None:
    run = RECIPE.start(Zero())
    run.step({"sea": (10_000, 1)})
    step = ProvisionalNumbers.of(run, ["new", "sea"])
    assert step.public[step.number].tolist() == [False, True]


def test_a_key_that_was_dropped_is_new() -> None:
    run = KeyDiscovery(epsilon=6, delta="1e-6", horizon=6, records=2, drop_after=1).start(Zero())
    run.step({"sea": (10_000, 1)})
    assert run.known(["sea"]).tolist() == [0]
    assert run.names(run.step({}).dropped) == ["sea"]
    step = ProvisionalNumbers.of(run, ["sea"])
    assert (step.number.tolist(), run.known(["sea"]).tolist()) == ([1], [-1])
    assert step.settled(step.number).tolist() == [0, 1]


def test_texts_beyond_a_users_bound_leave_nothing_behind() -> None:
    """Two books with the same counted records; one user of the second writes on and on."""
    states = []
    for more in (0, 50):
        run, book = RECIPE.start(Zero()), UserBook(RECIPE)
        for step in range(3):
            words = ["one", "two", *(f"canary {step} {n}" for n in range(more))]
            users = ["ann"] * len(words) + ["bob"]
            out = run.step(book.bounded(run, users, [*words, f"bob {step}"]))
            assert out.public.size == 0
        states.append((run.public.size, len(run.snapshot()), len(book.snapshot())))
        assert (b"canary" in run.snapshot()) is False
        assert run.known(["one", "two", "bob 0", "bob 1", "bob 2"]).tolist() == [0, 1, 2, 3, -1]
    assert states[0] == states[1]
