"""The local model: users randomise their own values, and nobody else ever sees them."""

from ameles.mechanisms.local.device import Client
from ameles.mechanisms.local.frequencies import Frequencies
from ameles.mechanisms.local.hadamard import HadamardResponse
from ameles.mechanisms.local.oracle import LocalOracle
from ameles.mechanisms.local.response import RandomizedResponse
from ameles.mechanisms.local.server import Server
from ameles.mechanisms.local.table import FiniteTable
from ameles.mechanisms.local.unary import UnaryEncoding

__all__ = [
    "Client",
    "FiniteTable",
    "Frequencies",
    "HadamardResponse",
    "LocalOracle",
    "RandomizedResponse",
    "Server",
    "UnaryEncoding",
]
