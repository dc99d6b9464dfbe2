"""The seized state: a machine is stolen while its counter goes on, and one snapshot is enough.

A ward publishes the running number of its admissions every hour.  After hour 20 an intruder
copies the machine's memory, once, and from then on reads the public releases like everyone else.
He resumes the stolen state with no noise and no patients; what the public releases show beyond
that are patients.  Against the tree of Dwork and Roth's figure 12.1 he is always right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.tree import TreeCounter
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.mechanisms.snapshot import unpack
from ameles.noise import System, Zero
from ameles.noise.arrays import IntArray

HOURS, SEIZED = 64, 20
SHOWN = 10
THEFTS = 300
EPSILON = 1


@dataclass(frozen=True)
class Target:
    """A counter, and where its count so far is in its state."""

    recipe: CounterRecipe
    count: Callable[[tuple[IntArray, ...]], int]


TARGETS = (
    Target(TreeCounter(epsilon=EPSILON, horizon=HOURS), lambda parts: int(parts[0][0])),
    Target(PanPrivateCounter(epsilon=EPSILON, horizon=HOURS), lambda parts: int(parts[1][0])),
    # the top level: its published blocks and its open one
    Target(
        PanPrivateTreeCounter(epsilon=EPSILON, horizon=HOURS),
        lambda parts: int(parts[0][-1] + parts[1][-1]),
    ),
)


@dataclass(frozen=True)
class Loot:
    """What the intruder computes: the count at the theft, and the patients after it."""

    count: int
    since: IntArray


def attack(target: Target, patients: IntArray, until: int = HOURS) -> Loot:
    """One theft, and the public releases from then on."""
    run = target.recipe.start(System.direct())
    for x in patients[:SEIZED]:
        run.step(int(x))
    stolen = run.snapshot()
    released = [run.step(int(x)) for x in patients[SEIZED:until]]
    # From here on only what the intruder has: the recipe is public.
    copy = target.recipe.resume(stolen, Zero())
    without = [copy.step(0) for _ in released]
    parts = unpack(stolen, target.recipe.fingerprint).parts
    return Loot(target.count(parts), np.array(released) - np.array(without))


def right_guesses(target: Target, thefts: int) -> int:
    """How often the intruder tells whether a patient came in the hour after the theft."""
    right = 0
    for came in System().uniform(2, thefts):
        patients = np.zeros(HOURS, dtype=np.int64)
        patients[SEIZED] = came
        seen = int(attack(target, patients, SEIZED + 1).since[0])
        right += (2 * seen > 1) == bool(came)
    return right


def main() -> None:
    """Steals every counter once and looks closely, then often and counts."""
    patients = System().uniform(2, HOURS)
    hours = range(SEIZED, SEIZED + SHOWN)
    print(f"Stolen after hour {SEIZED}, epsilon {EPSILON}: what the intruder computes\n")
    heads = "".join(f"{hour + 1:5}" for hour in hours)
    print(f"  {'':24}{'count then':>10}   patients in hour{heads}")
    truth = "".join(f"{patients[hour]:5}" for hour in hours)
    print(f"  {'truth':24}{patients[:SEIZED].sum():10}{'':19}{truth}")
    for target in TARGETS:
        loot = attack(target, patients)
        steps = np.diff(loot.since, prepend=0)[:SHOWN]
        name = type(target.recipe).__name__
        print(f"  {name:24}{loot.count:10}{'':19}{''.join(f'{x:5}' for x in steps)}")

    print(f"\n{THEFTS} thefts: did a patient come in the next hour?\n")
    for target in TARGETS:
        right = right_guesses(target, THEFTS)
        print(f"  {type(target.recipe).__name__:24}{right:4} right guesses of {THEFTS}")
    most = 1 / (1 + math.exp(-EPSILON))
    print(
        f"\n  A coin is right {THEFTS // 2} times.  Against epsilon {EPSILON} no intruder, with one"
    )
    print(f"  snapshot and all releases, can expect more than {100 * most:.0f} of 100.")


if __name__ == "__main__":
    main()
