"""Findings: verdicts follow from bounds, and everything prints."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

from ameles.audit import Finding, Instant, Pair, Verdict
from ameles.audit.finding import Amount
from ameles.core.loss import Approx, Concentrated, Loss, Pure


def finding_of(lower: Amount, upper: Amount, claimed: Loss | None = None) -> Finding:
    return Finding(
        mechanism="Some",
        steps=3,
        claimed=claimed or Pure(1),
        lower=lower,
        upper=upper,
        worst=Pair(((2, -1), (3, 4)), (Instant(2, added=True),)),
        how="somehow",
        tried=("this", "that"),
    )


@pytest.mark.parametrize(
    ("lower", "upper", "verdict", "computed"),
    [
        (Fraction(1), Fraction(1), Verdict.CERTIFIED, "1"),
        (Fraction(0), Fraction(1), Verdict.CERTIFIED, "at most 1"),
        (Fraction(1), Fraction(3, 2), Verdict.NOT_CERTIFIED, "1 to 1.5"),
        (Fraction(1), math.inf, Verdict.NOT_CERTIFIED, "at least 1"),
        (Fraction(4, 3), Fraction(3, 2), Verdict.REFUTED, "4/3 to 1.5"),
        (math.inf, math.inf, Verdict.REFUTED, "infinite"),
    ],
)
def test_verdicts(lower: Amount, upper: Amount, verdict: Verdict, computed: str) -> None:
    finding = finding_of(lower, upper)
    assert (finding.verdict, finding.computed) == (verdict, computed)
    assert verdict.value in str(finding)


@pytest.mark.parametrize("claimed", [Pure("1/2"), Approx("1/2", "1e-6"), Concentrated("1/2")])
def test_the_limit_is_the_number_of_the_claim(claimed: Loss) -> None:
    assert finding_of(Fraction(0), Fraction(1, 2), claimed).limit == Fraction(1, 2)


def test_the_worst_pair_in_words() -> None:
    assert str(finding_of(Fraction(1), Fraction(1)).worst) == (
        "step 2 by -1, step 3 by 4; state seen with an input added to step 3"
    )
    assert str(Pair(((1, 1),), (Instant(0),))) == "step 1 by 1; state seen before step 1"
    assert str(Pair(((1, 1),), (Instant(2),))) == "step 1 by 1; state seen after step 2"


def test_findings_are_json() -> None:
    plain = json.loads(json.dumps(finding_of(Fraction(1, 3), math.inf).to_dict()))
    assert plain == {
        "mechanism": "Some",
        "steps": 3,
        "horizon": None,
        "claimed": {"currency": "pure", "epsilon": "1"},
        "intrusions": "none",
        "lower": "1/3",
        "upper": "inf",
        "exact": None,
        "verdict": "not certified",
        "worst": {
            "changes": [{"step": 2, "by": -1}, {"step": 3, "by": 4}],
            "seen": [{"step": 2, "within": "added", "announced": None}],
        },
        "how": "somehow",
        "covers": [],
        "tried": ["this", "that"],
        "unseen": [],
    }
