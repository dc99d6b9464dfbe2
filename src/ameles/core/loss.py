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

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypeAlias

from ameles.core.exceptions import BadInput
from ameles.core.parameters import Exact, Parameter, exact, refuse
from ameles.core.parameters import shown as shown

# A total of many spends has a common denominator that no person would type; beyond this
# it is refused, because Python stops writing and reading integers at 4300 digits.
TOTAL_DIGITS = 4000
_BEYOND = 10**TOTAL_DIGITS
_TOTAL = re.compile(r"[0-9]{1,4000}(/[0-9]{1,4000})?")


class LossAmount(Parameter[Exact, Fraction]):
    """A loss that may be zero and, as a sum over years, has no largest value."""

    span: ClassVar[str] = "zero or more"

    def check(self, value: Exact) -> Fraction:
        # A total is a Fraction already and may have outgrown what a person would type.
        if isinstance(value, Fraction):
            number = value
            if max(number.numerator, number.denominator) >= _BEYOND:
                raise refuse(self.name, f"{self.span}, of at most {TOTAL_DIGITS} digits", value)
        else:
            number = exact(value, self.name, span=f" that is {self.span}")
        if number < 0:
            raise refuse(self.name, self.span, value)
        return number


class Probability(LossAmount):
    """A loss that is a probability."""

    span = "zero or more and below 1"

    def check(self, value: Exact) -> Fraction:
        number = super().check(value)
        if number >= 1:
            raise refuse(self.name, self.span, value)
        return number


@dataclass(frozen=True)
class Pure:
    """Pure differential privacy: probabilities change by a factor of at most exp(epsilon)."""

    epsilon: LossAmount = LossAmount()

    def __str__(self) -> str:
        return f"epsilon {shown(self.epsilon)}"


@dataclass(frozen=True)
class Approx:
    """Approximate differential privacy: as ``Pure``, except for a probability of at most delta."""

    epsilon: LossAmount = LossAmount()
    delta: Probability = Probability()

    def __str__(self) -> str:
        return f"epsilon {shown(self.epsilon)}, delta {shown(self.delta)}"


@dataclass(frozen=True)
class Concentrated:
    """Zero-concentrated differential privacy (zCDP): Rényi divergences are at most rho * alpha.

    That holds for every order alpha above 1.

    >>> print(Concentrated("0.5"))
    rho 0.5
    """

    rho: LossAmount = LossAmount()

    def __str__(self) -> str:
        return f"rho {shown(self.rho)}"


EpsilonLoss: TypeAlias = Pure | Approx  # what a plan can declare
Loss: TypeAlias = EpsilonLoss | Concentrated

CURRENCIES: dict[str, type[Loss]] = {"pure": Pure, "approx": Approx, "concentrated": Concentrated}


def delta_of(loss: EpsilonLoss) -> Fraction:
    """The probability with which a loss may be exceeded; 0 if it is pure."""
    return loss.delta if isinstance(loss, Approx) else Fraction(0)


def currency(loss: Loss) -> str:
    """The name of a loss's currency."""
    for name, kind in CURRENCIES.items():
        if isinstance(loss, kind):
            return name
    raise refuse("loss", "a Pure, Approx or Concentrated loss", loss)


def loss_to_dict(loss: Loss) -> dict[str, str]:
    """A loss as plain strings, for JSON."""
    amounts = {name: str(amount) for name, amount in vars(loss).items()}
    return {"currency": currency(loss), **amounts}


def loss_from_dict(fields: Mapping[str, object]) -> Loss:
    """The loss that ``loss_to_dict`` wrote.

    >>> loss_from_dict({"currency": "pure", "epsilon": "1/10"})
    Pure(epsilon=Fraction(1, 10))
    """
    try:
        amounts = dict(fields)
        kind = CURRENCIES[str(amounts.pop("currency"))]
        return kind(**{name: _amount(amount) for name, amount in amounts.items()})
    except (TypeError, ValueError, KeyError, ZeroDivisionError):
        raise BadInput(
            "This is not a privacy loss that Ameles can read.",
            why=f"its currency must be one of {', '.join(CURRENCIES)}, "
            "with that currency's amounts, each a string such as '1/10'",
        ) from None


def _amount(text: object) -> Fraction:
    if not isinstance(text, str):
        raise TypeError  # a JSON number is a float to most readers, and would not be exact
    # Not Fraction(text) for any text: it would write out every zero of 1e999999999.
    return Fraction(text) if _TOTAL.fullmatch(text) else exact(text, "amount")
