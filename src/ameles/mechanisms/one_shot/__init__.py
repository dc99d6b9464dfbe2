"""One-shot mechanisms: one look at a data set, one release."""

from ameles.mechanisms.one_shot.geometric import GeometricMechanism
from ameles.mechanisms.one_shot.mwem import SyntheticTable
from ameles.mechanisms.one_shot.series import LaplaceSeries

__all__ = ["GeometricMechanism", "LaplaceSeries", "SyntheticTable"]
