"""The lists of all mechanisms: generic checks run on each, and JSON is read through them.

>>> recipe_from_json(SimpleTwoCounter(epsilon=0.5).to_json()) == SimpleTwoCounter(epsilon=0.5)
True
"""

from __future__ import annotations

from ameles.core import codec, recipe
from ameles.core.recipe import Recipe
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
from ameles.mechanisms.continual.renewed import Renewed
from ameles.mechanisms.continual.sparse_vector import SparseVector
from ameles.mechanisms.continual.transformation import Continual
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.elders import EldersCounter
from ameles.mechanisms.counters.gaussian.binary import GaussianBinaryCounter
from ameles.mechanisms.counters.gaussian.buffered import BufferedCounter
from ameles.mechanisms.counters.gaussian.normalised import NormalisedCounter
from ameles.mechanisms.counters.gaussian.segments import SegmentedCounter
from ameles.mechanisms.counters.gaussian.smooth import SmoothCounter
from ameles.mechanisms.counters.gaussian.steps import GaussianStepsCounter
from ameles.mechanisms.counters.gaussian.toeplitz import ToeplitzCounter
from ameles.mechanisms.counters.hats.counter import HatsCounter
from ameles.mechanisms.counters.hats.endless import EndlessHatsCounter
from ameles.mechanisms.counters.hats.window import HatsWindowCounter
from ameles.mechanisms.counters.honaker import HonakerCounter
from ameles.mechanisms.counters.hybrid import HybridCounter
from ameles.mechanisms.counters.k_ary import KAryCounter
from ameles.mechanisms.counters.psum import PSumCounter
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.counters.tree import TreeCounter
from ameles.mechanisms.counters.two_level import TwoLevelCounter
from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
from ameles.mechanisms.interactive.multiplicative_weights import MultiplicativeWeights
from ameles.mechanisms.learning.gradient_counter import GradientCounter
from ameles.mechanisms.learning.mixture import Mixture
from ameles.mechanisms.learning.perceptron import Perceptron
from ameles.mechanisms.learning.weighted_majority import WeightedMajority
from ameles.mechanisms.local.bounded_mean import MeanResponse
from ameles.mechanisms.local.hadamard import HadamardResponse
from ameles.mechanisms.local.marginals import MarginalResponse
from ameles.mechanisms.local.parity import ParityLearner
from ameles.mechanisms.local.response import RandomizedResponse
from ameles.mechanisms.local.response_counter import RandomizedResponseCounter
from ameles.mechanisms.local.unary import UnaryEncoding
from ameles.mechanisms.mechanism import AnyMechanism, Mechanism
from ameles.mechanisms.one_shot.choice_series import ChoiceSeries
from ameles.mechanisms.one_shot.exponential import ExponentialMechanism
from ameles.mechanisms.one_shot.gaussian import GaussianMechanism
from ameles.mechanisms.one_shot.geometric import GeometricMechanism
from ameles.mechanisms.one_shot.histogram import HistogramMechanism
from ameles.mechanisms.one_shot.k_projected import ProjectedQueries
from ameles.mechanisms.one_shot.key_counts import KeyCounts
from ameles.mechanisms.one_shot.key_selection import KeySelection
from ameles.mechanisms.one_shot.laplace import LaplaceMechanism
from ameles.mechanisms.one_shot.mwem import SyntheticTable
from ameles.mechanisms.one_shot.net import SmallDatabase
from ameles.mechanisms.one_shot.noisy_max import NoisyMax
from ameles.mechanisms.one_shot.noisy_top_k import NoisyTopK
from ameles.mechanisms.one_shot.peeled_top_k import PeeledTopK
from ameles.mechanisms.one_shot.permute_and_flip import PermuteAndFlip
from ameles.mechanisms.one_shot.propose_test_release import ProposeTestRelease
from ameles.mechanisms.one_shot.second_moments import SecondMoments
from ameles.mechanisms.one_shot.series import LaplaceSeries
from ameles.mechanisms.one_shot.smooth_median import SmoothMedian
from ameles.mechanisms.one_shot.subsample_aggregate import SubsampleAggregate
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.cropped_mean import CroppedMean
from ameles.mechanisms.pan_private.density import Density
from ameles.mechanisms.pan_private.dynamic import DynamicDensity
from ameles.mechanisms.pan_private.heavy_hitters import HeavyHitters
from ameles.mechanisms.pan_private.incidence import Incidence
from ameles.mechanisms.pan_private.low_memory import BucketDensity, SampledDensity
from ameles.mechanisms.pan_private.modular import ModularIncidence, ResidueFraction
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.mechanisms.truthful.congestion import CongestionGame
from ameles.mechanisms.truthful.digital_goods import DigitalGoodsAuction
from ameles.mechanisms.truthful.facility import MedianLocation
from ameles.mechanisms.truthful.large_game import LargeGame
from ameles.mechanisms.truthful.prices import PriceDiscovery
from ameles.mechanisms.truthful.punishing import PunishingMechanism
from ameles.mechanisms.truthful.surveyor import SurveyorAuction
from ameles.mechanisms.truthful.vcg import PrivateVcg
from ameles.mechanisms.truthful.vote import TwoOutcomeVote

COUNTERS: tuple[type[CounterRecipe], ...] = (
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
    HatsCounter,
    HatsWindowCounter,
    EndlessHatsCounter,
    HybridCounter,
    GaussianStepsCounter,
    GaussianBinaryCounter,
    ToeplitzCounter,
    BufferedCounter,
    NormalisedCounter,
    SegmentedCounter,
    SmoothCounter,
    PanPrivateCounter,
    PanPrivateTreeCounter,
    PanPrivatePlaceCounter,
    RandomizedResponseCounter,
)

OTHERS: tuple[type[Recipe], ...] = (
    Density,
    SampledDensity,
    BucketDensity,
    CroppedMean,
    HeavyHitters,
    Incidence,
    ModularIncidence,
    ResidueFraction,
    DynamicDensity,
    SparseVector,
    WindowMonitor,
    WindowMonitors,
    KeyDiscovery,
    MultiplicativeWeights,
    SyntheticTable,
    SecondMoments,
    ProjectedQueries,
    SmallDatabase,
    ProposeTestRelease,
    SubsampleAggregate,
    SmoothMedian,
    Continual,
    Afresh,
    Renewed,
    ExactDistinct,
    NoisyDistinct,
    NoisyCropped,
    NoisyHeavy,
    NoisyIncidence,
    ModularOnce,
    GeometricMechanism,
    LaplaceMechanism,
    HistogramMechanism,
    GaussianMechanism,
    ExponentialMechanism,
    KeyCounts,
    KeySelection,
    NoisyMax,
    NoisyTopK,
    PeeledTopK,
    PermuteAndFlip,
    LaplaceSeries,
    ChoiceSeries,
    RandomizedResponse,
    UnaryEncoding,
    HadamardResponse,
    WeightedMajority,
    GradientCounter,
    Perceptron,
    Mixture,
    PunishingMechanism,
    MedianLocation,
    PrivateVcg,
    TwoOutcomeVote,
    SurveyorAuction,
    DigitalGoodsAuction,
    LargeGame,
    CongestionGame,
    PriceDiscovery,
    MeanResponse,
    MarginalResponse,
    ParityLearner,
)

MECHANISMS: tuple[type[Recipe], ...] = (*COUNTERS, *OTHERS)


def recipe_from_json(text: str) -> Recipe:
    """The recipe that ``to_json`` wrote."""
    return recipe.recipe_from_json(text, {kind.__name__: kind for kind in MECHANISMS})


def mechanism_from_json(text: str) -> AnyMechanism:
    """The recipe that a ledger has sold; what it does not sell is refused."""
    recipe = recipe_from_json(text)
    if not isinstance(recipe, Mechanism):
        raise codec.damaged("recipe of a mechanism")
    return recipe
