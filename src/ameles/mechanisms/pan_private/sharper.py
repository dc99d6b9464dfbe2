"""The sharper of two tables for the same fraction: cropped, or modular where counts are promised.

The cropped tables hold for any counts.  A public promise that counts stay below a bound makes
them residues, whose table has no weights to amplify its noise.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from ameles.core.guarantee import Neighbours
from ameles.core.parameters import Exact
from ameles.mechanisms.pan_private.estimate import Estimate
from ameles.mechanisms.pan_private.user_table import UserRecipe


class Terms(TypedDict):
    """What every table of users is told."""

    users: int
    neighbours: Neighbours | str
    epsilon_state: Exact
    epsilon_output: Exact
    releases: NotRequired[int]


def sharper(cropped: UserRecipe[Estimate], modular: UserRecipe[Estimate]) -> UserRecipe[Estimate]:
    """The one with the smaller standard deviation."""
    return min(cropped, modular, key=lambda recipe: recipe.error.std(1))
