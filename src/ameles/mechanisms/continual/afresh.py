"""An estimator asked afresh at every step: each answer with noise of its own.

Theorem      basic composition beside one seized state (catalogue 23, 50): epsilon_0 to whoever sees
             the algorithm's state once, and epsilon / T with each of the T answers.  Given what
             was seized, two runs on neighbours answer at most ``sensitivity`` (rho) apart at
             every step, whatever their states were in between.  With a ``delta``, all answers
             together are one Gaussian vector, rho sqrt(T) apart in L2
Neighbours   the algorithm's, where its answers differ by at most ``sensitivity`` at each step
Noise        discrete Laplace, scale rho T / epsilon on each answer; with a delta, discrete
             Gaussian of a deviation that grows with sqrt(T)
Error        the noise of one answer, and the algorithm's own error
Memory       the algorithm's state

For few steps this beats the transformation (``Continual``), whose noise does not grow with their
number.  Nothing halts, and nothing is published twice.

>>> from ameles.mechanisms.continual.distinct import ExactDistinct
>>> from ameles.noise import Zero
>>> users = ExactDistinct(users=9)
>>> run = Afresh(algorithm=users, horizon=4, epsilon=1, sensitivity=1).start(Zero())
>>> [run.step(user) for user in [3, 3, 4, 5]]
[1, 1, 2, 3]
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ameles.accounting.calibration import gaussian_variance_for
from ameles.core.error import Error, checks_step
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Guarantee, Intrusions
from ameles.core.loss import Approx, Pure
from ameles.core.mechanism import Noise
from ameles.core.parameters import Epsilon, Number, Whole, refuse
from ameles.core.recipe import Recipe
from ameles.mechanisms import laplace_sum
from ameles.mechanisms.continual.estimator import Algorithm, EstimatorRun, check_estimator
from ameles.mechanisms.continual.nested import nested, unnested
from ameles.mechanisms.continual.stepped import SteppedRun
from ameles.mechanisms.continual.varying import check_varying
from ameles.mechanisms.counters import gaussian_error
from ameles.mechanisms.counters.gaussian_error import sum_factor
from ameles.mechanisms.live_run import Turn
from ameles.mechanisms.noise_source import check_noise
from ameles.mechanisms.pan_private.erase import only, wipe
from ameles.mechanisms.snapshot import State, unpack
from ameles.noise.arrays import IntArray
from ameles.noise.sampler import wrapped


@dataclass(frozen=True, kw_only=True)
class Afresh(Recipe):
    """An estimator that publishes a new answer at every step.

    ``epsilon`` is what all answers lose together, with ``delta`` if it is above 0; what the
    algorithm's state reveals is added to epsilon.
    """

    algorithm: Algorithm = Algorithm()
    epsilon: Epsilon = Epsilon()
    horizon: Whole = Whole(1, 2**40)
    sensitivity: Whole = Whole(1, 2**40)
    delta: Number = Number(0, "0.5", 0)

    def __post_init__(self) -> None:
        check_varying(self.algorithm, steps=self.horizon, epsilon=self.epsilon)
        check_estimator(self.algorithm)
        state = self.algorithm.state_guarantee
        if not isinstance(state.loss, Pure):
            raise BadInput(
                "The state of an algorithm that is asked afresh must have a pure loss.",
                why=f"its loss is {state.loss}, and the answers' is added to a pure one",
            )
        if state.horizon is not None and state.horizon < self.horizon:
            raise refuse("horizon", f"at most the algorithm's own, {state.horizon}", self.horizon)
        if 64 * max(self.scale, self.variance or 0) >= 1 << 61:
            raise BadInput(
                "These parameters need noise that does not fit into 64 bits.",
                why="its scale is the sensitivity times the number of steps over epsilon",
                tip="a larger epsilon, or fewer steps",
            )

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on each answer, where it is Laplace's."""
        return self.sensitivity * self.horizon / self.epsilon

    @property
    def variance(self) -> Fraction | None:
        """The variance of the noise on each answer, where it is Gaussian; None where it is not."""
        if not self.delta:
            return None
        return _variance(self.epsilon, self.delta, self.horizon * self.sensitivity**2)

    @property
    def intrusions(self) -> Intrusions:
        """One, if the algorithm's state may be seized at all."""
        secret = self.algorithm.state_guarantee.intrusions is Intrusions.NONE
        return Intrusions.NONE if secret else Intrusions.ONE

    @property
    def guarantee(self) -> Guarantee:
        """The algorithm's promise about its state, with the cost of the answers added."""
        state = self.algorithm.state_guarantee
        seized = state.loss.epsilon if isinstance(state.loss, Pure) else Fraction(0)
        steps = min(state.contribution.steps, self.horizon)
        total = seized + self.epsilon
        return Guarantee(
            loss=Approx(total, self.delta) if self.delta else Pure(total),
            unit=state.unit,
            neighbours=state.neighbours,
            contribution=replace(state.contribution, steps=steps),
            horizon=self.horizon,
            intrusions=self.intrusions,
        )

    @property
    def error(self) -> AfreshError:
        """The distance of an answer from the truth."""
        return AfreshError(self.algorithm.answer_error, self.scale, self.variance)

    def start(self, noise: Noise) -> AfreshRun:
        """A new run, with an identity of its own."""
        self._check_noise(noise)
        return AfreshRun(self, State(os.urandom(16), 0, ()), noise)

    def resume(self, snapshot: bytes, noise: Noise) -> AfreshRun:
        """The run that this snapshot was taken of."""
        self._check_noise(noise)
        return AfreshRun(self, unpack(snapshot, self.fingerprint), noise)

    def _check_noise(self, noise: Noise) -> None:
        check_noise(noise, self, forgetful=self.intrusions is not Intrusions.NONE)


class AfreshRun(SteppedRun[int]):
    """A run: ``add`` on arrival, ``release`` at the tick; ``step`` is both."""

    def __init__(self, recipe: Afresh, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._recipe = recipe
        self._noise = noise
        self._inner: EstimatorRun
        if state.parts:
            self._inner = recipe.algorithm.resume(unnested(state.parts), noise)
            wipe(*state.parts)
        else:
            self._inner = recipe.algorithm.start(noise)

    def add(self, x: Any) -> None:
        """Takes an input into the algorithm's state."""
        with Turn(self):
            self.check_room(1)
            self._inner.add(x)

    def release(self) -> int:
        """Closes the step: the value to publish."""
        recipe = self._recipe
        with Turn(self):
            self.check_room(1)
            if recipe.variance is None:
                noise = self._noise.laplace(recipe.scale, 1)
            else:
                noise = self._noise.gaussian(recipe.variance, 1)
            self._t += 1
            return wrapped(self._inner.answer() + only(noise))

    def _parts(self) -> tuple[IntArray, ...]:
        """The algorithm's state, and nothing else."""
        return nested(self._inner.snapshot())

    def _checked(self, x: Any) -> Any:
        self._inner.check(x)
        return x

    def _step(self, x: Any) -> int:
        self.add(x)
        return self.release()


@dataclass(frozen=True, slots=True)
class AfreshError:
    """The algorithm's error and the noise of an answer, each with half of what may be missed."""

    answers: Error
    scale: Fraction
    variance: Fraction | None = None  # where the noise is Gaussian

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """One answer is this close to the truth."""
        return self.answers.bound(t, beta / 2) + self._noise(beta / 2)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """So are this many at once."""
        return self.answers.bound_all(steps, beta / 2) + self._noise(beta / 2 / steps)

    def _noise(self, beta: float) -> int:
        if self.variance is None:
            return laplace_sum.quantile(1, self.scale, beta)
        variance = float(self.variance)
        return gaussian_error.quantile(variance, beta, factor=sum_factor(1, variance))


@lru_cache(maxsize=1024)
def _variance(epsilon: Fraction, delta: Fraction, square: int) -> Fraction:
    return gaussian_variance_for(epsilon=epsilon, delta=delta, squared_sensitivity=square)
