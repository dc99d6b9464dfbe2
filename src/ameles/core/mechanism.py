"""A mechanism is a frozen recipe; starting it gives a run; a run takes steps.

All randomness reaches a run through one ``Noise``, so a test can replace it: by zeros to
see the truth, by an impulse to see one column of the noise matrix, or by every tape in
turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from ameles.core.error import Error
from ameles.core.guarantee import Guarantee

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    IntArray: TypeAlias = NDArray[np.int64]
    BoolArray: TypeAlias = NDArray[np.bool_]
    FloatArray: TypeAlias = NDArray[np.float64]

Shape: TypeAlias = int | tuple[int, ...]


class Noise(Protocol):
    """The only source of randomness of a mechanism.

    ``genuine`` is true where draws are the operating system's and nobody's script;
    ``forgetful`` where nothing stays in memory from which a past or a future draw could
    be computed, which state that may be seized needs.
    """

    @property
    def genuine(self) -> bool: ...
    @property
    def forgetful(self) -> bool: ...

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        """Integers k with probability proportional to exp(-|k| / scale)."""
        ...

    def gaussian(self, variance: Fraction, size: Shape) -> IntArray:
        """Integers k with probability proportional to exp(-k**2 / (2 * variance))."""
        ...

    def bernoulli(self, p: Fraction, size: Shape) -> BoolArray:
        """True with probability p."""
        ...

    def bernoulli_exp(self, gamma: Fraction, size: Shape) -> BoolArray:
        """True with probability exp(-gamma)."""
        ...

    def uniform(self, n: int, size: Shape) -> IntArray:
        """Integers from 0 to n - 1, each as likely."""
        ...

    def choose(self, gammas: Sequence[Fraction]) -> int:
        """An index i with probability proportional to exp(-gammas[i])."""
        ...


In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)


class Run(Protocol[In, Out]):
    """A started mechanism: the only thing that changes."""

    @property
    def id(self) -> str:
        """What tells this run from every other, for the ledger."""
        ...

    @property
    def t(self) -> int:
        """How many steps were taken."""
        ...

    def step(self, x: In) -> Out:
        """One step: takes an input, gives a release."""
        ...

    def feed(self, xs: Iterable[In]) -> Iterable[Out]:
        """Many steps at once: the same releases as that many calls of ``step``."""
        ...

    def snapshot(self) -> bytes:
        """The complete state; secret, unless the guarantee covers intrusions."""
        ...


class Mechanism(Protocol[In, Out]):
    """A frozen recipe with its promise and its error."""

    @property
    def guarantee(self) -> Guarantee: ...
    @property
    def error(self) -> Error: ...

    def start(self, noise: Noise) -> Run[In, Out]:
        """A new run.  Outside of research and tests, the ledger calls this."""
        ...

    def resume(self, snapshot: bytes, noise: Noise) -> Run[In, Out]:
        """The run that a snapshot was taken of, at the step where it was taken."""
        ...
