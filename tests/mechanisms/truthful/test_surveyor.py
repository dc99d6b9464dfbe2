"""The surveyor's auction and the costs of privacy: who is bought, what they get, what they lose."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.truthful import (
    SurveyorAuction,
    TwoOutcomeVote,
    information_cost,
    largest_information,
    outcome_cost,
    surveyor_for_accuracy,
)
from ameles.noise import Tape, Zero
from tests.mechanisms.truthful.recorded import Recorded


def auction(values: Any, budget: Any = 2, **given: Any) -> SurveyorAuction:
    return SurveyorAuction(privacy_values=values, budget=budget, neighbours="replace", **given)


def utility(values: list[int], agent: int, told: int, budget: Any) -> Fraction:
    """What an agent has of naming this value: the payment minus what the loss costs."""
    named = [told if one == agent else value for one, value in enumerate(values)]
    try:
        survey = auction(named, budget)
    except BadInput:  # nobody can be bought
        return Fraction(0)
    if agent not in survey.bought:
        return Fraction(0)
    return survey.payment - values[agent] * survey.epsilon


@pytest.mark.parametrize("budget", [1, 3, 7])
def test_naming_the_true_value_is_best_and_nobody_loses(budget: int) -> None:
    for values in itertools.combinations_with_replacement((1, 4, 6), 4):
        for agent in range(4):
            honest = utility(list(values), agent, values[agent], budget)
            assert honest >= 0
            for lie in (1, 2, 4, 5, 6, 7):
                assert utility(list(values), agent, lie, budget) <= honest


@pytest.mark.parametrize("budget", [1, 2, 5, 30])
def test_the_budget_is_kept(budget: int) -> None:
    survey = auction([1, 2, 3, 4, 5, 6, 7, 8, 9], budget)
    assert survey.payment * survey.count <= budget
    k = survey.count
    prices = sorted(survey.privacy_values)
    assert prices[k - 1] * k <= budget * (9 - k)
    assert k == 8 or prices[k] * (k + 1) > budget * (9 - k - 1), "one more could be bought"


def test_the_noise_hides_a_bought_answer_and_others_are_not_looked_at() -> None:
    survey = auction([1, 3, 2, 9, 8, 7, 9, 9])
    noise = Recorded()
    survey.start(noise).step([1] * 8)
    assert noise.scale == 1 / survey.epsilon == 5
    answers = {
        survey.start(Zero()).step([1, 0, 1, *rest]) for rest in itertools.product((0, 1), repeat=5)
    }
    assert answers == {2 + 2.5}
    assert survey.start(Tape([-4])).step([1, 0, 1, 0, 0, 0, 0, 0]) == 0.5


def test_the_error_is_within_its_bound() -> None:
    survey = auction([1, 3, 2, 9, 8, 7, 9, 9])
    assert survey.error.bound(1, 1 / 3) <= 5 * (0.5 + math.log(3)) + 1
    ratio = math.exp(-1 / 5)
    inside = survey.error.bound(1, 0.05) - 2.5
    assert 2 * ratio ** (inside + 1) / (1 + ratio) <= 0.05


def test_an_accuracy_is_bought_with_as_few_answers_as_it_needs() -> None:
    survey = surveyor_for_accuracy(range(1, 101), error=80)
    assert survey.count == 100 - math.floor(80 / (0.5 + math.log(3)))
    assert survey.payment == survey.privacy_values[survey.count] / (100 - survey.count)
    with pytest.raises(BadInput, match="cannot be bought"):
        surveyor_for_accuracy([1, 2], error=1)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"budget": 0}, "Exactly one"),
        ({"buy": 1}, "Exactly one"),
        ({"budget": 0, "buy": 3}, "at most 2 can be bought"),
        ({"budget": "0.1"}, "buys no answer"),
        ({"values": [1, -2, 3]}, "below 0"),
        ({"values": []}, "values"),
        ({"values": "123"}, "values"),
    ],
)
def test_what_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        auction(**{"values": [1, 2, 3], **given})


@pytest.mark.parametrize("epsilon", ["0.1", 1, 4])
def test_no_measure_of_cost_exceeds_epsilon(epsilon: Any) -> None:
    recipe = TwoOutcomeVote(epsilon=epsilon, agents=3, neighbours="replace")
    for others in itertools.product((0, 1), repeat=2):
        laws = [recipe.law([vote, *others]) for vote in (0, 1)]
        for outcome in (0, 1):
            assert outcome_cost(*laws, outcome=outcome) <= float(recipe.epsilon) + 1e-12
        assert 0 < information_cost(*laws) <= largest_information(epsilon)


def test_costs_of_extreme_laws() -> None:
    assert outcome_cost([1, 0], [0.5, 0.5], outcome=1) == math.inf
    assert outcome_cost([1, 0], [1, 0], outcome=1) == 0
    for laws in (([0.5], [1.0]), ([0.5, 0.5], [1.0]), ([], []), ([1.5, -0.5], [0.5, 0.5])):
        with pytest.raises(BadInput, match="add up to 1"):
            information_cost(*laws)


@pytest.mark.parametrize("prior", [-0.5, 1.5, math.nan])
def test_a_prior_is_a_probability(prior: float) -> None:
    with pytest.raises(BadInput, match="prior"):
        information_cost([0.5, 0.5], [0.5, 0.5], prior=prior)


@pytest.mark.parametrize("outcome", [-1, 2])
def test_an_outcome_is_one_of_the_law(outcome: int) -> None:
    with pytest.raises(BadInput, match="outcome"):
        outcome_cost([0.5, 0.5], [0.5, 0.5], outcome=outcome)
