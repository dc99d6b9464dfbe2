"""What an attacker can learn, in tables: known answers, and nothing that says too little."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from ameles.core.guarantee import USER
from ameles.core.loss import Approx, Concentrated, Loss, Pure
from ameles.engine.running import attacker as module
from ameles.engine.running.attacker import CHANCES, PRIORS, attacker, tables
from ameles.plan.plan import read_plan_text
from ameles.plan.sections import PrivacySection

TEXT = """
[stream]
name = "s"
source = "-"
columns = {{ region = "text", user = "text" }}
start = "2026-01-01"
every = "1d"
horizon = 8
[privacy]
population = "people"
{privacy}
[[release]]
name = "visits"
measure = "count"
[store]
url = "s.db"
"""


def terms(privacy: str) -> PrivacySection:
    return read_plan_text(TEXT.format(privacy=privacy)).privacy


def of(table: dict[str, Any], prior: str, end: str = "high") -> float:
    return float(table[end][PRIORS.index(Fraction(prior))])


@pytest.mark.parametrize("units", [1, 2, 10])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_a_pure_loss_has_one_table_with_the_formula(epsilon: str, units: int) -> None:
    (table,) = tables(Pure(epsilon), units)
    assert table["chance"] is None
    for prior in ("1/1000", "1/100", "1/2", "97/100"):
        p, grown = float(Fraction(prior)), math.exp(float(epsilon) * units)
        assert 0 <= of(table, prior) - p * grown / (1 - p + p * grown) < 1.1e-6
        assert 0 <= p / (p + (1 - p) * grown) - of(table, prior, "low") < 1.1e-6


def test_the_ends_of_a_table_stay_where_they_are() -> None:
    for table in (*tables(Pure(3), 1), *tables(Concentrated(1), 1), *tables(Approx(1, "1e-5"), 1)):
        assert (table["high"][0], table["high"][-1]) == (0, 1)
        assert (table["low"][0], table["low"][-1]) == (0, 1)
        assert all(
            low <= p <= high
            for low, p, high in zip(table["low"], map(float, PRIORS), table["high"], strict=True)
        )


@pytest.mark.parametrize("loss", [Approx(1, "1e-5"), Concentrated("0.1")])
def test_other_losses_have_a_table_for_each_chance_and_none_without(loss: Loss) -> None:
    made = tables(loss, 1)
    assert [table["chance"] for table in made] == [float(chance) for chance in CHANCES]
    certain = [of(table, "1/2") for table in made]
    assert certain == sorted(certain), "the rarer the exception, the more may be learned"
    assert certain[0] > of(tables(Pure(1 if isinstance(loss, Approx) else 0), 1)[0], "1/2")


def test_a_chance_that_delta_exceeds_has_no_promise() -> None:
    first, second, third = tables(Approx(1, "1e-5"), 1)
    assert (first["promised"], second["promised"], third["promised"]) == (True, False, False)
    assert of(second, "1/1000") == 1.0, "anything is possible"
    assert of(second, "1/2", "low") == 0.0
    ten = tables(Approx(1, "0.01"), 10)
    assert [table["promised"] for table in ten] == [False] * 3, "delta of ten units is above 1"


def test_a_delta_of_zero_is_a_pure_loss() -> None:
    assert tables(Approx(1, 0), 2) == tables(Pure(1), 2)


def test_content_costs_two_units_and_a_person_as_many_as_there_are_events() -> None:
    told = attacker(terms('unit = "event"\nepsilon = 0.5'))
    (stream,) = told["losses"]
    assert [(one["about"], one["units"]) for one in stream["subjects"]] == [
        ("presence", 1),
        ("content", 2),
        ("presence", 2),
        ("presence", 5),
        ("presence", 10),
    ]
    assert {one["units"] for one in stream["subjects"]} == {t["units"] for t in stream["tables"]}
    assert "not one person" in stream["note"]
    assert stream["words"] == "epsilon 0.5"


def test_an_arrival_is_not_called_protected_where_it_is_not() -> None:
    seized = 'unit = "event"\nepsilon = 0.5\nintrusions = "one"'
    (stream,) = attacker(terms(seized))["losses"]
    assert "counted" in stream["subjects"][0]["text"]
    assert "when, is not protected" in stream["note"]


def test_users_are_told_about_users_and_windows() -> None:
    bounds = 'user = "user"\nmax_per_step = 1\nmax_steps = 2\nepsilon = 0.5\n'
    (stream,) = attacker(terms(f'unit = "user"\n{bounds}'))["losses"]
    assert "one user" in stream["subjects"][0]["text"]
    assert "person" not in stream["note"]
    window = f'unit = "user-window"\nwindow = "4d"\n{bounds}'
    (stream,) = attacker(terms(window))["losses"]
    assert "window" in stream["subjects"][0]["text"]
    assert "adds up" in stream["note"]


def test_the_population_is_told_by_its_own_loss_and_unit() -> None:
    told = attacker(terms('unit = "event"\nepsilon = 0.5'), Concentrated("0.2"), USER)
    own, all_together = told["losses"]
    assert (own["of"], all_together["of"]) == ("stream", "population")
    assert all_together["words"] == "rho 0.2"
    assert "one user" in all_together["subjects"][0]["text"]
    assert all_together["tables"][0] == tables(Concentrated("0.2"), 1)[0]


def test_a_table_that_is_rounded_to_the_nearest_would_say_too_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The check of the formula above sees a table that is rounded down."""
    monkeypatch.setattr(module, "ceil", lambda number: math.floor(number))
    broken = module._table(1, None, Fraction(1))
    grown = math.e / (1 + math.e)
    assert of(broken, "1/2") < grown


def test_every_plan_has_tables() -> None:
    """Also one whose loss is as large as a plan can have."""
    large = terms('unit = "event"\nepsilon = 1000')
    (stream,) = attacker(large)["losses"]
    assert of(stream["tables"][0], "1/1000") == 1.0
