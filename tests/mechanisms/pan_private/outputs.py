"""The exact loss of a seized state and the releases after it: no window, nothing cut off.

A program is run on every tape with its output noise left out; the Laplace law is then laid on
the numbers m that it would have released.  The ratio of two sums of q^|y - m| rises or falls
all the way from one m to the next (in q^(2y) it is a quotient of linear functions), and beyond
the last it stays, so that the largest ratio is at one of them.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from ameles.core.noise import Noise
from ameles.mechanisms.pan_private.estimate import Estimate
from ameles.mechanisms.pan_private.user_table import UserRecipe
from ameles.mechanisms.snapshot import unpack
from tests.mechanisms.pan_private.laws import law_of

Numbers: TypeAlias = tuple[float, ...]
# For each seized state, the numbers before their noise.
View: TypeAlias = dict[bytes, dict[Numbers, float]]
Stream: TypeAlias = tuple[Sequence[int], Sequence[int]]  # before and after the intrusion


def view_of(
    recipe: UserRecipe[Any],
    stream: Stream,
    worth: Callable[[Any], float] | None = None,
) -> View:
    """The state between the two parts of the stream, and the release after both.

    ``worth`` of a run is what a unit of its noisy number adds to a release.
    """

    def program(noise: Noise) -> tuple[bytes, Numbers]:
        run = recipe.start(noise)
        run.add(stream[0])
        state = b"".join(
            part.tobytes() for part in unpack(run.snapshot(), recipe.fingerprint).parts
        )
        run.add(stream[1])
        unit = recipe.error.unit if worth is None else worth(run)
        released = run.release()
        estimates = (released,) if isinstance(released, Estimate) else released
        return state, tuple(round(each.value / unit, 6) for each in estimates)

    view: View = defaultdict(dict)
    for (state, numbers), chance in law_of(program, window=0).items():
        view[state][numbers] = chance
    return view


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
