"""The local model: users randomise their own values, and nobody else ever sees them."""

from ameles.mechanisms.local.bounded_mean import MeanResponse
from ameles.mechanisms.local.device import Client
from ameles.mechanisms.local.frequencies import Frequencies
from ameles.mechanisms.local.hadamard import HadamardResponse
from ameles.mechanisms.local.learners import (
    finite_class_learner,
    learn_conjunction,
    pac_sample_size,
)
from ameles.mechanisms.local.marginals import Marginal, MarginalResponse
from ameles.mechanisms.local.oracle import LocalOracle
from ameles.mechanisms.local.parity import ParityLearner, statistical_query_bound
from ameles.mechanisms.local.response import RandomizedResponse
from ameles.mechanisms.local.response_counter import RandomizedResponseCounter
from ameles.mechanisms.local.server import Server
from ameles.mechanisms.local.statistical_query import (
    CentralQueries,
    LocalQueries,
    central_sample_size,
    local_sample_size,
)
from ameles.mechanisms.local.table import FiniteTable
from ameles.mechanisms.local.unary import UnaryEncoding

__all__ = [
    "CentralQueries",
    "Client",
    "FiniteTable",
    "Frequencies",
    "HadamardResponse",
    "LocalOracle",
    "LocalQueries",
    "Marginal",
    "MarginalResponse",
    "MeanResponse",
    "ParityLearner",
    "RandomizedResponse",
    "RandomizedResponseCounter",
    "Server",
    "UnaryEncoding",
    "central_sample_size",
    "finite_class_learner",
    "learn_conjunction",
    "local_sample_size",
    "pac_sample_size",
    "statistical_query_bound",
]
