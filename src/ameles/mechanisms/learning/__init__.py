"""Learning: experts and classifiers over streams, and models from noisy sums over a table."""

from ameles.mechanisms.learning.access_list import AccessList, list_counter
from ameles.mechanisms.learning.gradient_counter import GradientCounter
from ameles.mechanisms.learning.mixture import Mixture, MixtureModel
from ameles.mechanisms.learning.online_classifier import OnlineClassifier, classifier_counter
from ameles.mechanisms.learning.perceptron import Perceptron
from ameles.mechanisms.learning.perturbed_leader import (
    PerturbedLeader,
    expert_counter,
    leader_regret,
)
from ameles.mechanisms.learning.weighted_majority import WeightedMajority, linear_learner

__all__ = [
    "AccessList",
    "GradientCounter",
    "Mixture",
    "MixtureModel",
    "OnlineClassifier",
    "Perceptron",
    "PerturbedLeader",
    "WeightedMajority",
    "classifier_counter",
    "expert_counter",
    "leader_regret",
    "linear_learner",
    "list_counter",
]
