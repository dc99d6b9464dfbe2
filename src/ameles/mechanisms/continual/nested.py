"""A run around another one: its snapshot has the inner snapshot within, as 64-bit integers.

>>> unnested(nested(b"a state of 23 bytes, say"))
b'a state of 23 bytes, say'
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.continual.estimators.estimator import EstimatorRun
from ameles.mechanisms.mechanism import AnyMechanism, Startable
from ameles.mechanisms.run import Out, Turn
from ameles.mechanisms.snapshot import State
from ameles.mechanisms.stepped import FoldedRun
from ameles.noise.arrays import IntArray

InnerT = TypeVar("InnerT", bound=EstimatorRun | FoldedRun[Any, Any])


class OuterRun(FoldedRun[Any, Out], Generic[InnerT, Out]):
    """A run that takes its inputs into the run of another recipe.

    ``own`` is how many parts of the state are its own; the rest is the inner run.
    """

    def __init__(
        self,
        recipe: AnyMechanism,
        inner: Startable[InnerT],
        state: State,
        noise: Noise,
        *,
        own: int = 0,
    ) -> None:
        super().__init__(recipe, state)
        self._noise = noise
        self._inner = (
            inner.resume(unnested(state.parts[own:]), noise) if state.parts else inner.start(noise)
        )

    def add(self, x: Any) -> None:
        """Takes an input into the inner state."""
        with Turn(self):
            self.check_room(1)
            self._inner.add(x)

    def _checked(self, x: Any) -> Any:
        self._inner.check(x)
        return x

    def _parts(self) -> tuple[IntArray, ...]:
        """The inner state, and nothing else."""
        return nested(self._inner.snapshot())


def nested(snapshot: bytes) -> tuple[IntArray, IntArray]:
    """The length of a snapshot, and its bytes with zeros up to a whole number of integers."""
    padded = np.frombuffer(snapshot + bytes(-len(snapshot) % 8), "<i8").astype(np.int64)
    return np.array([len(snapshot)], dtype=np.int64), padded


def unnested(parts: tuple[IntArray, ...]) -> bytes:
    """The snapshot that ``nested`` was given."""
    length, padded = parts
    return padded.astype("<i8").tobytes()[: int(length[0])]
