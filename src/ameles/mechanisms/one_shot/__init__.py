"""One-shot mechanisms: one look at a data set, one release."""

from ameles.mechanisms.one_shot.allocation import by_largest_error, by_weights, geometric_shares
from ameles.mechanisms.one_shot.choice_series import ChoiceSeries
from ameles.mechanisms.one_shot.exponential import ExponentialMechanism
from ameles.mechanisms.one_shot.gaussian import GaussianMechanism
from ameles.mechanisms.one_shot.geometric import GeometricMechanism
from ameles.mechanisms.one_shot.histogram import HistogramMechanism
from ameles.mechanisms.one_shot.k_projected import ProjectedQueries
from ameles.mechanisms.one_shot.key_counts import KeyCounts
from ameles.mechanisms.one_shot.key_selection import KeySelection
from ameles.mechanisms.one_shot.laplace import LaplaceMechanism, laplace_sequence
from ameles.mechanisms.one_shot.mwem import SyntheticTable
from ameles.mechanisms.one_shot.net import SmallDatabase
from ameles.mechanisms.one_shot.noisy_max import NoisyMax
from ameles.mechanisms.one_shot.noisy_top_k import NoisyTopK
from ameles.mechanisms.one_shot.peeled_top_k import PeeledTopK
from ameles.mechanisms.one_shot.permute_and_flip import PermuteAndFlip
from ameles.mechanisms.one_shot.propose_test_release import ProposeTestRelease
from ameles.mechanisms.one_shot.regression import Coefficients, Directions, Moments
from ameles.mechanisms.one_shot.second_moments import SecondMoments
from ameles.mechanisms.one_shot.series import LaplaceSeries
from ameles.mechanisms.one_shot.smooth_median import SmoothMedian
from ameles.mechanisms.one_shot.subsample_aggregate import SubsampleAggregate

__all__ = [
    "ChoiceSeries",
    "Coefficients",
    "Directions",
    "ExponentialMechanism",
    "GaussianMechanism",
    "GeometricMechanism",
    "HistogramMechanism",
    "KeyCounts",
    "KeySelection",
    "LaplaceMechanism",
    "LaplaceSeries",
    "Moments",
    "NoisyMax",
    "NoisyTopK",
    "PeeledTopK",
    "PermuteAndFlip",
    "ProjectedQueries",
    "ProposeTestRelease",
    "SecondMoments",
    "SmallDatabase",
    "SmoothMedian",
    "SubsampleAggregate",
    "SyntheticTable",
    "by_largest_error",
    "by_weights",
    "geometric_shares",
    "laplace_sequence",
]
