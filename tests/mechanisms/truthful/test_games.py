"""Large games: what one player changes, and how good the advice is."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.laplace import equal_sums
from ameles.mechanisms.truthful import LargeGame, beach_or_mountain
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


@pytest.mark.parametrize("swap", [False, True])
def test_every_small_game_is_within_alpha(swap: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """All reports of three players, and every way in which crowds are off by the same number."""
    monkeypatch.setattr(equal_sums, "quantile", lambda *_: 500.0)
    tastes = [[["1", "0"], ["0", "1/2"]], [["0", "1/4"], ["1", "0"]]]
    game = LargeGame(
        epsilon=1, agents=3, utilities=tastes, rounds=4, swap=swap, neighbours="replace"
    )
    alpha = game.error.bound(1, 0.5)
    worst = max(
        regret(game, list(reports), Tape(list(errors)), swap=swap)
        for reports in itertools.combinations_with_replacement((0, 1), 3)
        for errors in itertools.product((-500, 500), repeat=4)
    )
    assert alpha / 4 < worst <= alpha < 1


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
