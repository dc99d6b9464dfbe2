"""Seizure: whoever sees the state of a counter sees its last events, unless the state is private.

>>> report = seizure(games=200)
>>> report.targets[0].reached
1.0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ameles.audit.attacks.report import (
    GAMES,
    AttackReport,
    Target,
    best_guess,
    coins,
    games_of,
    right,
)
from ameles.core.guarantee import Intrusions
from ameles.core.noise import Noise
from ameles.core.parameters import Exact
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.intrusions import Announced
from ameles.mechanisms.snapshot import unpack
from ameles.noise import System
from ameles.noise.arrays import BoolArray, IntArray

HORIZON = 16
BEFORE = 4  # steps before that of the secret event


def seizure(*, games: int = GAMES, epsilon: Exact = 1, noise: Noise | None = None) -> AttackReport:
    """Seizes the memory of a counter right after the step in which the secret event may be."""
    secrets = coins(games_of(games))
    given: dict[str, Any] = {"epsilon": epsilon, "horizon": HORIZON, "width": len(secrets)}
    allowed = best_guess(epsilon)
    plain = BinaryCounter(**given)
    once = PanPrivateCounter(**given)
    announced = PanPrivateCounter(**given, intrusions="announced")
    return AttackReport(
        name="seizure",
        story="A counter publishes private counts, and one night its memory is seized: by a thief, "
        "a court, a new owner. The attacker knows all other events and asks whether the last one "
        "happened.",
        measure="games in which the last event is guessed",
        blind=0.5,
        targets=(
            Target("an ordinary counter", _once(plain, secrets, noise)),
            Target("Ameles: a pan-private counter", _once(once, secrets, noise), allowed=allowed),
            Target("the same counter, seized before and after", _twice(once, secrets, noise)),
            Target(
                "Ameles: announced after the first time",
                _twice(announced, secrets, noise),
                allowed=allowed,
            ),
        ),
        meaning="Private output is not private state. A pan-private counter adds noise before the "
        "first event arrives, so its memory may be seen once; a second time needs fresh noise, "
        "which it draws when the first is announced.",
    )


def _once(recipe: CounterRecipe, secrets: BoolArray, noise: Noise | None) -> float:
    """Guesses from the count in the state after the event; before it nothing happened."""
    run = recipe.start(noise or System.direct())
    for _ in range(BEFORE):
        run.step(np.zeros(len(secrets), dtype=np.int64))
    run.step(secrets.astype(np.int64))
    return right(_count_in(recipe, run) >= 1, secrets)


def _twice(recipe: PanPrivateCounter, secrets: BoolArray, noise: Noise | None) -> float:
    """Guesses from the difference of the counts in two states."""
    run = recipe.start(noise or System.direct())
    for _ in range(BEFORE):
        run.step(np.zeros(len(secrets), dtype=np.int64))
    before = _count_in(recipe, run)
    if recipe.guarantee.intrusions is Intrusions.ANNOUNCED and isinstance(run, Announced):
        run.announce()
    run.step(secrets.astype(np.int64))
    return right(_count_in(recipe, run) - before >= 1, secrets)


def _count_in(recipe: CounterRecipe, run: Any) -> IntArray:
    """The part of the state to which events are added: the first with one number a counter."""
    parts = unpack(run.snapshot(), recipe.state_fingerprint).parts
    return next(np.array(part, dtype=np.int64) for part in parts if len(part) == recipe.columns)
