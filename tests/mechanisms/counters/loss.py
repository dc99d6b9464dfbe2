"""The exact privacy loss of a counter whose noise can be read back from its releases.

From the real code: an impulse on the tape gives a column of the noise matrix M, an impulse
in the data the change D of the releases.  Where M is invertible the only shift of the noise
that hides the change is e with M e = D, and the loss is the sum of |e_i| / b_i, exactly
(catalogue 0.6).
"""

from __future__ import annotations

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
    matrix, scales = noise_matrix(recipe, steps)
    inverse = np.linalg.inv(matrix).round().astype(np.int64)
    assert (matrix @ inverse == np.eye(steps)).all()
    columns = []
    for step in range(steps):
        impulse = np.zeros(steps, dtype=np.int64)
        impulse[step] = recipe.bound
        columns.append(inverse @ recipe.start(Zero()).feed(impulse))
    worst = Fraction(0)
    for changed in combinations(range(steps), min(recipe.contributions, steps)):
        for signs in np.ndindex(*(2,) * len(changed)):
            shift = sum((1 - 2 * sign) * columns[s] for s, sign in zip(changed, signs, strict=True))
            cost = sum((abs(int(e)) / b for e, b in zip(shift, scales, strict=True)), Fraction(0))
            worst = max(worst, cost)
    return worst
