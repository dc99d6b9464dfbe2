"""The ways to run a mechanism: whatever the calls, the same noise and inputs show the same.

What an audit knows about one way to call a run says nothing about the others.  So each of these is
compared with one ``feed``: single steps; several feeds, some of them empty, with steps between
them; feeds of every length, after which a snapshot is taken that nobody uses; a run that is resumed
from its snapshot before every step, within every step, before every feed, and twice in a row; a run
beside another one; a run that has refused inputs; arrays of numpy; and inputs that are chosen after
seeing earlier releases.

A way that differs is an observer of its own: the audit solves for its loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ameles.audit.instant import Parted, Place
from ameles.audit.observation import Block, NotLinear, Observer, Releases
from ameles.audit.patterns import mixed_number
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.run import Run
from ameles.noise import Tape, Zero

# What a recipe shows on a tape and inputs, called in some way.
Way: TypeAlias = Callable[[AnyMechanism, Tape, Sequence[Any]], list[Any]]

# A run is resumed, or divided, at most this often, evenly spread; that is at every step of a short
# one.
MOST_RESUMED = 64
_NO_NUMBER: Any = object()


class Calls(list[Any]):
    """The releases of all calls of a run, in order; each must be its numbers alone."""

    def __init__(self) -> None:
        super().__init__()
        self._releases = Releases()

    def step(self, run: Any, x: Any) -> None:
        """A step of the run."""
        self.append(self._releases.take(run.step(x)))

    def release(self, run: Any) -> None:
        """The release of a step whose input has come."""
        self.append(self._releases.take(run.release()))

    def feed(self, run: Any, xs: Any) -> None:
        """Many steps of the run."""
        self += self._releases.take(run.feed(xs))

    def all(self) -> list[Any]:
        """The releases, which must be what they were when they were released."""
        self._releases.check()
        if self._releases.behind:
            raise NotLinear("a release is a view of an array that has more numbers")
        return list(self)


def at_once(recipe: AnyMechanism, tape: Tape, inputs: Sequence[Any]) -> list[Any]:
    """All steps in one call."""
    calls = Calls()
    calls.feed(recipe.start(tape), inputs)
    return calls.all()


def one_by_one(recipe: AnyMechanism, tape: Tape, inputs: Sequence[Any]) -> list[Any]:
    """A call for each step."""
    run, calls = recipe.start(tape), Calls()
    for x in inputs:
        calls.step(run, x)
    return calls.all()


def in_pieces(recipe: AnyMechanism, tape: Tape, inputs: Sequence[Any]) -> list[Any]:
    """A step, an empty feed, and a feed of one, two, three and more steps, again and again."""
    run, calls = recipe.start(tape), Calls()
    done, size = 0, 1
    while done < len(inputs):
        calls.step(run, inputs[done])
        calls.feed(run, [])
        some = inputs[done + 1 : done + 1 + size]
        if len(some):
            calls.feed(run, some)
        done, size = done + 1 + size, size + 1
    return calls.all()


def with_snapshots(recipe: AnyMechanism, tape: Tape, inputs: Sequence[Any]) -> list[Any]:
    """Single steps, and snapshots between them that are not used."""
    run, calls = recipe.start(tape), Calls()
    for t, x in enumerate(inputs):
        if t % _apart(inputs) == 0:
            run.snapshot()
        calls.step(run, x)
    return calls.all()


def parted_at(first: int, recipe: AnyMechanism, tape: Tape, inputs: Sequence[Any]) -> list[Any]:
    """A feed, a snapshot that is not used, a step, and a feed of all that is left."""
    run, calls = recipe.start(tape), Calls()
    calls.feed(run, inputs[:first])
    run.snapshot()
    calls.step(run, inputs[first])
    run.snapshot()
    calls.feed(run, inputs[first + 1 :])
    return calls.all()


def resumed_at(first: int, recipe: AnyMechanism, tape: Tape, inputs: Sequence[Any]) -> list[Any]:
    """A feed, and a feed of all that is left by a run that was resumed twice in a row."""
    run, calls = recipe.start(tape), Calls()
    calls.feed(run, inputs[:first])
    for _ in range(2):
        run = recipe.resume(run.snapshot(), tape)
    calls.feed(run, inputs[first:])
    return calls.all()


def beside_another(recipe: AnyMechanism, tape: Tape, inputs: Sequence[Any]) -> list[Any]:
    """Steps in turn with another run of the recipe, which has other inputs and no noise."""
    run, other, calls = recipe.start(tape), recipe.start(Zero()), Calls()
    for x, y in zip(inputs, reversed(inputs), strict=True):
        other.step(y)
        calls.step(run, x)
    return calls.all()


def after_refusals(recipe: AnyMechanism, tape: Tape, inputs: Sequence[Any]) -> list[Any]:
    """Steps, each after a step and a feed that are refused because of what they are given."""
    run, calls = recipe.start(tape), Calls()
    for x in inputs:
        for call, given in ((run.step, _NO_NUMBER), (run.feed, [x, _NO_NUMBER])):
            with suppress(Exception):
                call(given)
        calls.step(run, x)
    return calls.all()


def in_numpy(recipe: AnyMechanism, tape: Tape, inputs: Sequence[Any]) -> list[Any]:
    """A feed of an array, and steps of the integers in another one."""
    run, calls, array = recipe.start(tape), Calls(), np.array(inputs)
    half = -(-len(array) // 2)
    calls.feed(run, array[:half])
    for x in array[half:]:
        calls.step(run, x)
    return calls.all()


def resumed(recipe: AnyMechanism, tape: Tape, inputs: Sequence[Any]) -> list[Any]:
    """Single steps, each by a run that was resumed from the snapshot of the one before."""
    run, calls = recipe.start(tape), Calls()
    for t, x in enumerate(inputs):
        if t % _apart(inputs) == 0:
            run = recipe.resume(run.snapshot(), tape)
        calls.step(run, x)
    return calls.all()


def resumed_within(recipe: AnyMechanism, tape: Tape, inputs: Sequence[Any]) -> list[Any]:
    """The same, resumed between the input of each step and its release."""
    run: Any = recipe.start(tape)
    calls = Calls()
    for t, x in enumerate(inputs):
        run.add(x)
        if t % _apart(inputs) == 0:
            run = recipe.resume(run.snapshot(), tape)
        calls.release(run)
    return calls.all()


def resumed_feeds(recipe: AnyMechanism, tape: Tape, inputs: Sequence[Any]) -> list[Any]:
    """Feeds of a step each, which draw nothing ahead, by runs that were resumed."""
    run, calls = recipe.start(tape), Calls()
    size = _apart(inputs)
    for start in range(0, len(inputs), size):
        run = recipe.resume(run.snapshot(), tape)
        calls.feed(run, inputs[start : start + size])
    return calls.all()


def _apart(inputs: Sequence[Any]) -> int:
    return -(-len(inputs) // MOST_RESUMED)


def ways_of(run: Run[Any, Any], steps: int) -> dict[str, Sequence[Way]]:
    """The ways besides the first, by what a report calls them."""
    places = range(0, steps, -(-steps // MOST_RESUMED))
    ways: dict[str, Sequence[Way]] = {
        "single steps": [one_by_one],
        "single steps with unused snapshots": [with_snapshots],
        "several feeds with steps between them": [in_pieces],
        "feeds of every length with unused snapshots": [partial(parted_at, n) for n in places],
        "runs resumed before every step": [resumed],
        "runs resumed before every feed": [resumed_feeds],
        "runs resumed twice in a row at every step": [partial(resumed_at, n) for n in places],
        "runs beside another one": [beside_another],
        "runs that have refused inputs": [after_refusals],
        "arrays of numpy": [in_numpy],
    }
    if isinstance(run, Parted):
        ways["runs resumed within every step"] = [resumed_within]
    return ways


class WayObserver(Observer):
    """Observes the outputs of a mechanism that is called in some way."""

    def __init__(self, recipe: AnyMechanism, steps: int, way: Way) -> None:
        super().__init__(recipe, steps, decoded=True)
        self.steps_too = False
        self._way = way

    def shown(self, tape: Tape, inputs: Sequence[Any]) -> list[tuple[Place | None, Block]]:
        """What the run shows, called this way."""
        return [(None, np.asarray(self._way(self.recipe, tape, inputs)))]


def script(laws: Sequence[tuple[str, Any]], number: int) -> list[int]:
    """Numbers for a tape of these laws that no code expects."""
    return [scripted(law, scale, mixed_number(number, i)) for i, (law, scale) in enumerate(laws)]


def scripted(law: str, scale: Any, value: Any) -> Any:
    """A draw of this law, or an array of them, made of numbers below 2^20."""
    match law:
        case "laplace" | "gaussian":
            return value - (1 << 19)
        case "uniform":
            return value % int(scale)
        case "bernoulli" | "bernoulli_exp" | "accept":
            return value & 1
    return 0


def shaped(recipe: AnyMechanism, numbers: Sequence[int]) -> Sequence[Any]:
    """Inputs as a run takes them: numbers, or rows of them."""
    width = getattr(recipe, "width", None)
    return list(numbers) if width is None else list(np.array(numbers).reshape(-1, width))


def some_inputs(recipe: AnyMechanism, steps: int, number: int) -> Sequence[Any]:
    """Inputs of both signs, or bits, for so many steps of a run."""
    numbers = (
        mixed_number(number, i) for i in range(steps * (getattr(recipe, "width", None) or 1))
    )
    bits = getattr(recipe, "bits", False)
    return shaped(recipe, [n & 1 if bits else n - (1 << 19) for n in numbers])


def same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two ways have shown the same."""
    return np.array_equal(np.asarray(one), np.asarray(other))


def chosen_inputs(recipe: AnyMechanism, tape: Tape, steps: int) -> tuple[list[Any], list[Any]]:
    """Inputs that depend on the releases before them, and the releases of such a run."""
    run, shown = recipe.start(tape), Calls()
    inputs: list[Any] = []
    bits = getattr(recipe, "bits", False)
    width = getattr(recipe, "width", None)
    last: list[int] = [0] * (width or 1)
    for t in range(steps):
        row = [int(v) & 1 if bits else _answer(t, int(v)) for v in last]
        inputs.append(row[0] if width is None else np.array(row))
        shown.step(run, inputs[-1])
        last = np.asarray(shown[-1]).ravel().tolist()
    return inputs, shown.all()


def _answer(t: int, last: int) -> int:
    """The next input: one that cancels the count, one that hardly changes it, one that is large."""
    return (1, -last, last % 5 - 2, 1_000_003 if last % 2 else -7)[t % 4]
