"""Each broken counter is caught, with the loss that it really has where that is known."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from ameles.audit import Instant, Verdict, exact_loss
from ameles.mechanisms.counters.recipe import CounterRecipe
from tests.audit import mutants, pan_private

CERTIFIED, REFUTED = Verdict.CERTIFIED, Verdict.REFUTED

# The recipe, and its exact loss: infinite, or a multiple of the claim.
REFUTABLE: dict[str, tuple[CounterRecipe, float | Fraction]] = {
    "scale off by two": (mutants.HalfTheNoise(epsilon=1, horizon=8), Fraction(2)),
    "contributions ignored": (
        mutants.OneContributionOnly(epsilon=1, horizon=6, contributions=2, bound=3),
        Fraction(11, 6),
    ),
    "noise reused": (mutants.ReusesNoise(epsilon=1, horizon=4), math.inf),
    "noise reused with a flipped sign": (mutants.FlipsReusedNoise(epsilon=1, horizon=4), math.inf),
    "a skipped node": (mutants.SkipsANode(epsilon=1, horizon=4), math.inf),
    "an exact answer at the last step": (mutants.TellsTheEnd(epsilon=1, horizon=5), math.inf),
    "noise drawn anew for each use": (
        mutants.DrawsAgainForEachUse(epsilon=1, horizon=8),
        Fraction(2),
    ),
    "half the variance": (mutants.HalfTheVariance(epsilon=1, horizon=6), Fraction(2)),
    "past the horizon": (mutants.NeverEnds(epsilon=1, horizon=4), Fraction(2)),
    "an exact sum in the state": (mutants.ExactSumInState(epsilon=1, horizon=4), math.inf),
    "noise only at the tick": (mutants.NoiseAtTheTick(epsilon=1, horizon=4), math.inf),
    "an unsafe state": (mutants.ClaimsItsStateIsSafe(epsilon=1, horizon=4), math.inf),
    "a pan-private share too few": (
        pan_private.OneShareTooFew(epsilon=1, horizon=4),
        Fraction(3, 2),
    ),
    "a state seized twice": (pan_private.SeizedTwice(epsilon=1, horizon=4), math.inf),
    "expired noise in the state": (pan_private.KeepsExpiredNoise(epsilon=1, horizon=4), math.inf),
}

# The recipe, the verdict, and what the audit says about it.
OTHERWISE_CAUGHT: dict[str, tuple[CounterRecipe, Verdict, str]] = {
    "twice the draw": (
        mutants.TwiceTheDraw(epsilon=1, horizon=3),
        Verdict.NOT_CERTIFIED,
        "not whole",
    ),
    "float weights": (
        mutants.FloatWeights(epsilon=1, horizon=3),
        Verdict.NOT_LINEAR,
        "not the sum of the effects",
    ),
    "rounded float weights": (
        mutants.RoundedFloatWeights(epsilon=1, horizon=3),
        Verdict.NOT_LINEAR,
        "not the sum of the effects",
    ),
    "weights that do not sum to one": (
        mutants.WrongEighths(epsilon=1, horizon=2),
        Verdict.NOT_CERTIFIED,
        "no whole shift",
    ),
    "draws that depend on the input": (
        mutants.DrawsByInput(epsilon=1, horizon=4),
        Verdict.NOT_LINEAR,
        "what is drawn depends on the inputs",
    ),
    "another code for steps": (
        mutants.StepsWithoutNoise(epsilon=1, horizon=4),
        Verdict.NOT_LINEAR,
        "not the sum of the effects",
    ),
}


@pytest.mark.parametrize("name", REFUTABLE)
def test_the_claim_is_refuted(name: str) -> None:
    recipe, loss = REFUTABLE[name]
    finding = exact_loss(recipe)
    assert finding.verdict is REFUTED
    assert finding.lower == loss
    assert finding.exact == loss


@pytest.mark.parametrize("name", OTHERWISE_CAUGHT)
def test_the_claim_is_not_certified(name: str) -> None:
    recipe, verdict, said = OTHERWISE_CAUGHT[name]
    finding = exact_loss(recipe)
    assert finding.verdict is verdict
    assert said in finding.how
    assert finding.upper == math.inf


def test_there_are_enough_of_them() -> None:
    # two more are in the tests below
    assert len(REFUTABLE) + len(OTHERWISE_CAUGHT) + 2 >= 20


@pytest.mark.parametrize(
    ("horizon", "ratio"),
    [(2, "2"), (4, "3/2"), (8, "4/3"), (16, "5/4"), (64, "7/6")],
)
def test_the_level_count_of_the_source_text(horizon: int, ratio: str) -> None:
    finding = exact_loss(mutants.CeilingOfTheLogarithm(epsilon=1, horizon=horizon))
    assert (finding.verdict, finding.exact) == (REFUTED, Fraction(ratio))
    assert str(finding.worst) == "step 1 by 1"


@pytest.mark.parametrize("horizon", [3, 5, 6, 7, 9, 15, 33])
def test_the_level_count_of_the_source_text_is_right_elsewhere(horizon: int) -> None:
    finding = exact_loss(mutants.CeilingOfTheLogarithm(epsilon=1, horizon=horizon))
    assert (finding.verdict, finding.exact) == (CERTIFIED, 1)


@pytest.mark.parametrize(
    ("horizon", "ratio"), [(2, Fraction(2)), (4, Fraction(3, 2)), (8, Fraction(4, 3))]
)
def test_a_root_with_the_levels_of_the_figure(horizon: int, ratio: Fraction) -> None:
    finding = exact_loss(mutants.RootWithoutItsLevel(epsilon=1, horizon=horizon, root=True))
    assert (finding.verdict, finding.exact) == (REFUTED, ratio)


def test_where_the_worst_pair_is() -> None:
    end = exact_loss(mutants.TellsTheEnd(epsilon=1, horizon=5))
    assert str(end.worst) == "step 1 by 1"
    assert "has no noise" in end.how
    late = exact_loss(mutants.NoiseAtTheTick(epsilon=1, horizon=3), views=[(Instant(0, True),)])
    assert str(late.worst) == "step 1 by 1; state seen with an input added to step 1"
    assert late.exact == math.inf
    after = exact_loss(mutants.NoiseAtTheTick(epsilon=1, horizon=3), views=[(Instant(1),)])
    assert after.verdict is CERTIFIED
    beyond = exact_loss(mutants.NeverEnds(epsilon=1, horizon=4))
    assert beyond.steps == 8
    assert beyond.how.startswith("it runs past its horizon of 4; ")
