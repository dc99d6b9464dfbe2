"""A run that was interrupted within a step is spent, unless it is known to go on rightly."""

from __future__ import annotations

from typing import Any

import pytest

from ameles.core.exceptions import RunSpent
from ameles.mechanisms.counters.folded import FoldedCounterRun
from ameles.mechanisms.one_shot.one_shot import OneShotRun
from ameles.mechanisms.one_shot.series import SeriesRun
from ameles.mechanisms.run import Run
from ameles.noise import Zero
from tests.recipe_checks import Sample
from tests.samples import SAMPLES

LAWS = ("laplace", "gaussian", "bernoulli", "bernoulli_exp", "uniform", "choose")
# Those whose own tests show that they go on rightly after a step that failed.
RECOVERING = (FoldedCounterRun, OneShotRun, SeriesRun)
STEPPED = [sample for sample in SAMPLES if isinstance(sample.recipe.start(Zero()), Run)]


class Interrupted(Zero):
    """No noise, and somebody presses Ctrl-C at a draw, each time after the first ``calls``."""

    calls = 1 << 30


def _interrupting(law: str) -> Any:
    def draw(self: Interrupted, *given: Any, **named: Any) -> Any:
        self.calls -= 1
        if self.calls < 0:
            raise KeyboardInterrupt
        return getattr(super(Interrupted, self), law)(*given, **named)

    return draw


for _law in LAWS:
    if hasattr(Zero, _law):
        setattr(Interrupted, _law, _interrupting(_law))


@pytest.mark.parametrize("sample", STEPPED, ids=lambda sample: type(sample.recipe).__name__)
def test_no_run_goes_on_after_an_interrupted_step(sample: Sample) -> None:
    for calls in range(3):
        noise = Interrupted()
        run = sample.recipe.start(noise)
        noise.calls = calls
        try:
            for x in sample.inputs:
                run.step(x)
        except KeyboardInterrupt:
            noise.calls = 1 << 30
        else:
            return  # it draws no more than that
        if isinstance(run, RECOVERING):
            continue
        with pytest.raises(RunSpent, match="interrupted within a step"):
            run.step(sample.inputs[-1])
        with pytest.raises(RunSpent, match="interrupted within a step"):
            run.snapshot()


def test_a_look_that_is_interrupted_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for sample in SAMPLES:
        run = sample.recipe.start(Zero())
        with monkeypatch.context() as patch:
            patch.setattr(type(run), "_parts", _stopped)
            with pytest.raises(KeyboardInterrupt):
                run.snapshot()
        assert run.snapshot() == run.snapshot()


def _stopped(self: object) -> Any:
    raise KeyboardInterrupt
