"""A local randomizer leaves reports, and nothing from which they were made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ameles.mechanisms.local import MarginalResponse, MeanResponse, UnaryEncoding
from ameles.mechanisms.local.marginals import parity_masks
from ameles.noise import Tape, Zero
from tests.leftovers import Leftovers
from tests.mechanisms.local.test_randomizers import SMALL
from tests.mechanisms.pan_private.test_wiped import Handed

WIPED: tuple[Any, ...] = (
    *SMALL,
    MeanResponse(largest=5, odds=3),
    MarginalResponse(attributes=3, odds=3),
)


def left_by(recipe: Any, values: Any) -> set[str]:
    """Where something is left after a call that gave reports; the reports are public."""
    noise = Handed()
    masks = [parity_masks(3, 2)] if isinstance(recipe, MarginalResponse) else []
    with Leftovers() as left:
        reports = recipe.start(noise).feed(values)
    public = {id(one if one.base is None else one.base) for one in (values, reports, *masks)}
    drawn = {"drawn"} if any(one.any() for one in noise.arrays) else set()
    return drawn | {where for held, where in left.arrays() if held.any() and id(held) not in public}


@pytest.mark.parametrize("recipe", WIPED, ids=repr)
@pytest.mark.parametrize("kind", ["i8", "u4"])
def test_no_value_and_no_draw_is_left(recipe: Any, kind: str) -> None:
    values = np.array([1, 0, 1, 1, 9, 2, 0], dtype=kind)
    assert left_by(recipe, values) == set()
    assert values.tolist() == [1, 0, 1, 1, 9, 2, 0], "what the caller has is the caller's"


@pytest.mark.parametrize("recipe", WIPED, ids=repr)
def test_a_report_takes_its_draws_and_no_more(recipe: Any) -> None:
    tape = Tape()
    recipe.start(tape).feed([0, 1, None])
    each = recipe.categories if isinstance(recipe, UnaryEncoding) else 1
    assert tape.laws == [("uniform", recipe.draws[1])] * (3 * each)


def test_values_that_are_left_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("randomizer", "response"):
        monkeypatch.setattr(f"ameles.mechanisms.local.{module}.wipe", lambda *arrays: None)
        assert left_by(SMALL[0], np.array([1, 0, 1]))
        monkeypatch.undo()


class NoNoise(Exception):
    """The operating system gives no bytes."""


def test_values_are_wiped_if_the_noise_fails() -> None:
    class Broken(Zero):
        def uniform(self, n: int, size: Any) -> Any:
            raise NoNoise

    values = np.array([1, 0, 1])
    with Leftovers() as left, pytest.raises(NoNoise):
        SMALL[0].start(Broken()).feed(values)
    assert [where for held, where in left.arrays() if held.any() and held is not values] == []
