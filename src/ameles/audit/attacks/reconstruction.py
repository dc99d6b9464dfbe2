"""Reconstruction: too many answers that are too exact give the whole table away.

Theorem      Dinur-Nissim 2003, corrected (catalogue 55): if all subset sums of n bits are answered
             within E, any table that agrees with the answers is within 4 E bits of the true one;
             with errors of c sqrt(n), a linear program over 8 n random subsets finds the bits

>>> report = reconstruction(people=24, repeats=1)
>>> report.targets[0].name
'all subset sums of 10 people, each within 1'
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable

import numpy as np

from ameles.audit import solver
from ameles.audit.algebra import Floats
from ameles.audit.attacks.report import AttackReport, Target, best_guess, coins, loss_of, right
from ameles.core.noise import Noise
from ameles.core.parameters import Exact, whole
from ameles.mechanisms.one_shot.geometric import GeometricMechanism
from ameles.noise import System
from ameles.noise.arrays import BoolArray, IntArray

FEW = 10  # people whose 2^10 subsets are all asked for
WITHIN = 1  # and the error of those answers
SHARE = 0.2  # of sqrt(n): the error of the other answers
QUESTIONS = (1, 2, 4, 8)  # times as many as people


def reconstruction(
    *, people: int = 128, epsilon: Exact = 1, repeats: int = 3, noise: Noise | None = None
) -> AttackReport:
    """Asks for sums over random groups, and solves for the secret of everybody."""
    solver.require()
    allowed = best_guess(epsilon)
    count = whole(people, "people", low=8, high=256)
    tables = [coins(count) for _ in range(whole(repeats, "repeats", low=1, high=100))]
    targets = [
        Target(
            f"all subset sums of {FEW} people, each within {WITHIN}", _exhaustive(len(tables) * 4)
        )
    ]
    rough = SHARE * math.sqrt(count)
    for times in QUESTIONS:
        share = float(np.mean([_decoded(bits, times, _rough(rough)) for bits in tables]))
        targets.append(Target(f"sums within {rough:.1f}", share, effort=times * count))
    for times in QUESTIONS:
        paid = _paid(epsilon, noise)
        share = float(np.mean([_decoded(bits, times, paid) for bits in tables]))
        name = f"Ameles: all sums together at epsilon {float(loss_of(epsilon)):g}"
        targets.append(Target(name, share, effort=times * count, allowed=allowed))
    return AttackReport(
        name="reconstruction",
        story=f"{count} people each have a secret bit. A server gives the number of ones in any "
        f"group, with an error of at most {rough:.1f}. The attacker asks for random groups and "
        "lets a linear program find the bits that fit the answers best.",
        measure="bits that are found",
        blind=0.5,
        targets=tuple(targets),
        effort="sums asked for",
        meaning="Small errors on many answers protect nobody: the answers fit one table only. A "
        "budget makes the noise grow with the number of answers, and the table stays hidden.",
    )


def _exhaustive(tables: int) -> float:
    """The share of bits in the first table that agrees with all subset sums."""
    candidates = np.arange(1 << FEW)[:, None] >> np.arange(FEW) & 1
    sums = candidates @ candidates.T  # sums[s, c]: of the subset s in the table c
    shares = []
    for _ in range(tables):
        true = int(System().uniform(1 << FEW, 1)[0])
        answers = sums[:, true] + System().uniform(2 * WITHIN + 1, 1 << FEW) - WITHIN
        fits = np.flatnonzero((np.abs(sums - answers[:, None]) <= WITHIN).all(axis=0))
        shares.append(float(np.mean(candidates[int(fits[0])] == candidates[true])))
    return float(np.mean(shares))


def _decoded(bits: BoolArray, times: int, publish: Callable[[IntArray], Floats]) -> float:
    """The share of bits found from so many random sums for each person."""
    questions = times * len(bits)
    groups = System().uniform(2, (questions, len(bits)))
    answers = publish(groups @ bits.astype(np.int64))
    return right(linear_program(groups, answers) >= 0.5, bits)


def linear_program(groups: IntArray, answers: Floats) -> Floats:
    """Numbers from 0 to 1 whose sums over the groups miss the answers by the least in all."""
    questions, people = groups.shape
    misses = np.eye(questions)
    optimize = importlib.import_module("scipy.optimize")
    solved = optimize.linprog(  # groups x + misses above - misses below = answers
        np.concatenate([np.zeros(people), np.ones(2 * questions)]),
        A_eq=np.hstack([groups, misses, -misses]),
        b_eq=answers,
        bounds=[(0, 1)] * people + [(0, None)] * (2 * questions),
        method="highs-ipm",
    )
    return np.asarray(solved.x[:people], dtype=np.float64)


def _rough(largest: float) -> Callable[[IntArray], Floats]:
    """Answers with an error that is uniform up to ``largest``, as a careful clerk might add."""
    steps = 1 << 30

    def publish(sums: IntArray) -> Floats:
        drawn = System().uniform(2 * steps + 1, len(sums)) - steps
        return np.asarray(sums + drawn * (largest / steps), dtype=np.float64)

    return publish


def _paid(epsilon: Exact, noise: Noise | None) -> Callable[[IntArray], Floats]:
    """All answers together at one epsilon: a bit changes each sum by at most one."""

    def publish(sums: IntArray) -> Floats:
        recipe = GeometricMechanism(
            epsilon=epsilon, neighbours="replace", sensitivity=len(sums), width=len(sums)
        )
        return np.asarray(recipe.start(noise or System()).step(sums), dtype=np.float64)

    return publish
