"""A frozen dataclass with parameters, and numbers to give it."""

from __future__ import annotations

from dataclasses import dataclass

from ameles.core.parameters import (
    Bound,
    Contributions,
    Epsilon,
    Horizon,
    Number,
    OptionalHorizon,
    Width,
)


@dataclass(frozen=True, kw_only=True)
class Example:
    """One field of each kind, as recipes declare them."""

    epsilon: Epsilon = Epsilon()
    half: Number = Number(0, 1, "0.5")
    horizon: Horizon = Horizon()
    limit: OptionalHorizon = OptionalHorizon()
    width: Width = Width()
    steps: Contributions = Contributions()
    bound: Bound = Bound()
