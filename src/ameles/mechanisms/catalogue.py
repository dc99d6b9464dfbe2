"""The list of all mechanisms: every generic check runs on each, and JSON is read through it.

>>> recipe_from_json(SimpleTwoCounter(epsilon=0.5).to_json()) == SimpleTwoCounter(epsilon=0.5)
True
"""

from __future__ import annotations

from ameles.core import recipe
from ameles.core.recipe import Recipe
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.buffered import BufferedCounter
from ameles.mechanisms.counters.elders import EldersCounter
from ameles.mechanisms.counters.gaussian_binary import GaussianBinaryCounter
from ameles.mechanisms.counters.honaker import HonakerCounter
from ameles.mechanisms.counters.hybrid import HybridCounter
from ameles.mechanisms.counters.k_ary import KAryCounter
from ameles.mechanisms.counters.psum import PSumCounter
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.segments import SegmentedCounter
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.counters.toeplitz import ToeplitzCounter
from ameles.mechanisms.counters.tree import TreeCounter
from ameles.mechanisms.counters.two_level import TwoLevelCounter

MECHANISMS: tuple[type[CounterRecipe], ...] = (
    SimpleOneCounter,
    SimpleTwoCounter,
    PSumCounter,
    TwoLevelCounter,
    BinaryCounter,
    TreeCounter,
    KAryCounter,
    HonakerCounter,
    EldersCounter,
    SiblingsCounter,
    HybridCounter,
    GaussianBinaryCounter,
    ToeplitzCounter,
    BufferedCounter,
    SegmentedCounter,
)


def recipe_from_json(text: str) -> Recipe:
    """The recipe that ``to_json`` wrote."""
    return recipe.recipe_from_json(text, {kind.__name__: kind for kind in MECHANISMS})
