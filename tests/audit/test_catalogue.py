"""Every mechanism of the catalogue keeps its claim, by the audit of its code."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from ameles.audit import Verdict, exact, exact_loss
from ameles.audit.subjects import subjects, variants
from ameles.audit.trials import Trials
from ameles.core.loss import Pure
from ameles.mechanisms.catalogue import COUNTERS
from ameles.mechanisms.counters.gaussian.segments import SegmentedCounter
from ameles.mechanisms.counters.gaussian.smooth import SmoothCounter
from ameles.mechanisms.counters.gaussian.steps import GaussianStepsCounter
from ameles.mechanisms.counters.hats.endless import EndlessHatsCounter
from ameles.mechanisms.counters.hats.window import HatsWindowCounter
from ameles.mechanisms.counters.hybrid import INSIDE, HybridCounter
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.counters.two_level import TwoLevelCounter
from ameles.mechanisms.local import RandomizedResponseCounter
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter

HORIZONS = [*range(1, 17), 31, 32, 33]
# What a counter without a horizon shows in fewer steps is part of what it shows in more, so the
# longest stream certifies all of them; the shortest are kept, since an end is a special case.
WITHOUT_A_HORIZON = (
    SimpleTwoCounter,
    HybridCounter,
    GaussianStepsCounter,
    SegmentedCounter,
    SmoothCounter,
    HatsWindowCounter,
    EndlessHatsCounter,
    RandomizedResponseCounter,
)
LONGEST_ALONE = [1, 2, 3, 33]
# Later the cheapest shift is not whole, and the search for a whole one gives up.  The theorem's
# shift is whole: tests/mechanisms/counters/hats/endless_identity.py has it.
LONGEST_OF_ENDLESS_HATS = [1, 2, 3, 24]
# Before the first cell of their hats is full, they lose less than their whole shifts show.
EXACT_ONLY_LATER: dict[type[CounterRecipe], int] = {HatsWindowCounter: 3, EndlessHatsCounter: 3}
# Other ways to call a mechanism are tried at these; they depend on the horizon by its digits alone.
TRIED = {1, 2, 3, 5, 13, 33}


# Where the state may be seized there are views for each instant, and four kinds of recipe;
# tests/mechanisms/pan_private has longer horizons, and ameles audit --all does them all.
SEIZED = (PanPrivateCounter, PanPrivateTreeCounter, PanPrivatePlaceCounter)
LONGEST: dict[type[CounterRecipe], list[int]] = dict.fromkeys(WITHOUT_A_HORIZON, LONGEST_ALONE)
LONGEST[EndlessHatsCounter] = LONGEST_OF_ENDLESS_HATS
PAIRS = [
    (kind, T)
    for kind in COUNTERS
    for T in LONGEST.get(kind, HORIZONS)
    if T in (1, 2, 5) or kind not in SEIZED
]


def test_those_without_a_horizon_are_listed() -> None:
    recipes = subjects(epsilon=1, horizon=5)
    endless = {type(recipe) for recipe in recipes if recipe.guarantee.horizon is None}
    assert endless - set(SEIZED) == set(WITHOUT_A_HORIZON)


@pytest.fixture
def no_trials(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Leaves the trials out of the audits that follow."""
    return lambda: monkeypatch.setattr(exact, "trials_of", lambda *given: Trials())


@pytest.mark.parametrize(("kind", "horizon"), PAIRS, ids=str)
def test_the_claim_is_certified(
    kind: type[CounterRecipe], horizon: int, no_trials: Callable[[], None]
) -> None:
    if horizon not in TRIED:
        no_trials()
    for recipe in subjects([kind.__name__], epsilon="1/3", horizon=horizon):
        finding = exact_loss(recipe, steps=horizon)
        assert finding.verdict is Verdict.CERTIFIED, finding
        if isinstance(finding.claimed, Pure) and not kind.bits:  # whose loss is irrational
            early = horizon <= EXACT_ONLY_LATER.get(kind, 0)
            assert early or finding.exact is not None, finding
            assert finding.lower > 0


@pytest.mark.parametrize(("steps", "loss"), [(3, "1/2"), (7, "1"), (15, "1"), (31, "1"), (64, "1")])
def test_the_known_losses_of_the_hybrid(steps: int, loss: str) -> None:
    # catalogue 6, Chan-Shi-Song as written
    assert exact_loss(HybridCounter(epsilon=1), steps=steps).exact == Fraction(loss)


@pytest.mark.parametrize(("horizon", "block"), [(9, 3), (10, 4), (16, 4)])
def test_the_known_losses_of_two_levels(horizon: int, block: int) -> None:
    # catalogue 4
    assert exact_loss(TwoLevelCounter(epsilon=1, horizon=horizon, block=block)).exact == 1


@pytest.mark.parametrize("inside", sorted(INSIDE))
def test_the_hybrid_with_any_counter_inside(inside: str) -> None:
    recipe = HybridCounter(epsilon=1, inside=inside, growth=4, first=2, share="1/5")
    assert exact_loss(recipe, steps=20).verdict is Verdict.CERTIFIED


@pytest.mark.parametrize(("contributions", "bound"), [(2, 1), (3, 5), (20, 2)])
@pytest.mark.parametrize("kind", COUNTERS, ids=lambda kind: str(kind.__name__))
def test_the_claim_about_several_steps_is_certified(
    kind: type[CounterRecipe], contributions: int, bound: int, no_trials: Callable[[], None]
) -> None:
    no_trials()  # how a mechanism is called has nothing to do with whom it protects
    for horizon in (1, 4) if kind in SEIZED else (1, 4, 7):
        for plain in variants(kind, epsilon=Fraction(1), horizon=horizon):
            most = 1 if kind.bits else bound
            changed = plain.to_dict() | {"contributions": contributions, "bound": most}
            recipe = kind.from_dict({k: changed[k] for k in changed.keys() - {"recipe", "version"}})
            finding = exact_loss(recipe, steps=horizon)
            assert finding.verdict is Verdict.CERTIFIED, finding
