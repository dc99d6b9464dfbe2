"""Modular incidence over a stream: one release at the end, and the exact loss with a state that is
seized at any instant."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import Any
from unittest import mock

import numpy as np
import pytest

from ameles.core.exceptions import BadInput, HorizonReached
from ameles.core.guarantee import USER, Intrusions
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.mechanisms.continual.modular_once import ModularOnce, ModularOnceRun
from ameles.mechanisms.continual.renewed import Renewed
from ameles.mechanisms.continual.transformation import CODE
from ameles.mechanisms.pan_private import residue_table
from ameles.mechanisms.pan_private.modular import ModularIncidence, ResidueFraction
from ameles.noise import Zero
from tests.mechanisms.pan_private.laws import law_of, loss
from tests.mechanisms.pan_private.tables import chosen_offsets


def table(users: int = 1, modulus: int = 2, **given: Any) -> ModularIncidence:
    terms: dict[str, Any] = {"neighbours": "user-presence", "epsilon_state": 1, **given}
    return ModularIncidence(users=users, modulus=modulus, epsilon_output=1, **terms)


# For each of two steps its batches; the user's events beside none in the same calls.
HISTORIES: list[list[list[list[int]]]] = [
    [[[0], []], [[]]],
    [[[0], [0, 0]], [[]]],
    [[[], []], [[0]]],
    [[[0], []], [[0]]],
]
NOBODY: list[list[list[int]]] = [[[], []], [[]]]


def view(recipe: ModularOnce, steps: list[list[list[int]]], instant: int) -> Any:
    """The law of everything that is published, and of the state after so many calls."""

    def program(noise: Noise) -> Hashable:
        run, seen, calls = recipe.start(noise), b"", 0
        told = []

        def called() -> None:
            nonlocal seen, calls
            if calls == instant:
                seen = run.snapshot()
            calls += 1

        called()
        for batches in steps:
            for users in batches:
                run.add(np.array(users, dtype=np.int64))
                called()
            told.append(tuple(run.release().tolist()))
            called()
        return tuple(told), seen

    # identities are random and say nothing; without them a state is its bytes
    with mock.patch.object(os, "urandom", lambda count: bytes(count)):
        return law_of(program, window=3)


def within(seen: Any) -> bool:
    """Away from the ends of the window of noise, where its law is cut."""
    return all(abs(noisy) <= 2 for noisy in seen[0][-1])


@pytest.mark.parametrize("history", HISTORIES)
def test_the_release_and_the_state_at_every_instant_are_within_the_claim(
    monkeypatch: pytest.MonkeyPatch, history: list[list[list[int]]]
) -> None:
    monkeypatch.setattr(residue_table, "offsets", chosen_offsets)
    recipe = ModularOnce(table=table(), horizon=2)
    assert recipe.guarantee.loss == Pure(2)
    lost = [
        loss(view(recipe, history, instant), view(recipe, NOBODY, instant), among=within)
        for instant in range(6)
    ]
    assert max(lost) <= 2 + 1e-9
    assert max(lost) > 0.3


class _Started(ModularOnceRun):
    """Its residues start at 0: they tell how often somebody came."""

    def __init__(self, recipe: ModularOnce, state: Any, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        self._inner._table[:] = 0


class _StartedRecipe(ModularOnce):
    def _run(self, state: Any, noise: Noise) -> ModularOnceRun:
        return _Started(self, state, noise)


def test_residues_that_start_at_zero_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residue_table, "offsets", chosen_offsets)
    broken = _StartedRecipe(table=table(), horizon=2)
    seen, other = (view(broken, steps, 1) for steps in (HISTORIES[0], NOBODY))
    assert seen.keys() != other.keys()


def test_without_noise_it_is_the_truth_at_the_end() -> None:
    run = ModularOnce(table=table(6, 3), horizon=3).start(Zero())
    run.add([0, 1, 1, 2, 2, 2])
    assert run.release().tolist() == [CODE] * 3
    run.add([0, 5])
    assert run.release().tolist() == [CODE] * 3
    again = ModularOnce(table=table(6, 3), horizon=3).resume(run.snapshot(), Zero())
    assert again.release().tolist() == [3, 1, 2]
    with pytest.raises(HorizonReached):
        again.release()
    assert again.t == 3, "what is refused takes no step"
    windows = Renewed(inner=ModularOnce(table=table(6, 3), horizon=2), horizon=4).start(Zero())
    assert [one.tolist() for one in windows.feed([[0], [0], [0], []])] == [
        [CODE] * 3,
        [5, 0, 1],
        [CODE] * 3,
        [5, 1, 0],
    ]


def test_the_promise_and_what_is_refused() -> None:
    promise = ModularOnce(table=table(), horizon=30).guarantee
    assert (promise.unit, promise.horizon, promise.intrusions) == (USER, 30, Intrusions.ONE)
    other: Any = ResidueFraction(
        users=9,
        modulus=2,
        residues=(1,),
        neighbours="user-presence",
        epsilon_state=1,
        epsilon_output=1,
    )
    wrongs: list[Any] = [other, table(releases=2), table(intrusions=2), None]
    for wrong in wrongs:
        with pytest.raises(BadInput, match="one release and one intrusion"):
            ModularOnce(table=wrong, horizon=2)
