"""All broken mechanisms that the audit must catch, with what it says about each.

The table in ``docs/audit.md`` has the same rows.  An audit is what a user can run: ``exact_loss``,
or ``enumerated_loss`` where a mechanism is not linear.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ameles.audit import Enumerated, Finding, Verdict, exact_loss
from ameles.mechanisms.mechanism import AnyMechanism
from tests.audit import broken_encoded as encoded
from tests.audit import broken_laws, mutants, pan_private
from tests.audit import mutants_of_calls as calls
from tests.audit import mutants_of_claims as claims
from tests.audit import mutants_of_memory as memory
from tests.audit import mutants_of_others as others
from tests.audit import mutants_of_releases as releases
from tests.audit import mutants_of_sight as sight
from tests.audit import mutants_of_types as types
from tests.audit import mutants_of_uses as uses
from tests.audit import mutants_of_values as values
from tests.audit import mutants_of_weights as weights
from tests.audit.broken_encoded import SHORT, cut, filtered
from tests.audit.mutants_of_others import RELATION, TWO, compared

NOT_CERTIFIED, NOT_LINEAR = Verdict.NOT_CERTIFIED, Verdict.NOT_LINEAR


@dataclass(frozen=True)
class Mutant:
    """A broken mechanism: its audit, and what that must say."""

    kind: str
    audit: Callable[[], Finding | Enumerated]
    verdict: Verdict
    loss: Fraction | float | None = None  # where it is known: a multiple of epsilon 1, or infinite
    said: str = ""  # in ``how``


def refuted(
    kind: str, recipe: AnyMechanism, loss: float | Fraction | None, said: str = ""
) -> Mutant:
    return Mutant(kind, lambda: exact_loss(recipe), Verdict.REFUTED, loss, said)


def caught(kind: str, recipe: AnyMechanism, verdict: Verdict, said: str) -> Mutant:
    return Mutant(kind, lambda: exact_loss(recipe), verdict, None, said)


def over_four(kind: str, recipe: AnyMechanism, loss: float | Fraction | None, said: str) -> Mutant:
    steps = min(4, recipe.steps or 4)
    return Mutant(kind, lambda: exact_loss(recipe, steps=steps), Verdict.REFUTED, loss, said)


def cut_short(recipe: AnyMechanism, verdict: Verdict, said: str = "") -> Mutant:
    return Mutant("Gaussian", lambda: exact_loss(recipe, steps=12), verdict, None, said)


def enumerated(kind: str, audit: Callable[[], Enumerated]) -> Mutant:
    return Mutant(kind, audit, Verdict.REFUTED)


FOUR: dict[str, Any] = {"epsilon": 1, "horizon": 4}
TWO_STEPS: dict[str, Any] = {"epsilon": 1, "horizon": 2}
RESUMED = "runs resumed before every"
KEYS = "3 keys at once are not 3 counters"
LEAK = "has no noise and shows it"
LARGE = "large inputs are treated in another way"

MUTANTS: dict[str, Mutant] = {
    # the noise of a counter
    "scale off by two": refuted("counter", mutants.HalfTheNoise(epsilon=1, horizon=8), Fraction(2)),
    "one level too few, as printed": refuted(
        "counter", mutants.CeilingOfTheLogarithm(epsilon=1, horizon=8), Fraction(4, 3)
    ),
    "a root without its level": refuted(
        "counter", mutants.RootWithoutItsLevel(epsilon=1, horizon=8, root=True), Fraction(4, 3)
    ),
    "contributions ignored": refuted(
        "counter",
        mutants.OneContributionOnly(epsilon=1, horizon=6, contributions=2, bound=3),
        Fraction(11, 6),
    ),
    "noise reused": refuted("counter", mutants.ReusesNoise(**FOUR), math.inf),
    "noise reused with a flipped sign": refuted(
        "counter", mutants.FlipsReusedNoise(**FOUR), math.inf
    ),
    "a skipped node": refuted("counter", mutants.SkipsANode(**FOUR), math.inf),
    "an exact answer at the last step": refuted("counter", mutants.TellsTheEnd(**FOUR), math.inf),
    "noise drawn anew for each use": refuted(
        "counter", mutants.DrawsAgainForEachUse(epsilon=1, horizon=8), Fraction(2)
    ),
    "past the horizon": refuted("counter", mutants.NeverEnds(**FOUR), Fraction(2)),
    "twice the draw": caught(
        "counter", mutants.TwiceTheDraw(epsilon=1, horizon=3), NOT_CERTIFIED, "not whole"
    ),
    "float weights": caught(
        "counter",
        mutants.FloatWeights(epsilon=1, horizon=3),
        NOT_LINEAR,
        "not the sum of the effects",
    ),
    "rounded float weights": caught(
        "counter",
        mutants.RoundedFloatWeights(epsilon=1, horizon=3),
        NOT_LINEAR,
        "not the sum of the effects",
    ),
    "weights that do not sum to one": caught(
        "counter", mutants.WrongEighths(epsilon=1, horizon=2), NOT_CERTIFIED, "no whole shift"
    ),
    "draws that depend on the input": caught(
        "counter", mutants.DrawsByInput(**FOUR), NOT_LINEAR, "what is drawn depends on the inputs"
    ),
    "a level of hats left out": refuted(
        "counter", weights.LevelLeftOut(epsilon=1, horizon=8, window=4), None
    ),
    # the neighbours that a claim is about
    **{
        name: over_four("claim", recipe, loss, said)
        for name, (recipe, loss, said) in claims.REFUTED.items()
    },
    "a bound in units of unknown sensitivities": caught(
        "claim", claims.SENSITIVITIES, NOT_CERTIFIED, "says nothing about the numbers"
    ),
    "a smaller claim for vectors": caught(
        "claim", claims.LESS_FOR_VECTORS, NOT_LINEAR, "its guarantee for 3 keys"
    ),
    # other calls
    "a resume that redraws open groups": refuted(
        "resuming", calls.RedrawsOpenGroups(epsilon=1, horizon=8), Fraction(2), RESUMED
    ),
    "no noise after a resume": refuted(
        "resuming", calls.ResumesWithoutNoise(**FOUR), math.inf, RESUMED
    ),
    "open noise lost in a resume": caught(
        "resuming", calls.ResumesWithoutOpenNoise(**FOUR), NOT_LINEAR, RESUMED
    ),
    "a filter that starts again in a resume": caught(
        "resuming", calls.ResumesAFreshFilter(rho=1, horizon=4), NOT_LINEAR, RESUMED
    ),
    "no noise in single steps": caught(
        "calls", mutants.StepsWithoutNoise(**FOUR), NOT_LINEAR, "not the sum of the effects"
    ),
    "half the noise in single steps": refuted(
        "calls", calls.QuietSteps(**FOUR), Fraction(2), "single steps"
    ),
    "no noise in a step after a feed": refuted(
        "calls", calls.StepsBareAfterFeeds(**FOUR), math.inf, "several feeds"
    ),
    "the same noise in every feed": refuted(
        "calls", calls.SameNoiseForEveryFeed(**FOUR), math.inf, "several feeds"
    ),
    # keys
    "one noise for all keys": refuted("keys", calls.OneNoiseForAllKeys(**FOUR), math.inf, KEYS),
    "keys with mirrored noise": refuted("keys", calls.MirroredKeys(**FOUR), math.inf, KEYS),
    "keys that share noise over time": refuted(
        "keys", calls.KeysShareOverTime(**FOUR), math.inf, KEYS
    ),
    "half the noise for later keys": refuted(
        "keys", calls.QuietLaterKeys(**FOUR), Fraction(2), KEYS
    ),
    "one filter for all keys": caught(
        "keys", filtered(encoded.OneNoiseForAllKeys), NOT_LINEAR, "changes with the steps"
    ),
    # seized states
    "an exact sum in the state": refuted("state", mutants.ExactSumInState(**FOUR), math.inf),
    "noise only at the tick": refuted("state", mutants.NoiseAtTheTick(**FOUR), math.inf),
    "an unsafe state": refuted("state", mutants.ClaimsItsStateIsSafe(**FOUR), math.inf),
    "a pan-private share too few": refuted(
        "state", pan_private.OneShareTooFew(**FOUR), Fraction(3, 2)
    ),
    "a state seized twice": refuted("state", pan_private.SeizedTwice(**FOUR), math.inf),
    "expired noise in the state": refuted("state", pan_private.KeepsExpiredNoise(**FOUR), math.inf),
    "an exact sum outside of the snapshot": refuted(
        "memory", memory.SumInAnAttribute(**TWO_STEPS), math.inf, LEAK
    ),
    "an exact sum in a closure": refuted(
        "memory", memory.SumInAClosure(**TWO_STEPS), math.inf, LEAK
    ),
    "an exact sum in a generator": refuted(
        "memory", memory.SumInAGenerator(**TWO_STEPS), math.inf, LEAK
    ),
    "an exact sum in a slot": refuted("memory", memory.SumInASlot(**TWO_STEPS), math.inf, LEAK),
    "an exact sum in bytes": caught("memory", memory.SumInBytes(**TWO_STEPS), NOT_LINEAR, "memory"),
    "an exact sum in the run's class": refuted(
        "memory", memory.SumInItsClass(**TWO_STEPS), math.inf, LEAK
    ),
    "an exact sum in the recipe": refuted(
        "memory", memory.SumInItsRecipe(**TWO_STEPS), math.inf, LEAK
    ),
    "an exact sum beside a view": refuted(
        "memory", memory.SumBesideAView(**TWO_STEPS), math.inf, LEAK
    ),
    "the open step's input in memory": refuted(
        "memory", memory.KeepsTheOpenInput(**TWO_STEPS), math.inf, LEAK
    ),
    "an exact sum in an integer with a text of its own": refuted(
        "memory", memory.SumInASilentInteger(**TWO_STEPS), math.inf, LEAK
    ),
    "an exact sum in a list that says it is empty": refuted(
        "memory", memory.SumInAnEmptyList(**TWO_STEPS), math.inf, LEAK
    ),
    "an exact sum under a mask": refuted(
        "memory", memory.SumUnderAMask(**TWO_STEPS), math.inf, LEAK
    ),
    "an exact sum in a default argument": refuted(
        "memory", memory.SumInADefault(**TWO_STEPS), math.inf, LEAK
    ),
    "an exact sum in a tuple of the run's class": refuted(
        "memory", memory.SumInATuple(**TWO_STEPS), math.inf, LEAK
    ),
    "coins with an exact sum": caught(
        "memory", memory.CoinsWithASum(**TWO_STEPS), NOT_LINEAR, "tell more than the reported bits"
    ),
    # inputs
    "exact above ten million": caught(
        "inputs", values.ExactAboveTenMillion(**FOUR), NOT_LINEAR, LARGE
    ),
    "exact below minus ten million": caught(
        "inputs", values.ExactBelowMinusTenMillion(**FOUR), NOT_LINEAR, LARGE
    ),
    "large inputs folded without noise": caught(
        "inputs", values.FoldsLargeInputsBare(**FOUR), NOT_LINEAR, LARGE
    ),
    "exact after an input that cancels a release": caught(
        "inputs", values.AnswersAnEcho(**FOUR), NOT_LINEAR, "chosen by the releases"
    ),
    **{
        name: caught("branches", recipe, NOT_LINEAR, said)
        for name, (recipe, said) in values.BRANCHES.items()
    },
    **{
        name: refuted("uses", recipe, math.inf, said)
        for name, (recipe, said) in uses.REFUTED.items()
    },
    # what carries a release, and what carries inputs
    "exact sums behind a view": refuted("releases", releases.VIEW, math.inf, LEAK),
    **{
        name: caught("releases", recipe, NOT_LINEAR, said)
        for name, (recipe, said) in releases.NOT_LINEAR.items()
    },
    **{
        name: refuted("types", recipe, loss, said)
        for name, (recipe, loss, said) in types.REFUTED.items()
    },
    **{
        name: caught("types", recipe, NOT_LINEAR, said)
        for name, (recipe, said) in types.NOT_LINEAR.items()
    },
    # out of sight
    **{
        name: caught("sight", recipe, NOT_LINEAR, said)
        for name, (recipe, said) in sight.NOT_LINEAR.items()
    },
    "no noise beyond half the modulus": enumerated("sight", sight.beyond(2)),
    "no noise beyond a million": enumerated("sight", sight.beyond(10**6)),
    # Gaussian noise
    "half the variance": refuted(
        "Gaussian", mutants.HalfTheVariance(epsilon=1, horizon=6), Fraction(2)
    ),
    "a filter with one hundredth less": refuted(
        "Gaussian", encoded.QuietToeplitz(rho=1, horizon=6, contributions=3, bound=2), None
    ),
    "a cascade for one contribution": refuted(
        "Gaussian", encoded.RootOfStepsBuffered(rho=1, horizon=6, contributions=3), None
    ),
    "later segments with less noise": cut_short(
        encoded.LaterSegmentsQuiet(**SHORT), Verdict.REFUTED
    ),
    "a share that is paid twice": cut_short(weights.WholeLossInside(**SHORT), Verdict.REFUTED),
    "normalised columns taken for orthogonal": refuted(
        "Gaussian", weights.RootOfStepsNormalised(rho=1, horizon=6, contributions=3), None
    ),
    "segments that share noise": cut_short(cut(encoded.ReusedNoise), NOT_LINEAR, "weight one"),
    "totals that share noise": cut_short(
        cut(encoded.TotalsOfOne), NOT_LINEAR, "changes with the steps"
    ),
    "two variances in one filter": caught(
        "Gaussian", filtered(encoded.TwoVariances), NOT_LINEAR, "not of one law"
    ),
    "another law in the run": caught(
        "Gaussian", broken_laws.LaplaceInItsRun(rho=1, horizon=6), NOT_LINEAR, "another law"
    ),
    # one look
    "a sensitivity ignored": refuted(
        "one-shot", others.SensitivityIgnored(epsilon=1, sensitivity=2, **RELATION), Fraction(2)
    ),
    "a large number without noise": caught(
        "one-shot", others.ExactIfLarge(epsilon=1, **RELATION), NOT_LINEAR, LARGE
    ),
    "a deviation in place of a variance": refuted(
        "one-shot",
        others.DeviationForVariance(rho="1/4", sensitivity=2, **RELATION),
        Fraction(4, 3),
    ),
    "empty bins without noise": enumerated(
        "one-shot",
        compared(
            others.QuietEmptyBins(epsilon=2, bins=2, neighbours="add-remove"),
            [[0, 1]],
            [[1, 1]],
            modulus=5,
        ),
    ),
    "one noise for all scores": enumerated(
        "one-shot",
        compared(others.OneNoiseForAllScores(epsilon=2, **TWO), [[0, 1]], [[1, 0]], modulus=5),
    ),
    "noisy max as printed": enumerated(
        "one-shot",
        compared(others.NoisyMaxAsPrinted(epsilon=2, **TWO), [[0, 2]], [[1, 1]], modulus=25),
    ),
    "an exponential mechanism without its two": enumerated(
        "one-shot",
        compared(others.TwiceTheRate(epsilon=2, **TWO), [[0, 3]], [[1, 2]], modulus=3),
    ),
    "permute and flip without its two": enumerated(
        "one-shot",
        compared(others.FlipsTooFew(epsilon=2, **TWO), [[0, 1]], [[1, 0]], modulus=3),
    ),
    # over time
    "a fresh threshold for each query": enumerated(
        "transformation", compared(others.vector("fresh threshold"), [0] * 4, [1] * 4, modulus=5)
    ),
    "the compared value as the answer": enumerated(
        "transformation",
        compared(others.vector("same value", answer_epsilon=2), [0, 0], [1, -1], modulus=7),
    ),
    "exact queries against a noisy threshold": enumerated(
        "transformation",
        compared(
            others.NoQueryNoise(threshold_epsilon=1, query_epsilon=2, aboves=1, **RELATION),
            [0, 1],
            [1, 0],
            modulus=7,
        ),
    ),
    "a transformation that publishes its answers": enumerated("transformation", others.transformed),
}
