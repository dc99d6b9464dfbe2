"""Sparse vectors as they have been taught and built, none of them private as claimed."""

from __future__ import annotations

from dataclasses import dataclass

from ameles.core.noise import Noise
from ameles.mechanisms.continual.noisy_threshold import Reply, Said
from ameles.mechanisms.continual.sparse_vector import SparseVector, SparseVectorRun
from ameles.mechanisms.snapshot import State


@dataclass(frozen=True, kw_only=True)
class Broken(SparseVector):
    """One of the known mistakes in place of the right run."""

    mistake: str = ""

    def _run(self, state: State, noise: Noise) -> SparseVectorRun:
        runs = {"fresh threshold": FreshThreshold, "same value": SameValue}
        return runs[self.mistake](self, state, noise)


class FreshThreshold(SparseVectorRun):
    """New noise on the threshold for each query, and none on the query."""

    def _step(self, x: int) -> Reply:
        if self.halted:
            return Reply(Said.HALTED)
        if x < self._recipe.threshold + self._draw(self._recipe.threshold_scale):
            return Reply(Said.BELOW)
        self._aboves += 1
        return Reply(Said.ABOVE)


class SameValue(SparseVectorRun):
    """Answers with the value that was compared."""

    def _step(self, x: int) -> Reply:
        if self.halted:
            return Reply(Said.HALTED)
        noisy = x + self._draw(self._recipe.query_scale)
        if noisy < self._recipe.threshold + self._rho:
            return Reply(Said.BELOW)
        self._aboves += 1
        return Reply(Said.ABOVE, noisy)
