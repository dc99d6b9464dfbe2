"""Interactive mechanisms: a run answers one query after another, paid for in advance."""

from ameles.mechanisms.interactive.multiplicative_weights import MultiplicativeWeights
from ameles.mechanisms.interactive.tuned_weights import multiplicative_weights

__all__ = ["MultiplicativeWeights", "multiplicative_weights"]
