"""A filter: spends adaptively chosen losses under a cap fixed in advance, and no more.

Theorem      if the amounts that a filter lets pass never sum to more than the cap, the whole
             interaction has the loss of the cap, even if each mechanism *and its loss*
             is chosen after seeing all earlier outputs.  Pure and (epsilon, delta), by
             sums: Rogers-Roth-Ullman-Vadhan 2016; zCDP, by the sum of rho:
             Feldman-Zrnic 2021, Lécuyer 2021 (catalogue 50, 51)
Order        the check comes before anything changes, and the spend before the mechanism runs;
             whether it passes depends on the losses alone, which are public
Rounding     none: N spends of 1/N fit under 1 for every N, and nothing after them
Currency     that of the cap.  Pure losses enter a zCDP cap as epsilon²/2 and an approximate
             one with delta 0; a loss that cannot be converted is refused as bad input

Advanced composition is no filter: its parameters must be fixed in advance.

>>> allowance = Filter(Pure(1))
>>> for _ in range(3):
...     allowance.spend(Pure("1/3"))
>>> allowance.left
Pure(epsilon=Fraction(0, 1))
>>> try:
...     allowance.spend(Pure("1e-9"))
... except BudgetExceeded as refusal:
...     print(refusal)
error[budget]: this spend needs epsilon 1e-09; epsilon 0 is left of epsilon 1
  why: epsilon 1 has been spent
  try: a smaller loss, or a renewed cap
"""

from __future__ import annotations

from ameles.accounting.conversion import to_concentrated
from ameles.core.exceptions import BadInput, BudgetExceeded
from ameles.core.loss import Approx, Concentrated, Loss, Pure


class Filter:
    """A budget: losses are spent under one cap, in the cap's currency."""

    def __init__(self, cap: Loss) -> None:
        self._cap = cap
        self._spent = nothing_of(cap)

    @property
    def cap(self) -> Loss:
        """What may be spent in all."""
        return self._cap

    @property
    def spent(self) -> Loss:
        """The exact sum of what has passed."""
        return self._spent

    @property
    def left(self) -> Loss:
        """What may still be spent, to the last bit."""
        return left_of(self._cap, spent=self._spent)

    def spend(self, loss: Loss) -> None:
        """Debits this loss, or raises ``BudgetExceeded`` and changes nothing."""
        self._spent = admit(loss, cap=self._cap, spent=self._spent)

    def __repr__(self) -> str:
        return f"Filter(cap={self._cap!r}, spent={self._spent!r})"


def admit(loss: Loss, *, cap: Loss, spent: Loss) -> Loss:
    """The total after spending this loss as well; raises if it does not fit under the cap.

    >>> admit(Pure("0.25"), cap=Pure(1), spent=Pure("0.5"))
    Pure(epsilon=Fraction(3, 4))
    """
    asked, before, left = in_currency(loss, cap), in_currency(spent, cap), left_of(cap, spent=spent)
    after = {name: value + vars(asked)[name] for name, value in vars(before).items()}
    for name, limit in vars(cap).items():
        if after[name] > limit:
            raise BudgetExceeded(
                f"this spend needs {asked}; {left} is left of {cap}",
                spent=before,
                asked=asked,
                left=left,
                blocked_by=name,
                why=f"{before} has been spent",
                tip="a smaller loss, or a renewed cap",
            )
    return type(cap)(**after)


def left_of(cap: Loss, *, spent: Loss) -> Loss:
    """What is left of the cap after ``spent``; nothing, if the cap was lowered below it.

    >>> left_of(Pure(1), spent=Pure("0.75"))
    Pure(epsilon=Fraction(1, 4))
    """
    before = vars(in_currency(spent, cap))
    return type(cap)(**{name: max(limit - before[name], 0) for name, limit in vars(cap).items()})


def nothing_of(cap: Loss) -> Loss:
    """No loss at all, in the currency of the cap.

    >>> nothing_of(Concentrated(2))
    Concentrated(rho=Fraction(0, 1))
    """
    return type(cap)(**dict.fromkeys(vars(cap), 0))


def in_currency(loss: Loss, cap: Loss) -> Loss:
    """This loss in the cap's currency; raises, and says what to do, if that is impossible.

    >>> in_currency(Pure(1), Concentrated(2))
    Concentrated(rho=Fraction(1, 2))
    """
    match cap:
        case Concentrated():
            return to_concentrated(loss)
        case Approx() if not isinstance(loss, Concentrated):
            return loss if isinstance(loss, Approx) else Approx(loss.epsilon, 0)
        case Pure() if isinstance(loss, Pure) or (isinstance(loss, Approx) and loss.delta == 0):
            return Pure(loss.epsilon)
    if isinstance(loss, Concentrated):
        why = "it promises less than the cap's currency asks for"
        tip = "a cap in rho, or to_approx(loss, delta=...) under a cap with a delta"
    else:
        why = "a cap that was opened without a delta stays without"
        tip = "delta = 0, or a population of its own for what needs a delta"
    raise BadInput(f"A loss of {loss} has no place under a cap of {cap}.", why=why, tip=tip)
