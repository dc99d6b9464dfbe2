"""The checks that every counter must pass; ``test_catalogue`` runs them on each.

They are functions that raise, so that the same test file can run them on broken mechanisms
and see them caught.
"""

from __future__ import annotations

import re
import sys
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import binom

from ameles.core.exceptions import BadInput, HorizonReached
from ameles.core.noise import Noise
from ameles.core.recipe import Recipe
from ameles.mechanisms.catalogue import recipe_from_json
from ameles.mechanisms.counters.gaussian.calibration import GaussianCounter
from ameles.mechanisms.counters.psum import PSumCounter
from ameles.mechanisms.counters.recipe import CounterRecipe, CounterRun
from ameles.noise import System, Tape, Zero
from ameles.noise.arrays import IntArray

CANARY = 8_675_309
STEPS = 12


class CheckFailed(AssertionError):
    """What a check found wrong."""


def build(mechanism: Callable[..., CounterRecipe], **parameters: Any) -> CounterRecipe:
    """A recipe of this mechanism; p-sums get the dyadic intervals, Gaussian noise a delta, and
    counters of bits the bound of a bit."""
    if getattr(mechanism, "bits", False) and parameters.get("bound") == 2:
        parameters = {**parameters, "bound": 1}
    if isinstance(mechanism, type) and issubclass(mechanism, GaussianCounter):
        parameters = {"delta": "1e-6", **parameters}
    if mechanism is PSumCounter:
        horizon = parameters["horizon"]
        if type(horizon) is not int or not 1 <= horizon <= 1 << 12:
            horizon = 1  # to be refused for itself
        parameters["intervals"] = [
            ((k - 1) * size + 1, k * size)
            for size in (1 << level for level in range(horizon.bit_length()))
            for k in range(1, horizon // size + 1)
        ]
    return mechanism(**parameters)


def require(condition: bool, what: str) -> None:
    if not condition:
        raise CheckFailed(what)


def inputs(recipe: CounterRecipe, steps: int = STEPS) -> IntArray:
    """Some increments, negative ones among them, different for each counter."""
    rows = np.arange(steps * recipe.columns).reshape(steps, recipe.columns) * 7 % 11 - 3
    return rows if recipe.width is not None else rows[:, 0]


def steps_one_by_one(run: CounterRun, xs: IntArray) -> list[Any]:
    plain = xs.ndim == 1
    return [np.asarray(run.step(int(x) if plain else x)).tolist() for x in xs]


def zero_noise_is_the_truth(recipe: CounterRecipe) -> None:
    xs = inputs(recipe)
    if recipe.bits:  # it has its own mean without noise; what it holds are the bits
        run = recipe.start(Zero())
        run.feed(xs)
        ones = np.atleast_1d(np.clip(xs, 0, 1).sum(axis=0)).tolist()
        require(run._parts()[0].tolist() == ones, "a bit was not kept")
        return
    truth = np.cumsum(xs, axis=0).tolist()
    require(steps_one_by_one(recipe.start(Zero()), xs) == truth, "step differs from the count")
    require(recipe.start(Zero()).feed(xs).tolist() == truth, "feed differs from the count")


def recipes_survive_json(recipe: CounterRecipe) -> None:
    again: Recipe = recipe_from_json(recipe.to_json())
    require(again == recipe and hash(again) == hash(recipe), "JSON gave another recipe")
    require(again.fingerprint == recipe.fingerprint, "JSON gave another fingerprint")
    require(str(recipe.guarantee.loss) in str(recipe.guarantee), "the guarantee has no loss")


def _script(recipe: CounterRecipe, steps: int) -> list[int]:
    """Real draws for this many steps and for all that is taken ahead."""
    tape = Tape(beyond=System())
    run = recipe.start(tape)
    run.feed(inputs(recipe, steps))
    run.step(inputs(recipe, 1)[0])
    return tape.values


def feed_equals_step(recipe: CounterRecipe) -> None:
    xs = inputs(recipe)
    script = _script(recipe, STEPS - 1)
    expected = steps_one_by_one(recipe.start(Tape(script)), xs)
    for cut in (0, 1, 5, STEPS):
        run = recipe.start(Tape(script))
        fed = run.feed(xs[:cut]).tolist()
        fed += steps_one_by_one(run, xs[cut : cut + 2])
        fed += run.feed(xs[cut + 2 :]).tolist()
        require(fed == expected, f"feed of {cut}, two steps and the rest differ from steps")


def resuming_equals_going_on(recipe: CounterRecipe) -> None:
    xs = inputs(recipe)
    script = _script(recipe, STEPS - 1)
    expected = steps_one_by_one(recipe.start(Tape(script)), xs)
    for cut in range(STEPS + 1):
        tape = Tape(script)
        run = recipe.start(tape)
        before = steps_one_by_one(run, xs[:cut])
        resumed = recipe.resume(run.snapshot(), Tape(script[tape.count :]))
        require((resumed.id, resumed.t) == (run.id, cut), "another run or step was resumed")
        after = steps_one_by_one(resumed, xs[cut:])
        require(before + after == expected, f"resumed after {cut} steps, other releases")
        require(
            len(resumed.snapshot()) == len(recipe.resume(resumed.snapshot(), Zero()).snapshot()),
            "a snapshot of a snapshot has another size",
        )


def bounds_hold(build: Callable[[int], CounterRecipe], noise: Noise) -> None:
    """20,000 counters at once; false alarm 1e-6 for each of the 9 comparisons.

    The standard deviation of a sample deviation from n values is at most sqrt((kurtosis - 1)
    / 4n) of it; kurtosis is at most 6 for sums of Laplace variables, so 5 of those are below
    4% here.
    """
    recipe = build(20_000)
    noise_seen = recipe.start(noise).feed(np.zeros((STEPS, 20_000), dtype=np.int64))
    for t in (1, 2, STEPS):
        for beta in (0.3, 0.01):
            beyond = int((np.abs(noise_seen[t - 1]) > recipe.error.bound(t, beta)).sum())
            require(beyond <= binom.isf(1e-6, 20_000, beta), f"bound({t}, {beta}) is too small")
        measured = float(noise_seen[t - 1].std())
        predicted = recipe.error.std(t)
        require(abs(measured / predicted - 1) < 0.04, f"std({t}) is not what is measured")
    outside = (np.abs(noise_seen) > recipe.error.bound_all(STEPS, 0.1)).any(axis=0)
    require(int(outside.sum()) <= binom.isf(1e-6, 20_000, 0.1), "bound_all is too small")


def memory_is_within_the_claim(recipe: CounterRecipe) -> None:
    run = recipe.start(Zero())
    for x in inputs(recipe, 3):
        run.step(x)
    # header, checksum and the lengths of at most eight parts
    require(len(run.snapshot()) <= 8 * recipe.memory + 200, "the snapshot exceeds the claim")
    tracemalloc.start()
    try:
        run = recipe.start(Zero())
        run.feed(inputs(recipe, 50))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Python's own objects for a run, whatever its width; plain integers take 32 bytes more
    require(held <= 8 * recipe.memory + 60_000, "the run holds more than the claim")
    require(sys.getsizeof(run) < 1000, "the run object is large")


def bad_inputs_change_nothing(recipe: CounterRecipe) -> None:
    run = recipe.start(Tape(beyond=System()))
    run.step(inputs(recipe, 1)[0])
    before = run.snapshot()
    one: list[object] = [None, "3", 1.0, float("nan"), float("inf"), Fraction(1), b"3", True, {}]
    shapes: list[object] = [[1.5], [[[1]]], np.ones((2, 3, 4), dtype=int), [None], ["a"], [True]]
    if recipe.width is not None:
        shapes += [
            np.zeros(recipe.width + 1, dtype=int),
            np.zeros(recipe.width),
            np.full(recipe.width, np.nan),
            7,
        ]
    for bad in one + shapes:
        _refused(partial(run.step, bad), f"step accepted {type(bad).__name__}")
    for bad in [
        [1.0],
        [float("nan")],
        ["1"],
        [None],
        [[[1]]],
        np.ones((1, recipe.columns + 1), int),
    ]:
        _refused(partial(run.feed, bad), f"feed accepted {type(bad).__name__}")
    require(run.snapshot() == before, "a refused input changed the state")


def the_horizon_is_the_end(recipe: CounterRecipe) -> None:
    horizon = recipe.guarantee.horizon
    if horizon is None:
        return
    run = recipe.start(Zero())
    _refused(lambda: run.feed(inputs(recipe, horizon + 1)), "fed past the horizon", HorizonReached)
    require(run.t == 0, "a refused feed took steps")
    run.feed(inputs(recipe, horizon))
    _refused(lambda: run.step(inputs(recipe, 1)[0]), "stepped past the horizon", HorizonReached)
    resumed = recipe.resume(run.snapshot(), Zero())
    _refused(lambda: resumed.step(inputs(recipe, 1)[0]), "resumed past it", HorizonReached)


def nothing_tells_a_value(recipe: CounterRecipe) -> None:
    run = recipe.start(Zero())
    x = inputs(recipe, 1)[0] * 0 + CANARY
    run.step(x)
    texts = [repr(run), str(run), repr(recipe), str(recipe.guarantee)]
    for bad in (float(CANARY), str(CANARY), [float(CANARY)], np.full(3, float(CANARY))):
        for call in (run.step, run.feed):
            try:
                call(bad)
            except BadInput as error:
                texts += [str(error), repr(error)]
    require(not any(str(CANARY) in text for text in texts), "a value was told")


def docstrings_have_their_sections(recipe: CounterRecipe) -> None:
    text = sys.modules[type(recipe).__module__].__doc__ or ""
    for section in ("Theorem", "Neighbours", "Noise", "Error", "Memory"):
        require(re.search(rf"^{section}\s", text, re.M) is not None, f"no section {section}")
    require(">>>" in text, "no example")


def _refused(call: Callable[[], object], what: str, kind: type[BadInput] = BadInput) -> None:
    try:
        call()
    except kind:
        return
    raise CheckFailed(what)


CHECKS: tuple[Callable[[CounterRecipe], None], ...] = (
    zero_noise_is_the_truth,
    recipes_survive_json,
    feed_equals_step,
    resuming_equals_going_on,
    memory_is_within_the_claim,
    bad_inputs_change_nothing,
    the_horizon_is_the_end,
    nothing_tells_a_value,
    docstrings_have_their_sections,
)
