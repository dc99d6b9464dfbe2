"""The exact privacy loss of a counter whose noise can be read back from its releases.

From the real code: an impulse on the tape gives a column of the noise matrix M, an impulse
in the data the change D of the releases.  Where M is invertible the only shift of the noise
that hides the change is e with M e = D, and the loss is the sum of |e_i| / b_i, exactly
(catalogue 0.6).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np

from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.noise import Tape, Zero
from ameles.noise.arrays import IntArray


def noise_matrix(recipe: CounterRecipe, steps: int) -> tuple[IntArray, list[Fraction]]:
    """How each draw moves the releases, and the scale of each draw."""
    still = np.zeros(steps, dtype=np.int64)
    tape = Tape()
    recipe.start(tape).feed(still)
    scales = [draw.scale for draw in tape.draws if isinstance(draw.scale, Fraction)]
    columns = [recipe.start(Tape.impulse(i)).feed(still) for i in range(len(tape.draws))]
    return np.array(columns).T, scales


def exact_loss(recipe: CounterRecipe, steps: int) -> Fraction:
    """The worst case over all neighbours: which steps change, and in which direction."""
    scales = noise_matrix(recipe, steps)[1]
    return max(
        sum((abs(int(e)) / b for e, b in zip(shift, scales, strict=True)), Fraction(0))
        for shift in shifts(recipe, steps)
    )


def exact_rho(recipe: CounterRecipe, steps: int) -> Fraction:
    """The same for Gaussian noise: the sum of squares over twice the variance."""
    variances = noise_matrix(recipe, steps)[1]
    return max(
        sum((int(e) ** 2 / (2 * v) for e, v in zip(shift, variances, strict=True)), Fraction(0))
        for shift in shifts(recipe, steps)
    )


def shifts(recipe: CounterRecipe, steps: int) -> Iterator[IntArray]:
    """The change of the draws that hides each change of the data.

    The noise can be read back from the releases, so there is one for each.
    """
    matrix, _ = noise_matrix(recipe, steps)
    inverse = np.linalg.inv(matrix).round().astype(np.int64)
    assert (matrix @ inverse == np.eye(steps)).all()
    columns = []
    for step in range(steps):
        impulse = np.zeros(steps, dtype=np.int64)
        impulse[step] = recipe.bound
        columns.append(inverse @ recipe.start(Zero()).feed(impulse))
    for changed in combinations(range(steps), min(recipe.contributions, steps)):
        for signs in np.ndindex(*(2,) * len(changed)):
            yield sum((1 - 2 * sign) * columns[s] for s, sign in zip(changed, signs, strict=True))
