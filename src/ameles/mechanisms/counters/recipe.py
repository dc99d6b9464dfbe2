"""What all continual counters share: their parameters, their checks, their kind of input."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, SupportsIndex

import numpy as np

from ameles.core.error import AdditiveError
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import (
    EVENT,
    Contribution,
    Guarantee,
    Intrusions,
    Neighbours,
    Norm,
    Protects,
    Unit,
)
from ameles.core.loss import Loss
from ameles.core.parameters import Bound, Contributions, Width
from ameles.core.small_table import SmallTable
from ameles.core.words import brief
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.run import Run
from ameles.noise.arrays import IntArray
from ameles.noise.sampler import wrapped

if TYPE_CHECKING:
    from ameles.mechanisms.counters.gaussian.error import GaussianSum
    from ameles.mechanisms.laplace.mixture import LaplaceMixture
    from ameles.mechanisms.local.response_counter import CoinsLaw

# A counter must stay clear of the wrap at 2**63 for this many events of the largest size.
EVENTS = 1 << 40


class CounterRun(Run[Any, Any]):
    """A run of a counter: integers in and out or, with a width, arrays of them."""

    @abstractmethod
    def feed(self, xs: Any) -> Any:
        """Many steps at once, as an array: the same releases as that many calls of ``step``."""


class CounterError(AdditiveError, Protocol):
    """The error of a counter, which also knows the law of differences of its counts."""

    def between(self, before: int, t: int) -> LaplaceMixture | GaussianSum | CoinsLaw:
        """The law of the noise of a total over steps before + 1, ..., t."""
        ...


@dataclass(frozen=True, kw_only=True)
class CounterRecipe(Mechanism[CounterRun]):
    """A counter: ``width`` running counts advanced together, or one plain count.

    One unit may change up to ``contributions`` steps, each by at most ``bound`` in the ``norm``
    of the whole vector; ``unit`` says what one unit is.

    Integers of any size are inputs.  They are taken modulo 2**64, as the sums are: a refusal of a
    large one would tell something about the data.
    """

    norm: ClassVar[Norm] = Norm.L1

    # For ``counter``: whether it considers this class, always or only for streams without end, or
    # only for inputs that are bits; the parameters and arities that it tries; the strongest kind of
    # intrusions that the class survives.
    choosable: ClassVar[bool] = True
    bits: ClassVar[bool] = False
    only_endless: ClassVar[bool] = False
    settings: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    tried_arities: ClassVar[tuple[int, ...]] = ()
    survives: ClassVar[Intrusions] = Intrusions.NONE

    unit: Protects = Protects(EVENT.tag)
    width: Width = Width()
    contributions: Contributions = Contributions()
    bound: Bound = Bound()

    def __post_init__(self) -> None:
        last = self.guarantee.horizon or EVENTS
        check_fits(self.bound, self.error.std(last), tip="a larger epsilon, a shorter horizon")

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The privacy loss of the whole run."""

    @property
    @abstractmethod
    def steps(self) -> int | None:
        """The horizon; None: without end."""

    @property
    def intrusions(self) -> Intrusions:
        """How often the state may be seized."""
        return self.survives

    @property
    @abstractmethod
    def error(self) -> CounterError:
        """The error of one key's releases."""

    def error_after(self, announcements: int) -> CounterError:
        """The error after this many announced intrusions; most counters take no announcements."""
        return self.error

    @property
    @abstractmethod
    def memory(self) -> int:
        """The most 64-bit integers that a run holds between two steps."""

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one unit and the steps that it may change."""
        return Guarantee(
            loss=self.loss,
            unit=Unit.tagged(self.unit),
            neighbours=Neighbours.STEP,
            contribution=Contribution(steps=self.contributions, bound=self.bound, norm=self.norm),
            horizon=self.steps,
            intrusions=self.intrusions,
        )

    def __str__(self) -> str:
        return str(self._table)

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        return self._table.html()

    @property
    def _table(self) -> SmallTable:
        """The error at a few steps, and the promise."""
        at = (1, 1000, 1_000_000) if self.steps is None else (1, (self.steps + 1) // 2, self.steps)
        rows = [
            [brief(t), brief(self.error.std(t)), brief(self.error.bound(t, 0.05))]
            for t in sorted(set(at))
        ]
        promise = f"{type(self).__name__}: {self.guarantee}"
        return SmallTable(("step", "deviation", "95% within"), rows, range(3), promise)

    @property
    def columns(self) -> int:
        """How many counters there are."""
        return self.width or 1

    def number(self, x: object) -> int:
        """One step's input of a plain counter."""
        if type(x) is int:  # the usual case; checking a protocol takes longer than the step
            return x
        if isinstance(x, SupportsIndex) and not isinstance(x, bool | np.bool_):
            try:
                return operator.index(x)
            except TypeError:
                pass  # an array, which has the method but is no integer
        raise _not_integers(x)

    def row(self, x: object) -> IntArray:
        """One step's input, as an array of all counters."""
        if self.width is None:
            return np.array([wrapped(self.number(x))])
        return self._array(x, (self.width,))

    def rows(self, xs: object) -> IntArray:
        """Many steps' input, as rows, for either kind of counter."""
        given = _as_array(xs)
        count = len(given) if given.ndim else 0
        shape = (count,) if self.width is None else (count, self.width)
        if given.size == 0 and given.ndim == 1:  # an empty list means no steps, for any width
            return np.empty((0, self.columns), dtype=np.int64)
        return self._array(given, shape).reshape(count, self.columns)

    def _array(self, x: object, shape: tuple[int, ...]) -> IntArray:
        given = _as_array(x)
        if given.dtype.kind not in "iu":
            raise _not_integers(x)
        if given.shape != shape:
            raise BadInput(
                f"The input must have the shape {shape}. Got {given.shape} instead.",
                tip="one integer for each counter" if self.width else "plain integers",
            )
        return given.astype(np.int64, copy=False)


def check_fits(bound: int, spread: float | Fraction, *, tip: str) -> None:
    """Refuses events up to ``bound`` with noise of this scale if 64 bits may not hold the counts.

    ``tip`` says what to try besides a smaller bound.
    """
    if EVENTS * bound + 64 * spread >= 1 << 62:
        raise BadInput(
            "These parameters need noise or counts that do not fit into 64 bits.",
            why=f"2**40 events of size {bound} and their noise could reach 2**63",
            tip=f"{tip} or a smaller bound",
        )


def _as_array(x: object) -> np.ndarray[Any, Any]:
    """What was given, as an array; whole numbers beyond 64 bits wrap, as they do in a step."""
    if isinstance(x, np.ma.MaskedArray):
        raise BadInput(
            "A counter takes integers. Got a masked array instead.",
            why="what is masked would be counted",
            tip="array.filled(0)",
        )
    try:
        given = np.asarray(x)
    except ValueError:
        raise BadInput(
            "A counter takes integers. Got rows of different lengths instead.",
            tip="one integer for each counter in every row",
        ) from None
    if given.dtype.kind in "iu" and _has_bool(x):  # numpy would take them for 0 and 1
        raise _not_integers(True)
    if given.dtype.kind in "fO" and not isinstance(x, np.ndarray):
        # numpy reads integers of more than 64 bits as objects or as floats
        objects = np.asarray(x, dtype=object)
        if all(type(one) is int for one in objects.flat):
            numbers = [wrapped(one) for one in objects.flat]
            return np.array(numbers, dtype=np.int64).reshape(objects.shape)
    return given


def _has_bool(x: object) -> bool:
    """Whether there is a bool in what was given, at any depth; arrays are asked for their type."""
    if not isinstance(x, list | tuple):
        return isinstance(x, np.ndarray) and x.dtype.kind == "b"
    kinds = set(map(type, x))
    if not kinds.isdisjoint((bool, np.bool_)):
        return True
    deeper = any(issubclass(kind, list | tuple | np.ndarray) for kind in kinds)
    return deeper and any(map(_has_bool, x))


def _not_integers(x: object) -> BadInput:
    kind = f"an array of {x.dtype}" if isinstance(x, np.ndarray) else f"a {type(x).__name__}"
    if isinstance(x, bool | np.bool_) or (isinstance(x, np.ndarray) and x.dtype.kind == "b"):
        return BadInput(
            f"A counter takes integers. Got {kind} instead.",
            why="a condition in the place of a count is most often a mistake",
            tip="int(x), or array.astype(int)",
        )
    return BadInput(
        f"A counter takes integers. Got {kind} instead.",
        why="nothing private may meet a float: its rounding can leak",
        tip="integers, or real values on a grid of your choice",
    )


@lru_cache(maxsize=1024)
def laplace_scale(change: int, epsilon: Fraction) -> Fraction:
    """The scale of Laplace noise that hides a change of this many counts; cached, since every step
    asks."""
    return change / epsilon
