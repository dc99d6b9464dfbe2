"""What can be reached from a run is found, and what two equal runs have is equal."""

from __future__ import annotations

import array
import ctypes
import io
import itertools
import mmap
import queue
import weakref
from collections import deque
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache, partial
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


def defaulted_by_name(number: int) -> Any:
    def answer(*, kept: int = number) -> int:
        return kept

    return answer


def in_a_class(number: int) -> Any:
    return type("Keeping", (), {"kept": number})()


def in_a_metaclass(number: int) -> Any:
    return type("Meta", (type,), {"kept": number})("Kept", (), {})()


def cached(number: int) -> Any:
    answer = lru_cache(lambda n: n)
    answer(number)
    return answer


def queued(number: int) -> Any:
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    waiting.put(number)
    return waiting


def in_a_variable(number: int) -> Any:
    variable: ContextVar[int] = ContextVar("variable")
    variable.set(number)
    return variable


class Living:
    """What is alive because a list has it."""

    def __init__(self, number: int) -> None:
        self.number = number
        ALIVE.append(self)


ALIVE: list[Living] = []


def in_pages(number: int) -> Any:
    pages = mmap.mmap(-1, 64)
    pages.write(number.to_bytes(8, "big"))
    return pages


def walked(number: int) -> Any:
    places = iter([0] * 100)
    for _ in range(number % 64):
        next(places)
    return places


def constant() -> None:
    pass


def named(number: int) -> Any:
    kept = Slotted(0)
    return type("Named", (), {"__init__": lambda self: setattr(self, f"n{number}", kept)})()


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
    "a default by name": defaulted_by_name,
    "an exception": ValueError,
    "a cache": cached,
    "a queue of compiled code": queued,
    "a variable of a context": in_a_variable,
    "a weak reference": lambda n: weakref.ref(Living(n)),
    "the class of an attribute": in_a_class,
    "the class of a class": in_a_metaclass,
    "a constant of code": lambda n: constant.__code__.replace(co_consts=(n,)),
    "the start of a walk": lambda n: enumerate([], n),
}
# The same, found as a text.
AS_TEXT: dict[str, Any] = {
    "a string": str,
    "bytes": lambda n: n.to_bytes(8, "big"),
    "a buffer": lambda n: bytearray(n.to_bytes(8, "big")),
    "a view of a buffer": lambda n: memoryview(n.to_bytes(8, "big")),
    "a counter of the library": itertools.count,
    "an array of the library": lambda n: array.array("q", [n]),
    "a number of C": ctypes.c_int64,
    "numbers of C": lambda n: (ctypes.c_int64 * 2)(n),
    "pages of memory": in_pages,
    "a file in memory": lambda n: io.BytesIO(n.to_bytes(8, "big")),
    "a text in memory": lambda n: io.StringIO(str(n)),
    "the place of an iterator": walked,
    "the name of an attribute": named,
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
