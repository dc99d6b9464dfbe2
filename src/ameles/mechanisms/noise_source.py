"""What a recipe asks of the noise that a run is started with."""

from __future__ import annotations

from ameles.core.exceptions import BadInput
from ameles.core.mechanism import Noise


def check_noise(noise: Noise, recipe: object, *, forgetful: bool) -> None:
    """Refuses what is no source of noise, and for a state that may be seized one that remembers."""
    if isinstance(noise, type) or not hasattr(noise, "laplace"):
        kind = noise if isinstance(noise, type) else type(noise)
        raise BadInput(
            f"A run draws from a source of noise. Got {kind.__name__} instead.",
            why="all randomness reaches a run through the noise that it is started with",
            tip="ledger.start(recipe, ...), or recipe.start(System()) for research",
        )
    if forgetful and not noise.forgetful:
        raise BadInput(
            f"{type(recipe).__name__} must draw straight from the operating system.",
            why="its state may be seized, and a keystream in memory tells its future noise",
            tip="start(System.direct())",
        )
