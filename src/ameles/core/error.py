"""How far a release may be from the truth, as numbers that code can use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ameles.core.mechanism import FloatArray, IntArray


class Error(Protocol):
    """A bound on the noise of one key's releases; steps count from 1."""

    def bound(self, t: int, beta: float) -> float:
        """The error at step ``t`` is at most this with probability at least 1 - beta."""
        ...

    def bound_all(self, steps: int, beta: float) -> float:
        """All of the first ``steps`` errors are at most this, with probability 1 - beta."""
        ...


class AdditiveError(Error, Protocol):
    """The error of a mechanism that adds noise with mean zero to the truth."""

    def std(self, t: int) -> float:
        """The standard deviation of the noise at step ``t``."""
        ...

    def bounds(self, steps: IntArray, beta: float) -> FloatArray:
        """``bound`` at each of these steps, all at once."""
        ...

    def between_bounds(self, before: IntArray, after: IntArray, beta: float) -> FloatArray:
        """For each total over steps before + 1, ..., after: its error is at most this with
        probability at least 1 - beta."""
        ...
