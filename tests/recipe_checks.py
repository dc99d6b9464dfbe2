"""The checks that hold for every recipe, whatever its steps take; ``test_recipes`` runs them.

A sample says what a recipe's steps take and what may not be told of it.  Estimators, which are
sold inside of ``Continual`` only, have ``add`` and ``answer`` where others have ``step``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import _lru_cache_wrapper, partial
from typing import Any

import numpy as np

from ameles.core.exceptions import AmelesError, BadInput, BudgetExceeded, StoreRefused
from ameles.core.guarantee import EVENT, Guarantee, Neighbours
from ameles.ledger import Ledger
from ameles.mechanisms.catalogue import recipe_from_json
from ameles.noise import System, Tape
from tests import one_run
from tests.checks import require
from tests.noise.sources import Stream
from tests.odd_values import LARGE, ODD


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A recipe, some inputs of its steps, one more that must not be told, and bad ones.

    A recipe with one step only has one input.  ``told`` is an input that has the canary, if the
    canary itself is none; ``takes`` are types of plain numbers that a step does take.
    """

    recipe: Any
    inputs: tuple[Any, ...]
    canary: int
    bad: tuple[Any, ...] = ()
    told: Any = None
    takes: tuple[type, ...] = ()
    # What a ledger sells, if not the recipe itself.
    sold: Any = None
    # Where people's own values are inputs: inputs in which one person has a value, and the input
    # that they count as if it is odd.
    odd: tuple[tuple[Callable[[Any], Any], Any], ...] = ()

    def refused(self) -> tuple[Any, ...]:
        """What no step takes; most of it tells the canary to whoever echoes it.

        Of people's own values, only what is wrong about the whole input is refused.
        """
        if self.odd:
            return self.bad
        c = self.canary
        plain = (float(c), str(c), str(c).encode(), Fraction(c), {"user": c}, {c}, object())
        wrong = [one for one in plain if not isinstance(one, self.takes)]
        nested = ([float(c)], [str(c)], [[[c]]], [None], np.full(3, float(c)))
        return (*wrong, *nested, math.nan, True, *self.bad)

    def begin(self, run: Any) -> None:
        """Takes the first step, unless it would be the only one."""
        if len(self.inputs) > 1:
            played(run, self.inputs[0])

    @property
    def following(self) -> Any:
        """The input of the step after ``begin``."""
        return self.inputs[len(self.inputs) > 1]


def played(run: Any, x: Any) -> Any:
    """What a step gives, as plain values."""
    if hasattr(run, "step"):
        return plain(run.step(x))
    run.add(x)
    return run.answer()


def plain(given: Any) -> Any:
    """A release that can be compared."""
    return given.tolist() if isinstance(given, np.ndarray | np.generic) else given


def recipes_survive_json(sample: Sample) -> None:
    recipe = sample.recipe
    again = recipe_from_json(recipe.to_json())
    require(again == recipe and hash(again) == hash(recipe), "JSON gave another recipe")
    require(again.fingerprint == recipe.fingerprint, "JSON gave another fingerprint")
    require(again.to_json() == recipe.to_json(), "JSON of JSON differs")


def others_like_it(recipe: Any) -> Iterator[Any]:
    """The same recipe with one parameter changed, for each that can be changed alone."""
    for field in fields(recipe):
        value = getattr(recipe, field.name)
        for other in _others(value):
            try:
                changed = replace(recipe, **{field.name: other})
            except BadInput:
                continue
            if getattr(changed, field.name) != value:
                yield changed
                break


def _others(value: Any) -> Iterator[Any]:
    """Other numbers, or tuples with another first number; none for anything else."""
    if isinstance(value, tuple) and value:
        yield from ((other, *value[1:]) for other in _others(value[0]))
    elif isinstance(value, int | Fraction) and not isinstance(value, bool):
        yield from (value + 1, value * 2, value - 1, value / 2)


def recipes_compare_by_their_parameters(sample: Sample) -> None:
    recipe = sample.recipe
    same = replace(recipe)
    require(same is not recipe and same == recipe, "a copy is another recipe")
    require(hash(same) == hash(recipe) and repr(same) == repr(recipe), "a copy looks different")
    require(repr(recipe).startswith(type(recipe).__name__ + "("), "the repr has another name")
    others = list(others_like_it(recipe))
    require(bool(others), "no parameter can be changed")
    for other in others:
        require(other != recipe, "with another parameter it is still equal")
        require(repr(other) != repr(recipe), "with another parameter it looks the same")
        require(other.fingerprint != recipe.fingerprint, "two recipes share a fingerprint")


def recipes_are_frozen(sample: Sample) -> None:
    recipe = sample.recipe
    before = repr(recipe)
    for field in fields(recipe):
        value = getattr(recipe, field.name)
        for change in (
            partial(setattr, recipe, field.name, value),
            partial(delattr, recipe, field.name),
        ):
            try:
                change()
            except AttributeError:
                continue
            require(False, f"{field.name} can be changed")
    require(repr(recipe) == before, "a refused change changed it")


def promises_are_numbers(sample: Sample) -> None:
    recipe = sample.recipe
    estimator = not hasattr(recipe, "guarantee")
    guarantee = recipe.state_guarantee if estimator else recipe.guarantee
    require(Guarantee.from_json(guarantee.to_json()) == guarantee, "JSON gave another guarantee")
    spent = [getattr(guarantee.loss, field.name) for field in fields(guarantee.loss)]
    require(all(type(part) is Fraction and part >= 0 for part in spent), "a loss is no fraction")
    require(estimator or any(spent), "it promises no loss at all")
    error = recipe.answer_error if estimator else recipe.error
    bounds = [error.bound(1, beta) for beta in (0.5, 0.05)]
    bounds += [error.bound_all(2, 0.05)]
    for bound in bounds:
        number = isinstance(bound, int | float) and math.isfinite(bound)
        require(number and bound >= 0, "a bound is no number")
    require(bounds == sorted(bounds), "a surer bound is smaller")


def one_tape_gives_one_run(sample: Sample) -> None:
    recorded = Tape(beyond=System.direct())
    first = sample.recipe.start(recorded)
    expected = [played(first, x) for x in sample.inputs]
    again = Tape(recorded.values)
    second = sample.recipe.start(again)
    require([played(second, x) for x in sample.inputs] == expected, "one tape, two results")
    require(again.draws == recorded.draws, "one tape, two orders of draws")
    if hasattr(second, "feed"):
        fed = sample.recipe.start(Tape(recorded.values)).feed(list(sample.inputs))
        fed = fed.tolist() if isinstance(fed, np.ndarray) else [plain(one) for one in fed]
        require(fed == expected, "feed differs from steps")
    if hasattr(second, "id"):
        require(first.id != second.id, "two runs share an identity")


def resuming_equals_going_on(sample: Sample) -> None:
    recipe = sample.recipe
    recorded = Tape(beyond=System.direct())
    run = recipe.start(recorded)
    expected = [played(run, x) for x in sample.inputs]
    for cut in range(len(expected) + 1):
        tape = Tape(recorded.values)
        run = recipe.start(tape)
        before = [played(run, x) for x in sample.inputs[:cut]]
        snapshot = run.snapshot()
        rest = Tape(recorded.values[tape.count :])
        resumed = recipe.resume(snapshot, rest)
        require(resumed.snapshot() == snapshot, "a snapshot of a snapshot differs")
        require(not rest.count, "resuming drew noise")
        after = [played(resumed, x) for x in sample.inputs[cut:]]
        require(before + after == expected, f"resumed after {cut} steps, other releases")


def a_ledger_for(promise: Guarantee) -> Ledger:
    """A ledger whose cap is one such promise."""
    relation = promise.neighbours
    if relation is Neighbours.STEP:  # what changes there is what an event, or a user, adds
        relation = Neighbours.ADD_REMOVE if promise.unit == EVENT else Neighbours.USER_PRESENCE
    return Ledger("people", cap=promise.loss, unit=promise.unit, neighbours=relation)


def a_ledger_sells_it(sample: Sample) -> None:
    recipe = sample.recipe if sample.sold is None else sample.sold
    promise = recipe.guarantee
    ledger = a_ledger_for(promise)
    run = ledger.start(recipe, on="stream", why="a check")
    require(ledger.spent == promise.loss, "another loss was debited")
    require(ledger.entries[-1].guarantee == promise, "another guarantee was entered")
    require(ledger.entries[-1].run == run.id, "another run was entered")
    try:
        ledger.start(recipe, on="again", why="a check")
    except BudgetExceeded:
        pass
    else:
        require(False, "it was sold twice for the price of one")
    sample.begin(run)
    snapshot = run.snapshot()
    try:
        resumed = ledger.resume(recipe, snapshot)
    except StoreRefused:
        require(False, "the ledger does not know its own run")
    require((resumed.id, resumed.t) == (run.id, run.t), "another run was resumed")
    played(resumed, sample.following)
    require(ledger.spent == promise.loss, "a step or resuming was debited")
    try:
        ledger.resume(recipe, snapshot)
    except StoreRefused:
        return
    require(False, "one snapshot was resumed twice")


def no_run_is_copied(sample: Sample) -> None:
    run = sample.recipe.start(System.direct())
    sample.begin(run)
    copies = one_run.copies_of(run)
    require(not copies, f"copies were made: {', '.join(copies)}")


def no_run_crosses_a_fork(sample: Sample) -> None:
    no_runs_cross_a_fork([sample])


def no_runs_cross_a_fork(samples: Sequence[Sample]) -> None:
    """The same for many at once: a fork takes longer than all their answers."""
    runs = [sample.recipe.start(System.direct()) for sample in samples]
    for run, sample in zip(runs, samples, strict=True):
        sample.begin(run)
    inputs = [sample.following for sample in samples]
    answering = one_run.answering_after_a_fork([*zip(runs, inputs, strict=True)])
    names = [type(samples[place].recipe).__name__ for place in answering]
    require(not names, f"runs go on in a forked child: {', '.join(names)}")
    for run, x in zip(runs, inputs, strict=True):
        played(run, x)


def a_resumed_run_is_spent(sample: Sample) -> None:
    recipe = sample.recipe if sample.sold is None else sample.sold
    ledger = a_ledger_for(recipe.guarantee)
    run = ledger.start(recipe, on="stream", why="a check")
    sample.begin(run)
    left = one_run.answers_beside_a_resumed_one(ledger, recipe, run, sample.following)
    require(not left, f"a resumed run goes on beside itself: {', '.join(left)}")


def bad_inputs_change_nothing(sample: Sample) -> None:
    tape = Tape(beyond=System.direct())
    run = sample.recipe.start(tape)
    sample.begin(run)
    before, drawn = run.snapshot(), tape.count
    for bad in sample.refused():
        try:
            played(run, bad)
        except BadInput:
            require(run.snapshot() == before, "a refused input changed the state")
            require(tape.count == drawn, "a refused input drew noise")
        else:
            require(False, f"a {type(bad).__name__} was accepted")


def nothing_tells_a_value(sample: Sample) -> None:
    run = sample.recipe.start(Tape(beyond=System.direct()))
    texts = [repr(sample.recipe), repr(run), str(run)]
    played(run, sample.canary if sample.told is None else sample.told)
    texts += [text for one in parts_of(run, {}) for text in (repr(one), str(one))]
    for bad in sample.refused():
        try:
            played(run, bad)
        except AmelesError as refusal:
            texts += chain(refusal)
    require(not any(str(sample.canary) in text for text in texts), "a value was told")


def odd_values_count_nowhere(sample: Sample) -> None:
    """One person's odd value raises nothing, and changes nothing that another would not."""
    snapshot = sample.recipe.start(System(entropy=Stream("start"))).snapshot()

    def outcome(x: Any) -> tuple[Any, bytes, str]:
        run = sample.recipe.resume(snapshot, System(entropy=Stream("odd")))
        released = played(run, x)
        return released, run.snapshot(), repr(run)

    for made, without in sample.odd:
        expected = outcome(without)
        for value in ODD:
            require(outcome(made(value)) == expected, f"a {type(value).__name__} changed something")
        for value in LARGE:
            outcome(made(value))


def no_cache_knows_an_input(sample: Sample) -> None:
    """What depends on an input is found in no cache: a scale or a size may be secret.

    Whatever a cache is asked for after a run with some inputs, it was asked for in a run with
    others; so no entry and no miss tells the inputs apart.  Entropy is the same in all runs, since
    the rare tails of noise have tables too.
    """
    other = sample.canary if sample.told is None else sample.told
    for cache in caches().values():
        cache.cache_clear()  # other tests have filled them
    for inputs in (sample.inputs, (other, *sample.inputs[1:])):
        before = cached()
        run = sample.recipe.start(System(entropy=Stream("caches"), compiled=False))
        for x in inputs:
            played(run, x)
        after = cached()
    grown = [name for name in after if after[name] != before.get(name, 0)]
    require(not grown, f"caches were filled by an input: {', '.join(grown)}")


def caches() -> dict[str, Any]:
    """All caches of functions in Ameles; that of compiled code knows types only."""
    found = {}
    for module in [name for name in sys.modules if name.startswith("ameles.")]:
        held = dict(vars(sys.modules[module]))
        for kind in [one for one in held.values() if isinstance(one, type)]:
            held |= {f"{kind.__name__}.{name}": one for name, one in vars(kind).items()}
        for one in held.values():
            function = getattr(one, "__func__", one)  # of a class method
            if isinstance(function, _lru_cache_wrapper):
                found[f"{function.__module__}.{function.__qualname__}"] = function
    return {name: one for name, one in found.items() if not name.startswith("ameles.noise.kernels")}


def cached() -> dict[str, int]:
    """How often each of them was filled, and how much each table of a module holds."""
    found = {name: one.cache_info().misses for name, one in caches().items()}
    for module in [name for name in sys.modules if name.startswith("ameles.")]:
        for name, held in vars(sys.modules[module]).items():
            if isinstance(held, dict | list | set) and not name.startswith("__"):
                found[f"{module}.{name}"] = len(held)
    return found


def parts_of(thing: Any, seen: dict[int, Any]) -> Iterator[Any]:
    """A run and all objects of Ameles that can be reached from it, but those of the noise."""
    if id(thing) in seen or isinstance(thing, type | np.ndarray | str | bytes | int | Tape):
        return
    seen[id(thing)] = thing
    held: list[Any] = list(thing) if isinstance(thing, list | tuple | set) else []
    held += thing.values() if isinstance(thing, dict) else []
    if type(thing).__module__.startswith(("ameles.", "tests.")):
        yield thing
        slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
        held += [*getattr(thing, "__dict__", {}).values()]
        held += [getattr(thing, name, None) for name in slots if name != "__weakref__"]
    for one in held:
        yield from parts_of(one, seen)


def chain(problem: BaseException | None) -> Iterator[str]:
    """What a traceback would show of an error and of those that led to it."""
    while problem is not None:
        yield from (str(problem), repr(problem))
        seen = None if problem.__suppress_context__ else problem.__context__
        problem = problem.__cause__ or seen


RECIPE_CHECKS: tuple[Callable[[Sample], None], ...] = (
    recipes_survive_json,
    recipes_compare_by_their_parameters,
    recipes_are_frozen,
    promises_are_numbers,
    one_tape_gives_one_run,
    resuming_equals_going_on,
    a_ledger_sells_it,
    no_run_is_copied,
    no_run_crosses_a_fork,
    a_resumed_run_is_spent,
    bad_inputs_change_nothing,
    nothing_tells_a_value,
    no_cache_knows_an_input,
    odd_values_count_nowhere,
)
