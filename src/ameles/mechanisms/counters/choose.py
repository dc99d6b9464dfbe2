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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, fields, replace
from functools import lru_cache, partial
from typing import Any, Literal, TypeAlias

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, Intrusions, Unit
from ameles.core.parameters import Exact, exact, refuse, whole
from ameles.mechanisms.catalogue import COUNTERS
from ameles.mechanisms.counters.comparison import CounterComparison, Row
from ameles.mechanisms.counters.hats.error import HatsError
from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.counters.recipe import CounterError, CounterRecipe
from ameles.mechanisms.pan_private.place_error import PlaceError

Objective: TypeAlias = Literal["mean", "worst"] | int

# Without a horizon, counters are compared over this many steps.
REFERENCE = 1 << 20
# Means over longer streams are taken at this many steps, spread evenly; maxima start from these.
POINTS = 1024
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
        whole(optimise, "optimise", low=1, high=steps)
    asked = intrusions_of(intrusions)
    shared = {"width": width, "contributions": contributions, "bound": bound, "unit": unit}
    pure = {"epsilon": epsilon, "horizon": horizon, **shared}
    kinds = [kind for kind in COUNTERS if kind.choosable and (bits or not kind.bits)]
    recipes = _built(_candidates(kinds, pure, delta, asked, steps, optimise))
    rows = sorted((_measured(recipe, steps, optimise) for recipe in recipes), key=_objective)
    rows.sort(key=partial(_put_back, best=rows[0]))
    return CounterComparison(_relative(row, rows[0].objective) for row in rows)


def points(steps: int) -> list[int]:
    """Steps at which means and maxima are taken: all of them, or an even spread with the last."""
    if steps <= POINTS:
        return list(range(1, steps + 1))
    golden = (math.sqrt(5) - 1) / 2  # multiples of it, modulo 1, fill the unit interval evenly
    return sorted({1 + int(i * golden % 1 * steps) for i in range(POINTS)} | {steps})


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


def worst_of(recipe: CounterRecipe, steps: int, at: list[int]) -> float:
    """The largest deviation of a step, found from the worst of ``at`` by changing digits.

    A tree's error depends on the digits of t, so changing one digit after the other, as long
    as the error grows, leads from a bad step to the worst.
    """
    return _worst(recipe, steps, dict(zip(at, stds_of(recipe.error, at), strict=True)))


def stds_of(error: CounterError, at: Sequence[int]) -> list[float]:
    """The deviation at each of these steps, all at once if the error knows how to."""
    if isinstance(error, LaplaceError):
        deviations: list[float] = error.stds(np.array(at, dtype=np.int64)).tolist()
        return deviations
    return [*map(error.std, at)]


def _worst(recipe: CounterRecipe, steps: int, known: dict[int, float]) -> float:
    """The same, if some deviations are known; all that are visited are added to them."""
    worst = max(known, key=known.__getitem__)
    shifts = [
        d * size
        for size, base in _digits(recipe, steps)
        for d in range(1 - min(base, 64), min(base, 64))
    ]
    while True:
        tried = [worst + shift for shift in shifts if 1 <= worst + shift <= steps]
        fresh = [t for t in tried if t not in known]
        known.update(zip(fresh, stds_of(recipe.error, fresh), strict=True))
        better = max(tried, key=known.__getitem__, default=worst)
        if known[better] <= known[worst]:
            return known[worst]
        worst = better


def _digits(recipe: CounterRecipe, steps: int) -> list[tuple[int, int]]:
    """For each digit that the error depends on its size, and how many values it has."""
    if isinstance(recipe.error, HatsError):
        shape = recipe.error.shape
        return [*zip(shape.spans, (*shape.radices, shape.knots), strict=True)]
    if isinstance(recipe.error, PlaceError):
        return [*zip(recipe.error.shape.spans, recipe.error.shape.radices, strict=True)]
    base = max(getattr(recipe, "arity", None) or getattr(recipe, "block", None) or 2, 2)
    return [(base**level, base) for level in range(1 + int(math.log(max(steps, 2), base)))]


def _measured(recipe: CounterRecipe, steps: int, optimise: Objective) -> Row:
    mean, worst, bound = _errors(recipe, steps)
    single = recipe.error.std(optimise) if isinstance(optimise, int) else 0.0
    chosen = {"mean": mean, "worst": worst}.get(str(optimise), single)
    return Row(recipe, mean, worst, bound, chosen, 1.0)


@lru_cache(maxsize=512)  # plans ask again and again about the same few recipes
def _errors(recipe: CounterRecipe, steps: int) -> tuple[float, float, float]:
    """The mean and the worst deviation, and the bound at the end."""
    at = points(steps)
    known = dict(zip(at, stds_of(recipe.error, at), strict=True))
    mean = math.sqrt(math.fsum(d * d for d in known.values()) / len(at))
    return mean, _worst(recipe, steps, known), recipe.error.bound(steps, 0.05)


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
