"""Privacy loss: how far apart the outputs on two neighbouring inputs may be.

Three currencies, each in exact rationals.  ``Pure`` bounds every probability ratio by
exp(epsilon); ``Approx`` allows it to fail with total weight delta; ``Concentrated``
(zCDP) bounds the Rényi divergence of every order alpha by rho * alpha.

>>> Pure(0.1)
Pure(epsilon=Fraction(1, 10))
>>> str(Approx(1, "1e-6"))
'epsilon 1, delta 1e-06'
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from ameles.core.exceptions import BadInput
from ameles.core.parameters import Exact, Parameter, exact, refuse


class Amount(Parameter[Exact, Fraction]):
    """A loss that may be zero and, as a sum over years, has no largest value."""

    def check(self, value: Exact) -> Fraction:
        # A total is a Fraction already and may have outgrown what a person would type.
        number = value if isinstance(value, Fraction) else exact(value, self.name)
        if number < 0:
            raise refuse(self.name, "zero or more", value)
        return number


class Probability(Amount):
    """A loss that is a probability."""

    def check(self, value: Exact) -> Fraction:
        number = super().check(value)
        if number >= 1:
            raise refuse(self.name, "below 1", value)
        return number


@dataclass(frozen=True)
class Pure:
    """Every event's probability changes by a factor of at most exp(epsilon)."""

    epsilon: Amount = Amount()

    def __str__(self) -> str:
        return f"epsilon {shown(self.epsilon)}"


@dataclass(frozen=True)
class Approx:
    """As ``Pure``, but for an added probability of at most delta."""

    epsilon: Amount = Amount()
    delta: Probability = Probability()

    def __str__(self) -> str:
        return f"epsilon {shown(self.epsilon)}, delta {shown(self.delta)}"


@dataclass(frozen=True)
class Concentrated:
    """Rényi divergence of every order alpha above 1 at most rho * alpha (zCDP)."""

    rho: Amount = Amount()

    def __str__(self) -> str:
        return f"rho {shown(self.rho)}"


Loss: TypeAlias = Pure | Approx | Concentrated

CURRENCIES: dict[str, type[Loss]] = {"pure": Pure, "approx": Approx, "concentrated": Concentrated}


def shown(number: Fraction) -> str:
    """A number as a person would write it: short where that is exact, else as a ratio.

    >>> shown(Fraction(1, 10)), shown(Fraction(1, 3)), shown(Fraction(1, 10**6))
    ('0.1', '1/3', '1e-06')
    """
    if number.denominator == 1:
        return str(number.numerator)
    short = f"{float(number):.12g}"
    if Fraction(short) == number:
        return short
    ratio = f"{number.numerator}/{number.denominator}"
    return ratio if len(ratio) <= 24 else f"about {float(number):.6g}"


def currency(loss: Loss) -> str:
    """The name of a loss's currency."""
    return next(name for name, kind in CURRENCIES.items() if isinstance(loss, kind))


def loss_to_dict(loss: Loss) -> dict[str, str]:
    """A loss as plain strings, for JSON."""
    amounts = {name: str(amount) for name, amount in vars(loss).items()}
    return {"currency": currency(loss), **amounts}


def loss_from_dict(fields: dict[str, str]) -> Loss:
    """The loss that ``loss_to_dict`` wrote.

    >>> loss_from_dict({"currency": "pure", "epsilon": "1/10"})
    Pure(epsilon=Fraction(1, 10))
    """
    amounts = dict(fields)
    kind = CURRENCIES.get(amounts.pop("currency", ""))
    try:
        if kind is not None:
            return kind(**{name: Fraction(amount) for name, amount in amounts.items()})
    except (TypeError, ValueError, ZeroDivisionError):
        pass  # reported below, in the same words
    raise BadInput(
        "This is not a privacy loss that Ameles can read.",
        why=f"its currency must be one of {', '.join(CURRENCIES)}, with that currency's amounts",
    )
