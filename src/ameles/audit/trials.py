"""What the audit tries besides the linear program, and what it cannot see.

A certificate is about one way to call a mechanism, one key, and inputs of the sizes that were
probed.  The trials go through the others: every way to call a run, resuming it everywhere,
vectors of keys, large and adaptive inputs, and branches on data in Python code.  The first that
shows a difference ends them.

>>> from ameles.mechanisms.counters.simple_one import SimpleOneCounter
>>> trials = trials_of(SimpleOneCounter(epsilon=1, horizon=4), 4, None)
>>> trials.caught is None, trials.tried[-2]
(True, 'inputs that refuse to be looked at')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

from ameles.audit.branches import trace_branches
from ameles.audit.encoded import encoded_bounds
from ameles.audit.encoded_parts import Encoded, encodes
from ameles.audit.finding import limit_of
from ameles.audit.forms import differing_form
from ameles.audit.keys import (
    FEW_KEYS,
    KEYS,
    MOST_KEYS,
    MOST_WIDTH,
    WIDTHS,
    VectorObserver,
    differing_way,
    differing_width,
)
from ameles.audit.large_inputs import large_inputs_agree
from ameles.audit.linear_audit import in_currency
from ameles.audit.observation import NotLinear, Observer
from ameles.audit.ways import (
    Way,
    WayObserver,
    at_once,
    chosen_inputs,
    same,
    script,
    some_inputs,
    ways_of,
)
from ameles.core.exceptions import AmelesError
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.noise import Tape, Zero

# How the loss itself was computed: the first line of what was tried.
COMPUTED = "impulses in noise and data, their sums, and the proof replayed"
# How many steps of a vector are solved for.
FEW_STEPS = 4
# Widths of encoded counters, whose bounds are computed anew for each.
ENCODED_WIDTHS = (1, 2, 5, 9)
# What no audit of this kind sees, whatever the mechanism.
UNSEEN = (
    "branches on data in compiled code",
    "inputs above 2^48 and noise above 2^21 in size",
    "memory that no reference from the run leads to",
    "time, logs and errors",
)


@dataclass(frozen=True)
class Caught:
    """A difference that a trial has shown, and an observer of it if its loss can be solved for."""

    what: str
    observer: Observer | None = None
    keys: int = 1  # how many inputs of the observer are one step


@dataclass
class Trials:
    """What was tried, what could not be seen, and what was caught."""

    tried: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    caught: Caught | None = None

    def attempt(self, name: str, trial: Callable[[], Caught | None]) -> None:
        """Makes a trial, unless one before has caught something."""
        if self.caught is not None:
            return
        try:
            self.caught = trial()
        except NotLinear as seen:
            self.caught = Caught(f"{name}: {seen}")
        except AmelesError as refusal:
            self.unseen.append(f"{name}: refused with {type(refusal).__name__}")
        except Exception as problem:  # not made for it, or broken
            self.unseen.append(f"{name}: failed with {type(problem).__name__}")
        else:
            self.tried.append(name)


@lru_cache(maxsize=256)
def trials_of(recipe: AnyMechanism, steps: int, width: int | None) -> Trials:
    """All trials that fit the mechanism, over this many steps, with ``width`` keys or a few."""
    trials = Trials()
    inputs = some_inputs(recipe, steps, 5)
    tape = Tape()
    try:
        at_once(recipe, tape, inputs)
    except NotLinear as seen:
        trials.caught = Caught(str(seen))
        return trials
    except Exception as problem:
        trials.unseen.append(f"other ways to call it: failed with {type(problem).__name__}")
        return trials
    laws = tape.laws
    draws = script(laws, 7)
    known = inputs, draws, laws, at_once(recipe, Tape(draws), inputs)
    for name, ways in ways_of(recipe.start(Zero()), steps).items():
        trials.attempt(name, partial(_ways, recipe, steps, name, ways, known))
    trials.attempt(
        "inputs chosen by the releases before them", lambda: _chosen(recipe, steps, draws)
    )
    if getattr(recipe, "width", None) is None and not getattr(recipe, "bits", False):
        trials.attempt("inputs up to 2^48, of both signs", lambda: _large(recipe, steps))
    trials.attempt("inputs of other types", lambda: _forms(recipe, steps))
    if isinstance(recipe, CounterRecipe):
        keys = min(width or KEYS, MOST_KEYS)
        _try_counter(trials, recipe, steps, keys, laws)
        widths = ENCODED_WIDTHS if encodes(recipe) else WIDTHS
        name = f"{', '.join(map(str, widths[:-1]))} and {widths[-1]} keys"
        trials.attempt(name, lambda: _widths(recipe, steps, width))
        if (width or 1) > MOST_WIDTH and not encodes(recipe):
            trials.unseen.append(f"what more than {MOST_WIDTH} keys share")
    return trials


def _try_counter(
    trials: Trials, recipe: CounterRecipe, steps: int, keys: int, laws: Sequence[tuple[str, Any]]
) -> None:
    trials.attempt(f"{keys} keys at once", lambda: _keys(recipe, steps, keys, laws))
    trials.attempt(
        f"{keys} keys with inputs of other types",
        lambda: _forms(replace(recipe, width=keys), steps),
    )
    if not recipe.bits:
        trials.attempt(
            "inputs that refuse to be looked at", lambda: _looks(trials, recipe, steps, keys)
        )


def _ways(
    recipe: AnyMechanism,
    steps: int,
    name: str,
    ways: Sequence[Way],
    known: tuple[Sequence[Any], list[int], list[Any], list[Any]],
) -> Caught | None:
    inputs, draws, laws, base = known
    for way in ways:
        tape = Tape(draws)
        # single steps may draw ahead, so there may be more draws, never others
        if same(way(recipe, tape, inputs), base) and tape.laws[: len(laws)] == laws:
            continue
        observer = None if getattr(recipe, "width", None) else WayObserver(recipe, steps, way)
        return Caught(f"{name} show something else than one feed", observer)
    return None


def _chosen(recipe: AnyMechanism, steps: int, draws: Sequence[int]) -> Caught | None:
    inputs, shown = chosen_inputs(recipe, Tape(draws), steps)
    if same(at_once(recipe, Tape(draws), inputs), shown):
        return None
    return Caught("inputs chosen by the releases before them are treated in another way")


def _keys(
    recipe: CounterRecipe, steps: int, keys: int, laws: Sequence[tuple[str, Any]]
) -> Caught | None:
    if encodes(recipe):
        return _encoded_keys(recipe, steps, recipe.width or keys)
    way = differing_way(recipe, keys, laws, steps)
    return None if way is None else _unlike(recipe, steps, keys, way)


def _encoded_keys(recipe: Encoded, steps: int, keys: int) -> Caught | None:
    """A vector of encoded counters has a grid of its own, so it has bounds of its own."""
    bounds = encoded_bounds(replace(recipe, width=keys), min(steps, FEW_STEPS))
    promise = recipe.guarantee
    _, upper = in_currency(promise.loss, bounds.lower, bounds.upper, concentrated=True)
    return Caught(f"{keys} keys at once lose more") if upper > limit_of(promise.loss) else None


def _unlike(recipe: CounterRecipe, steps: int, keys: int, way: Way) -> Caught:
    what = f"{keys} keys at once are not {keys} counters"
    few = keys if keys <= FEW_KEYS else KEYS
    return Caught(what, VectorObserver(recipe, min(steps, FEW_STEPS), few, way), few)


def _widths(recipe: CounterRecipe, steps: int, own: int | None) -> Caught | None:
    if encodes(recipe):
        each = (_encoded_keys(recipe, steps, keys) for keys in ENCODED_WIDTHS)
        return next((caught for caught in each if caught is not None), None)
    found = differing_width(recipe, steps, own)
    return None if found is None else _unlike(recipe, steps, *found)


def _forms(recipe: AnyMechanism, steps: int) -> Caught | None:
    found = differing_form(recipe, steps)
    if found is None:
        return None
    name, way = found
    width = getattr(recipe, "width", None)
    what = f"{name} show something else than lists of integers"
    if width is None:
        return Caught(what, WayObserver(recipe, min(steps, FEW_STEPS), way))
    if not isinstance(recipe, CounterRecipe) or width > FEW_KEYS:
        return Caught(what)
    return Caught(what, VectorObserver(recipe, min(steps, FEW_STEPS), width, way), width)


def _large(recipe: AnyMechanism, steps: int) -> Caught | None:
    if large_inputs_agree(recipe, steps):
        return None
    return Caught("large inputs are treated in another way than small ones")


def _looks(trials: Trials, recipe: CounterRecipe, steps: int, keys: int) -> Caught | None:
    traces = [trace_branches(recipe, steps)]
    if recipe.width is None and f"{keys} keys at once" in trials.tried:
        traces.append(trace_branches(replace(recipe, width=keys), steps))
    places = dict.fromkeys(place for trace in traces for place in trace.lost)
    trials.unseen += [f"what happens to data after {place}" for place in places]
    looks = [look for trace in traces for look in trace.looks]
    return Caught(f"its code {looks[0]}") if looks else None
