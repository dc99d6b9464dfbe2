"""Modular incidence over a stream: events are folded at every step, one release at the last.

Theorem      the table's own (catalogue 27): whoever sees it once, at any step, and the one release
             loses epsilon_state + epsilon_output.  Before the last step nothing is published, so
             steps cost nothing; a release at every step cannot exist at user level (catalogue 18)
Neighbours   the table's
Noise        the table's: offsets at the start, discrete Laplace on each bin at the last step
Error        that of one release of the table
Memory       the table's

>>> from ameles.noise import Zero
>>> table = ModularIncidence(users=5, modulus=3, neighbours="user-presence", epsilon_state=1,
...                          epsilon_output=1)
>>> run = ModularOnce(table=table, horizon=2).start(Zero())
>>> run.add([0, 0, 1])
>>> set(run.release().tolist()) == {CODE}
True
>>> run.add([1, 2])
>>> run.release().tolist()
[2, 1, 2]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ameles.core.guarantee import Guarantee
from ameles.core.noise import Noise
from ameles.core.parameters import Parameter, Whole, refuse
from ameles.mechanisms.continual.nested import OuterRun
from ameles.mechanisms.continual.transformation import CODE
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.pan_private.estimate import ChanceError
from ameles.mechanisms.pan_private.modular import ModularIncidence
from ameles.mechanisms.run import Turn
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray


class OneModular(Parameter[ModularIncidence, ModularIncidence]):
    """A table of residues that is released once and seen once."""

    def check(self, value: ModularIncidence) -> ModularIncidence:
        given: object = value
        if not isinstance(given, ModularIncidence) or (given.releases, given.seizures) != (1, 1):
            raise refuse(
                self.name,
                "a ModularIncidence with one release and one intrusion",
                type(value).__name__,
            )
        return value


@dataclass(frozen=True, kw_only=True)
class ModularOnce(Mechanism["ModularOnceRun"]):
    """The users with each residue, released with the last of ``horizon`` steps."""

    table: OneModular = OneModular()
    horizon: Whole = Whole(1, 1 << 40)

    @property
    def guarantee(self) -> Guarantee:
        """The table's promise, over all steps."""
        return replace(self.table.guarantee, horizon=self.horizon)

    @property
    def error(self) -> ChanceError:
        """That of the one release."""
        return self.table.error

    def _run(self, state: State, noise: Noise) -> ModularOnceRun:
        return ModularOnceRun(self, state, noise)


class ModularOnceRun(OuterRun[Any, IntArray]):
    """A run: ``add`` on arrival, ``release`` at the tick; ``step`` is both."""

    def __init__(self, recipe: ModularOnce, state: State, noise: Noise) -> None:
        super().__init__(recipe, recipe.table, state, noise)
        self._recipe = recipe

    def release(self) -> IntArray:
        """Closes the step: with the last one, the noisy number of users with each residue."""
        with Turn(self):
            self.check_room(1)
            self._t += 1
            if self._t < self._recipe.horizon:
                return np.full(self._recipe.table.modulus, CODE, dtype=np.int64)
            bins: IntArray = self._inner.release_bins()
            return bins
