"""An estimator whose answers are written down, for enumerating and auditing what is around it.

Its state is the number of inputs, which is public, so that whatever a view loses is lost by
the transformation alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.core.error import Error
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import USER, Contribution, Guarantee, Intrusions, Neighbours, Norm
from ameles.core.loss import Pure
from ameles.core.mechanism import Noise
from ameles.core.recipe import Recipe
from ameles.mechanisms.continual.estimator import Exactly
from ameles.mechanisms.continual.transformation import Continual
from ameles.mechanisms.snapshot import State, pack, unpack


@dataclass(frozen=True, kw_only=True)
class Scripted(Recipe):
    answers: tuple[int, ...]
    seizable: bool = True

    @property
    def state_guarantee(self) -> Guarantee:
        return Guarantee(
            loss=Pure(Fraction(0)),
            unit=USER,
            neighbours=Neighbours.USER_PRESENCE,
            contribution=Contribution(steps=2**40, bound=1, norm=Norm.L1),
            horizon=None,
            intrusions=Intrusions.ONE if self.seizable else Intrusions.NONE,
        )

    @property
    def answer_error(self) -> Error:
        return Exactly()

    def start(self, noise: Noise) -> ScriptedRun:
        return ScriptedRun(self, 0)

    def resume(self, snapshot: bytes, noise: Noise) -> ScriptedRun:
        return ScriptedRun(self, unpack(snapshot, self.fingerprint).step)


class ScriptedRun:
    def __init__(self, recipe: Scripted, taken: int) -> None:
        self._recipe = recipe
        self._taken = taken

    def check(self, x: object) -> None:
        if x is not None:
            raise BadInput("This estimator counts its inputs, which are None.")

    def add(self, x: object) -> None:
        self.check(x)
        self._taken += 1

    def answer(self) -> int:
        return self._recipe.answers[self._taken - 1]

    def snapshot(self) -> bytes:
        part = np.zeros(1, dtype=np.int64)
        return pack(State(bytes(16), self._taken, (part,)), self._recipe.fingerprint)


def scripted(answers: tuple[int, ...], **parameters: Any) -> Continual:
    given = {"epsilon": 1, "changes": 2, "jump": 0, "sensitivity": 1, "threshold": 5, **parameters}
    horizon = given.pop("horizon", len(answers))
    return Continual(algorithm=Scripted(answers=answers), horizon=horizon, **given)
