"""The noises with which two neighbouring streams give the same encoding, from the real code.

One process gets some noises.  Its twin gets, step by step, the noise that makes its encoding
the same although its stream differs by ``change``; the difference of the two noises is what
the privacy proof has to pay for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.summed import Process
from ameles.noise import Tape
from ameles.noise.arrays import IntArray

Maker = Callable[[Noise, IntArray | None], Process]


def shift(make: Maker, start: IntArray, noises: Sequence[int], change: Sequence[int]) -> list[int]:
    """Z' - Z at each step; ``change`` in units of the grid, as is what ``make``'s process gives."""
    one, other, behind = start, start, 0
    shifts = []
    for noise, step in zip(noises, change, strict=True):
        behind += step
        encoded, one = _after(make, one, noise)
        foreseen, _ = _after(make, other, 0)
        wanted = encoded - behind - foreseen
        same, other = _after(make, other, wanted)
        assert same + behind == encoded
        shifts.append(wanted - noise)
    return shifts


def squares(numbers: Sequence[int]) -> int:
    return sum(number * number for number in numbers)


def scattered(steps: int, spread: int, seed: int = 1) -> list[int]:
    """Numbers up to ``spread`` on either side, always the same ones."""
    word, numbers = seed, []
    for _ in range(steps):
        word = (word * 6364136223846793005 + 1442695040888963407) % 2**64
        numbers.append((word >> 16) % (2 * spread + 1) - spread)
    return numbers


def _after(make: Maker, state: IntArray, noise: int) -> tuple[int, IntArray]:
    process = make(Tape([noise]), np.array(state))
    return int(process.take(1)[0, 0]), process.state()
