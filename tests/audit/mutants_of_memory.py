"""Broken counters whose snapshots are right: what they keep is elsewhere in memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.recipe import CounterRun
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter, SimpleTwoRun
from ameles.mechanisms.local import RandomizedResponseCounter
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class Keeping(SimpleTwoCounter):
    """A counter that keeps more than its state, as ``keep`` says."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        run: Any = super()._run(state, noise)
        fold, keep = run._fold, self.keeper(run)

        def folded(row: IntArray) -> None:
            keep(int(row[0]))
            fold(row)

        run._fold = folded
        kept: CounterRun = run
        return kept

    def keeper(self, run: Any) -> Callable[[int], None]:
        """What is called with every input."""
        raise NotImplementedError


class SumInAnAttribute(Keeping):
    """An exact sum outside of the snapshot."""

    def keeper(self, run: Any) -> Callable[[int], None]:
        run.exact = 0

        def keep(x: int) -> None:
            run.exact += x

        return keep


class SumInAClosure(Keeping):
    def keeper(self, run: Any) -> Callable[[int], None]:
        exact = 0

        def keep(x: int) -> None:
            nonlocal exact
            exact += x

        return keep


class SumInAGenerator(Keeping):
    def keeper(self, run: Any) -> Callable[[int], None]:
        def adding() -> Generator[None, int, None]:
            exact = 0
            while True:
                exact += yield

        generator = adding()
        next(generator)
        return generator.send


class _Slots:
    __slots__ = ("exact",)

    def __init__(self) -> None:
        self.exact = 0


class SumInASlot(Keeping):
    def keeper(self, run: Any) -> Callable[[int], None]:
        run.meter = _Slots()

        def keep(x: int) -> None:
            run.meter.exact += x

        return keep


class SumInBytes(Keeping):
    def keeper(self, run: Any) -> Callable[[int], None]:
        run.packed = bytes(8)

        def keep(x: int) -> None:
            exact = int.from_bytes(run.packed, "big", signed=True) + x
            run.packed = exact.to_bytes(8, "big", signed=True)

        return keep


class _Counting(SimpleTwoRun):
    exact = 0


class SumInItsClass(Keeping):
    def _run(self, state: State, noise: Noise) -> CounterRun:
        if not state.parts:
            _Counting.exact = 0
        run: Any = super()._run(state, noise)
        run.__class__ = _Counting
        kept: CounterRun = run
        return kept

    def keeper(self, run: Any) -> Callable[[int], None]:
        def keep(x: int) -> None:
            _Counting.exact += x

        return keep


class SumInItsRecipe(Keeping):
    def keeper(self, run: Any) -> Callable[[int], None]:
        place = vars(self)
        place["exact"] = 0

        def keep(x: int) -> None:
            place["exact"] += x

        return keep


class SumBesideAView(Keeping):
    """The state is a view of a longer buffer."""

    def keeper(self, run: Any) -> Callable[[int], None]:
        buffer = np.zeros(len(run._sums) + 1, dtype=np.int64)
        buffer[:-1] = run._sums
        run._sums = buffer[:-1]

        def keep(x: int) -> None:
            run._sums.base[-1] += x

        return keep


class KeepsTheOpenInput(Keeping):
    """The input of the open step, until its release."""

    def keeper(self, run: Any) -> Callable[[int], None]:
        run.open = 0
        close = run._close

        def closed() -> IntArray:
            run.open = 0
            row: IntArray = close()
            return row

        def keep(x: int) -> None:
            run.open = x

        run._close = closed
        return keep


@dataclass(frozen=True, kw_only=True)
class CoinsWithASum(RandomizedResponseCounter):
    """Flips a coin for each bit, and keeps how many there were."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        run: Any = super()._run(state, noise)
        fold = run._fold
        run.exact = 0

        def folded(row: IntArray) -> None:
            run.exact += int(row[0])
            fold(row)

        run._fold = folded
        kept: CounterRun = run
        return kept


# Memory that hides what it holds ----------------------------------------------------------------


class _Silent(int):
    """An integer whose text does not show it."""

    def __repr__(self) -> str:
        return "a number"


class SumInASilentInteger(Keeping):
    def keeper(self, run: Any) -> Callable[[int], None]:
        run.silent = _Silent(0)

        def keep(x: int) -> None:
            run.silent = _Silent(int(run.silent) + x)

        return keep


class _Empty(list[int]):
    """A list that says it has nothing."""

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __repr__(self) -> str:
        return "[]"


class SumInAnEmptyList(Keeping):
    def keeper(self, run: Any) -> Callable[[int], None]:
        run.listed = _Empty([0])

        def keep(x: int) -> None:
            run.listed[0] += x

        return keep


class SumUnderAMask(Keeping):
    def keeper(self, run: Any) -> Callable[[int], None]:
        run.masked = np.ma.masked_array([0], [True], fill_value=0)

        def keep(x: int) -> None:
            run.masked.data[0] += x

        return keep


class SumInADefault(Keeping):
    """A method of the run's class keeps the sum in the default of an argument."""

    def keeper(self, run: Any) -> Callable[[int], None]:
        _Defaulting.counted.__defaults__ = ([0],)

        def keep(x: int) -> None:
            _Defaulting.counted(run, x)

        return keep

    def _run(self, state: State, noise: Noise) -> CounterRun:
        run: Any = super()._run(state, noise)
        run.__class__ = _Defaulting
        kept: CounterRun = run
        return kept


class _Defaulting(SimpleTwoRun):
    def counted(self, x: int, kept: Any = None) -> None:
        kept[0] += x

    counted.__defaults__ = ([0],)


class SumInATuple(Keeping):
    """The run's class has a tuple with a list."""

    def keeper(self, run: Any) -> Callable[[int], None]:
        _Paired.pair[1][0] = 0

        def keep(x: int) -> None:
            _Paired.pair[1][0] += x

        return keep

    def _run(self, state: State, noise: Noise) -> CounterRun:
        run: Any = super()._run(state, noise)
        run.__class__ = _Paired
        kept: CounterRun = run
        return kept


class _Paired(SimpleTwoRun):
    pair = ("exact", [0])
