"""Nothing that holds secret arrays or numbers shows them when it is printed."""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import pytest

import ameles.mechanisms
from ameles.core.exceptions import NoCopy
from ameles.mechanisms.discovery import KeyDiscovery, KeyOutputs
from ameles.mechanisms.one_shot.smooth_median import SmoothMedian
from ameles.noise import System
from ameles.noise.arrays import IntArray

ARRAYS = ("Array", "Floats", "Words", "ndarray", "list[", "dict[", "Sequence[str")
# These print arrays that are public: laws of noise, shapes of trees, and what was released.
PUBLIC = {
    "Cluster",
    "Coefficients",
    "Crossing",
    "Demands",
    "Directions",
    "Frequencies",
    "LevelNodes",
    "Marginal",
    "NodeRow",
    "Path",
    "ScaledSums",
    "Spectrum",
    "Sums",
    "TopCells",
    "Walk",
    "WeightedSum",
    "_EndingNodes",
}


def printing(kinds: Iterator[type]) -> set[str]:
    """The dataclasses of these whose own representation has an array."""
    found = set()
    for kind in kinds:
        if is_dataclass(kind) and hasattr(kind.__repr__, "__wrapped__"):  # made by dataclasses
            shown = [str(one.type) for one in fields(kind) if one.repr]
            if any(part in text for text in shown for part in ARRAYS):
                found.add(kind.__name__)
    return found


def kinds() -> Iterator[type]:
    for module in pkgutil.walk_packages(ameles.mechanisms.__path__, "ameles.mechanisms."):
        for one in vars(importlib.import_module(module.name)).values():
            if isinstance(one, type) and one.__module__ == module.name:
                yield one


def test_only_public_arrays_are_printed() -> None:
    assert printing(kinds()) - PUBLIC == set()


def test_a_class_that_prints_an_array_is_noticed() -> None:
    @dataclass(frozen=True)
    class Earlier:
        on_key: IntArray

    assert printing(iter([Earlier, KeyDiscovery])) == {"Earlier"}


def outputs() -> KeyOutputs:
    """A step whose key has the number 3: three others were seen before it."""
    run = KeyDiscovery(epsilon=6, delta="1e-9", horizon=12, records=4, looks=12).start(System())
    run.step({"a": (0, 1), "b": (0, 1), "c": (0, 1)})
    out = run.step({"d": (40_000, 57_005)})
    assert out.public.tolist() == [3]
    return out


def test_outputs_of_a_step_print_no_number_of_a_key() -> None:
    texts = {repr(outputs()), str(outputs()), f"{outputs()}"}
    assert texts == {"<outputs of a step: 1 discovered, 0 dropped, 1 public>"}


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_outputs_of_a_step_do_not_leave_the_process(way: Any) -> None:
    with pytest.raises(NoCopy, match="numbers of keys"):
        way(outputs())


def test_the_error_on_a_table_does_not_print_its_scale() -> None:
    recipe = SmoothMedian(epsilon=1, rows=5, largest=10**6, neighbours="replace")
    errors = [recipe.error_for(table) for table in ([5] * 5, [0, 5, 9, 7777, 10**6])]
    assert errors[0].scale != errors[1].scale
    assert repr(errors[0]) == repr(errors[1])
    assert np.array([errors[0].bound(1, 0.05), errors[1].bound(1, 0.05)]).min() > 0
