"""Pan-private counters with shares by place, for tests."""

from __future__ import annotations

from typing import Any

from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter

# Full and cut-off trees, of two and three levels, with nodes that do not exist in every place.
SHAPES: list[dict[str, Any]] = [
    {"horizon": 4, "radices": (2, 2), "rungs": (10,)},
    {"horizon": 7, "radices": (2, 2, 2), "rungs": (7, 5)},
    {"horizon": 6, "radices": (2, 3), "rungs": (0, 5)},
    {"horizon": 5, "radices": (2, 3), "rungs": (1, 99)},
]
LAWS = [
    *SHAPES,
    {"horizon": 27, "radices": (3, 3, 3), "rungs": (10, 0, 0, 6)},
    {"horizon": 30, "radices": (2, 4, 4), "rungs": (9, 5, 0, 12, 0, 3)},
]


def place(**given: Any) -> PanPrivatePlaceCounter:
    return PanPrivatePlaceCounter(**{"epsilon": 1, **given})
