"""How well private learners do: regret beside its bound, a classifier beside one without noise.

    python benchmarks/learning.py
    python benchmarks/learning.py --stream edits.csv --runs 5

Experts: losses of 10 experts over 10,000 steps, of which one is better than the others.  The
classifier needs a stream of Wikipedia edits: a CSV file with the columns time, user, channel,
namespace, robot and delta.  One step is half an hour.  It tells robots from people (one event is
protected), and edits that add more than 50 bytes from others (one user is protected, and everybody
counts the same).  Each task is also learned from gradients that are clipped in L1 instead of L2.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from ameles.core.guarantee import EVENT, USER
from ameles.core.noise import Noise
from ameles.mechanisms.learning import (
    OnlineClassifier,
    PerturbedLeader,
    WeightedMajority,
    classifier_counter,
    expert_counter,
    leader_regret,
    online_classifier,
)
from ameles.mechanisms.learning.gradients import GRID, clipped
from ameles.noise import System, Zero

STEPS, EXPERTS = 10_000, 10
MINUTES = 30


def experts() -> None:
    """Regret for each step, of the learners and of the leader without noise."""
    rng = np.random.default_rng(1)
    losses = (rng.random((STEPS, EXPERTS)) < np.array([0.4] + [0.5] * (EXPERTS - 1))).astype(int)
    best = int(losses.sum(axis=0).min())
    plain = np.concatenate([[0], np.cumsum(losses, axis=0)[:-1].argmin(axis=1)])
    leader = int(losses[np.arange(STEPS), plain].sum())
    print(f"{'learner':34} {'regret':>8} {'bound':>8}   a step")
    print(f"{'the leader, without privacy':34} {(leader - best) / STEPS:8.4f} {'-':>8}")
    for rho in (Fraction(1, 100), Fraction(1, 10), Fraction(1)):
        for horizon in (STEPS, None):
            recipe = WeightedMajority(rho=rho, experts=EXPERTS, horizon=horizon)
            run = recipe.start(System())
            followed = sum(int(row[run.step(row)]) for row in losses)
            name = f"weighted majority, rho {float(rho):g}{'' if horizon else ', no end'}"
            bound = recipe.error.bound(STEPS, 0.05) / STEPS
            print(f"{name:34} {(followed - best) / STEPS:8.4f} {bound:8.4f}")
    for epsilon in (1, 10):
        counter = expert_counter(epsilon=epsilon, experts=EXPERTS, horizon=STEPS)
        chosen = PerturbedLeader(counter.start(System.direct()), rate="0.05", noise=System())
        followed = sum(int(row[chosen.step(row)]) for row in losses)
        name = f"perturbed leader, epsilon {epsilon}"
        bound = leader_regret(counter, steps=STEPS, rate="0.05", best=best) / STEPS
        print(f"{name:34} {(followed - best) / STEPS:8.4f} {bound:8.4f}")


def features(row: dict[str, str], namespaces: list[str], channels: list[str]) -> list[float]:
    """What an edit looks like, without what is to be told."""
    size = abs(float(row["delta"] or 0))
    seen = [row["namespace"] == name for name in namespaces]
    seen += [row["channel"] == name for name in channels]
    seen += [float(row["delta"] or 0) > 0, size > 100, size < 5]
    return [*map(float, seen), min(size, 1000) / 1000]


def in_l1(sums: Any) -> Any:
    """Gradients as a counter would need them that promises L1: for comparison."""
    units = clipped(sums)
    size = np.maximum(GRID, np.abs(units).sum(axis=1, keepdims=True))
    return np.sign(units) * (np.abs(units) * GRID // size)


def learned(
    stream: tuple[Any, Any, Any, Any], contributions: int, rate: str, weight: Any, noise: Noise
) -> float:
    """The weighted share of rows that are told rightly by a model of the whole stream."""
    x, y, owners, steps = stream
    counter = classifier_counter(
        epsilon=1,
        delta="1e-6",
        features=x.shape[1],
        steps=1440 // MINUTES,
        contributions=contributions,
        unit=EVENT if owners is None else USER,
    )
    model = OnlineClassifier(counter.start(noise), rate=rate)
    for step in range(1440 // MINUTES):
        here = np.flatnonzero(steps == step)
        whose = None if owners is None else owners[here]
        model.partial_fit(x[here], y[here], whose)
    right = model.predict(x) == y
    return float((weight * right).sum() / weight.sum())


def classify(file: Path, runs: int) -> None:
    """The share of edits, or of users, that are told rightly after the whole stream."""
    with file.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    common = {
        column: [name for name, _ in Counter(row[column] for row in rows).most_common(10)]
        for column in ("namespace", "channel")
    }
    users = np.array([row["user"] for row in rows])
    counts = Counter(users.tolist())
    once = np.array([1 / counts[user] for user in users.tolist()])
    steps = np.array([int(r["time"][11:13]) * 60 + int(r["time"][14:16]) for r in rows]) // MINUTES
    tasks: list[tuple[str, Any, Any, Any, int, str]] = [
        (
            "robot, one event",
            [features(row, common["namespace"][:6], common["channel"]) for row in rows],
            [row["robot"] == "1" for row in rows],
            None,
            1,
            "0.01",
        ),
        (
            "50 bytes added, one user, 4 steps each",
            [
                [
                    *features(row, common["namespace"][:6], common["channel"])[:-4],
                    float(row["robot"] == "1"),
                ]
                for row in rows
            ],
            [float(row["delta"] or 0) > 50 for row in rows],
            users,
            4,
            "0.01",
        ),
    ]
    print(f"\n{'to tell':38} {'constant':>9} {'no noise':>9} {'epsilon 1, delta 1e-6':>24}")
    for name, table, told, owners, contributions, rate in tasks:
        x, y = np.array(table), np.array(told)
        weight = np.ones(len(y)) if owners is None else once
        share = float((weight * y).sum() / weight.sum())
        for clip, how in ((clipped, ""), (in_l1, " in L1")):
            with patch.object(online_classifier, "clipped", clip):
                learn = partial(learned, (x, y, owners, steps), contributions, rate, weight)
                private = [learn(System()) for _ in range(runs)]
                print(
                    f"{name + how:38} {max(share, 1 - share):9.3f} {learn(Zero()):9.3f} "
                    f"{np.mean(private):9.3f} ({min(private):.3f} to {max(private):.3f})"
                )


def main() -> None:
    """Measures, and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stream", type=Path, help="a CSV file of Wikipedia edits")
    parser.add_argument("--runs", type=int, default=3, help="how often the classifier is trained")
    options = parser.parse_args()
    experts()
    if options.stream is not None:
        classify(options.stream, options.runs)


if __name__ == "__main__":
    main()
