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
from ameles.core.loss import Loss, currency, loss_from_dict, loss_to_dict
from ameles.core.parameters import Parameter, refuse, whole


def _hold(owner: object, name: str) -> None:
    """Keep a field of a frozen class as a plain int, which JSON can write."""
    object.__setattr__(owner, name, whole(getattr(owner, name), name, low=1, high=2**40))


def _member(value: object, name: str, kind: type) -> None:
    if not isinstance(value, kind):
        raise refuse(name, f"of the type {kind.__name__}", value)


def steps_in_words(count: int) -> str:
    """A number of steps as a person says it."""
    return "1 step" if count == 1 else f"{count} steps"


@dataclass(frozen=True, slots=True)
class Unit:
    """Whose data is protected: one event, one user, or one user within a window of steps.

    >>> str(EVENT), str(USER), str(user_window(30))
    ('one event', 'one user', 'one user within 30 steps')
    """

    kind: str
    window: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("event", "user", "user-window"):
            raise refuse("kind", "event, user or user-window", self.kind)
        if (self.kind == "user-window") != (self.window is not None):
            raise BadInput(
                "The 'window' of a unit goes with the kind user-window, and only with it.",
                tip="user_window(30)",
            )
        if self.window is not None:
            _hold(self, "window")

    def __str__(self) -> str:
        if self.window is not None:
            return f"one user within {steps_in_words(self.window)}"
        return f"one {self.kind}"

    @property
    def tag(self) -> str:
        """The unit as one word: event, user, or user-window:30."""
        return self.kind if self.window is None else f"{self.kind}:{self.window}"

    @classmethod
    def tagged(cls, tag: str) -> Unit:
        """The unit that has this tag.

        >>> Unit.tagged("user-window:30") == user_window(30)
        True
        """
        kind, colon, window = tag.partition(":")
        if colon and not (window.isascii() and window.isdigit() and len(window) < 20):
            raise refuse("unit", "event, user or user-window:30", tag)
        return cls(kind, int(window) if colon else None)


class Protects(Parameter[Unit | str, str]):
    """A recipe's parameter for whose data it protects, kept as the unit's tag."""

    def check(self, value: Unit | str) -> str:
        if not isinstance(value, Unit | str):
            raise refuse(self.name, "a unit, such as EVENT or USER", value)
        return value.tag if isinstance(value, Unit) else Unit.tagged(value).tag


EVENT = Unit("event")
USER = Unit("user")


def user_window(length: int) -> Unit:
    """The unit that protects one user's events within a window of ``length`` steps.

    >>> str(user_window(30)), user_window(30).tag
    ('one user within 30 steps', 'user-window:30')
    """
    return Unit("user-window", length)


class Neighbours(Enum):
    """Which two inputs are neighbours: the releases must hardly distinguish them."""

    ADD_REMOVE = "add-remove"  # one row is added or removed
    REPLACE = "replace"  # one row is replaced by another
    STEP = "step"  # the inputs of some steps change, within the contribution
    USER_PRESENCE = "user-presence"  # all events of one user are added or removed
    USER_SUBSTITUTION = "user-substitution"  # some events of one user become another's


class Norm(Enum):
    """How the size of a change is measured.

    L1 is the sum over all numbers, as Laplace noise needs it; L2 is for Gaussian noise, and SQUARED
    is its square, which is whole for whole numbers.  MAX is the largest change of any one number:
    scores that candidates are chosen by may all change at once.  DECLARED counts in units of the
    sensitivity that a recipe declares for each of its steps: of a vector in L1, or of each score.
    """

    L1 = "L1"
    L2 = "L2"
    SQUARED = "L2 squared"
    MAX = "each"
    DECLARED = "the sensitivity of each"


class Intrusions(Enum):
    """How often an intruder may seize the state and still learn no more than the stated loss."""

    NONE = "none"
    ONE = "one"  # once, unannounced
    ANNOUNCED = "announced"  # any number, if the mechanism is told afterwards
    EVERY = "every"  # after every step


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """The most that one unit may change: how many ``steps``, and each by how much (``bound``)."""

    steps: int
    bound: int
    norm: Norm

    def __post_init__(self) -> None:
        _hold(self, "steps")
        _hold(self, "bound")
        _member(self.norm, "norm", Norm)

    def __str__(self) -> str:
        upto = "" if self.steps == 1 else "up to "
        return f"{upto}{steps_in_words(self.steps)} by at most {self.bound} ({self.norm.value})"


class Relation(Parameter[Neighbours | str, Neighbours]):
    """Which two inputs are neighbours, as the member or, as in JSON, its name."""

    def check(self, value: Neighbours | str) -> Neighbours:
        try:
            return Neighbours(value)
        except ValueError:
            names = ", ".join(kind.value for kind in Neighbours)
            raise refuse(self.name, f"one of {names}", value) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """What a mechanism promises: how much it may reveal, about whom, and against whom.

    ``loss`` bounds what all releases together reveal.  ``unit`` says whose data it is about,
    ``neighbours`` which two inputs must look alike, and ``contribution`` how much one unit may
    change.  ``horizon`` is the number of steps, or None for no end.  ``intrusions`` says how often
    the state may be seized.  No field has a default: a loss means nothing without the others.
    """

    loss: Loss
    unit: Unit
    neighbours: Neighbours
    contribution: Contribution
    horizon: int | None
    intrusions: Intrusions

    def __post_init__(self) -> None:
        currency(self.loss)  # refuses what is not a loss
        _member(self.unit, "unit", Unit)
        _member(self.neighbours, "neighbours", Neighbours)
        _member(self.contribution, "contribution", Contribution)
        _member(self.intrusions, "intrusions", Intrusions)
        if self.horizon is not None:
            _hold(self, "horizon")

    def __str__(self) -> str:
        relation = {
            Neighbours.ADD_REMOVE: "added or removed, changing",
            Neighbours.REPLACE: "replaced, changing",
            Neighbours.STEP: "streams that differ in",
            Neighbours.USER_PRESENCE: "present or absent, changing",
            Neighbours.USER_SUBSTITUTION: "replaced by another, changing",
        }[self.neighbours]
        over = "without end" if self.horizon is None else f"over {steps_in_words(self.horizon)}"
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
        return cls.from_dict(codec.read("guarantee", 1, text))

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Guarantee:
        """The guarantee that ``to_dict`` gave; anything missing or unknown is refused."""
        try:
            # A missing field raises a KeyError or a TypeError, an unknown one a TypeError.
            unit = dict(fields["unit"])
            norm = Norm(fields["contribution"]["norm"])
            meanings = {
                "loss": loss_from_dict(fields["loss"]),
                "unit": Unit(unit.pop("kind"), unit.pop("window"), **unit),
                "neighbours": Neighbours(fields["neighbours"]),
                "contribution": Contribution(**{**fields["contribution"], "norm": norm}),
                "intrusions": Intrusions(fields["intrusions"]),
            }
            return cls(**{**fields, **meanings})
        except (KeyError, TypeError, ValueError):
            raise codec.damaged("guarantee") from None
