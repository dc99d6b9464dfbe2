"""The exact loss of a seized state and the releases after it: no window, nothing cut off.

The code is run on every tape with its output noise left out; the Laplace law is then laid on
the numbers m that it would have released.  The ratio of two sums of q^|y - m| rises or falls
all the way from one m to the next (in q^(2y) it is a quotient of linear functions), and beyond
the last it stays, so that the largest ratio is at one of them.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from ameles.core.noise import Noise
from ameles.mechanisms.pan_private.estimate import Estimate
from ameles.mechanisms.pan_private.user_table import UserRecipe
from ameles.mechanisms.snapshot import adopted
from tests.mechanisms.pan_private.laws import law_of

Numbers: TypeAlias = tuple[float, ...]
# For each seized state, the numbers before their noise.
View: TypeAlias = dict[bytes, dict[Numbers, float]]
Stream: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]  # before and after the intrusion


class Steps:
    """The law of what the code does from each state that it can be in, remembered.

    Tapes are those of one call, not of a whole run.  That a run goes on as one that was resumed is
    checked for every recipe (``recipe_checks.resuming_equals_going_on``).
    """

    def __init__(
        self, recipe: UserRecipe[Any], shown: Callable[[Any, Any], Hashable], *, window: int = 0
    ) -> None:
        self._recipe = recipe
        self._shown = shown  # what is seen of a run and its release
        self._window = window
        self._known: dict[Hashable, dict[Any, float]] = {}

    def opened(self) -> dict[bytes, float]:
        return self._law(None, lambda noise: _state(self._recipe.start(noise)))

    def added(self, state: bytes, users: Sequence[int]) -> dict[bytes, float]:
        def program(noise: Noise) -> bytes:
            run = self._recipe.resume(state, noise)
            run.add(users)
            return _state(run)

        return self._law((state, tuple(users)), program)

    def released(self, state: bytes) -> dict[Hashable, float]:
        def program(noise: Noise) -> Hashable:
            run = self._recipe.resume(state, noise)
            return self._shown(run, run.release())

        return self._law(state, program)

    def _law(self, place: Hashable, program: Callable[[Noise], Any]) -> dict[Any, float]:
        if place not in self._known:
            self._known[place] = law_of(program, window=self._window)
        return self._known[place]

    def seized(self, stream: Stream) -> dict[tuple[bytes, Hashable], float]:
        """The law of the state between the two parts of a stream and the release after both."""
        law: defaultdict[tuple[bytes, Hashable], float] = defaultdict(float)
        for opened, chance in self.opened().items():
            for seen, first in self.added(opened, stream[0]).items():
                for last, second in self.added(seen, stream[1]).items():
                    for released, third in self.released(last).items():
                        law[seen, released] += chance * first * second * third
        return dict(law)


def _state(run: Any) -> bytes:
    """A snapshot without the identity of the run, which is drawn outside of the tape."""
    return adopted(run.snapshot(), "00" * 16)


def views_of(
    recipe: UserRecipe[Any],
    streams: Iterable[Stream],
    worth: Callable[[Any], float] | None = None,
) -> dict[Stream, View]:
    """For each stream, the state between its two parts and the release after both.

    ``worth`` of a run is what a unit of its noisy number adds to a release.
    """
    usual = recipe.error.unit

    def shown(run: Any, released: Any) -> Numbers:
        unit = usual if worth is None else worth(run)
        estimates = (released,) if isinstance(released, Estimate) else released
        return tuple(round(each.value / unit, 6) for each in estimates)

    steps = Steps(recipe, shown)
    views: dict[Stream, View] = {}
    for stream in streams:
        view: Any = defaultdict(dict)
        for (state, numbers), chance in steps.seized(stream).items():
            view[state][numbers] = chance
        views[stream] = view
    return views


def view_loss(one: View, other: View, scale: Fraction) -> float:
    """The largest logarithm of a ratio, with Laplace noise of this scale on each number."""
    q = math.exp(-1 / scale)

    def density(numbers: dict[Numbers, float], y: Numbers) -> float:
        return math.fsum(
            chance * q ** sum(abs(a - b) for a, b in zip(y, m, strict=True))
            for m, chance in numbers.items()
        )

    worst = 0.0
    for state in one.keys() | other.keys():
        if state not in one or state not in other:
            return math.inf
        places = [sorted(set(axis)) for axis in zip(*one[state], *other[state], strict=True)]
        for y in itertools.product(*places):
            ratio = density(one[state], y) / density(other[state], y)
            worst = max(worst, abs(math.log(ratio)))
    return worst


def substitutions(before: int, after: int) -> Iterator[tuple[Stream, Stream]]:
    """Streams of users 0 and 1 of these lengths, each with some 0 turned into 1."""
    for users in itertools.product((0, 1), repeat=before + after):
        for turned in itertools.product((0, 1), repeat=before + after):
            other = tuple(max(pair) for pair in zip(users, turned, strict=True))
            if other != users:
                yield (users[:before], users[before:]), (other[:before], other[before:])
