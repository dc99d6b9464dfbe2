"""An estimator whose answers are written down, for enumerating and auditing what is around it.

Its state is the number of inputs, which is public, so that whatever a view loses is lost by
the transformation alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.core.error import Error
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import USER, Contribution, Guarantee, Intrusions, Neighbours, Norm
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.continual.estimators.estimator import Estimator, EstimatorRun, Exactly
from ameles.mechanisms.continual.transformation import Continual
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class Scripted(Estimator):
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

    def _run(self, state: State, noise: Noise) -> ScriptedRun:
        return ScriptedRun(self, replace(state, run=bytes(16)))


class ScriptedRun(EstimatorRun):
    def __init__(self, recipe: Scripted, state: State) -> None:
        super().__init__(recipe, state)
        self._recipe = recipe

    def check(self, x: object) -> None:
        if x is not None:
            raise BadInput("This estimator counts its inputs, which are None.")

    def add(self, x: object) -> None:
        self.check(x)
        self._t += 1

    def answer(self) -> int:
        return self._recipe.answers[self._t - 1]

    def _parts(self) -> tuple[IntArray, ...]:
        return (np.zeros(1, dtype=np.int64),)


def scripted(answers: tuple[int, ...], **parameters: Any) -> Continual:
    given = {"epsilon": 1, "changes": 2, "jump": 0, "sensitivity": 1, "threshold": 5, **parameters}
    horizon = given.pop("horizon", len(answers))
    return Continual(algorithm=Scripted(answers=answers), horizon=horizon, **given)
