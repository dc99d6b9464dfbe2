"""What ``ameles compare`` shows: every counter's errors, and a lower bound.

A pure guarantee is compared with the packing bound.  That bound is about all steps at once, so it
is compared with the counter's own 95% bound for all steps at once.  With a delta the packing bound
does not hold; the mean error is then compared with the least mean error of any factorisation with
Gaussian noise, and Laplace noise may be below that.  If the state may be seized after every step,
the bound is the larger of two: the packing bound, and the bound for that number of intrusions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from ameles.accounting.concentrated import zcdp_rho
from ameles.core.guarantee import Intrusions
from ameles.core.loss import Pure
from ameles.core.parameters import Exact, exact
from ameles.mechanisms.counters.choose import REFERENCE, Objective, compare, intrusions_of
from ameles.mechanisms.counters.comparison import Row
from ameles.mechanisms.counters.deviations import POINTS
from ameles.mechanisms.counters.gaussian.error import gaussian_lower_bound
from ameles.mechanisms.counters.lower_bounds import intrusion_bound, packing_bound
from ameles.mechanisms.laplace import equal_sums as laplace_sum

BETA = 0.05
# A bound for fewer intrusions holds for more, and takes less time to compute.
MOST_INTRUSIONS = 1 << 24


@dataclass(frozen=True, slots=True)
class CounterRow:
    """One counter.  Errors are for one key, in counts."""

    mechanism: str
    mean: float  # standard deviation, root of the mean variance
    worst: float  # standard deviation
    last: float  # half-width of the 95% interval at the last step
    memory: int  # integers per counter
    to_best: float
    to_bound: float | None  # None: the bound is zero
    why: str
    recipe: str  # JSON


@dataclass(frozen=True, slots=True)
class CounterTable:
    """All counters for one guarantee, the best first."""

    steps: int
    gaussian: bool
    bound: float
    lines: tuple[CounterRow, ...]
    intrusions: Intrusions = Intrusions.NONE

    @property
    def looked_at(self) -> int:
        """The number of steps over which means and maxima were taken."""
        return min(self.steps, POINTS)

    @property
    def legend(self) -> list[str]:
        """What the columns mean."""
        some = f"{self.looked_at} of {self.steps} steps, spread evenly"
        every = f"all {self.steps} steps"
        spread = every if self.looked_at == self.steps else some
        if self.gaussian:
            least = (
                f"{self.bound:.3g}, the least mean of any factorisation with Gaussian noise "
                "calibrated through zCDP; Laplace noise may be below it"
            )
            over = f"mean over {least}"
        else:
            over = (
                "the 95% bound for all steps at once, over the least such bound that any counter "
                f"of this epsilon can have, {self.bound:g}"
            )
        seized = []
        if self.intrusions is Intrusions.ANNOUNCED:
            seized = [
                "             before any intrusion was announced: each adds noise to all counts"
            ]
        return [
            f"mean         standard deviation of one count, over {spread}",
            *seized,
            "worst        the largest standard deviation among those steps",
            "last ±95%    half-width of the 95% interval at the last step",
            "memory       integers per counter, with up to 1024 of noise drawn ahead",
            f"÷ bound      {over}",
        ]


def comparison(
    *,
    epsilon: Exact,
    delta: Exact = 0,
    horizon: int | None,
    width: int | None = None,
    contributions: int = 1,
    intrusions: Intrusions | str = Intrusions.NONE,
    optimise: Objective = "mean",
    bits: bool = False,
) -> CounterTable:
    """Every counter that can give this guarantee, beside the bound."""
    rows = compare(
        epsilon=epsilon,
        delta=delta,
        horizon=horizon,
        width=width,
        contributions=contributions,
        intrusions=intrusions,
        optimise=optimise,
        bits=bits,
    )
    asked = intrusions_of(intrusions)
    steps = REFERENCE if horizon is None else horizon
    loss, failing = exact(epsilon, "epsilon"), exact(delta, "delta")
    # Counters whose state may be seized never use Gaussian noise, so a delta changes nothing there.
    gaussian = failing > 0 and asked is Intrusions.NONE
    if gaussian:
        bound = _gaussian_bound(loss, failing, steps)
    else:
        bound = _pure_bound(loss, steps, contributions)
    if asked is Intrusions.EVERY:
        seen = min(steps, MOST_INTRUSIONS)
        bound = max(bound, intrusion_bound(intrusions=seen, epsilon=loss, beta=BETA))
    lines = tuple(_line(row, steps, bound, gaussian=gaussian) for row in rows)
    return CounterTable(steps, gaussian, bound, lines, asked)


def _pure_bound(epsilon: Fraction, steps: int, contributions: int) -> float:
    """The packing bound if a unit may change m steps.

    Packing needs k ones, which cost ceil(k / m) units.  If k is a multiple of m, this is m times
    the bound for one contribution at horizon T // m.
    """
    tries = {1, min(contributions, steps)}
    return max(m * packing_bound(horizon=steps // m, epsilon=epsilon, beta=BETA) for m in tries)


def _gaussian_bound(epsilon: Fraction, delta: Fraction, steps: int) -> float:
    """The bound for one contribution; it holds for more contributions, which need more noise."""
    return gaussian_lower_bound(steps) / math.sqrt(2 * zcdp_rho(epsilon=epsilon, delta=delta))


def _line(row: Row, steps: int, bound: float, *, gaussian: bool) -> CounterRow:
    held = row.mean if gaussian else row.recipe.error.bound_all(steps, BETA)
    return CounterRow(
        mechanism=row.name,
        mean=row.mean,
        worst=row.worst,
        last=row.last,
        memory=math.ceil(row.recipe.memory / row.recipe.columns),
        to_best=row.ratio,
        to_bound=held / bound if bound else None,
        why=_why(row),
        recipe=row.recipe.to_json(),
    )


def _why(row: Row) -> str:
    """What makes the error as large as it is: the number of noises and their scale."""
    scale = getattr(row.recipe, "scale", None)
    endless = row.recipe.steps is None and hasattr(row.recipe, "scale_of")
    several = endless or hasattr(row.recipe, "inside")  # scales of more than one kind
    if scale is None or several or not isinstance(row.recipe.loss, Pure):
        return row.why
    count = (row.objective / laplace_sum.std(1, scale)) ** 2
    noises = "1 noise" if round(count, 1) == 1 else f"{count:,.{1 if count < 100 else 0}f} noises"
    return f"like {noises} of scale {float(scale):g}"
