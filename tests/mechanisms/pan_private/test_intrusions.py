"""Which intrusions can be asked for, and why not more."""

from __future__ import annotations

from typing import Any

import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Intrusions
from ameles.mechanisms.pan_private.counter import PanPrivateCounter, PanPrivateRun
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.place_run import PanPrivatePlaceRun
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.mechanisms.pan_private.tree_run import PanPrivateTreeRun
from ameles.noise import Zero

EACH = pytest.mark.parametrize(
    "kind",
    [PanPrivateCounter, PanPrivateTreeCounter, PanPrivatePlaceCounter],
    ids=lambda kind: kind.__name__,
)


@EACH
@pytest.mark.parametrize("wanted", ["every", "two", Intrusions.EVERY, Intrusions.NONE, 2, None])
def test_what_is_impossible_is_refused_with_its_theorem(kind: Any, wanted: Any) -> None:
    with pytest.raises(BadInput, match=r"sqrt\(n\)(.|\n)*Thm 4.3(.|\n)*SimpleTwoCounter"):
        kind(epsilon=1, horizon=8, intrusions=wanted)


@EACH
def test_announcing_to_a_run_that_is_not_prepared_is_refused(kind: Any) -> None:
    run = kind(epsilon=1, horizon=8).start(Zero())
    assert isinstance(run, PanPrivateRun | PanPrivateTreeRun | PanPrivatePlaceRun)
    before = run.snapshot()
    with pytest.raises(BadInput, match=rf"{kind.__name__}\(..., intrusions='announced'\)"):
        run.announce()
    assert run.snapshot() == before


@EACH
@pytest.mark.parametrize("intrusions", ["announced", Intrusions.ANNOUNCED])
def test_intrusions_are_kept_as_what_they_mean(kind: Any, intrusions: Any) -> None:
    recipe = kind(epsilon=1, horizon=8, intrusions=intrusions)
    assert recipe.intrusions is Intrusions.ANNOUNCED
    assert kind.from_dict({"epsilon": 1, "horizon": 8, "intrusions": "announced"}) == recipe
    assert '"intrusions":"announced"' in recipe.to_json()
    assert kind(epsilon=1, horizon=8).guarantee.intrusions is Intrusions.ONE
