"""Private choices: their law is that of the real code, their loss and what a lie gains are bounded.

All profiles, types and lies of small instances are tried.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.truthful import (
    DigitalGoodsAuction,
    MedianLocation,
    PunishingMechanism,
    TwoOutcomeVote,
    facility_location,
    largest_gain,
    smallest_punishment,
)
from ameles.noise import Tape
from tests.mechanisms.truthful.recorded import Recorded, chosen, loss

# Two types, three outcomes, two reactions.
UTILITIES = [
    [["1", "0"], ["0.5", "0.25"], ["0", "0.75"]],
    [["0", "0.5"], ["1", "0.5"], ["0.25", "0.5"]],
]
RECIPES: list[tuple[Any, int]] = [
    (
        PunishingMechanism(
            epsilon="0.8", agents=3, punish=0, utilities=UTILITIES, neighbours="replace"
        ),
        2,
    ),
    (MedianLocation(epsilon="0.8", agents=3, places=3, neighbours="replace"), 4),
    (DigitalGoodsAuction(epsilon="0.8", agents=3, prices=3, neighbours="replace"), 4),
]


@pytest.mark.parametrize(("recipe", "types"), RECIPES, ids=lambda one: type(one).__name__)
def test_the_law_is_that_of_the_real_code_and_hides_one_report(recipe: Any, types: int) -> None:
    worst = 0.0
    for profile in itertools.product(range(types), repeat=3):
        law = recipe.law(list(profile))
        assert law == pytest.approx(chosen(recipe, list(profile)), rel=1e-12)
        for lie in range(types):
            worst = max(worst, loss(law, recipe.law([lie, *profile[1:]])))
    assert 0.25 < worst <= 0.8 + 1e-12, "it claims much more than it loses, or less"


def test_the_vote_is_exactly_private_and_its_law_that_of_its_noise() -> None:
    recipe = TwoOutcomeVote(epsilon="0.8", agents=3, neighbours="replace")
    noise = Recorded()
    recipe.start(noise).step([1, 0, 1])
    assert noise.scale == Fraction(5, 2)
    ratio = math.exp(-0.4)
    shares = {k: (1 - ratio) / (1 + ratio) * ratio ** abs(k) for k in range(-200, 201)}
    worst = 0.0
    for votes in itertools.product((0, 1), repeat=3):
        one = sum(
            share
            for drawn, share in shares.items()
            if recipe.start(Tape([drawn])).step(list(votes)) == 1
        )
        law = recipe.law(list(votes))
        assert law == pytest.approx([1 - one, one], abs=1e-12)
        worst = max(worst, loss(law, recipe.law([1 - votes[0], *votes[1:]])))
    assert 0.5 < worst <= 0.8


@pytest.mark.parametrize("votes", list(itertools.product((0, 1), repeat=3)), ids=str)
def test_a_false_vote_only_helps_the_other_outcome(votes: tuple[int, ...]) -> None:
    recipe = TwoOutcomeVote(epsilon=1, agents=3, neighbours="replace")
    truth, lie = recipe.law(votes), recipe.law([1 - votes[0], *votes[1:]])
    assert lie[votes[0]] < truth[votes[0]]
    assert recipe.truthful_for(preference=0.5, cost=0.2)
    assert not recipe.truthful_for(preference=0.3, cost=0.2)


def test_reports_of_strength_are_exaggerated() -> None:
    """The text's variant: two noises on sums of cardinal reports (catalogue 61)."""

    def wins(margin: float, epsilon: float = 0.05) -> float:
        step = epsilon * margin
        return 1 - math.exp(-step) * (2 + step) / 4

    assert round(wins(0.6 - 0.4), 5) == 0.5025
    assert round(wins(1.0), 5) == 0.51249


@pytest.mark.parametrize(("recipe", "types"), RECIPES[1:2], ids=["MedianLocation"])
def test_a_lie_about_where_one_lives_gains_at_most_tanh(recipe: Any, types: int) -> None:
    best = 0.0
    for home, *others in itertools.product(range(types), repeat=3):
        worth = [1 - abs(home - place) / 3 for place in range(types)]
        honest = sum(p * u for p, u in zip(recipe.law([home, *others]), worth, strict=True))
        for lie in range(types):
            told = sum(p * u for p, u in zip(recipe.law([lie, *others]), worth, strict=True))
            best = max(best, told - honest)
    assert 0 < best <= recipe.gain == largest_gain(Fraction(4, 5))


def test_bidders_who_lie_together_gain_at_most_tanh_of_their_number() -> None:
    recipe = DigitalGoodsAuction(epsilon="0.8", agents=3, prices=3, neighbours="replace")

    def utility(value: int, bid: int, bids: list[int]) -> float:
        law = recipe.law(bids)
        return sum(p * (value - price) / 3 for price, p in enumerate(law, 1) if bid >= price)

    alone = together = 0.0
    for a, b, c in itertools.product(range(4), repeat=3):
        honest = utility(a, a, [a, b, c])
        for one, two in itertools.product(range(4), repeat=2):
            alone = max(alone, utility(a, one, [one, b, c]) - honest)
            together = max(together, utility(a, one, [one, two, c]) - honest)
    assert 0 < alone <= recipe.gain
    assert alone < together <= recipe.group_gain(2)


def gains(recipe: PunishingMechanism) -> list[float]:
    """What each lie gains, over all profiles of two other agents."""
    types = range(recipe.types)
    return [
        recipe.utility(0, type_, [lie, *others]) - recipe.utility(0, type_, [type_, *others])
        for type_ in types
        for lie in types
        if lie != type_
        for others in itertools.product(types, repeat=recipe.agents - 1)
    ]


@pytest.mark.parametrize("punish", ["0", "1/4", "3/4"])
def test_no_lie_gains_more_than_the_margin_says(punish: str) -> None:
    recipe = PunishingMechanism(
        epsilon="0.5", agents=3, punish=punish, utilities=UTILITIES, neighbours="replace"
    )
    assert recipe.gap == Fraction(1, 6)
    assert max(gains(recipe)) <= -recipe.margin + 1e-12
    assert recipe.truthful == (recipe.margin > 0)


def test_without_punishment_an_exaggeration_gains() -> None:
    only = [["1", "0"], ["0", "0"], ["0", "0"]]  # who wants the first outcome and nothing else
    recipe = PunishingMechanism(
        epsilon="0.5", agents=3, punish=0, utilities=[*UTILITIES, only], neighbours="replace"
    )
    assert 0 < max(gains(recipe)) <= recipe.gain


def test_enough_punishment_makes_every_lie_lose_and_not_less() -> None:
    least = smallest_punishment(Fraction(1, 6), largest_gain(Fraction(1, 2)))
    for punish, truthful in ((least * 1.001, True), (least * 0.999, False)):
        recipe = PunishingMechanism(
            epsilon="0.5", agents=3, punish=punish, utilities=UTILITIES, neighbours="replace"
        )
        assert recipe.truthful is truthful
    assert max(gains(recipe)) < 0, "the bound has room to spare"


def test_punished_agents_are_held_to_what_they_said() -> None:
    recipe = PunishingMechanism(
        epsilon=1, agents=2, punish=1, utilities=UTILITIES, neighbours="replace"
    )
    # the coin is true with probability one and draws nothing; then the outcome
    result = recipe.start(Tape([1, 2])).step([0, 1])
    assert result.outcome == 2
    assert result.allowed == ((1,), (1,))
    free = PunishingMechanism(
        epsilon=1, agents=2, punish=0, utilities=UTILITIES, neighbours="replace"
    )
    assert free.start(Tape([0, 1])).step([0, 1]).allowed == ((0, 1), (0, 1))


def test_the_law_of_a_punishing_mechanism_mixes_both_branches() -> None:
    recipe = PunishingMechanism(
        epsilon=1, agents=1, punish="1/3", utilities=UTILITIES, neighbours="replace"
    )
    chosen_law = chosen(recipe, [0])
    assert recipe.law([0]) == pytest.approx([2 / 3 * share + 1 / 9 for share in chosen_law])


@pytest.mark.parametrize("places", [2, 3])
def test_two_facilities_punish_every_lie(places: int) -> None:
    recipe = facility_location(places=places, facilities=2, epsilon="0.2", agents=2)
    assert recipe.gap >= Fraction(1, places) / recipe.outcomes  # gamma / |O|, and here more
    assert recipe.truthful
    assert recipe.outcomes == (places + 1) ** 2
    for home in range(recipe.types):
        for lie in set(range(recipe.types)) - {home}:
            for other in range(recipe.types):
                honest = recipe.utility(0, home, [home, other])
                assert recipe.utility(0, home, [lie, other]) < honest


def test_one_facility_cannot_punish() -> None:
    """Theorem 10.5 fails for k = 1: there is one reaction only (catalogue 58)."""
    points = [Fraction(place, 3) for place in range(4)]
    one = PunishingMechanism(
        epsilon=1,
        agents=2,
        punish="1/2",
        utilities=[[[1 - abs(home - spot)] for spot in points] for home in points],
        neighbours="replace",
    )
    assert one.gap == 0
    assert not one.truthful
    with pytest.raises(BadInput, match="nobody can be punished"):
        facility_location(places=3, facilities=1, epsilon=1, agents=2)
    assert facility_location(places=2, facilities=2, epsilon=1, agents=2, punish=0).punish == 0


def test_welfare_is_within_its_bound() -> None:
    recipe = PunishingMechanism(
        epsilon=2, agents=40, punish="1/10", utilities=UTILITIES, neighbours="replace"
    )
    reports = [0] * 30 + [1] * 10
    totals = [score / recipe.grid for score in recipe.scores(recipe.checked(reports)).tolist()]
    law = recipe.law(reports)
    below = [max(totals) - total for total in totals]
    beta = 0.15
    bound = recipe.error.bound(1, beta)
    assert sum(p for p, off in zip(law, below, strict=True) if off > bound) <= beta
    assert sum(p * off for p, off in zip(law, below, strict=True)) <= recipe.error.mean
    assert recipe.error.bound(1, 0.05) == 40, "punishment alone is likelier than that"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"utilities": [[["2"]]]}, "from 0 to 1"),
        ({"utilities": [[["1"], ["1", "0"]]]}, "same outcomes"),
        ({"utilities": []}, "same outcomes"),
        ({"utilities": [[[]]]}, "same outcomes"),
        ({"utilities": 3}, "utilities"),
        ({"utilities": [[["1/1000000007"]], [["1/998244353"]]]}, "denominator"),
        ({"neighbours": "add-remove"}, "come and go"),
        ({"punish": "1.5"}, "punish"),
    ],
)
def test_what_is_refused(given: dict[str, Any], why: str) -> None:
    fine: dict[str, Any] = {
        "epsilon": 1,
        "agents": 2,
        "punish": 0,
        "utilities": UTILITIES,
        "neighbours": "replace",
    }
    with pytest.raises(BadInput, match=why):
        PunishingMechanism(**{**fine, **given})


@pytest.mark.parametrize("reports", [[0], np.zeros(2), "01", np.zeros((2, 1), int), {0, 1}, None])
def test_reports_of_another_shape_are_refused(reports: Any) -> None:
    with pytest.raises(BadInput, match="one whole number for each of 2 agents"):
        TwoOutcomeVote(epsilon=1, agents=2, neighbours="replace").start(Recorded()).step(reports)


def test_a_report_that_is_no_type_counts_as_the_nearest() -> None:
    recipe = MedianLocation(epsilon=1, agents=3, places=3, neighbours="replace")
    assert chosen(recipe, [-5, 9, 2]) == chosen(recipe, [0, 3, 2])


def test_gains_are_of_losses_and_groups_that_can_be() -> None:
    assert largest_gain("0.1", group=5) == pytest.approx(math.tanh(0.25))
    for epsilon, group in (("-1", 1), (1, 0), (1, -3)):
        with pytest.raises(BadInput, match="parameter must be"):
            largest_gain(epsilon, group)


def test_the_law_of_a_vote_clamps_reports_as_the_vote_does() -> None:
    recipe = TwoOutcomeVote(epsilon=1, agents=3, neighbours="replace")
    assert recipe.law([7, -2, 10**30]) == recipe.law([True, False, True])


def test_a_facility_problem_that_no_machine_holds_is_refused_at_once() -> None:
    with pytest.raises(BadInput, match="fewer places"):
        facility_location(places=64, facilities=6, epsilon=1, agents=3)
