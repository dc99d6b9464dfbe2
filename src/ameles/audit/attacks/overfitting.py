"""Overfitting: an analyst who reuses the data finds what is not there; a private one does not.

Theorem      expectation bound (catalogue 64): if a query q with values from 0 to 1 is chosen by an
             epsilon-private mechanism, its mean on the sample is within tanh(epsilon / 2) of its
             mean on fresh data, in expectation

>>> report = overfitting(samples=200, features=50, repeats=1)
>>> report.targets[-1].name
'Ameles: correlations at epsilon 1'
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ameles.audit.attacks.report import AttackReport, Target, games_of, loss_of
from ameles.core.noise import Noise
from ameles.core.parameters import Exact, whole
from ameles.mechanisms.one_shot.geometric import GeometricMechanism
from ameles.noise import System
from ameles.noise.arrays import IntArray

Signs = NDArray[np.int64]  # of -1 and 1


def overfitting(
    *,
    samples: int = 1000,
    features: int = 500,
    epsilon: Exact = 1,
    repeats: int = 10,
    noise: Noise | None = None,
) -> AttackReport:
    """Builds a classifier from random features, and measures it on the data it was built from."""
    loss = float(loss_of(epsilon))
    count, width = games_of(samples), whole(features, "features", low=1, high=10**5)
    naive, fresh, private = [], [], []
    for _ in range(whole(repeats, "repeats", low=1, high=1000)):
        columns, labels = _signs((count, width)), _signs(count)
        new_columns, new_labels = _signs((count, width)), _signs(count)
        agreement = labels @ columns
        naive.append(accuracy(columns, labels, votes(agreement)))
        fresh.append(accuracy(new_columns, new_labels, votes(agreement)))
        # A replaced row changes each of the agreements by at most 2.
        recipe = GeometricMechanism(
            epsilon=epsilon, neighbours="replace", sensitivity=2 * width, width=width
        )
        noisy = np.asarray(recipe.start(noise or System()).step(agreement))
        private.append(accuracy(columns, labels, votes(noisy)))
    return AttackReport(
        name="overfitting",
        story=f"{width} features have nothing to do with a label. The analyst asks how each "
        "correlates with it, keeps the signs, lets all features vote, and measures the vote on "
        "the same data.",
        measure="accuracy that the analyst reports",
        blind=0.5,
        targets=(
            Target("exact correlations, same data", float(np.mean(naive))),
            Target("exact correlations, fresh data", float(np.mean(fresh))),
            Target(
                f"Ameles: correlations at epsilon {loss:g}",
                float(np.mean(private)),
                allowed=min(1.0, 0.5 + math.tanh(loss / 2)),
            ),
        ),
        meaning="Answers that were used to choose the next question no longer hold for new data. "
        "If the answers are private, what was chosen cannot fit this sample much better than "
        "others: by at most tanh(epsilon / 2), on average.",
    )


def votes(agreement: IntArray) -> Signs:
    """For each feature, whether it votes for the label or against it."""
    return np.where(agreement >= 0, 1, -1)


def accuracy(columns: Signs, labels: Signs, weights: Signs) -> float:
    """The share of rows whose label the vote tells; ties count half."""
    tally = labels * (columns @ weights)
    return float(np.mean((tally > 0) + (tally == 0) / 2))


def _signs(shape: int | tuple[int, ...]) -> Signs:
    return 2 * System().uniform(2, shape) - 1
