"""Each broken mechanism is caught, with the loss that it really has where that is known."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

from ameles.audit import Finding, Instant, Verdict, exact_loss
from tests.audit import mutants
from tests.audit.mutant_list import MUTANTS

CERTIFIED, REFUTED = Verdict.CERTIFIED, Verdict.REFUTED
PAGE = Path(__file__).parents[2] / "docs" / "audit.md"
# The four that an earlier audit certified.
ONCE_CERTIFIED = {
    "a resume that redraws open groups",
    "one noise for all keys",
    "an exact sum outside of the snapshot",
    "exact above ten million",
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_mutant_is_caught(name: str) -> None:
    mutant = MUTANTS[name]
    found = mutant.audit()
    assert found.verdict is mutant.verdict, str(found)
    if isinstance(found, Finding):
        assert mutant.said in found.how
        if mutant.loss is not None:
            assert found.exact == mutant.loss
        if mutant.verdict is not REFUTED:
            assert found.upper == math.inf


def test_there_are_enough_of_them_and_the_page_has_them_all() -> None:
    assert len(MUTANTS) >= 40
    assert set(MUTANTS) >= ONCE_CERTIFIED
    table = PAGE.read_text(encoding="utf-8").partition("## Mutants")[2]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", table, re.MULTILINE)
    listed = [(each.kind, name, each.verdict.value) for name, each in MUTANTS.items()]
    assert rows[1:] == listed


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
