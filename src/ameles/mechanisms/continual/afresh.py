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
number.  It never halts, and every answer is new.

>>> from ameles.mechanisms.continual.estimators.distinct import ExactDistinct
>>> from ameles.noise import Zero
>>> users = ExactDistinct(users=9)
>>> run = Afresh(algorithm=users, horizon=4, epsilon=1, sensitivity=1).start(Zero())
>>> [run.step(user) for user in [3, 3, 4, 5]]
[1, 1, 2, 3]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from ameles.accounting.calibration import gaussian_variance_for
from ameles.core.error import Error, checks_step
from ameles.core.loss import Approx, Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Number, Whole
from ameles.mechanisms.continual.estimators.estimator import EstimatorRun
from ameles.mechanisms.continual.nested import OuterRun
from ameles.mechanisms.continual.published_answers import PublishedAnswers, check_sensitivity
from ameles.mechanisms.counters.gaussian import error as gaussian_error
from ameles.mechanisms.counters.gaussian.error import sum_factor
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.pan_private.erase import only
from ameles.mechanisms.run import Turn
from ameles.mechanisms.snapshot import State
from ameles.noise.sampler import wrapped


@dataclass(frozen=True, kw_only=True)
class Afresh(PublishedAnswers["AfreshRun"]):
    """An estimator that publishes a new answer at every step.

    ``epsilon`` is what all answers lose together, with ``delta`` if it is above 0; what the
    algorithm's state reveals is added to epsilon.
    """

    epsilon: Epsilon = Epsilon()
    sensitivity: Whole = Whole(1, 2**40)
    delta: Number = Number(0, "0.5", 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sensitivity(self.algorithm, self.sensitivity)

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
    def published_loss(self) -> Pure | Approx:
        """Epsilon, with the delta."""
        return Approx(self.epsilon, self.delta) if self.delta else Pure(self.epsilon)

    @property
    def widest(self) -> Fraction:
        """The scale, or the variance if that is larger."""
        return max(self.scale, self.variance or Fraction(0))

    @property
    def error(self) -> AfreshError:
        """The distance of an answer from the truth."""
        return AfreshError(self.algorithm.answer_error, self.scale, self.variance)

    def _run(self, state: State, noise: Noise) -> AfreshRun:
        return AfreshRun(self, state, noise)


class AfreshRun(OuterRun[EstimatorRun, int]):
    """A run: ``add`` on arrival, ``release`` at the tick; ``step`` is both."""

    def __init__(self, recipe: Afresh, state: State, noise: Noise) -> None:
        super().__init__(recipe, recipe.algorithm, state, noise)
        self._recipe = recipe

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


@dataclass(frozen=True, slots=True)
class AfreshError:
    """The algorithm's error and the noise of an answer, each with half of beta."""

    answers: Error
    scale: Fraction
    variance: Fraction | None = None  # where the noise is Gaussian

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """One answer is this close to the truth."""
        return self.answers.bound(t, beta / 2) + self._noise(beta / 2)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """This many answers at once are this close."""
        return self.answers.bound_all(steps, beta / 2) + self._noise(beta / 2 / steps)

    def _noise(self, beta: float) -> int:
        if self.variance is None:
            return laplace_sum.quantile(1, self.scale, beta)
        variance = float(self.variance)
        return gaussian_error.quantile(variance, beta, factor=sum_factor(1, variance))


@lru_cache(maxsize=1024)
def _variance(epsilon: Fraction, delta: Fraction, square: int) -> Fraction:
    return gaussian_variance_for(epsilon=epsilon, delta=delta, squared_sensitivity=square)
