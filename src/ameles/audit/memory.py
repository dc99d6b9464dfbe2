"""All that can be reached from a run in memory, in a fixed order: what an intruder would find.

A snapshot has what the run declares as its state.  Here the run itself is searched: its attributes
with their names, slots, functions and their closures, arrays and the buffers that they are views
of, generators and iterators, buffers of bytes, what weak references lead to, the recipe, and values
that are kept in the classes of all these.  Two runs whose snapshots are equal must be equal here
too, number by number.

Left out are modules, the noise itself, and the run's random identity.  Not found is what no
reference leads to: globals of modules, files, memory that compiled code has for itself.

>>> from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
>>> from ameles.noise import Zero
>>> noise = Zero()
>>> one, other = (SimpleTwoCounter(epsilon=1).start(noise) for _ in range(2))
>>> memory_of(one, noise) == memory_of(other, noise)
True
>>> one.add(1)
>>> memory_of(one, noise) == memory_of(other, noise)
False
"""

from __future__ import annotations

import gc
import re
import warnings
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from contextvars import ContextVar
from enum import Enum
from functools import lru_cache
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, TypeAlias

import numpy as np

from ameles.mechanisms.run import LiveRun

# A number that was found, or the words for something that is none.
Token: TypeAlias = int | float | str

MOST_FOUND = 1 << 20
_SKIPPED = (ModuleType, GetSetDescriptorType, MemberDescriptorType)
_IN_CLASSES = (int, float, str, bytes, bytearray, list, tuple, dict, set, deque, np.ndarray)
# What a number or a text of another class is, whatever its own methods say.
_BASES: tuple[tuple[type, Any], ...] = (
    (int, int.__int__),
    (float, float.__float__),
    (str, lambda text: str.__add__(text, "")),
)
_WRITTEN_IN_PYTHON = 1 << 9  # a flag of classes; others have members that are no slots
_OWN_STATE = ("__reduce__", "__getstate__", "getstate")  # how compiled classes tell what they hold
_ADDRESS = re.compile(r"0x[0-9a-f]+")


class TooMuchMemory(Exception):
    """More can be reached from the run than the search takes."""


def memory_of(run: LiveRun, *apart: object) -> list[Token]:
    """Everything that can be reached from the run, except from what is kept ``apart``."""
    return list(_Search(run, apart).tokens())


def numbers_in(memory: list[Token]) -> list[int | float]:
    """The numbers alone."""
    return [token for token in memory if not isinstance(token, str)]


class _Search:
    def __init__(self, run: LiveRun, apart: tuple[object, ...]) -> None:
        self._run = run
        self._identity = getattr(run, "_id", None)
        # kept alive while searched, so that no number of an object is used twice
        self._met: dict[int, object] = {id(each): each for each in apart}

    def tokens(self) -> Iterator[Token]:
        waiting: list[object] = [*type(self._run).__mro__, self._run]
        found = 0
        while waiting:
            held = waiting.pop()
            if isinstance(held, _SKIPPED) or (isinstance(held, type) and not _in_python(held)):
                continue
            token = self._leaf(held)
            if token is not None:
                found += 1
                yield token
                continue
            if id(held) in self._met:
                continue
            self._met[id(held)] = held
            found += 1
            if found > MOST_FOUND:
                raise TooMuchMemory(f"more than {MOST_FOUND} things are reached from the run")
            yield type(held).__name__
            if isinstance(held, np.ndarray):
                yield f"{held.dtype!r} {held.shape}"
                if held.dtype != object:
                    yield from np.ndarray.view(held, np.ndarray).ravel().tolist()
            waiting += reversed([*_parts(held), type(held)])

    def _leaf(self, held: object) -> Token | None:
        """What stands for something that has no parts."""
        if isinstance(held, bool) or held is None:
            return str(held)
        if type(held) is int or type(held) is float:
            return held
        if isinstance(held, np.generic):
            value = held.item()
            return value if isinstance(value, int | float) else repr(value)
        if isinstance(held, Enum):
            return str(held)
        if isinstance(held, bytes):
            return "the run's identity" if held == self._identity else held.hex()
        return held if type(held) is str else None


def _parts(held: Any) -> list[object]:
    """What something consists of, in a fixed order."""
    if isinstance(held, type):
        return _kept_by(held)
    own = _attributes(held)
    own += [as_base(held) for kind, as_base in _BASES if isinstance(held, kind)]
    if isinstance(held, np.ndarray):
        plain = np.ndarray.view(held, np.ndarray)
        own += list(plain.ravel()) if plain.dtype == object else []
        return [*own, held.dtype.metadata, held.base]
    if isinstance(held, FunctionType):
        common = (held.__globals__, getattr(held, "__builtins__", {}))
        return [part for part in gc.get_referents(held) if not any(part is one for one in common)]
    if isinstance(held, CodeType):
        return list(held.co_consts)
    if isinstance(held, MethodType | BuiltinFunctionType):
        return [held.__self__, getattr(held, "__func__", None)]
    if isinstance(held, dict):
        return [*own, *(part for pair in dict.items(held) for part in pair)]
    if isinstance(held, Mapping):
        return [*own, *(part for pair in held.items() for part in pair)]
    if isinstance(held, list):
        return [*own, *list.__iter__(held)]
    if isinstance(held, tuple):
        return [*own, *tuple.__iter__(held)]
    if isinstance(held, deque):
        return [*own, *deque.__iter__(held)]
    if isinstance(held, Set):
        return [*own, *sorted(held, key=repr)]
    if isinstance(held, memoryview):
        return [*own, bytes(held), held.obj]
    if isinstance(held, bytearray):
        return [*own, bytes(held)]
    if isinstance(held, GeneratorType):
        frame = held.gi_frame
        return [] if frame is None else [frame.f_lasti, dict(frame.f_locals)]
    if isinstance(held, weakref.ReferenceType):
        return [*own, held()]
    if isinstance(held, ContextVar):
        return [held.get(None)]
    return [*own, *_compiled_parts(held)]


def _compiled_parts(held: Any) -> list[object]:
    """What compiled code keeps for an object, as far as it shows that.

    That is a buffer, its state as for a copy, what it refers to, and what its text says: of
    iterators, partial calls, cells, files in memory, caches, exceptions and the like.
    """
    bases = type(held).__mro__[:-1]
    own = getattr(held, "__dict__", None)
    parts = [part for part in gc.get_referents(held) if part is not own]
    with suppress(TypeError, ValueError, BufferError):  # it has no buffer, or a closed one
        parts.append(memoryview(held).tobytes())
    for state in (vars(base).get(name) for base in bases for name in _OWN_STATE):
        if state is None or isinstance(state, FunctionType):
            continue
        with suppress(Exception), warnings.catch_warnings():  # many cannot be copied
            warnings.simplefilter("ignore", DeprecationWarning)
            parts.append(state(held))
    in_python = isinstance(type(held).__repr__, FunctionType)
    return parts if in_python else [*parts, _ADDRESS.sub("", repr(held))]


def _kept_by(kind: Any) -> list[object]:
    """The values that a class keeps, also as defaults of its functions' arguments."""
    named = vars(kind).items()
    functions = [value for _, value in named if isinstance(value, FunctionType)]
    return [
        *(
            value
            for name, value in named
            if not name.startswith(("__", "_abc_")) and isinstance(value, _IN_CLASSES)
        ),
        *(default for one in functions for default in one.__defaults__ or ()),
    ]


def _in_python(kind: Any) -> bool:
    return bool(kind.__flags__ & _WRITTEN_IN_PYTHON)


def _attributes(held: object) -> list[object]:
    """The names and values of attributes, and the values of slots."""
    named = getattr(held, "__dict__", {})
    values: list[Any] = [*named, *named.values()]
    kind: Any = type(held)
    for slot in _slots(kind):
        try:
            values.append(slot.__get__(held))
        except AttributeError:  # an empty slot
            continue
    return values


@lru_cache(maxsize=1024)
def _slots(kind: Any) -> list[MemberDescriptorType]:
    return [
        slot
        for base in kind.__mro__
        if _in_python(base)
        for slot in vars(base).values()
        if isinstance(slot, MemberDescriptorType)
    ]
