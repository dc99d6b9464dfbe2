"""The result of an audit: claimed and computed loss, a verdict, the worst pair, and the method.

>>> finding = Finding(
...     mechanism="Tally", steps=4, claimed=Pure(1), lower=Fraction(3, 2), upper=Fraction(3, 2),
...     worst=Pair(changes=((1, 1),)), how="as an example",
... )
>>> finding.verdict.value, finding.exact, str(finding.worst)
('refuted', Fraction(3, 2), 'step 1 by 1')
>>> print(finding)
Tally, 4 steps: claimed 1, exact 1.5, refuted; worst: step 1 by 1
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, TypeAlias

from ameles.audit.instant import Instant, View
from ameles.core.guarantee import Intrusions
from ameles.core.loss import Approx, Concentrated, Loss, Pure, loss_to_dict, shown

# An exact number, or math.inf; never another float.
Amount: TypeAlias = Fraction | float


class Verdict(Enum):
    """What an audit concludes about a claim.

    >>> [verdict.value for verdict in Verdict]
    ['certified', 'refuted', 'not certified', 'not linear']
    """

    CERTIFIED = "certified"  # a proof that the loss is within the claim was found and checked
    REFUTED = "refuted"  # a proof that it is not
    NOT_CERTIFIED = "not certified"  # neither
    NOT_LINEAR = "not linear"  # another kind of audit is needed, or the code is broken


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbours: which steps differ and by how much, and when the state was seen."""

    changes: tuple[tuple[int, int], ...]  # (step, amount), steps from 1
    seen: View = ()

    def __str__(self) -> str:
        text = ", ".join(f"step {step} by {amount}" for step, amount in self.changes)
        if len(self.seen) == 1:
            return f"{text}; state seen {self.seen[0]}"
        return f"{text}; state seen at {len(self.seen)} instants" if self.seen else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of an exact audit; ``lower`` and ``upper`` are proved, or 0 and infinite."""

    mechanism: str
    steps: int
    claimed: Loss
    lower: Amount
    upper: Amount
    worst: Pair | None
    how: str
    linear: bool = True
    intrusions: Intrusions = Intrusions.NONE  # that the claim covers
    horizon: int | None = None  # of the claim
    covers: tuple[str, ...] = ()  # what a certificate is about: steps, widths, neighbours
    tried: tuple[str, ...] = ()  # besides the computation of the loss
    unseen: tuple[str, ...] = ()  # what this audit cannot see

    @property
    def limit(self) -> Fraction:
        """The number claimed: epsilon, or rho."""
        return limit_of(self.claimed)

    @property
    def verdict(self) -> Verdict:
        """What follows from the bounds."""
        if not self.linear:
            return Verdict.NOT_LINEAR
        if self.lower > self.limit:
            return Verdict.REFUTED
        return Verdict.CERTIFIED if self.upper <= self.limit else Verdict.NOT_CERTIFIED

    @property
    def exact(self) -> Amount | None:
        """The loss, where both bounds agree."""
        return self.upper if self.linear and self.lower == self.upper else None

    @property
    def computed(self) -> str:
        """What is known about the loss, in words."""
        if not self.linear:
            return "unknown"
        if self.exact is not None:
            return written(self.exact)
        if self.upper == math.inf:
            return f"at least {written(self.lower)}"
        if not self.lower:
            return f"at most {written(self.upper)}"
        return f"{written(self.lower)} to {written(self.upper)}"

    def __str__(self) -> str:
        steps = "1 step" if self.steps == 1 else f"{self.steps} steps"
        loss = f"exact {self.computed}" if self.exact is not None else f"computed {self.computed}"
        text = f"{self.mechanism}, {steps}: claimed {shown(self.limit)}, {loss}, "
        text += self.verdict.value
        return f"{text}; worst: {self.worst}" if self.worst else text

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain data, for JSON; numbers are exact strings."""
        return {
            "mechanism": self.mechanism,
            "steps": self.steps,
            "horizon": self.horizon,
            "claimed": loss_to_dict(self.claimed),
            "intrusions": self.intrusions.value,
            "lower": str(self.lower),
            "upper": str(self.upper),
            "exact": None if self.exact is None else str(self.exact),
            "verdict": self.verdict.value,
            "worst": None if self.worst is None else _pair_to_dict(self.worst),
            "how": self.how,
            "covers": list(self.covers),
            "tried": list(self.tried),
            "unseen": list(self.unseen),
        }


def limit_of(loss: Loss) -> Fraction:
    """The number that bounds a loss: epsilon, or rho."""
    match loss:
        case Concentrated():
            return loss.rho
        case Pure() | Approx():
            return loss.epsilon


def written(amount: Amount) -> str:
    """An amount as people write it."""
    return shown(amount) if isinstance(amount, Fraction) else "infinite"


def _pair_to_dict(pair: Pair) -> dict[str, Any]:
    return {
        "changes": [{"step": step, "by": amount} for step, amount in pair.changes],
        "seen": [_instant_to_dict(instant) for instant in pair.seen],
    }


def _instant_to_dict(instant: Instant) -> dict[str, Any]:
    step, phase = instant.place
    return {"step": step, "within": phase.name.lower(), "announced": instant.announced}
