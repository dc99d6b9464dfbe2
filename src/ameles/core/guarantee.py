"""What a mechanism promises: how much it may reveal, about whom, and against whom.

A number without its neighbouring relation, unit and horizon says nothing, so a
guarantee has all of them and no field has a default.

>>> from ameles.core.loss import Pure
>>> guarantee = Guarantee(
...     loss=Pure(1), unit=EVENT, neighbours=Neighbours.STEP,
...     contribution=Contribution(steps=1, bound=1, norm=Norm.L1),
...     horizon=365, intrusions=Intrusions.NONE,
... )
>>> print(guarantee)
epsilon 1 for one event: streams that differ in 1 step by at most 1 (L1), over 365 steps
>>> Guarantee.from_json(guarantee.to_json()) == guarantee
True
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from ameles.core import codec
from ameles.core.exceptions import BadInput
from ameles.core.loss import Loss, loss_from_dict, loss_to_dict
from ameles.core.parameters import whole


@dataclass(frozen=True, slots=True)
class Unit:
    """Whose data is protected: one event, one user, or one user within a window of steps."""

    kind: str
    window: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("event", "user", "user-window"):
            raise BadInput(
                "The 'kind' of a unit must be event, user or user-window. "
                f"Got {self.kind!r} instead."
            )
        if (self.kind == "user-window") != (self.window is not None):
            raise BadInput(
                "The 'window' of a unit goes with the kind user-window, and only with it.",
                tip="user_window(30)",
            )
        if self.window is not None:
            whole(self.window, "window", low=1, high=2**40)

    def __str__(self) -> str:
        if self.window is not None:
            return f"one user within {self.window} steps"
        return f"one {self.kind}"


EVENT = Unit("event")
USER = Unit("user")


def user_window(length: int) -> Unit:
    """One user's events within a window of ``length`` steps."""
    return Unit("user-window", length)


class Neighbours(Enum):
    """Which two inputs are neighbours: they must look alike from outside."""

    ADD_REMOVE = "add-remove"  # one row is added or removed
    REPLACE = "replace"  # one row is replaced by another
    STEP = "step"  # the inputs of some steps change, within the contribution
    USER_PRESENCE = "user-presence"  # all events of one user are added or removed
    USER_SUBSTITUTION = "user-substitution"  # some events of one user become another's


class Norm(Enum):
    """How a change of a vector is measured: Laplace noise pays L1, Gaussian noise L2."""

    L1 = "L1"
    L2 = "L2"


class Intrusions(Enum):
    """How often the state may be seized without loss beyond the stated one."""

    NONE = "none"
    ONE = "one"  # once, unannounced
    ANNOUNCED = "announced"  # any number, if the mechanism is told afterwards
    EVERY = "every"  # after every step


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """What one unit may change: how many steps, and each by how much."""

    steps: int
    bound: int
    norm: Norm

    def __post_init__(self) -> None:
        whole(self.steps, "steps", low=1, high=2**40)
        whole(self.bound, "bound", low=1, high=2**40)

    def __str__(self) -> str:
        steps = "1 step" if self.steps == 1 else f"up to {self.steps} steps"
        return f"{steps} by at most {self.bound} ({self.norm.value})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """A mechanism's promise, complete."""

    loss: Loss
    unit: Unit
    neighbours: Neighbours
    contribution: Contribution
    horizon: int | None
    intrusions: Intrusions

    def __post_init__(self) -> None:
        if self.horizon is not None:
            whole(self.horizon, "horizon", low=1, high=2**40)

    def __str__(self) -> str:
        relation = {
            Neighbours.ADD_REMOVE: "added or removed, changing",
            Neighbours.REPLACE: "replaced, changing",
            Neighbours.STEP: "streams that differ in",
            Neighbours.USER_PRESENCE: "present or absent, changing",
            Neighbours.USER_SUBSTITUTION: "replaced by another, changing",
        }[self.neighbours]
        over = "without end" if self.horizon is None else f"over {self.horizon} steps"
        seized = {
            Intrusions.NONE: "",
            Intrusions.ONE: "; the state may be seized once",
            Intrusions.ANNOUNCED: "; the state may be seized any number of times, if announced",
            Intrusions.EVERY: "; the state may be seized after every step",
        }[self.intrusions]
        return f"{self.loss} for {self.unit}: {relation} {self.contribution}, {over}{seized}"

    def to_json(self) -> str:
        """This guarantee as versioned JSON."""
        return codec.write("guarantee", 1, self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """This guarantee as plain data."""
        return {
            "loss": loss_to_dict(self.loss),
            "unit": {"kind": self.unit.kind, "window": self.unit.window},
            "neighbours": self.neighbours.value,
            "contribution": {
                "steps": self.contribution.steps,
                "bound": self.contribution.bound,
                "norm": self.contribution.norm.value,
            },
            "horizon": self.horizon,
            "intrusions": self.intrusions.value,
        }

    @classmethod
    def from_json(cls, text: str) -> Guarantee:
        """The guarantee that ``to_json`` wrote."""
        fields = codec.read("guarantee", 1, text)
        try:
            contribution = fields["contribution"]
            return cls(
                loss=loss_from_dict(fields["loss"]),
                unit=Unit(**fields["unit"]),
                neighbours=Neighbours(fields["neighbours"]),
                contribution=Contribution(
                    steps=contribution["steps"],
                    bound=contribution["bound"],
                    norm=Norm(contribution["norm"]),
                ),
                horizon=fields["horizon"],
                intrusions=Intrusions(fields["intrusions"]),
            )
        except (KeyError, TypeError, ValueError) as problem:
            raise codec.damaged("guarantee") from problem
