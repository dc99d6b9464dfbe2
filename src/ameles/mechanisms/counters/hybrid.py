"""Hybrid counter: a bounded counter in each of ever longer epochs, for streams without end.

Theorem      Chan-Shi-Song 2010, section 4 (catalogue 6): an item is in one epoch, so a share a of
             epsilon for the noisy totals of finished epochs and 1 - a for the counter inside
             the open one add up to epsilon, however many epochs there are
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale 1 / (a epsilon) for each finished epoch, and that of the
             counter inside, which has epsilon (1 - a)
Error        one noise for each finished epoch, and the error of the counter inside
Memory       that of the counter inside the present epoch, and one integer per counter

Epochs end at f, f g, f g^2, ...: at its last step an epoch's total takes over from its counter.
With f = 1, g = 2, equal shares and binary counters this is the hybrid as written; Siblings
inside, longer epochs and a smaller share for the totals make it more accurate.

>>> from ameles.noise import Zero
>>> run = HybridCounter(epsilon=1).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
>>> print(HybridCounter(epsilon=1).guarantee)
epsilon 1 for one event: streams that differ in 1 step by at most 1 (L1), without end
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Number, OptionalHorizon, Parameter, Whole, refuse
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.digits import DigitCounter
from ameles.mechanisms.counters.elders import EldersCounter
from ameles.mechanisms.counters.honaker import HonakerCounter
from ameles.mechanisms.counters.hybrid_error import HybridError, epoch_end
from ameles.mechanisms.counters.k_ary import KAryCounter
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.mechanisms.counters.summed import Process, SummedCounter
from ameles.mechanisms.counters.two_level import TwoLevelCounter
from ameles.noise.arrays import IntArray

Bounded: TypeAlias = (
    BinaryCounter | EldersCounter | HonakerCounter | KAryCounter | SiblingsCounter | TwoLevelCounter
)

INSIDE: dict[str, type[Bounded]] = {
    kind.__name__: kind
    for kind in (
        BinaryCounter,
        EldersCounter,
        HonakerCounter,
        KAryCounter,
        SiblingsCounter,
        TwoLevelCounter,
    )
}


class Inside(Parameter[str, str]):
    """The name of the counter to run inside an epoch."""

    def check(self, value: str) -> str:
        if value not in tuple(INSIDE):
            raise refuse(self.name, f"one of {', '.join(INSIDE)}", value)
        return value


@dataclass(frozen=True, kw_only=True)
class HybridCounter(SummedCounter):
    """Counts without end: noisy totals of finished epochs, a bounded counter in the open one."""

    only_endless: ClassVar[bool] = True
    settings: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {},
        {"inside": "EldersCounter", "growth": 16, "first": 16, "share": Fraction(4, 25)},
        {"inside": "SiblingsCounter", "growth": 32, "first": 32, "share": Fraction(4, 25)},
    )

    epsilon: Epsilon = Epsilon()
    horizon: OptionalHorizon = OptionalHorizon()
    inside: Inside = Inside("BinaryCounter")
    growth: Whole = Whole(2, 1 << 20, 2)
    first: Whole = Whole(1, 1 << 40, 1)
    share: Number = Number(Fraction(1, 1000), Fraction(999, 1000), Fraction(1, 2))

    @property
    def loss(self) -> Pure:
        """Pure: epsilon, for ever."""
        return Pure(self.epsilon)

    @property
    def steps(self) -> int | None:
        """The horizon; None: without end."""
        return self.horizon

    @property
    def resolution(self) -> int:
        """That of the counter inside."""
        return 4096 if self.inside in ("SiblingsCounter", "HonakerCounter") else 1

    @property
    def scale(self) -> Fraction:
        """The scale of the noise of a finished epoch's total."""
        return self.contributions * self.bound / Fraction(self.epsilon * self.share)

    def end_of(self, epoch: int) -> int:
        """The last step of an epoch, counted from 0."""
        return epoch_end(epoch, self.first, self.growth)

    def epoch_of(self, t: int) -> int:
        """The epoch of step t >= 1."""
        epoch = 0
        while self.end_of(epoch) < t:
            epoch += 1
        return epoch

    def within(self, epoch: int) -> Bounded | None:
        """The counter inside an epoch; the first epochs of a hybrid may be too short for one."""
        length = self.end_of(epoch) - self.end_of(epoch - 1)
        if length < 2:
            return None
        # The noise of each of these counters is linear in the contributions, so several of
        # them are paid for wherever they fall: in one epoch or in different ones.  (Under the
        # second law of trees it is less, which holds only if all of them fall into one tree.)
        parameters = (self.width, self.contributions, self.bound)
        return _counter(self.inside, self.epsilon * (1 - self.share), length - 1, *parameters)

    @property
    def error(self) -> HybridError:
        """One noise for each finished epoch, and those of the counter inside."""
        return HybridError(self)

    @property
    def memory(self) -> int:
        """The sum of the totals' noises, and the memory of the largest counter inside."""
        last = self.epoch_of(self.horizon or 1 << 40)
        inner = self.within(last) or self.within(last - 1)
        return self.columns * (2 + self.ahead) + 1 + (inner.memory if inner else 0)

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return HybridProcess(noise, self, state)


class HybridProcess:
    """The noise of all finished epochs, and the process inside the open one."""

    def __init__(self, noise: Noise, recipe: HybridCounter, state: IntArray | None) -> None:
        self._noise = noise
        self._recipe = recipe
        self._t = 0
        self._base = np.zeros(recipe.columns, dtype=np.int64)
        inner_state = None
        if state is not None:
            self._t = int(state[0])
            self._base = state[1 : 1 + recipe.columns].copy()
            inner_state = state[1 + recipe.columns :]
        self._enter(inner_state)

    def state(self) -> IntArray:
        inner = self._inner.state() if self._inner else np.empty(0, dtype=np.int64)
        return np.concatenate([np.array([self._t]), self._base, inner])

    def take(self, n: int) -> IntArray:
        out = np.empty((n, self._recipe.columns), dtype=np.int64)
        done = 0
        while done < n:
            until_end = self._end - 1 - self._t
            if until_end and self._inner:
                count = min(n - done, until_end)
                out[done : done + count] = self._inner.take(count)
                out[done : done + count] += self._base
            else:
                count = 1
                total = self._noise.laplace(self._recipe.scale, (1, self._recipe.columns))
                self._base = self._base + total[0]
                out[done] = self._base
            done += count
            self._t += count
            if self._t == self._end:
                self._enter(None)
        return out

    def _enter(self, state: IntArray | None) -> None:
        """The epoch of the next step, with a new counter or the one that was running."""
        epoch = self._recipe.epoch_of(self._t + 1)
        self._end = self._recipe.end_of(epoch)
        inner = self._recipe.within(epoch)
        begun = state is not None and len(state) > 0
        self._inner = inner.process(self._noise, state if begun else None) if inner else None


@lru_cache(maxsize=1024)
def _counter(
    inside: str,
    epsilon: Fraction,
    horizon: int,
    width: int | None,
    contributions: int,
    bound: int,
) -> Bounded:
    kind = INSIDE[inside]
    linear: dict[str, Any] = {"law": 1} if issubclass(kind, DigitCounter) else {}
    return kind(
        epsilon=epsilon,
        horizon=horizon,
        width=width,
        contributions=contributions,
        bound=bound,
        **linear,
    )
