"""Homogeneity: in a k-anonymous table a whole group can share the secret.

>>> report = homogeneity(people=600)
>>> report.targets[0].effort, report.targets[0].reached
(2, 1.0)
"""

from __future__ import annotations

import numpy as np

from ameles.audit.attacks.report import (
    AttackReport,
    Target,
    best_guess,
    games_of,
    loss_of,
    private_counts,
)
from ameles.core.noise import Noise
from ameles.core.parameters import Exact
from ameles.noise.arrays import IntArray
from ameles.simulate import health_survey

GROUPS = (2, 5, 10)  # the k of k-anonymity


def homogeneity(
    *, people: int = 4000, epsilon: Exact = 1, seed: int = 7, noise: Noise | None = None
) -> AttackReport:
    """Names the people whose whole group has the same answer, and says that answer."""
    loss = loss_of(epsilon)
    answers = health_survey(people=games_of(people), seed=seed).answers
    rows = sorted(answers, key=lambda row: (row["district"], row["sex"], row["born"]))
    smokes = np.array([row["smoker"] for row in rows])
    districts = np.array([row["district"] for row in rows])
    likeliest = max(1 - float(np.mean(smokes[districts == name])) for name in set(districts))
    targets, named = [], []
    for k in GROUPS:
        sums, size = _groups(smokes, k)
        reached, share = _sure(sums, sums, size)
        named.append(f"{share:.0%} at k = {k}")
        targets.append(Target("a k-anonymous table", reached, effort=k))
    allowed = best_guess(loss, likeliest)
    for k in GROUPS:
        sums, size = _groups(smokes, k)
        reached, _ = _sure(private_counts(sums, loss, noise), sums, size)
        name = "Ameles: private counts of the same groups"
        targets.append(Target(name, reached, effort=k, allowed=allowed))
    return AttackReport(
        name="homogeneity",
        story="A table is k-anonymous: every row looks like at least k - 1 others. The attacker "
        "looks for groups in which nobody smokes, or everybody, and says so of each member. That "
        f"names {', '.join(named)} of all people.",
        measure="statements about a person that are right",
        blind=max(float(np.mean(smokes)), 1 - float(np.mean(smokes))),
        targets=tuple(targets),
        effort="people in a group, k",
        meaning="K-anonymity hides which row is yours, not what it says: where a group agrees, the "
        "attacker is certain. From private counts nobody can be sure that a group agrees.",
    )


def _groups(smokes: IntArray, k: int) -> tuple[IntArray, int]:
    """Smokers in each group of k people who look alike; the rows of a last, smaller one are
    left out."""
    whole = len(smokes) // k * k
    return smokes[:whole].reshape(-1, k).sum(axis=1).astype(np.int64), k


def _sure(seen: IntArray, true: IntArray, size: int) -> tuple[float, float]:
    """How many statements are right, and of what share of all people one is made.

    If no group seems to agree, no statement is made, and none is right.
    """
    none, all_ = seen <= 0, seen >= size
    made = size * int(np.sum(none | all_))
    correct = int(np.sum((size - true)[none])) + int(np.sum(true[all_]))
    return (correct / made if made else 0.0), made / (size * len(true))
