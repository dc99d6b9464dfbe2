"""One-shot mechanisms: one look at a data set, one release."""

from ameles.mechanisms.one_shot.geometric import GeometricMechanism

__all__ = ["GeometricMechanism"]
