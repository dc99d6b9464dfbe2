"""The proof: the privacy loss of a mechanism, computed from its real code.

``exact_loss`` solves for it where the mechanism is linear; ``enumerated_loss`` tries every tape of
a small noise; ``sampled_loss`` can refute a claim from draws, and never certify one.
"""

from ameles.audit.enumeration import Enumerated, enumerated_loss, wrapped_run
from ameles.audit.exact import exact_loss
from ameles.audit.finding import Finding, Pair, Verdict
from ameles.audit.instant import Instant
from ameles.audit.sampled import Sampled, sampled_loss

__all__ = [
    "Enumerated",
    "Finding",
    "Instant",
    "Pair",
    "Sampled",
    "Verdict",
    "enumerated_loss",
    "exact_loss",
    "sampled_loss",
    "wrapped_run",
]
