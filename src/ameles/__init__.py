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
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter

__all__ = [
    "EVENT",
    "USER",
    "AmelesError",
    "Approx",
    "BadInput",
    "BudgetExceeded",
    "Concentrated",
    "Contribution",
    "Guarantee",
    "HorizonReached",
    "Intrusions",
    "Ledger",
    "MissingExtra",
    "Neighbours",
    "Norm",
    "PlanError",
    "Pure",
    "Release",
    "SimpleOneCounter",
    "SimpleTwoCounter",
    "StoreRefused",
    "Unit",
    "user_window",
]
