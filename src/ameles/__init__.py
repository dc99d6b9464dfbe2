"""Ameles publishes live statistics about people under differential privacy.

The names below are the public ones; everything else may change without notice.
"""

from ameles.core.exceptions import (
    AmelesError,
    BadInput,
    BudgetExceeded,
    HorizonReached,
    MissingExtra,
    PlanError,
    StoreRefused,
)
from ameles.core.guarantee import (
    EVENT,
    USER,
    Contribution,
    Guarantee,
    Intrusions,
    Neighbours,
    Norm,
    Unit,
    user_window,
)
from ameles.core.loss import Approx, Concentrated, Pure
from ameles.core.release import Release
from ameles.ledger import Ledger
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.buffered import BufferedCounter
from ameles.mechanisms.counters.choose import compare, counter
from ameles.mechanisms.counters.elders import EldersCounter
from ameles.mechanisms.counters.gaussian_binary import GaussianBinaryCounter
from ameles.mechanisms.counters.honaker import HonakerCounter
from ameles.mechanisms.counters.hybrid import HybridCounter
from ameles.mechanisms.counters.k_ary import KAryCounter
from ameles.mechanisms.counters.psum import PSumCounter
from ameles.mechanisms.counters.real import Grid
from ameles.mechanisms.counters.segments import SegmentedCounter
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.counters.toeplitz import ToeplitzCounter
from ameles.mechanisms.counters.tree import TreeCounter
from ameles.mechanisms.counters.two_level import TwoLevelCounter
from ameles.mechanisms.counters.views import interval_total, monotone

__all__ = [
    "EVENT",
    "USER",
    "AmelesError",
    "Approx",
    "BadInput",
    "BinaryCounter",
    "BudgetExceeded",
    "BufferedCounter",
    "Concentrated",
    "Contribution",
    "EldersCounter",
    "GaussianBinaryCounter",
    "Grid",
    "Guarantee",
    "HonakerCounter",
    "HorizonReached",
    "HybridCounter",
    "Intrusions",
    "KAryCounter",
    "Ledger",
    "MissingExtra",
    "Neighbours",
    "Norm",
    "PSumCounter",
    "PlanError",
    "Pure",
    "Release",
    "SegmentedCounter",
    "SiblingsCounter",
    "SimpleOneCounter",
    "SimpleTwoCounter",
    "StoreRefused",
    "ToeplitzCounter",
    "TreeCounter",
    "TwoLevelCounter",
    "Unit",
    "compare",
    "counter",
    "interval_total",
    "monotone",
    "user_window",
]
