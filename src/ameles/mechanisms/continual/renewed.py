"""Renewed: a mechanism for users that begins anew with every window.

Theorem      neighbours differ in one user's events within one window.  The runs of the other
             windows have inputs, states and noise that do not depend on them, so everything
             published and one seized state lose what the run of that window loses
Neighbours   the inner mechanism's, within one window
Noise        the inner mechanism's, fresh in every window
Error        the inner mechanism's at the step within the window
Memory       the inner mechanism's: the state of a window is erased with its last release

The next window's run starts right after the last release, before its first event, so that no
state says anything about two windows.

>>> from ameles.mechanisms.continual.afresh import Afresh
>>> from ameles.mechanisms.continual.estimators.distinct import ExactDistinct
>>> from ameles.noise import Zero
>>> inner = Afresh(algorithm=ExactDistinct(users=9), horizon=2, epsilon=1, sensitivity=1)
>>> recipe = Renewed(inner=inner)
>>> [recipe.start(Zero()).feed([3, 4, 3, 3, 5])]
[[1, 2, 1, 1, 1]]
>>> print(recipe.guarantee.unit)
one user within 2 steps
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ameles.core.error import Error, checks_step
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import USER, Guarantee, user_window
from ameles.core.noise import Noise
from ameles.core.parameters import OptionalHorizon, Parameter, refuse
from ameles.mechanisms.continual.nested import OuterRun
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.pan_private.erase import erase
from ameles.mechanisms.run import Turn
from ameles.mechanisms.snapshot import State
from ameles.mechanisms.stepped import FoldedRun

WindowMechanism: TypeAlias = Mechanism[FoldedRun[Any, Any]]


class Inner(Parameter[WindowMechanism, WindowMechanism]):
    """The mechanism of a window, as a parameter."""

    def check(self, value: WindowMechanism) -> WindowMechanism:
        if not isinstance(value, Mechanism):
            raise refuse(self.name, "a mechanism such as Afresh", type(value).__name__)
        return value


@dataclass(frozen=True, kw_only=True)
class Renewed(Mechanism["RenewedRun"]):
    """A mechanism for users that starts anew with every window."""

    inner: Inner = Inner()
    horizon: OptionalHorizon = OptionalHorizon()

    def __post_init__(self) -> None:
        promise = self.inner.guarantee
        if promise.unit != USER or promise.horizon is None:
            raise BadInput(
                "What begins anew with every window must protect users over a horizon.",
                why=f"this one is for {promise.unit}, and the horizon is the window's length",
                tip="Afresh or Continual of an estimator of users",
            )

    @property
    def window(self) -> int:
        """The steps of a window."""
        return self.inner.guarantee.horizon or 1

    @property
    def guarantee(self) -> Guarantee:
        """The inner promise, about one user within one window."""
        return replace(self.inner.guarantee, unit=user_window(self.window), horizon=self.horizon)

    @property
    def error(self) -> RenewedError:
        """The inner error, at the step within the window."""
        return RenewedError(self.inner.error, self.window)

    def _run(self, state: State, noise: Noise) -> RenewedRun:
        return RenewedRun(self, state, noise)


class RenewedRun(OuterRun[FoldedRun[Any, Any], Any]):
    """A run: ``add`` on arrival, ``release`` at the tick; ``step`` is both."""

    def __init__(self, recipe: Renewed, state: State, noise: Noise) -> None:
        super().__init__(recipe, recipe.inner, state, noise)
        self._recipe = recipe

    def skip(self, steps: int) -> None:
        """The same, without the tables of windows that begin and end on the way."""
        with Turn(self):
            self.check_room(steps)
            last = self._t + steps
            begun = (last - 1) // self._recipe.window * self._recipe.window
            if begun > self._t:
                self._begin_anew()
                self._t = begun
        super().skip(last - self._t)

    def release(self) -> Any:
        """Closes the step: what the inner run publishes.  The last step of a window erases its
        state."""
        with Turn(self):
            self.check_room(1)
            released = self._inner.release()
            self._t += 1
            if self._t % self._recipe.window == 0 and self._t != self._recipe.horizon:
                self._begin_anew()
            return released

    def _begin_anew(self) -> None:
        following = self._recipe.inner.start(self._noise)
        erase(self._inner)
        self._inner = following


@dataclass(frozen=True, slots=True)
class RenewedError:
    """The error of the run of each window."""

    inner: Error
    window: int

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """That of the step within its window."""
        return self.inner.bound((t - 1) % self.window + 1, beta)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """That of all windows, each with its part of beta."""
        windows = math.ceil(steps / self.window)
        return self.inner.bound_all(min(steps, self.window), beta / windows)
