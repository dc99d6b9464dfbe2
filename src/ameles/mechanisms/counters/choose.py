"""The best counter for given public parameters, by computed error.

Every counter that can give the asked guarantee is built, its error computed, and the one with the
smallest error returned.  The choice depends on public parameters only, so it reveals nothing.  If
the state may be seized, only counters whose guarantee covers that are considered; one that covers
more intrusions may be used for fewer.  The counters are those of the catalogue: a new one is
considered as soon as it is listed there.

>>> recipe = counter(epsilon=1, horizon=1024)
>>> recipe
HatsCounter(unit='event', width=None, contributions=1, bound=1, epsilon=Fraction(1, 1),
            horizon=1024, radices=(22, 14), offset=6, tops=(371, 332, 283), lows=(539, 484))
>>> type(counter(epsilon=1)).__name__
'EndlessHatsCounter'
>>> for row in compare(epsilon=1, horizon=1024)[:3]:
...     print(f"{row.name:18} {row.mean:7.2f} {row.ratio:6.2f}")
HatsCounter           9.89   1.00
SiblingsCounter      11.07   1.12
EldersCounter        13.00   1.31
>>> for intrusions in ("one", "announced", "every"):
...     print(type(counter(epsilon=1, horizon=1024, intrusions=intrusions)).__name__)
PanPrivatePlaceCounter
PanPrivatePlaceCounter
SimpleTwoCounter
>>> type(counter(epsilon=1, intrusions="every", bits=True)).__name__
'RandomizedResponseCounter'
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, fields, replace
from functools import partial
from typing import Any, Literal, TypeAlias

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, Intrusions, Unit
from ameles.core.parameters import Exact, exact, refuse, whole
from ameles.mechanisms.catalogue import COUNTERS
from ameles.mechanisms.counters.comparison import CounterComparison, Row
from ameles.mechanisms.counters.deviations import (
    POINTS,
    mean_deviation,
    points,
    stds_of,
    worst_deviation,
    worst_of,
)
from ameles.mechanisms.counters.recipe import CounterRecipe

Objective: TypeAlias = Literal["mean", "worst"] | int

# Without a horizon, counters are compared over this many steps.
REFERENCE = 1 << 20
# If the best run holds more 64-bit integers than this, and another one does not whose error is at
# most this many times as large, that one is chosen.
MOST_MEMORY = 1 << 27
NEARLY = 1.25


def counter(
    *,
    epsilon: Exact,
    delta: Exact = 0,
    horizon: int | None = None,
    width: int | None = None,
    contributions: int = 1,
    bound: int = 1,
    unit: Unit | str = EVENT,
    intrusions: Intrusions | str = Intrusions.NONE,
    optimise: Objective = "mean",
    bits: bool = False,
) -> CounterRecipe:
    """The counter with the smallest error for this guarantee, as a recipe.

    ``horizon`` None means a stream without end.  ``delta`` above zero allows Gaussian noise.
    ``intrusions`` says how often the state may be seized: "none", "one", "announced" or "every";
    the error of announced ones is that before any was announced.
    ``optimise`` is the mean over all steps, the worst step, or the number of one step.
    ``bits`` declares that every input is 0 or 1: then counters of bits are considered, too.
    """
    return compare(
        epsilon=epsilon,
        delta=delta,
        horizon=horizon,
        width=width,
        contributions=contributions,
        bound=bound,
        unit=unit,
        intrusions=intrusions,
        optimise=optimise,
        bits=bits,
    )[0].recipe


def compare(
    *,
    epsilon: Exact,
    delta: Exact = 0,
    horizon: int | None = None,
    width: int | None = None,
    contributions: int = 1,
    bound: int = 1,
    unit: Unit | str = EVENT,
    intrusions: Intrusions | str = Intrusions.NONE,
    optimise: Objective = "mean",
    bits: bool = False,
) -> CounterComparison:
    """All counters that can give this guarantee, with their errors, the smallest first.

    The result is a list of rows; it prints as a table, also in a notebook.  If the best would need
    more than a gibibyte, another one that needs less and is nearly as good comes first.
    """
    if not 0 <= exact(delta, "delta") < 1:
        raise refuse("delta", "a probability: zero or more and below 1", delta)
    steps = REFERENCE if horizon is None else horizon
    if isinstance(optimise, str) and optimise not in ("mean", "worst"):
        raise refuse("optimise", "'mean', 'worst' or the number of a step", optimise)
    if not isinstance(optimise, str):
        optimise = whole(optimise, "optimise", low=1, high=steps)
    asked = intrusions_of(intrusions)
    shared = {"width": width, "contributions": contributions, "bound": bound, "unit": unit}
    pure = {"epsilon": epsilon, "horizon": horizon, **shared}
    kinds = [kind for kind in COUNTERS if kind.choosable and (bits or not kind.bits)]
    recipes = _built(_candidates(kinds, pure, delta, asked, steps, optimise))
    rows = sorted((_measured(recipe, steps, optimise) for recipe in recipes), key=_objective)
    rows.sort(key=partial(_put_back, best=rows[0]))
    return CounterComparison(_relative(row, rows[0].objective) for row in rows)


def objective_of(recipe: CounterRecipe, at: list[int], optimise: Objective) -> float:
    """The quantity to minimise: the deviation at one step, on average, or at the worst step."""
    if isinstance(optimise, int):
        return recipe.error.std(optimise)
    deviations = stds_of(recipe.error, at)
    if optimise == "worst":
        return max(deviations)
    return math.sqrt(math.fsum(d * d for d in deviations) / len(at))


def intrusions_of(asked: Intrusions | str) -> Intrusions:
    """The intrusions that are asked for, by their name or as they are."""
    try:
        return Intrusions(asked)
    except ValueError:
        raise refuse("intrusions", "'none', 'one', 'announced' or 'every'", asked) from None


def covers(given: Intrusions, asked: Intrusions) -> bool:
    """Whether a guarantee against the first kind is also one against the second.

    Announced intrusions include one that is never announced: it could still be announced, as the
    last.
    """
    order = list(Intrusions)
    return order.index(given) >= order.index(asked)


def _candidates(
    kinds: Iterable[type[CounterRecipe]],
    pure: dict[str, Any],
    delta: Exact,
    asked: Intrusions,
    steps: int,
    optimise: Objective,
) -> Iterator[Callable[[], CounterRecipe]]:
    """Ways to give the guarantee, from the catalogue; each is built when called, and may refuse."""
    given = {**pure, "delta": delta, "intrusions": asked}
    # If all refuse, the first refusal is raised: counters that need no horizon come first.
    for kind in sorted(kinds, key=lambda kind: "horizon" in _required(kind)):
        names = {field.name for field in fields(kind)}
        if not _required(kind) <= given.keys():
            continue
        if kind.only_endless if pure["horizon"] is not None else "horizon" in _required(kind):
            continue
        if "delta" in names and (not exact(delta, "delta") or asked is not Intrusions.NONE):
            continue
        # counters that survive intrusions have more noise: skipped if there are no intrusions
        if "intrusions" in names if asked is Intrusions.NONE else not covers(kind.survives, asked):
            continue
        build = partial(kind, **{name: given[name] for name in given.keys() & names})
        for setting in kind.settings:
            tuned = partial(build, **setting)
            if kind.tried_arities:
                yield partial(_best_of, tuned, steps, optimise, kind.tried_arities)
            else:
                yield tuned


def _required(kind: type[CounterRecipe]) -> set[str]:
    """The parameters that a counter has no default for."""
    return {field.name for field in fields(kind) if field.default is MISSING}


def _built(builds: Iterator[Callable[[], CounterRecipe]]) -> list[CounterRecipe]:
    """The recipes that these parameters allow; a refusal counts only if all refuse."""
    recipes, refusals = [], []
    for build in builds:
        try:
            recipes.append(build())
        except BadInput as refusal:
            refusals.append(refusal)
    if not recipes:
        raise refusals[0]
    return recipes


def _best_of(
    build: Callable[..., CounterRecipe],
    steps: int,
    optimise: Objective,
    arities: Iterable[int],
) -> CounterRecipe:
    """The tree whose arity suits the objective; by default each is tuned for the mean."""
    if optimise == "mean":
        return build()
    spread = points(steps)[:: max(1, min(steps, POINTS) // 128)]
    recipes = [build(arity=arity) for arity in arities]
    if optimise == "worst":
        return min(recipes, key=lambda recipe: worst_of(recipe, steps, spread))
    return min(recipes, key=lambda recipe: objective_of(recipe, spread, optimise))


def _measured(recipe: CounterRecipe, steps: int, optimise: Objective) -> Row:
    if isinstance(optimise, int):
        return Row(recipe, steps, recipe.error.std(optimise))
    deviation = {"mean": mean_deviation, "worst": worst_deviation}[optimise]
    return Row(recipe, steps, deviation(recipe, steps))


def _objective(row: Row) -> float:
    return row.objective


def _put_back(row: Row, best: Row) -> bool:
    """Whether a row comes after those that are nearly as good as the best and need less memory."""
    close = row.objective <= NEARLY * best.objective
    return not (close and row.recipe.memory <= MOST_MEMORY < best.recipe.memory)


def _relative(row: Row, best: float) -> Row:
    if row.objective == best:  # also if both are zero: noise can be too rare for a float
        return row
    return replace(row, ratio=row.objective / best if best else math.inf)
