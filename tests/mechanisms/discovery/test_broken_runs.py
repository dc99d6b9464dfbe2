"""Checks of what a run may depend on, each with a run that it catches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from ameles.core.noise import Noise
from ameles.mechanisms.discovery import DiscoveryRun, KeyDiscovery, KeyInputs
from ameles.mechanisms.discovery.value_error import KeyValueError
from ameles.mechanisms.snapshot import State
from ameles.noise import System, Tape, Zero
from tests.mechanisms.discovery import broken_runs

MANY = 4000
PLAIN: dict[str, Any] = {"epsilon": 6, "delta": "1e-6", "horizon": 12, "records": 4}


@dataclass(frozen=True, kw_only=True)
class WithRun(KeyDiscovery):
    """Discovery with another run."""

    kind: Callable[..., DiscoveryRun] = DiscoveryRun

    def _run(self, state: State, noise: Noise) -> DiscoveryRun:
        return self.kind(self, state, noise)


def noise_starts_at_the_first_look_whenever_a_key_is_named(kind: type[DiscoveryRun]) -> None:
    recipe = WithRun(**PLAIN, looks=4, kind=kind)
    for first in range(1, 13):
        tape = Tape()
        run = recipe.start(tape)
        for step in range(1, 13):
            run.step({"a": (1, 1)} if step == first else {})
            look = recipe.look_at(step)
            if step >= first and look:
                assert tape.count == look


def a_key_that_no_slot_has_named_is_never_looked_at(kind: type[DiscoveryRun]) -> None:
    tape = Tape(beyond=System())
    run = WithRun(**PLAIN, looks=4, kind=kind).start(tape)
    run.numbers(["nobody"])
    for _ in range(12):
        assert not run.step({"no slot": (0, 1_000)}).public.size
    assert not tape.count


def keys_found_together_come_in_the_order_of_their_names(kind: type[DiscoveryRun]) -> None:
    for keys in (["b", "c", "a"], ["c", "b", "a"]):
        run = WithRun(**PLAIN, looks=4, kind=kind).start(Zero())
        run.numbers(keys)
        run.feed([{}, {}])
        out = run.step(dict.fromkeys(keys, (MANY, 1)))
        assert run.names(out.discovered) == run.names(out.public) == ["a", "b", "c"]


def keys_are_dropped_by_their_released_numbers(kind: type[DiscoveryRun]) -> None:
    """What is dropped is computed again from the outputs alone."""
    period = 3
    recipe = WithRun(**PLAIN, drop_after=period, kind=kind)
    run = recipe.start(System())
    keys = [f"{number:03d}" for number in range(60)]
    outs = [run.step(dict.fromkeys(keys, (MANY, 5)))]
    outs += [run.step({key: (0, int(key) % 12) for key in keys}) for _ in range(11)]
    shown = [dict(zip(out.public.tolist(), out.values[:, 0].tolist(), strict=True)) for out in outs]
    for t, out in enumerate(outs, start=1):
        expected = []
        for number, since in zip(out.public.tolist(), out.since.tolist(), strict=True):
            if t % period == 0 and since <= t - period:
                law = KeyValueError(recipe.values, since).between(t - period, t)
                grown = shown[t - 1][number] - shown[t - period - 1][number]
                expected += [number] if abs(grown) < law.quantile(0.05) else []
        assert out.dropped.tolist() == expected
    assert sum(out.dropped.size for out in outs)


def a_dropped_key_begins_anew(kind: type[DiscoveryRun]) -> None:
    run = WithRun(**PLAIN, drop_after=3, kind=kind).start(Zero())
    outs = [run.step({"quiet": (MANY, 5)}), *run.feed([{}] * 5)]
    [old] = outs[-1].dropped.tolist()
    assert old not in run.numbers(["quiet"]).tolist()
    with pytest.raises(Exception, match="dropped"):
        run.step(KeyInputs.of(number=[old], selected=[0], amounts=[[1]]))


CHECKS: dict[Callable[[type[DiscoveryRun]], None], type[DiscoveryRun]] = {
    noise_starts_at_the_first_look_whenever_a_key_is_named: broken_runs.NoiseStartsWithTheKey,
    a_key_that_no_slot_has_named_is_never_looked_at: broken_runs.LiveByRecords,
    partial(a_key_that_no_slot_has_named_is_never_looked_at): broken_runs.LooksAtAll,
    keys_found_together_come_in_the_order_of_their_names: broken_runs.TellsFirstSight,
    keys_are_dropped_by_their_released_numbers: broken_runs.DropsByTheTruth,
    a_dropped_key_begins_anew: broken_runs.ForgetsNothing,
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: CHECKS[check].__name__)
def test_the_run_passes_and_its_broken_one_is_caught(
    check: Callable[[type[DiscoveryRun]], None],
) -> None:
    check(DiscoveryRun)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(CHECKS[check])


def test_every_broken_run_is_caught_by_a_check() -> None:
    kinds = {
        kind
        for kind in vars(broken_runs).values()
        if isinstance(kind, type)
        and issubclass(kind, DiscoveryRun)
        and kind.__module__ == broken_runs.__name__
    }
    assert kinds == set(CHECKS.values())
    assert np.unique([kind.__name__ for kind in kinds]).size == len(kinds)
