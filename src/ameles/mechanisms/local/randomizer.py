"""The base of local randomizers: each user's value is randomised before anyone else sees it.

A recipe is a randomizer with an exact table.  A step of its run takes the value of one more user
and gives that user's report, so that everything a run ever has is public: every intruder, at every
instant, sees reports.  A value is a whole number below ``categories``.  Any other whole number, and
None, stands for a value that is not listed: it is randomised as well, because a refusal would tell.

The server counts how many reports *support* each category.  In every encoding here a report
supports the user's own category with probability p and any other one with probability q < p
(Wang-Blocki-Li-Jha 2017), so that (support - n q) / (p - q) estimates a category's count without
bias.

>>> from ameles.mechanisms.local import RandomizedResponse
>>> from ameles.noise import Zero
>>> recipe = RandomizedResponse(categories=3, odds=3)
>>> recipe.p, recipe.q, recipe.loss.epsilon > Fraction("1.0986")
(Fraction(3, 5), Fraction(1, 5), True)
>>> recipe.start(Zero()).feed([2, 0, 1]).tolist()
[2, 0, 1]
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, Contribution, Guarantee, Intrusions, Neighbours, Norm
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.clamped import reports
from ameles.mechanisms.local.frequencies import Frequencies, FrequencyError
from ameles.mechanisms.local.odds import EpsilonOrOdds
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.pan_private.erase import wipe
from ameles.mechanisms.run import Run, Turn
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray

# How many draws are held at a time.
CHUNK = 1 << 22
UNLISTED = -1
LARGEST = 1 << 62

# A number for each report, or a row of small ones.
Reports: TypeAlias = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class LocalRandomizer(EpsilonOrOdds, Mechanism["LocalRun"]):
    """A randomizer of one user's value, whose reports anyone may see."""

    @property
    @abstractmethod
    def values(self) -> int:
        """How many values are listed; they are the whole numbers below this."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest factor by which a report is likelier for one value than for another.

        It is exact, and at most the odds.
        """

    @property
    @abstractmethod
    def draws(self) -> tuple[int, int]:
        """How many uniform draws a report takes, and the number that each is below."""

    @abstractmethod
    def encode(self, values: IntArray, drawn: IntArray) -> Reports:
        """The reports of these values (``UNLISTED`` among them), given a row of draws for each.

        It overwrites its own arrays of values, draws or both: the state may be seized afterwards.
        """

    @property
    def report_size(self) -> int:
        """How many numbers a report has; most have one."""
        return 1

    @property
    @abstractmethod
    def report_values(self) -> int:
        """The numbers of a report are below this."""

    @property
    def loss(self) -> Pure:
        """What a user's report reveals about the user."""
        return Pure(self.promised)

    @property
    def guarantee(self) -> Guarantee:
        """For all reports together, about one user's value, whatever the others reported."""
        return Guarantee(
            loss=self.loss,
            unit=EVENT,  # a user's value is one row; who reports more often pays for each
            neighbours=Neighbours.REPLACE,
            contribution=Contribution(steps=1, bound=1, norm=Norm.MAX),
            horizon=None,
            intrusions=Intrusions.EVERY,
        )

    def listed(self, xs: object) -> IntArray:
        """Users' values as they are encoded, in an array of their own."""
        numbers = whole_values(xs)
        below, above = numbers < 0, numbers >= self.values
        numbers[below] = UNLISTED
        numbers[above] = UNLISTED
        wipe(below, above)
        return numbers

    def reports(self, values: IntArray, noise: Noise) -> Reports:
        """The reports of many users: one number each, or one row."""
        count, below = self.draws
        drawn = noise.uniform(below, (len(values), count))
        given = self.encode(values, drawn)
        wipe(drawn)
        return given[:, 0] if self.report_size == 1 else given

    def checked(self, reports: object) -> Reports:
        """Reports as an array, one number or one row each; anything else is refused."""
        try:
            given = np.asarray(reports)
        except ValueError:  # rows of different lengths
            given = np.empty(())
        row = () if self.report_size == 1 else (self.report_size,)
        if given.shape == (0,):
            return np.empty((0, *row), dtype=np.int64)
        fits = given.dtype.kind in "iu" and given.shape[1:] == row and given.ndim > 0
        if not fits or (given.size and not 0 <= given.min() <= given.max() < self.report_values):
            what = f"rows of {self.report_size} bits" if row else "whole numbers"
            raise BadInput(
                f"Reports must be {what} from 0 to {self.report_values - 1}.",
                why="a report outside of this range would count for many users",
                tip="what the run gave; leave out reports that are damaged",
            )
        return given

    def _run(self, state: State, noise: Noise) -> LocalRun:
        return LocalRun(self, state, noise)


class LocalRun(Run[Any, Any]):
    """Users' values in, their reports out; nothing is kept but how many there were."""

    def __init__(self, recipe: LocalRandomizer, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._recipe = recipe
        self._noise = noise

    def step(self, x: Any) -> Any:
        """One user's report: a number, or an array of them."""
        report = self.feed([x])[0]
        return report if isinstance(report, np.ndarray) else int(report)

    def feed(self, xs: Iterable[Any]) -> Reports:
        """The reports of many users, one row each."""
        self.check_live()
        given = self._recipe.listed(xs)
        each = max(1, CHUNK // self._recipe.draws[0])
        try:
            with Turn(self):
                self.check_room(len(given))
                self._t += len(given)  # counted first: a step that fails inside is not tried again
                parts = [
                    self._recipe.reports(given[start : start + each], self._noise)
                    for start in range(0, max(1, len(given)), each)
                ]
        finally:
            wipe(given)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _parts(self) -> tuple[IntArray, ...]:
        return ()


def whole_values(xs: object) -> IntArray:
    """Whole numbers in an array of their own, -1 for anything else; errors tell types, never
    values."""
    if type(xs) is np.ndarray and xs.dtype.kind in "iu" and xs.ndim == 1:
        largest = LARGEST if xs.dtype.kind == "i" else np.uint64(LARGEST)
        narrow = np.minimum(xs, largest)
        numbers: IntArray = narrow.astype(np.int64)
        wipe(narrow)
        return numbers
    numbers, sound = reports(xs, -LARGEST, LARGEST, refuse=_not_values)
    np.copyto(numbers, UNLISTED, where=~sound)
    wipe(sound)
    return numbers


def _not_values(got: str) -> BadInput:
    return BadInput(
        f"Users' values must be whole numbers, in a list or an array. Got {got} instead.",
        why="a category is the number of its place in the public list of categories",
        tip="[2, 0, 1]; None for a value that is not listed",
    )


@dataclass(frozen=True, kw_only=True)
class FrequencyRandomizer(LocalRandomizer):
    """A randomizer whose reports support the user's own category with probability p, any other
    with probability q."""

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """The probability to support the user's own category."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """The probability to support any other category."""

    @abstractmethod
    def tally(self, reports: Reports) -> IntArray:
        """What the server keeps of reports: numbers that add up over all of them."""

    def supported(self, tally: IntArray, reports: int) -> IntArray:
        """How many reports support each category; most tallies have just that."""
        return tally

    def support(self, reports: ArrayLike) -> IntArray:
        """How many of these reports support each category."""
        given = self.checked(reports)
        return self.supported(self.tally(given), len(given))

    @property
    def error(self) -> FrequencyError:
        """The error of one category's estimated count; a step is a report."""
        return FrequencyError(float(self.p), float(self.q), self.values)

    def estimate(self, reports: ArrayLike, *, beta: float = 0.05) -> Frequencies:
        """The count of every category, with standard errors and intervals."""
        given = self.checked(reports)
        support = self.supported(self.tally(given), len(given))
        return self.error.estimate(support, len(given), beta=beta)
