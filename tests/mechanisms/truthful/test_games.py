"""Games with a billboard: what one player changes, and how good the advice is."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.truthful import (
    CongestionGame,
    LargeGame,
    PriceDiscovery,
    beach_or_mountain,
)
from ameles.mechanisms.truthful import billboard as boards
from ameles.mechanisms.truthful.billboard import OpenBillboard
from ameles.mechanisms.truthful.large_game import GRID, Learner
from ameles.noise import System, Tape, Zero

ROCK_PAPER = [[["0.5", "0", "1"], ["1", "0.5", "0"], ["0", "1", "0.5"]]]


def regret(game: LargeGame, reports: list[int], noise: Any, *, swap: bool = False) -> float:
    """What the best deviation of any player gains against the true crowds of all rounds."""
    x = game.checked(reports)
    plays, _ = game.rounds_of(x, noise)
    worth = np.array(game.utilities, dtype=float)
    players = np.bincount(x, minlength=len(worth))
    crowds = np.einsum("k,rka->ra", players, plays)
    worst = -1.0
    for kind in set(reports):
        others = (crowds - plays[:, kind]) / (GRID * (game.agents - 1))
        pays = others @ worth[kind].T  # rounds by actions
        mixed = plays[:, kind] / GRID
        own = (mixed * pays).sum(axis=1).mean()
        if swap:  # after each advised action, its best replacement
            moved = np.einsum("ra,rb->ab", mixed, pays) / game.rounds
            worst = max(worst, float(moved.max(axis=1).sum() - own))
        else:
            worst = max(worst, float(pays.mean(axis=0).max() - own))
    return worst


@pytest.mark.parametrize("swap", [False, True])
def test_nobody_gains_more_than_alpha_by_disobeying(swap: bool) -> None:
    # the bound fails with probability 1e-6
    game = LargeGame(
        epsilon=2, agents=20_000, utilities=ROCK_PAPER, rounds=40, swap=swap, neighbours="replace"
    )
    alpha = game.error.bound(1, 1e-6)
    assert alpha < 1
    for noise in (Zero(), System()):
        assert regret(game, [0] * 20_000, noise, swap=swap) <= alpha


def test_exponential_weights_alone_leave_more_swap_regret_than_the_swap_learner() -> None:
    kinds = [[["0.5", "0", "1"], ["1", "0.5", "0"], ["0", "1", "0.5"]], [["1", "0", "0"]] * 3]
    games = [
        LargeGame(
            epsilon=1, agents=100, utilities=kinds, rounds=400, swap=swap, neighbours="replace"
        )
        for swap in (False, True)
    ]
    assert games[0].error.bound(1, 0.1) <= games[1].error.bound(1, 0.1)
    assert regret(games[1], [0] * 99 + [1], Zero(), swap=True) < 0.2


def test_one_player_changes_each_crowd_by_at_most_the_reach() -> None:
    """For any published crowds, play depends on the type alone: the joint privacy of the game."""
    for game in (
        beach_or_mountain(players=3, epsilon=1, rounds=3),
        LargeGame(
            epsilon=1,
            agents=3,
            utilities=ROCK_PAPER * 2,
            rounds=3,
            neighbours="replace",
        ),
    ):
        reach = game.scale * game.epsilon / game.rounds
        for published in itertools.product((0, GRID, 5 * GRID), repeat=2):
            learner = Learner(game)
            for count in published:
                play = learner.play()
                assert (play.sum(axis=1) == GRID).all()
                assert play.min() >= 0
                for one, other in itertools.product(play, repeat=2):
                    assert np.abs(one - other)[:-1].sum() <= reach
                seen = np.array([count] + [GRID] * (game.actions - 2) + [0])
                learner.learn(play, seen)


def test_advice_follows_the_plays_of_all_rounds() -> None:
    game = beach_or_mountain(players=3, epsilon=1, rounds=2)
    silent = game.start(Zero()).step([0, 0, 1])
    assert silent.actions == (0, 0, 0)
    total = game.rounds_of(game.checked([0, 0, 1]), Zero())[0].sum(axis=0)
    # two crowds without noise, then a draw for each player: the first unit of the second action
    drawn = game.start(Tape([0, 0, int(total[0, 0]), int(total[0, 0]) - 1, 0])).step([0, 0, 1])
    assert drawn.actions == (1, 0, 0)
    assert len(drawn.crowds) == 2


def test_the_known_answer_of_beach_and_mountain() -> None:
    """Both crowds are equilibria; a mountain lover has 5 of 10 in one and 10 in the other.

    So if one report of 101 decides which of them is chosen, it is worth 5 (catalogue 56).
    """
    worth = np.array(beach_or_mountain(players=101, epsilon=1).utilities, dtype=float) * 10
    for place, crowd in enumerate(np.eye(2)):
        for kind in (0, 1):  # nobody wants to be elsewhere alone
            assert (worth[kind] @ crowd).argmax() == place
    assert [worth[1][place][place] for place in (0, 1)] == [5, 10]


def test_a_false_report_can_gain_more_than_any_disobedience() -> None:
    """The promise is about opting out: who exaggerates a taste changes the game that is solved."""
    tastes = [[["1", "0"], ["0", "1/2"]], [["1/2", "0"], ["0", "1"]], [["0", "0"], ["0", "1"]]]
    game = LargeGame(epsilon=1, agents=11, utilities=tastes, rounds=200, neighbours="replace")
    honest = [0] * 5 + [1] * 6

    def worth(reports: list[int]) -> float:
        """What the last player, who mildly likes the mountain, has of obeying."""
        x = game.checked(reports)
        plays, _ = game.rounds_of(x, Zero())
        crowds = np.einsum("k,rka->ra", np.bincount(x, minlength=3), plays)
        others = (crowds - plays[:, reports[-1]]) / (GRID * 10)
        pays = others @ np.array(game.utilities, dtype=float)[1].T
        return float((plays[:, reports[-1]] / GRID * pays).sum(axis=1).mean())

    gained = worth([*honest[:-1], 2]) - worth(honest)
    assert gained > 0.14
    assert regret(game, honest, Zero()) < 0.03


class Watched(OpenBillboard):
    """Notes what every turn changes."""

    changes: list[np.ndarray[Any, Any]]

    def act(self, change: Any) -> None:
        self.changes.append(change.copy())
        super().act(change)


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    noted: list[Any] = []
    Watched.changes = noted
    monkeypatch.setattr(boards, "OpenBillboard", Watched)
    return noted


def acts(changes: list[Any], agents: int) -> list[list[int]]:
    """For each agent, by how much each of their turns changed the counts."""
    sizes = [int(np.abs(change).sum()) for change in changes]
    return [[size for size in sizes[agent::agents] if size] for agent in range(agents)]


@pytest.mark.parametrize("noise", [Zero(), System()], ids=["zero", "system"])
def test_a_player_acts_as_often_as_the_counter_hides(noise: Any, changes: list[Any]) -> None:
    game = CongestionGame(
        epsilon="0.1",  # so much noise that players run to and fro
        agents=6,
        rounds=9,
        moves=2,
        margin=0,
        worth=[["1", "0.8", "0"], ["0", "1", "1"]],
        neighbours="replace",
    )
    game.start(noise).step([0, 0, 0, 1, 1, 1])
    assert len(changes) == game.turns
    for turns in acts(changes, 6):
        assert len(turns) <= game.board.acts == 3
        assert max(turns) <= game.board.reach == 2
    assert game.board.counter.guarantee.contribution.steps == 3
    assert game.board.counter.guarantee.contribution.bound == 2


@pytest.mark.parametrize("noise", [Zero(), System()], ids=["zero", "system"])
def test_a_bidder_bids_as_often_as_the_counter_hides(noise: Any, changes: list[Any]) -> None:
    market = PriceDiscovery(
        epsilon="0.1",
        agents=5,
        supply=[1, 2],
        reserve=0,
        units=20,
        step=1,
        rounds=12,
        bids=4,
        neighbours="replace",
    )
    values = [[20, 19], [18, 20], [20, 20], [15, 3], [7, 7]]
    market.start(noise).step(values)
    for turns in acts(changes, 5):
        assert len(turns) <= market.board.acts == 4
        assert max(turns, default=0) <= market.board.reach == 1


def test_players_at_rest_are_in_equilibrium() -> None:
    game = CongestionGame(
        epsilon=1,
        agents=10,
        rounds=12,
        moves=11,
        margin="0.05",
        worth=[["1", "0.7", "0.2"], ["0.1", "1", "0.9"]],
        neighbours="replace",
    )
    reports = [0] * 6 + [1] * 4
    settled = game.start(Zero()).step(reports)
    counts = np.bincount(settled.places, minlength=3)
    assert settled.crowds == tuple(counts.tolist())
    for kind, place in zip(reports, settled.places, strict=True):
        pays = [
            float(game.worth[kind][other]) - (counts[other] + (other != place)) / 10
            for other in range(3)
        ]
        assert max(pays) - pays[place] <= 0.05 + 1e-12
    assert game.error.bound(1, 0.05) > 0.05


def test_the_market_clears_at_its_prices() -> None:
    market = PriceDiscovery(
        epsilon=1,
        agents=6,
        supply=[2, 1],
        reserve=0,
        units=20,
        step=1,
        rounds=60,
        bids=60,
        neighbours="replace",
    )
    values = [[20, 5], [18, 9], [15, 15], [9, 2], [4, 12], [1, 0]]
    sold = market.start(Zero()).step(values)
    goods = [good for good in sold.goods if good is not None]
    assert goods.count(0) == 2
    assert goods.count(1) == 1
    for own, good in zip(values, sold.goods, strict=True):
        gains = [value - price for value, price in zip(own, sold.prices, strict=True)]
        if good is None:  # nothing is worth more than its price, but for the last step
            assert max(gains) <= market.step
        else:
            assert max(gains) <= own[good] - sold.prices[good] + 2 * market.step


def test_the_reserve_covers_the_error_of_the_counts() -> None:
    # one bound at 1e-6: it fails about never
    given: dict[str, Any] = {
        "epsilon": 20,
        "agents": 300,
        "units": 10,
        "step": 2,
        "rounds": 4,
        "bids": 4,
        "neighbours": "replace",
    }
    probe = PriceDiscovery(supply=[10**6], reserve=0, **given)
    reserve = int(probe.error.bound(1, 1e-6)) + 1
    market = PriceDiscovery(supply=[reserve + 60], reserve=reserve, **given)
    sold = market.start(System()).step([[value % 11] for value in range(300)])
    assert sum(good == 0 for good in sold.goods) <= reserve + 60
    assert market.gain == pytest.approx(1.0)


@pytest.mark.parametrize(
    "given",
    [
        {"utilities": [[["1"]]]},
        {"utilities": [[["1", "0"], ["0", "1"], ["0", "1"]]]},
        {"agents": 1},
        {"rounds": 0},
        {"neighbours": "add-remove"},
    ],
)
def test_games_that_are_none_are_refused(given: dict[str, Any]) -> None:
    fine: dict[str, Any] = {
        "epsilon": 1,
        "agents": 2,
        "utilities": ROCK_PAPER,
        "rounds": 2,
        "neighbours": "replace",
    }
    with pytest.raises(BadInput):
        LargeGame(**{**fine, **given})


@pytest.mark.parametrize(
    ("name", "value"),
    [("worth", [["1"], ["1", "0"]]), ("worth", [["2"]]), ("worth", []), ("worth", "10")],
)
def test_values_of_places_are_a_table_from_zero_to_one(name: str, value: Any) -> None:
    with pytest.raises(BadInput, match=name):
        CongestionGame(
            epsilon=1,
            agents=2,
            rounds=1,
            moves=1,
            margin=0,
            neighbours="replace",
            **{name: value},
        )


def test_supplies_are_whole_numbers_above_the_reserve() -> None:
    given: dict[str, Any] = {
        "epsilon": 1,
        "agents": 2,
        "units": 3,
        "step": 1,
        "rounds": 1,
        "bids": 1,
        "neighbours": "replace",
    }
    with pytest.raises(BadInput, match="reserve"):
        PriceDiscovery(supply=[3, 5], reserve=3, **given)
    with pytest.raises(BadInput, match="supply"):
        PriceDiscovery(supply=[0], reserve=0, **given)
    assert PriceDiscovery(supply=[4], reserve=3, **given).loss.epsilon == Fraction(1)
