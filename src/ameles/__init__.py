"""Ameles publishes live statistics about people under differential privacy.

The names below are public, and so are those in ``__all__`` of ``ameles.mechanisms.one_shot``,
``ameles.mechanisms.interactive``, ``ameles.mechanisms.discovery``, and of ``ameles.query``,
``.noise``, ``.accounting``, ``.audit``, ``.plot`` and ``.testing``.  Everything else may
change without notice.
"""

from ameles.core.exceptions import (
    AmelesError,
    BadInput,
    BudgetExceeded,
    HorizonReached,
    MissingExtra,
    NoCopy,
    PlanError,
    RunSpent,
    SourceUnreadable,
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
from ameles.mechanisms.continual.afresh import Afresh
from ameles.mechanisms.continual.estimators.distinct import ExactDistinct, NoisyDistinct
from ameles.mechanisms.continual.estimators.noisy_counts import (
    NoisyCropped,
    NoisyHeavy,
    NoisyIncidence,
)
from ameles.mechanisms.continual.modular_once import ModularOnce
from ameles.mechanisms.continual.monitor import WindowMonitor
from ameles.mechanisms.continual.monitors import WindowMonitors
from ameles.mechanisms.continual.monotone import continual_monotone
from ameles.mechanisms.continual.renewed import Renewed
from ameles.mechanisms.continual.sparse_vector import SparseVector, above_threshold
from ameles.mechanisms.continual.transformation import HALTED, Continual, continual
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.choose import compare, counter
from ameles.mechanisms.counters.elders import EldersCounter
from ameles.mechanisms.counters.gaussian.binary import GaussianBinaryCounter
from ameles.mechanisms.counters.gaussian.buffered import BufferedCounter
from ameles.mechanisms.counters.gaussian.normalised import NormalisedCounter
from ameles.mechanisms.counters.gaussian.segments import SegmentedCounter
from ameles.mechanisms.counters.gaussian.smooth import SmoothCounter
from ameles.mechanisms.counters.gaussian.steps import GaussianStepsCounter
from ameles.mechanisms.counters.gaussian.toeplitz import ToeplitzCounter
from ameles.mechanisms.counters.grid import Grid
from ameles.mechanisms.counters.hats.counter import HatsCounter
from ameles.mechanisms.counters.hats.endless import EndlessHatsCounter
from ameles.mechanisms.counters.hats.window import HatsWindowCounter
from ameles.mechanisms.counters.honaker import HonakerCounter
from ameles.mechanisms.counters.hybrid import HybridCounter
from ameles.mechanisms.counters.k_ary import KAryCounter
from ameles.mechanisms.counters.post_processing import interval_total, monotone
from ameles.mechanisms.counters.psum import PSumCounter
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.counters.tree import TreeCounter
from ameles.mechanisms.counters.two_level import TwoLevelCounter
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.cropped_mean import CroppedMean
from ameles.mechanisms.pan_private.density import Density
from ameles.mechanisms.pan_private.dynamic import DynamicDensity
from ameles.mechanisms.pan_private.estimate import Estimate
from ameles.mechanisms.pan_private.heavy_hitters import HeavyHitters, heavy_hitters
from ameles.mechanisms.pan_private.incidence import Incidence, incidence
from ameles.mechanisms.pan_private.low_memory import BucketDensity, SampledDensity
from ameles.mechanisms.pan_private.modular import ModularIncidence, ResidueFraction
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter

__all__ = [
    "EVENT",
    "HALTED",
    "USER",
    "Afresh",
    "AmelesError",
    "Approx",
    "BadInput",
    "BinaryCounter",
    "BucketDensity",
    "BudgetExceeded",
    "BufferedCounter",
    "Concentrated",
    "Continual",
    "Contribution",
    "CroppedMean",
    "Density",
    "DynamicDensity",
    "EldersCounter",
    "EndlessHatsCounter",
    "Estimate",
    "ExactDistinct",
    "GaussianBinaryCounter",
    "GaussianStepsCounter",
    "Grid",
    "Guarantee",
    "HatsCounter",
    "HatsWindowCounter",
    "HeavyHitters",
    "HonakerCounter",
    "HorizonReached",
    "HybridCounter",
    "Incidence",
    "Intrusions",
    "KAryCounter",
    "Ledger",
    "MissingExtra",
    "ModularIncidence",
    "ModularOnce",
    "Neighbours",
    "NoCopy",
    "NoisyCropped",
    "NoisyDistinct",
    "NoisyHeavy",
    "NoisyIncidence",
    "Norm",
    "NormalisedCounter",
    "PSumCounter",
    "PanPrivateCounter",
    "PanPrivatePlaceCounter",
    "PanPrivateTreeCounter",
    "PlanError",
    "Pure",
    "Release",
    "Renewed",
    "ResidueFraction",
    "RunSpent",
    "SampledDensity",
    "SegmentedCounter",
    "SiblingsCounter",
    "SimpleOneCounter",
    "SimpleTwoCounter",
    "SmoothCounter",
    "SourceUnreadable",
    "SparseVector",
    "StoreRefused",
    "ToeplitzCounter",
    "TreeCounter",
    "TwoLevelCounter",
    "Unit",
    "WindowMonitor",
    "WindowMonitors",
    "above_threshold",
    "compare",
    "continual",
    "continual_monotone",
    "counter",
    "heavy_hitters",
    "incidence",
    "interval_total",
    "monotone",
    "user_window",
]
