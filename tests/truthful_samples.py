"""A sample of every mechanism with interested participants, for the checks that hold for all."""

from __future__ import annotations

from typing import Any

import numpy as np

from ameles.mechanisms.truthful import (
    CongestionGame,
    DigitalGoodsAuction,
    LargeGame,
    MedianLocation,
    PriceDiscovery,
    PrivateVcg,
    PunishingMechanism,
    SurveyorAuction,
    TwoOutcomeVote,
)
from tests.recipe_checks import Sample

CANARY = 8_675_309
THREE: dict[str, Any] = {"epsilon": "1/3", "agents": 3, "neighbours": "replace"}
# What is wrong about the whole input: no list, another number of agents, an array of another type.
BAD = (
    None,
    3,
    str(CANARY),
    {"user": CANARY},
    {CANARY},
    [3],
    [CANARY] * 4,
    np.array([1.0, 2.0, CANARY]),
    np.array([str(CANARY)] * 3),
    np.full((3, 2, 1), CANARY),
)


def reported(recipe: Any) -> Sample:
    return Sample(
        recipe=recipe,
        inputs=([1, 0, 1],),
        canary=CANARY,
        told=[CANARY, 0, 1],
        bad=BAD,
        odd=((lambda x: [1, x, 1], [1, 0, 1]), (lambda x: (x, 1, 0), [0, 1, 0])),
    )


def valued(recipe: Any) -> Sample:
    told = [[CANARY, 0], [1, 2], [0, 0]]
    return Sample(
        recipe=recipe,
        inputs=([[3, 1], [0, 2], [1, 1]],),
        canary=CANARY,
        told=told,
        bad=(*BAD, np.ones((3, 3), dtype=np.int64)),
        odd=(
            (lambda x: [[3, 1], x, [1, 1]], [[3, 1], [0, 0], [1, 1]]),
            (lambda x: [[3, 1], [2, x], [1, 1]], [[3, 1], [0, 0], [1, 1]]),
            (lambda x: [[3, 1], [2, 1, x], [1, 1]], [[3, 1], [0, 0], [1, 1]]),
        ),
    )


TRUTHFUL: tuple[Sample, ...] = (
    reported(
        PunishingMechanism(
            utilities=[[["1", "0"], ["1/2", "0"]], [["0", "1"], ["1/4", "1"]]],
            punish="1/2",
            **THREE,
        )
    ),
    reported(MedianLocation(places=1000, **THREE)),
    reported(DigitalGoodsAuction(prices=5, **THREE)),
    reported(TwoOutcomeVote(**THREE)),
    reported(SurveyorAuction(privacy_values=[1, 2, 3], budget=1, neighbours="replace")),
    reported(LargeGame(utilities=[[["1", "0"], ["0", "1/2"]]] * 2, rounds=2, swap=True, **THREE)),
    reported(CongestionGame(worth=[["1", "1/2"]] * 2, rounds=2, moves=1, margin="1/10", **THREE)),
    valued(PrivateVcg(payment_epsilon="1/2", outcomes=2, units=3, **THREE)),
    valued(PriceDiscovery(supply=[1, 2], reserve=0, units=3, step=1, rounds=2, bids=2, **THREE)),
)
