"""What can be reached from a run is found, and what two equal runs have is equal."""

from __future__ import annotations

import itertools
from collections import deque
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from ameles.audit import memory
from ameles.audit.memory import TooMuchMemory, memory_of, numbers_in
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.local import RandomizedResponseCounter
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.noise import Tape, Zero

CANARY = 8_675_309


class Slotted:
    __slots__ = ("empty", "held")

    def __init__(self, held: object) -> None:
        self.held = held


def generated(number: int) -> Any:
    def numbers() -> Any:
        kept = number
        yield
        yield kept

    generator = numbers()
    next(generator)
    return generator


def enclosed(number: int) -> Any:
    return lambda: number


def defaulted(number: int) -> Any:
    def answer(kept: int = number) -> int:
        return kept

    return answer


# A way to hide a number in an attribute.
HIDDEN: dict[str, Any] = {
    "a number": lambda n: n,
    "a list": lambda n: [[n]],
    "a tuple": lambda n: (n,),
    "a dictionary": lambda n: {"a": n},
    "its keys": lambda n: {n: "a"},
    "a set": lambda n: {n},
    "a queue": lambda n: deque([n]),
    "a fraction": Fraction,
    "a slot": Slotted,
    "a closure": enclosed,
    "a default": defaulted,
    "a method": lambda n: deque([n]).append,
    "a generator": generated,
    "an iterator": lambda n: iter([n]),
    "a partial call": lambda n: partial(print, n),
    "an array": lambda n: np.array([n]),
    "a scalar of numpy": np.int64,
    "an array of objects": lambda n: np.array([n, "a"], dtype=object),
    "the array behind a view": lambda n: np.array([0, n])[:1],
    "a float": float,
}
# The same, found as a text.
AS_TEXT: dict[str, Any] = {
    "a string": str,
    "bytes": lambda n: n.to_bytes(8, "big"),
    "a buffer": lambda n: bytearray(n.to_bytes(8, "big")),
    "a view of a buffer": lambda n: memoryview(n.to_bytes(8, "big")),
    "a counter of the library": itertools.count,
}


def run_with(hidden: object) -> Any:
    run: Any = SimpleTwoCounter(epsilon=1).start(Zero())
    run.kept = hidden
    return run


@pytest.mark.parametrize("name", HIDDEN)
def test_a_number_is_found(name: str) -> None:
    hide = HIDDEN[name]
    assert CANARY in numbers_in(memory_of(run_with(hide(CANARY))))
    assert CANARY not in numbers_in(memory_of(run_with(hide(7))))


@pytest.mark.parametrize("name", AS_TEXT)
def test_a_text_differs(name: str) -> None:
    hide = AS_TEXT[name]
    assert memory_of(run_with(hide(CANARY))) == memory_of(run_with(hide(CANARY)))
    assert memory_of(run_with(hide(CANARY))) != memory_of(run_with(hide(7)))


@pytest.mark.parametrize(
    "recipe",
    [
        SimpleTwoCounter(epsilon=1),
        PanPrivateCounter(epsilon=1),
        PanPrivateTreeCounter(epsilon=1, horizon=8),
        PanPrivatePlaceCounter(epsilon=1, horizon=8),
        RandomizedResponseCounter(epsilon=1),
    ],
    ids=lambda recipe: type(recipe).__name__,
)
def test_equal_runs_are_equal_in_memory(recipe: Any) -> None:
    memories = []
    for _ in range(2):
        tape = Tape([3, 1, 4, 1, 5])
        run = recipe.start(tape)
        run.feed([1, 0, 1])
        run.add(1)
        memories.append(memory_of(run, tape))
    assert memories[0] == memories[1]


def test_a_circle_has_an_end_and_what_is_apart_is_left_out() -> None:
    circle: list[Any] = [CANARY]
    circle.append(circle)
    run = run_with(circle)
    assert numbers_in(memory_of(run)).count(CANARY) == 1
    assert CANARY not in numbers_in(memory_of(run, circle))


def test_a_search_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_FOUND", 100)
    with pytest.raises(TooMuchMemory, match="more than 100"):
        memory_of(run_with([[n] for n in range(200)]))
