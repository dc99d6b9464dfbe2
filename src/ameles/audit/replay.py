"""The proof, replayed on the real code: shifted noise shows what the neighbour would show.

Where the state may be seized, more than the snapshot is compared: all memory that can be reached
from the run, at every instant of the view.  The shift makes two neighbours look alike in releases
and snapshots; if something else in memory tells them apart, the run keeps more than it declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ameles.audit.instant import Phase, Place, View
from ameles.audit.memory import Token, memory_of, numbers_in
from ameles.audit.neighbours import Worst
from ameles.audit.observation import Block, NotLinear, Observer, Seen
from ameles.audit.patterns import PATTERNS
from ameles.mechanisms.run import Run
from ameles.noise import Tape


class KeepsMore(Exception):
    """Memory outside of the snapshot tells neighbours apart."""


class MemoryObserver(Observer):
    """Looks at all memory of a run where its view looks at the state.

    ``deep``: the numbers in memory are what is seen, in place of the snapshot.
    """

    def __init__(self, like: Observer, *, deep: bool = False) -> None:
        super().__init__(like.recipe, like.steps, like.view, stepping=like.stepping)
        self.keys = like.keys
        self._deep = deep
        self._noise: Tape | None = None
        self.memories: list[list[Token]] = []

    def see(self, draws: Sequence[int], inputs: Sequence[int]) -> list[Seen]:
        """All numbers seen in one run, in a fixed order."""
        self.memories = []
        return super().see(draws, inputs)

    def shown(self, tape: Tape, inputs: Sequence[Any]) -> list[tuple[Place | None, Block]]:
        """Each output and each look at the state."""
        self._noise = tape
        return super().shown(tape, inputs)

    def _state(self, run: Run[Any, Any]) -> Sequence[Block]:
        memory = memory_of(run, self._noise)  # before the snapshot, which could tidy up
        parts = super()._state(run)
        self.memories.append(memory)
        return [np.array(numbers_in(memory), dtype=object)] if self._deep else parts


def replay(observer: Observer, draws: Sequence[int], worst: Worst, played: range) -> None:
    """Replays the shifts of some steps; ``draws`` are the places that a shift moves.

    Raises NotLinear if what is shown differs, and KeepsMore if only other memory does.
    """
    last = _last_before(observer.view)
    searching = MemoryObserver(observer) if observer.view else observer
    decoding = Observer(observer.recipe, observer.steps, decoded=True) if observer.encoded else None
    for step, single in enumerate(worst.singles):
        searched = bool(worst.changes[step]) or step == last
        if single.shift is None or not (searched or step in played):
            continue
        pattern = PATTERNS[step % 3]
        noise = pattern.draws(observer.laws or [])
        inputs = pattern.inputs(observer.steps)
        shifted = list(noise)
        for place, e in zip(draws, single.shift, strict=True):
            shifted[place] += e
        neighbour = [x + (s == step) for s, x in enumerate(inputs)]
        _compare(searching if searched else observer, (shifted, inputs), (noise, neighbour))
        if decoding is not None:  # then what is decoded must agree too
            _compare(decoding, (shifted, inputs), (noise, neighbour))


def _compare(
    observer: Observer,
    one: tuple[Sequence[int], Sequence[int]],
    other: tuple[Sequence[int], Sequence[int]],
) -> None:
    """Two draws and inputs that must show the same, and leave the same in memory."""
    shown, memory = observer.see(*one), getattr(observer, "memories", ())
    if observer.see(*other) != shown:
        raise NotLinear("shifted noise does not show what the neighbour shows")
    if getattr(observer, "memories", ()) != memory:
        raise KeepsMore


def _last_before(view: View) -> int | None:
    """The last step whose input comes before the last look; steps from 0."""
    if not view:
        return None
    step, phase = max(instant.place for instant in view)
    return step if phase is Phase.ADDED else step - 1
