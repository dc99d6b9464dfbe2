"""Online classifier: logistic regression over a stream of people, private for all its steps.

Theorem      Kairouz-McMahan-Song-Thakkar-Thakurta-Xu 2021 (follow the regularised leader) with the
             correlated noise of our counters: the weights after a step are -rate times the prefix
             sum of all clipped gradients, which a Gaussian counter publishes.  A gradient depends
             on earlier releases; Gaussian counters stay private then (Denisov et al. 2022)
Neighbours   all rows of one user are added or removed, in up to ``contributions`` steps
Noise        that of the counter, on sums of gradients on a grid
Memory       that of the counter, one number for each feature, and how often each user was seen

A user's gradients of one step are added up and clipped to size 1 in the L1 norm, then cut to the
grid, towards zero, so that the whole vector has at most the size that the counter protects; this is
checked in integers.  A user who was used in ``contributions`` steps is not used again.  The weights
are public.

>>> import numpy as np
>>> from ameles.noise import Zero
>>> counter = classifier_counter(epsilon=1, delta="1e-6", features=1, steps=50)
>>> model = OnlineClassifier(counter.start(Zero()), features=1, rate=2)
>>> x = np.linspace(-1, 1, 20)[:, None]
>>> for _ in range(50):
...     model = model.partial_fit(x, x[:, 0] > 0.2)
>>> model.score(x, x[:, 0] > 0.2)
1.0
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, Unit
from ameles.core.parameters import Exact, exact, whole
from ameles.mechanisms.counters.buffered import BufferedCounter
from ameles.mechanisms.counters.recipe import CounterRun
from ameles.noise.arrays import BoolArray, IntArray

Floats: TypeAlias = NDArray[np.float64]
GRID = 1 << 10  # gradients are whole multiples of one over this


def classifier_counter(
    *,
    epsilon: Exact,
    delta: Exact,
    features: int,
    steps: int,
    contributions: int = 1,
    unit: Unit | str = EVENT,
) -> BufferedCounter:
    """The counter of the gradients, which a ledger sells: one number for each feature and one more.

    ``contributions`` is in how many steps one user is used.

    >>> classifier_counter(epsilon=1, delta="1e-6", features=3, steps=10).columns
    4
    """
    return BufferedCounter(
        epsilon=epsilon,
        delta=delta,
        horizon=steps,
        width=whole(features, "features", low=1, high=1 << 20) + 1,
        contributions=contributions,
        bound=GRID,
        unit=unit,
    )


class OnlineClassifier:
    """Tells two classes apart, and learns from each batch; used like a scikit-learn estimator.

    ``run`` is a run of ``classifier_counter``; a call of ``partial_fit`` is one step of it.
    Numbers should be from -1 to 1; a row with larger ones is scaled down.  Every row, with its
    constant, is then scaled so that the sizes of its numbers add up to 1.
    """

    def __init__(
        self, run: CounterRun, *, features: int, rate: Exact, contributions: int = 1
    ) -> None:
        self._run = run
        self._features = whole(features, "features", low=1, high=1 << 20)
        self._rate = float(exact(rate, "rate"))
        self._most = whole(contributions, "contributions", low=1, high=1 << 40)
        self._used: Counter[Hashable] = Counter()
        self._weights: Floats = np.zeros(self._features + 1)

    def __repr__(self) -> str:
        return f"<classifier over {self._run!r}>"

    @property
    def coef_(self) -> Floats:
        """The published weights of the features."""
        return self._weights[:-1].copy()

    @property
    def intercept_(self) -> float:
        """The published constant."""
        return float(self._weights[-1])

    def partial_fit(
        self, x: Any, y: Any, users: Sequence[Hashable] | None = None
    ) -> OnlineClassifier:
        """Takes one step with a batch: rows, whether each is of the second class, and whose it is.

        Without ``users`` every row is a user of its own.
        """
        rows, labels = self._rows(x), self._labels(y, len(x))
        owners: Sequence[Hashable] = range(len(rows)) if users is None else users
        if len(owners) != len(rows):
            raise BadInput("There must be one user for each row.")
        errors = self._probability(rows) - labels
        gradients = errors[:, None] * rows
        total = np.zeros(self._features + 1, dtype=np.int64)
        for gradient in self._of_users(gradients, owners, known=users is not None):
            total += gradient
        sums = np.asarray(self._run.step(total), dtype=np.float64)
        self._weights = -self._rate * sums / GRID
        return self

    def _of_users(
        self, gradients: Floats, owners: Sequence[Hashable], *, known: bool
    ) -> list[IntArray]:
        """The clipped gradient of each user who may still be used."""
        if not known:
            return [clipped(gradient) for gradient in gradients]
        sums: dict[Hashable, Floats] = {}
        for owner, gradient in zip(owners, gradients, strict=True):
            sums[owner] = sums.get(owner, 0.0) + gradient
        fresh = [owner for owner in sums if self._used[owner] < self._most]
        self._used.update(fresh)
        return [clipped(sums[owner]) for owner in fresh]

    def decision_function(self, x: Any) -> Floats:
        """Above zero for the second class."""
        return np.asarray(self._rows(x) @ self._weights)

    def predict_proba(self, x: Any) -> Floats:
        """The probability of each of the two classes, a row for each row."""
        second = self._probability(self._rows(x))
        return np.column_stack([1 - second, second])

    def predict(self, x: Any) -> BoolArray:
        """Whether each row is of the second class."""
        return np.asarray(self.decision_function(x) > 0)

    def score(self, x: Any, y: Any) -> float:
        """The share of rows that are told rightly."""
        return float(np.mean(self.predict(x) == (self._labels(y, len(x)) > 0)))

    def _probability(self, rows: Floats) -> Floats:
        return np.asarray(1 / (1 + np.exp(-np.clip(rows @ self._weights, -500, 500))))

    def _rows(self, x: Any) -> Floats:
        """Features and a constant beside them, whose sizes add up to 1."""
        rows = np.asarray(x, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self._features:
            raise BadInput(
                f"Rows must be a table with {self._features} columns. Got an array with shape "
                f"{rows.shape} instead."
            )
        # what is no number counts as zero: a refusal would tell that somebody has such a row
        rows = np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)
        rows = rows / np.maximum(1.0, np.abs(rows).max(axis=1, keepdims=True, initial=0.0))
        rows = np.column_stack([rows, np.ones(len(rows))])
        return np.asarray(rows / np.abs(rows).sum(axis=1, keepdims=True))

    def _labels(self, y: Any, count: int) -> Floats:
        labels = np.asarray(y)
        if labels.shape != (count,) or labels.dtype.kind not in "biu":
            raise BadInput("Labels must be true or false, one for each row.")
        return np.asarray(labels != 0, dtype=np.float64)


def clipped(gradient: Floats) -> IntArray:
    """A gradient on the grid, whose numbers add up to at most 1 in size; certain in integers.

    >>> clipped(np.array([3.0, -1.0]))
    array([ 768, -256])
    """
    largest = float(np.max(np.abs(gradient)))
    if not math.isfinite(largest):
        return np.zeros(len(gradient), dtype=np.int64)
    scaled = gradient / max(1.0, largest)  # so that no sum overflows
    size = max(1.0, largest) * float(np.abs(scaled).sum())
    units = np.trunc(scaled * (max(1.0, largest) / max(1.0, size)) * GRID).astype(np.int64)
    while int(np.abs(units).sum()) > GRID:  # the last bit of a float was too large
        units -= np.sign(units)
    return units
