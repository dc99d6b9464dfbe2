"""Linkage: rows without names, joined with a public register that has names.

>>> report = linkage(people=500)
>>> report.targets[0].name, report.targets[0].reached > 0.95
('rows with the date of birth', True)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ameles.audit.attacks.report import (
    AttackReport,
    Target,
    best_guess,
    coins,
    games_of,
    private_counts,
    right,
)
from ameles.core.noise import Noise
from ameles.core.parameters import Exact
from ameles.noise.arrays import BoolArray, IntArray
from ameles.simulate import health_survey


def linkage(
    *, people: int = 4000, epsilon: Exact = 1, seed: int = 7, noise: Noise | None = None
) -> AttackReport:
    """Finds people of a register again in rows without names, and reads their secret."""
    allowed = best_guess(epsilon)
    register = health_survey(people=games_of(people), seed=seed).register
    secrets = coins(len(register))
    cuts = {
        "the date of birth": _places(register, lambda born: born),
        "the year of birth": _places(register, lambda born: born.year),
        "the decade of birth": _places(register, lambda born: born.year // 10),
    }
    targets = [Target(f"rows with {what}", _joined(place, secrets)) for what, place in cuts.items()]
    for what in ("the date of birth", "the year of birth"):
        guesses = _from_counts(cuts[what], secrets, epsilon, noise)
        name = f"Ameles: private counts by {what}"
        targets.append(Target(name, right(guesses, secrets), allowed=allowed))
    return AttackReport(
        name="linkage",
        story="A table has no names, but dates of birth, sex and district. A public register has "
        "these and the names. The attacker joins the two and reads each person's secret; where "
        "several people share all three, the attacker goes with the majority.",
        measure="people whose secret is guessed",
        blind=0.5,
        targets=tuple(targets),
        meaning="Removing names protects nobody, and coarser columns protect only as far as the "
        "groups are large. Private counts may be published by the date of birth, even where a "
        "count is about one person.",
    )


def _places(register: Any, cut: Any) -> IntArray:
    """For each person the number of the group of those who look the same."""
    looks = [(cut(row["born"]), row["sex"], row["district"]) for row in register]
    numbers = {look: number for number, look in enumerate(dict.fromkeys(looks))}
    return np.array([numbers[look] for look in looks], dtype=np.int64)


def _joined(place: IntArray, secrets: BoolArray) -> float:
    """Guesses from the rows themselves: the majority of those who look the same."""
    yes = np.bincount(place, weights=secrets)[place]
    size = np.bincount(place)[place]
    guesses = np.where(2 * yes == size, coins(len(place)), 2 * yes > size)
    return right(guesses, secrets)


def _from_counts(
    place: IntArray, secrets: BoolArray, epsilon: Exact, noise: Noise | None
) -> BoolArray:
    """Guesses from the noisy number of yes in each group; how large a group is, is public."""
    counts = np.bincount(place, weights=secrets).astype(np.int64)
    published = private_counts(counts, epsilon, noise)[place]
    size = np.bincount(place)[place]
    guesses: BoolArray = np.where(
        2 * published == size, coins(len(place)), 2 * published > size
    ).astype(np.bool_)
    return guesses
