"""The oracle LR(i, R): an algorithm sees user i only through local randomizers R.

Theorem      Dwork-Roth 2014, Def 12.2 and 12.3, Obs 12.1 (catalogue 30): if the losses of the
             randomizers that each user was asked with sum to at most epsilon, everything that the
             algorithm sees is epsilon-private for replacing one user's value, also if it chooses
             each randomizer by the answers before.  The loss of R is the exact one of its table;
             what the algorithm says of it is not believed
Neighbours   one user's value is replaced
Noise        that of the randomizers
Refusals     depend on what the user was asked before, never on the value

>>> from ameles.mechanisms.local import RandomizedResponse
>>> from ameles.noise import Zero
>>> coins = RandomizedResponse(categories=2, odds=3).table
>>> oracle = LocalOracle([1, 0], cap="1.2", noise=Zero())
>>> oracle(0, coins), oracle(1, coins)
(1, 0)
>>> oracle(0, coins)
Traceback (most recent call last):
ameles.core.exceptions.BudgetExceeded: error[budget]: User 0 does not answer: the user's budget does
not allow it.
  why: the answers of one user may lose epsilon 1.2 together
  try: another user
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from threading import Lock

from ameles.core.exceptions import BadInput, BudgetExceeded
from ameles.core.guarantee import EVENT, Contribution, Guarantee, Intrusions, Neighbours, Norm
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Exact, exact, refuse, whole
from ameles.core.unique import Unique
from ameles.mechanisms.local.randomizer import whole_values
from ameles.mechanisms.local.table import FiniteTable


class LocalUser(Unique):
    """A user with a value and a budget of their own."""

    noun = "user"
    elsewhere = "ask the user in the process that holds the value"

    def __init__(self, value: int, cap: Fraction, noise: Noise, number: int = 0) -> None:
        super().__init__()
        self._value = value
        self._cap = cap
        self._noise = noise
        self._number = number
        self._spent = Fraction(0)
        self._turn = Lock()  # two threads would both find the budget unspent

    def __repr__(self) -> str:
        return f"<user {self._number} who has spent {self._spent} of {self._cap}>"

    @property
    def spent(self) -> Fraction:
        """What the answers so far lose together."""
        return self._spent

    def respond(self, table: FiniteTable) -> int:
        """An outcome of this table; paid for before it is drawn.

        A value without a row answers as the last row does.
        """
        self.check_process()
        if type(table) is not FiniteTable:  # a subclass could state another loss
            raise BadInput(
                f"A user answers through a FiniteTable. Got a {type(table).__name__} instead.",
                why="the user computes the loss of every answer from its table",
                tip="FiniteTable(rows)",
            )
        loss = table.epsilon
        with self._turn:
            self._spend(loss)
        last = len(table.rows) - 1
        answer = table.draw(self._value if 0 <= self._value <= last else last, self._noise)
        self.check_process()  # a child that was forked meanwhile would give another answer
        return answer

    def _spend(self, loss: Fraction) -> None:
        if self._spent + loss > self._cap:
            raise BudgetExceeded(
                f"User {self._number} does not answer: the user's budget does not allow it.",
                spent=Pure(self._spent),
                asked=Pure(loss),
                left=Pure(self._cap - self._spent),
                blocked_by=f"user {self._number}",
                why=f"the answers of one user may lose {Pure(self._cap)} together",
                tip="another user",
            )
        self._spent += loss


class LocalOracle(Unique):
    """All users of a data set, each behind local randomizers."""

    noun = "oracle"
    elsewhere = "ask the oracle in the process that holds the values"

    def __init__(self, values: Sequence[int], *, cap: Exact, noise: Noise) -> None:
        super().__init__()
        self._cap = exact(cap, "cap")
        if self._cap <= 0:
            raise refuse("cap", "above 0", cap)
        given = whole_values(values).tolist()
        self._users = [LocalUser(x, self._cap, noise, i) for i, x in enumerate(given)]

    def __len__(self) -> int:
        return len(self._users)

    @property
    def guarantee(self) -> Guarantee:
        """What everything that is ever asked reveals about one user."""
        return Guarantee(
            loss=Pure(self._cap),
            unit=EVENT,
            neighbours=Neighbours.REPLACE,
            contribution=Contribution(steps=1, bound=1, norm=Norm.MAX),
            horizon=None,
            intrusions=Intrusions.NONE,  # the values are in this process
        )

    def __call__(self, user: int, table: FiniteTable) -> int:
        """LR(i, R): what user i answers through the table R."""
        number = whole(user, "user", low=0, high=len(self._users) - 1)
        return self._users[number].respond(table)

    def spent(self, user: int) -> Fraction:
        """What this user's answers lose together: public."""
        return self._users[whole(user, "user", low=0, high=len(self._users) - 1)].spent
