"""Inputs of other types: whatever has the numbers, the same noise and inputs show the same.

A caller may have its inputs in an array of bytes, a tuple, a range or an object of its own.  A
mechanism may refuse any of them.  If it takes one, it must show what it shows for a list of
integers.
"""

from __future__ import annotations

from array import array as standard_array
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np

from ameles.audit.observation import Block, NotLinear
from ameles.audit.ways import Calls, Way, at_once, same, script, shaped
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.noise import Tape

# A mistake with a type shows in a few steps.
MOST_FORMED = 4


class _Index:
    """What can be used as an integer and is none."""

    def __init__(self, value: int) -> None:
        self._value = value

    def __index__(self) -> int:
        return self._value


class _Whole(int):
    """An integer of another class."""


class _Listed(list[Any]):
    """A list of another class."""


class _Tupled(tuple[Any, ...]):
    """A tuple of another class."""


class _Arrayed(np.ndarray[Any, np.dtype[Any]]):
    """An array of another class."""


class _Holder:
    """What can be made an array and is none."""

    def __init__(self, array: Block) -> None:
        self._array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Block:
        return np.array(self._array, dtype=dtype)


class _Interface:
    """What shows an array's memory and is none."""

    def __init__(self, array: Block) -> None:
        self._array = array
        self.__array_interface__ = array.__array_interface__


def _read_only(values: list[Any]) -> Block:
    array = np.array(values)
    array.flags.writeable = False
    return array


def _member(value: int) -> Any:
    members = IntEnum("members", {"only": value})
    return members["only"]


def _memory_view(values: list[Any]) -> memoryview:
    array: Any = np.array(values)
    return memoryview(array)


def _range(values: list[Any]) -> Any:
    apart = values[1] - values[0] if len(values) > 1 else 1
    spread = range(values[0], values[0] + apart * len(values), apart or 1) if values else range(0)
    if list(spread) != values:
        raise ValueError("no range")
    return spread


def _each(kind: Callable[[int], Any]) -> Callable[[list[Any]], Any]:
    """A list whose integers are of another type, row by row if they are in rows."""

    def formed(values: list[Any]) -> Any:
        return [formed(x) if isinstance(x, list) else kind(x) for x in values]

    return formed


WHOLE_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", ">i4")
# Types of single integers.
NUMBER_FORMS: dict[str, Callable[[int], Any]] = {
    **{kind: np.dtype(kind).type for kind in WHOLE_TYPES[:-1]},
    "longlong": np.longlong,
    "subclasses of int": _Whole,
    "members of an IntEnum": _member,
    "objects with __index__": _Index,
    "arrays without dimensions": np.array,
}
# Types of what has many of them: each is made of a list, which may be one of rows.
FORMS: dict[str, Callable[[list[Any]], Any]] = {
    **{f"arrays of {kind}": partial(np.array, dtype=kind) for kind in WHOLE_TYPES},
    "arrays of objects": partial(np.array, dtype=object),
    "arrays in Fortran's order": partial(np.array, order="F"),
    "arrays with gaps": lambda xs: np.repeat(np.array(xs), 2, axis=0)[::2],
    "reversed arrays": lambda xs: np.array(xs[::-1])[::-1],
    "arrays that cannot be written": _read_only,
    "subclasses of numpy's array": lambda xs: np.array(xs).view(_Arrayed),
    "masked arrays": np.ma.masked_array,
    "structured arrays": lambda xs: np.array([(x,) for x in xs], dtype=[("x", np.int64)]),
    "objects with __array__": lambda xs: _Holder(np.array(xs)),
    "objects with __array_interface__": lambda xs: _Interface(np.array(xs)),
    "memory views": _memory_view,
    "arrays of the standard library": lambda xs: standard_array("q", xs),
    "bytes": bytes,
    "byte arrays": bytearray,
    "tuples": lambda xs: tuple(tuple(x) if isinstance(x, list) else x for x in xs),
    "lists of tuples": lambda xs: [tuple(x) for x in xs],
    "lists of arrays": lambda xs: [np.array(x, dtype=np.int32) for x in xs],
    "ranges": _range,
    "subclasses of list": _Listed,
    "subclasses of tuple": _Tupled,
    "deques": deque,
    "iterators": iter,
    "generators": lambda xs: (x for x in xs),
    "keys of a dict": lambda xs: dict.fromkeys(xs) if len(set(xs)) == len(xs) else list(xs),
    "values of a dict": lambda xs: dict(enumerate(xs)).values(),
    **{f"lists of {name}": _each(kind) for name, kind in NUMBER_FORMS.items()},
}


def formed_feeds(
    form: Callable[[list[Any]], Any], recipe: AnyMechanism, tape: Tape, inputs: Sequence[Any]
) -> list[Any]:
    """Two feeds of what has the inputs in another form; lists where they do not fit into it."""
    run, calls = recipe.start(tape), Calls()
    values = np.array(inputs).tolist()
    half = -(-len(values) // 2)
    for some in (values[:half], values[half:]):
        calls.feed(run, _formed(form, some))
    return calls.all()


def formed_steps(
    form: Callable[[Any], Any], recipe: AnyMechanism, tape: Tape, inputs: Sequence[Any]
) -> list[Any]:
    """Single steps with inputs of another form."""
    run, calls = recipe.start(tape), Calls()
    for x in np.array(inputs).tolist():
        calls.step(run, _formed(form, x))
    return calls.all()


def _formed(form: Callable[[Any], Any], values: Any) -> Any:
    try:
        return form(values)
    except (OverflowError, TypeError, ValueError):
        return values


def form_ways(recipe: AnyMechanism) -> Iterator[tuple[str, Way]]:
    """Ways to call a recipe with inputs of other types, each with its name."""
    wide = getattr(recipe, "width", None) is not None
    for name, form in FORMS.items():
        yield f"feeds of {name}", partial(formed_feeds, form)
    rows: Mapping[str, Callable[[Any], Any]] = FORMS if wide else NUMBER_FORMS
    for name, form in rows.items():
        yield f"steps with {name}", partial(formed_steps, form)


def differing_form(recipe: AnyMechanism, steps: int) -> tuple[str, Way] | None:
    """A type of inputs that the recipe takes and treats in another way than a list of integers."""
    few = min(steps, MOST_FORMED)
    count = few * (getattr(recipe, "width", None) or 1)
    # from 1 on, because numpy takes bytes for a text, which ends before a zero
    numbers = [n % 2 if getattr(recipe, "bits", False) else n for n in range(1, count + 1)]
    inputs = [x if isinstance(x, int) else x.tolist() for x in shaped(recipe, numbers)]
    tape = Tape()
    at_once(recipe, tape, inputs)
    laws = tape.laws
    draws = script(laws, 13)
    expected = at_once(recipe, Tape(draws), inputs)
    for name, way in form_ways(recipe):
        tape = Tape(draws)
        shown = _taken(way, recipe, tape, inputs)
        if shown is not None and not (same(shown, expected) and tape.laws[: len(laws)] == laws):
            return name, way
    return None


def _taken(way: Way, recipe: AnyMechanism, tape: Tape, inputs: Sequence[Any]) -> list[Any] | None:
    """What the recipe shows; None if it refuses inputs of this type."""
    try:
        return way(recipe, tape, inputs)
    except NotLinear:
        raise
    except Exception:
        return None
