"""Numbers that can be added up, and refuse to be looked at.

A counter needs sums of its inputs and nothing else.  A ``Secret`` is an integer, and a
``SecretArray`` an array of them, that add, subtract and multiply.  What depends on their value in
any other way is refused, and written down with its place in the code: to compare them, to hash or
print them, to make them a truth value or a float, to divide or mask them, to use them as an index.
What the wrap at 2^64 needs is allowed.  A plain ``int`` of one cannot be followed further: then it
leaves sight, which is written down, too.

>>> trace = Trace()
>>> total = Secret(5, trace) + 3
>>> try:
...     total > 10**7
... except Looked as look:
...     print(str(look).partition(" (")[0])
compares its data
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, NoReturn

import numpy as np

# Code of the house that turns sums into plain integers, because it releases or stores them.
TRUSTED = (
    "ameles.mechanisms.counters.summed",
    "ameles.mechanisms.counters.folded",
    "ameles.mechanisms.counters.recipe",
)
SUMS = (np.add, np.subtract, np.negative, np.positive, np.multiply)
COMPARISONS = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
# Functions of numpy that move numbers about, whatever they are.
MOVES = (
    np.concatenate,
    np.copyto,
    np.cumsum,
    np.diff,
    np.empty_like,
    np.may_share_memory,
    np.ravel,
    np.repeat,
    np.reshape,
    np.shares_memory,
    np.stack,
    np.sum,
    np.transpose,
    np.zeros_like,
)
_WORD = (-(1 << 63), 1 << 63)


class Looked(BaseException):
    """The code looked at its data; no ``except Exception`` of that code hides it."""


@dataclass
class Trace:
    """What was done to secrets, in the order of the code."""

    looks: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)  # where they left sight

    def refuse(self, what: str) -> NoReturn:
        """Writes down a look, with its place, and raises."""
        text = f"{what} ({_place()})"
        self.looks.append(text)
        raise Looked(text)

    def lose(self) -> None:
        """Writes down that a secret became a plain integer, unless trusted code does it."""
        if _caller().f_globals.get("__name__") not in TRUSTED:
            self.lost.append(_place())


def _caller() -> Any:
    """The frame of the code that uses a secret."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_globals.get("__name__", "").partition(".")[0] == "numpy"
        or frame.f_globals.get("__name__") == __name__
    ):
        frame = frame.f_back
    return frame


def _place() -> str:
    frame = _caller()
    return f"{PurePath(frame.f_code.co_filename).name}, line {frame.f_lineno}"


def _refusal(what: str) -> Callable[..., None]:
    def refused(self: Any, *_: Any, **__: Any) -> None:
        self.watch.refuse(what)

    return refused


def plain(value: Any) -> Any:
    """The same without secrecy."""
    if isinstance(value, Secret):
        return np.int64(_wrapped(value.value))
    if isinstance(value, SecretArray):
        return value.view(np.ndarray)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array([plain(each) for each in value.ravel()], np.int64).reshape(value.shape)
    return value


def _wrapped(value: int) -> int:
    return (value + _WORD[1]) % (1 << 64) - _WORD[1]


class Secret:
    """An integer that can be added up, and refuses to be looked at."""

    __slots__ = ("value", "watch")

    def __init__(self, value: int, trace: Trace) -> None:
        self.value = value
        self.watch = trace

    def _sum(self, value: int) -> Secret:
        return Secret(value, self.watch)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self._sum(self.value + int(plain(other)))

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self._sum(self.value - int(plain(other)))

    def __rsub__(self, other: Any) -> Secret:
        return self._sum(int(plain(other)) - self.value)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, float):
            self.watch.refuse("makes floats of its data")
        if isinstance(other, np.ndarray | Secret):
            return NotImplemented
        return self._sum(self.value * int(other))

    def __mod__(self, other: Any) -> Secret:
        if other != 1 << 64:
            self.watch.refuse("does more with its data than to add them up")
        return self._sum(self.value % other)

    def __neg__(self) -> Secret:
        return self._sum(-self.value)

    def __pos__(self) -> Secret:
        return self

    __radd__, __rmul__ = __add__, __mul__

    def _ordered(self, other: object, sign: int) -> bool:
        # only the wrap: whether it is a word
        if not isinstance(other, int) or abs(other) not in (_WORD[1], _WORD[1] - 1):
            self.watch.refuse("compares its data")
        return sign * self.value < sign * other

    def __lt__(self, other: object) -> bool:
        return self._ordered(other, 1)

    def __gt__(self, other: object) -> bool:
        return self._ordered(other, -1)

    def __le__(self, other: object) -> bool:
        return not self._ordered(other, -1)

    def __ge__(self, other: object) -> bool:
        return not self._ordered(other, 1)

    def __int__(self) -> int:
        self.watch.lose()
        return self.value

    __index__ = __int__

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _applied(self.watch, ufunc, method, inputs, options)


class SecretArray(np.ndarray[Any, np.dtype[np.int64]]):
    """An array of integers that can be added up, and refuse to be looked at."""

    watch: Trace

    def __array_finalize__(self, source: Any) -> None:
        self.watch = getattr(source, "watch", None) or Trace()

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **options: Any) -> Any:
        return _applied(self.watch, ufunc, method, inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func not in MOVES:
            self.watch.refuse(f"does more with its data than to add them up: {func.__name__}")
        result = super().__array_function__(func, types, args, kwargs)
        return secret_array(result, self.watch) if isinstance(result, np.ndarray) else result

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, SecretArray):
            self.watch.refuse("uses its data as an index")
        found = super().__getitem__(key)
        return Secret(int(found), self.watch) if isinstance(found, np.generic) else found

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def tolist(self) -> Any:
        if _caller().f_globals.get("__name__") in TRUSTED:
            return self.view(np.ndarray).tolist()
        values = [Secret(value, self.watch) for value in self.view(np.ndarray).ravel().tolist()]
        return values if self.ndim == 1 else [row.tolist() for row in self]

    def item(self, *place: Any) -> Any:
        return Secret(int(self.view(np.ndarray).item(*place)), self.watch)

    def __int__(self) -> int:
        self.watch.lose()
        return int(self.view(np.ndarray))


def secret_array(numbers: Any, trace: Trace) -> SecretArray:
    """These integers as secrets; an array stays in its place."""
    array = np.asarray(numbers, dtype=np.int64).view(SecretArray)
    array.watch = trace
    return array


def _applied(trace: Trace, ufunc: Any, method: str, inputs: Any, options: dict[str, Any]) -> Any:
    """A sum of arrays of which one is secret; everything else is refused."""
    if ufunc in COMPARISONS:
        trace.refuse("compares its data")
    if ufunc not in SUMS:
        trace.refuse(f"does more with its data than to add them up: {ufunc.__name__}")
    if "out" in options:
        options["out"] = tuple(plain(each) for each in options["out"])
    if any(getattr(plain(each), "dtype", np.dtype(int)).kind == "f" for each in inputs):
        trace.refuse("makes floats of its data")
    result = getattr(ufunc, method)(*(plain(each) for each in inputs), **options)
    if isinstance(result, np.ndarray):
        return secret_array(result, trace)
    return Secret(int(result), trace)


_REFUSED = {
    "compares its data": ("eq", "ne"),
    "uses its data as a key": ("hash", "contains"),
    "decides by its data": ("bool",),
    "makes floats of its data": ("float", "complex", "truediv", "rtruediv"),
    "prints its data": ("str", "repr", "format"),
    "does more with its data than to add them up": (
        *("abs", "round", "trunc", "floor", "ceil", "invert", "divmod", "rdivmod", "floordiv"),
        *("rfloordiv", "pow", "rpow", "and", "rand", "or", "ror", "xor", "rxor"),
        *("lshift", "rlshift", "rshift", "rrshift", "rmod"),
    ),
}
for _what, _names in _REFUSED.items():
    for _name in _names:
        setattr(Secret, f"__{_name}__", _refusal(_what))
for _what in ("uses its data as a key", "decides by its data", "prints its data"):
    for _name in _REFUSED[_what]:
        setattr(SecretArray, f"__{_name}__", _refusal(_what))
for _name in (
    "argmax",
    "argmin",
    "argsort",
    "sort",
    "nonzero",
    "searchsorted",
    "tobytes",
    "choose",
):
    setattr(SecretArray, _name, _refusal(f"does more with its data than to add them up: {_name}"))
