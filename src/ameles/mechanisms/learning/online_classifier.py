"""Online classifier: logistic regression over a stream of people, private for all its steps.

Theorem      Kairouz-McMahan-Song-Thakkar-Thakurta-Xu 2021 (follow the regularised leader) with the
             correlated noise of our counters: the weights after a step are -rate times the prefix
             sum of all clipped gradients, which a Gaussian counter publishes.  A gradient depends
             on earlier releases; Gaussian counters stay private then (Denisov et al. 2022)
Neighbours   unit ``event``: one row is added or removed.  Unit ``user``: all rows of one user are,
             in up to ``contributions`` steps
Noise        that of the counter, on sums of gradients on a grid
Memory       that of the counter, one number for each feature, and how often each user was seen

The gradients of all rows of a user in a step are added up and clipped to length 1 in L2, exactly,
in integers (``gradients``).  A user who was used in ``contributions`` steps is not used again.  The
weights are public.

>>> import numpy as np
>>> from ameles.noise import Zero
>>> counter = classifier_counter(epsilon=1, delta="1e-6", features=1, steps=50)
>>> model = OnlineClassifier(counter.start(Zero()), rate=2)
>>> x = np.linspace(-1, 1, 20)[:, None]
>>> for _ in range(50):
...     model = model.partial_fit(x, x[:, 0] > 0.2)
>>> model.score(x, x[:, 0] > 0.2)
1.0
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.core import codec
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, USER, Unit
from ameles.core.parameters import Exact, exact, refuse, whole
from ameles.mechanisms.clamped import one_or_many
from ameles.mechanisms.counters.recipe import CounterRun
from ameles.mechanisms.learning.gradient_counter import GradientCounter
from ameles.mechanisms.learning.gradients import (
    GRID,
    UNIT,
    Floats,
    clipped,
    gradients_of,
    rows_of,
)
from ameles.mechanisms.learning.user_limit import UserLimit
from ameles.noise.arrays import IntArray

Label: TypeAlias = bool | int | str
VERSION = 1  # of its snapshots


def classifier_counter(
    *,
    epsilon: Exact,
    delta: Exact,
    features: int,
    steps: int,
    contributions: int = 1,
    unit: Unit | str = EVENT,
) -> GradientCounter:
    """The counter of the gradients, which a ledger sells: one number for each feature and one more.

    ``contributions`` is in how many steps one user is used; an event is in one step.

    >>> classifier_counter(epsilon=1, delta="1e-6", features=3, steps=10).columns
    4
    """
    counter = GradientCounter(
        epsilon=epsilon,
        delta=delta,
        horizon=steps,
        width=whole(features, "features", low=1, high=1 << 20) + 1,
        contributions=contributions,
        bound=GRID,
        unit=unit,
    )
    if not _of_users(counter) and counter.contributions > 1:
        raise BadInput("An event is in one step; 'contributions' are those of a user.")
    return counter


class OnlineClassifier:
    """Tells two classes apart, and learns from each batch; used like a scikit-learn estimator.

    ``run`` is a run of ``classifier_counter``, and nobody else steps it; a call of ``partial_fit``
    is one step of it.  ``classes`` are the labels of the two classes.
    """

    def __init__(
        self, run: CounterRun, *, rate: Exact, classes: Sequence[Label] = (False, True)
    ) -> None:
        recipe = run.started_from
        if not isinstance(recipe, GradientCounter) or recipe.bound < GRID:
            raise BadInput(
                f"A classifier needs a run of classifier_counter. Got {run!r} instead.",
                why="its noise must hide a gradient",
            )
        self._run = run
        self._taken = 0
        self._features = recipe.columns - 1
        self._rate = exact(rate, "rate")
        if self._rate <= 0:
            raise refuse("rate", "above 0", rate)
        self._classes = _two(classes)
        self._limit = UserLimit(recipe.contributions) if _of_users(recipe) else None
        self._weights: Floats = np.zeros(self._features + 1)
        self._turn = Lock()  # two threads would both find a user unused

    def __repr__(self) -> str:
        return f"<classifier over {self._run!r}>"

    @classmethod
    def resume(cls, run: CounterRun, snapshot: bytes) -> OnlineClassifier:
        """The model that this snapshot was taken of, over the run that was resumed with it.

        >>> from ameles.noise import Zero
        >>> counter = classifier_counter(epsilon=1, delta="1e-6", features=1, steps=9, unit="user")
        >>> run = counter.start(Zero())
        >>> model = OnlineClassifier(run, rate=2).partial_fit([[0.5]], [True], users=["ann"])
        >>> kept = run.snapshot(), model.snapshot()
        >>> OnlineClassifier.resume(counter.resume(kept[0], Zero()), kept[1])
        <classifier over <run of GradientCounter at step 1>>
        """
        state = codec.read("classifier", VERSION, snapshot.decode(errors="replace"))
        try:
            model = cls(run, rate=state["rate"], classes=state["classes"])
            model._taken = whole(state["step"], "step", low=0, high=1 << 40)
            model._weights = np.array([float.fromhex(one) for one in state["weights"]])
            if model._limit is not None:
                model._limit.used.update(state["used"])
            run_of = str(state["run"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise codec.damaged("snapshot of a classifier") from None
        if run_of != run.id:
            raise BadInput(
                "This snapshot is of a classifier over another run.",
                tip="the snapshots of the run and of the classifier, taken together",
            )
        model._check_run()
        return model

    def snapshot(self) -> bytes:
        """Its state, to go on after a restart, beside the snapshot of the run: secret, since it
        tells which users were used."""
        state = {
            "run": self._run.id,
            "step": self._taken,
            "rate": str(self._rate),
            "classes": list(self._classes),
            "weights": [float(one).hex() for one in self._weights],
            "used": {} if self._limit is None else self._limit.used,
        }
        return codec.write("classifier", VERSION, state).encode()

    @property
    def coef_(self) -> Floats:
        """The published weights of the features."""
        return self._weights[:-1].copy()

    @property
    def intercept_(self) -> float:
        """The published constant."""
        return float(self._weights[-1])

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels of the two classes."""
        return np.array(self._classes)

    @property
    def n_features_in_(self) -> int:
        """How many features a row has."""
        return self._features

    def partial_fit(self, x: Any, y: Any, users: Any = None) -> OnlineClassifier:
        """Takes one step with a batch: rows, the label of each, and whose it is.

        ``users`` are given if users are protected, and only then.  A row whose label is none of the
        ``classes``, or whose user has no id, counts nowhere.
        """
        rows = rows_of(x, self._features)
        labels = _labels(y, len(rows))
        owners = self._owners(users, len(rows))
        classes = [_class_of(label, self._classes) for label in labels]
        known = [place for place, one in enumerate(classes) if one is not None]
        second = np.array([classes[place] for place in known], dtype=np.int64)
        with self._turn:
            self._check_run()
            self._run.check_room(1)
            gradients = gradients_of(rows[known], second, self._weights)
            total = clipped(self._added_up(gradients, owners, known)).sum(axis=0)
            sums = np.asarray(self._run.step(total), dtype=np.float64)
            self._taken += 1
            self._weights = -float(self._rate) * sums / GRID
        return self

    def _added_up(
        self, gradients: IntArray, owners: list[Any] | None, known: list[int]
    ) -> IntArray:
        """The gradient of each event, or of each user who may still be used."""
        if self._limit is None or owners is None:
            return gradients
        places = self._limit.admit(owners[place] for place in known)
        used = [row for row, place in enumerate(places) if place is not None]
        count = 1 + max((place for place in places if place is not None), default=-1)
        sums = np.zeros((count, self._features + 1), dtype=np.int64)
        np.add.at(sums, [place for place in places if place is not None], gradients[used])
        return sums

    def _owners(self, users: Any, count: int) -> list[Any] | None:
        if (users is None) != (self._limit is None):
            raise BadInput(
                "The 'users' of the rows must be given if the counter protects users, and only "
                "then.",
                why="one user may have many rows, and an event has one",
                tip="classifier_counter(..., unit='user'), or no users",
            )
        if users is None:
            return None
        if isinstance(users, str) or not hasattr(users, "__len__") or len(users) != count:
            raise BadInput("There must be a list with one user for each row.")
        return list(users)

    def _check_run(self) -> None:
        """Refuses a run that somebody else has stepped."""
        if self._run.t != self._taken:
            raise BadInput(
                f"This run has taken {self._run.t} steps, and this classifier {self._taken}.",
                why="it would not know which users were used in the other steps",
                tip="one classifier for each run; after a restart, OnlineClassifier.resume",
            )

    def decision_function(self, x: Any) -> Floats:
        """Above zero for the second class."""
        return np.asarray((rows_of(x, self._features) / UNIT) @ self._weights)

    def predict_proba(self, x: Any) -> Floats:
        """The probability of each of the two classes, a row for each row."""
        second = 1 / (1 + np.exp(-np.clip(self.decision_function(x), -500, 500)))
        return np.column_stack([1 - second, second])

    def predict(self, x: Any) -> NDArray[Any]:
        """The class of each row."""
        return self.classes_[(self.decision_function(x) > 0).astype(np.int64)]

    def score(self, x: Any, y: Any) -> float:
        """The share of rows that are told rightly; exact, so only for rows that are not secret."""
        told = self.predict(x).tolist()
        labels = [_class_of(label, self._classes) for label in _labels(y, len(told))]
        right = [_class_of(a, self._classes) == b for a, b in zip(told, labels, strict=True)]
        return sum(right) / max(1, len(right))


def _of_users(counter: GradientCounter) -> bool:
    """Whether it protects users, or events."""
    unit = counter.guarantee.unit
    if unit not in (EVENT, USER):
        raise refuse("unit", "event or user", counter.unit)
    return unit == USER


def _two(classes: Sequence[Label]) -> tuple[Label, Label]:
    given = tuple(classes)
    fine = len(given) == 2 and all(isinstance(one, bool | int | str) for one in given)
    if not fine or given[0] == given[1] or isinstance(given[0], str) != isinstance(given[1], str):
        raise refuse("classes", "two different labels, numbers or texts", classes)
    return given[0], given[1]


def _labels(y: Any, count: int) -> list[Any]:
    """The labels as they are; only their number is checked."""
    given = one_or_many(y)
    if isinstance(given, np.ndarray) and given.ndim == 1:
        given = given.tolist()
    if not isinstance(given, Sequence) or len(given) != count:
        raise BadInput("There must be a list with one label for each row.")
    return list(given)


def _class_of(label: Any, classes: tuple[Label, Label]) -> int | None:
    """0 or 1 for a label of one of the classes; None for anything else, whatever it is."""
    plain = issubclass(type(label), int | float | str | np.generic)
    if not plain or issubclass(type(label), np.complexfloating):
        return None
    for number, one in enumerate(classes):
        try:
            if bool(label == one):
                return number
        except Exception:  # whatever it is, an error would tell
            return None
    return None
