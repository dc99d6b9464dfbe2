"""Everything that Ameles refuses, as one tree.

    AmelesError
    ├── BadInput          a parameter or an input that cannot be used          exit 2
    │   └── HorizonReached    a step past the declared end of the stream
    ├── PlanError         a plan that cannot be run as written                 exit 2
    ├── BudgetExceeded    a spend that the population's cap does not allow      exit 3
    ├── SourceUnreadable  a file that cannot be read now                       exit 1
    ├── StoreRefused      state that is foreign, newer, damaged or used up      exit 4
    │   └── RunSpent          a run that goes on elsewhere
    ├── NotLaunched       a launch that nobody has agreed to                    exit 2
    ├── NoCopy            a copy of an object that must stay unique            exit 2
    └── MissingExtra      an optional dependency that is not installed          exit 1

Each says what happened, why, and what to try.  Parameters are echoed, because they
are public; event values and exact counts never are.

>>> print(BadInput("The 'width' parameter must be at least 1. Got 0 instead.", tip="width=1"))
error[input]: The 'width' parameter must be at least 1. Got 0 instead.
  try: width=1
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from ameles.core.words import printable

if TYPE_CHECKING:
    from ameles.core.loss import Loss


class AmelesError(Exception):
    """The base of all refusals: ``what`` happened, ``why``, and what to try next (``tip``).

    >>> from ameles import BinaryCounter
    >>> try:
    ...     BinaryCounter(epsilon=0, horizon=365)
    ... except AmelesError as refused:
    ...     print(refused.what, refused.code, refused.exit_code)
    The 'epsilon' parameter must be from 1e-09 to 1000. Got 0 instead. input 2
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, why: str = "", tip: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.tip = tip

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {printable(self.what)}"]
        if self.why:
            lines.append(f"  why: {printable(self.why)}")
        if self.tip:
            lines.append(f"  try: {printable(self.tip)}")
        return "\n".join(lines)


class BadInput(AmelesError, ValueError):
    """A parameter or an input that cannot be used; nothing has changed.

    >>> from ameles import BinaryCounter
    >>> try:
    ...     BinaryCounter(epsilon=1, horizon=0)
    ... except BadInput as refused:
    ...     print(refused.what)
    The 'horizon' parameter must be a whole number from 1 to 1099511627776. Got 0 instead.
    """

    code = "input"
    exit_code = 2


class HorizonReached(BadInput):
    """A step past the horizon that the noise was calibrated for.

    >>> from ameles import BinaryCounter
    >>> from ameles.noise import Zero
    >>> run = BinaryCounter(epsilon=1, horizon=2).start(Zero())
    >>> try:
    ...     run.feed([1, 1, 1])
    ... except HorizonReached as refused:
    ...     print(refused)
    error[horizon]: This run has 2 steps and has taken 0; 3 more do not fit.
      why: its noise was calibrated for its horizon
      try: a new run, with its own budget
    """

    code = "horizon"


class PlanError(AmelesError):
    """A plan that cannot be run as written.

    >>> from ameles.plan.plan import read_plan_text
    >>> try:
    ...     read_plan_text("[stream]")
    ... except PlanError as refused:
    ...     print(refused.code, refused.exit_code)
    plan 2
    """

    code = "plan"
    exit_code = 2


class BudgetExceeded(AmelesError):
    """A spend that does not fit under a cap; nothing has been spent.

    >>> from ameles import EVENT, Ledger, Neighbours, Pure, SimpleTwoCounter
    >>> ledger = Ledger("visitors", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
    >>> try:
    ...     ledger.start(SimpleTwoCounter(epsilon=2), on="flu", why="weekly report")
    ... except BudgetExceeded as refused:
    ...     print(refused.asked, "|", refused.left, "|", refused.blocked_by)
    epsilon 2 | epsilon 1 | population 'visitors', by its epsilon
    """

    code = "budget"
    exit_code = 3

    def __init__(
        self,
        what: str,
        *,
        spent: Loss,
        asked: Loss,
        left: Loss,
        blocked_by: str,
        why: str = "",
        tip: str = "",
    ) -> None:
        super().__init__(what, why=why, tip=tip)
        self.spent = spent
        self.asked = asked
        self.left = left
        self.blocked_by = blocked_by

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle rebuilds an exception from its positional arguments only; these are keywords.
        again = partial(
            type(self),
            spent=self.spent,
            asked=self.asked,
            left=self.left,
            blocked_by=self.blocked_by,
        )
        return again, self.args, vars(self)


class NotLaunched(AmelesError):
    """A stream that was never launched, and whose launch nobody has agreed to; nothing was spent.

    >>> print(NotLaunched("Stream 'flu' was not launched.", tip="ameles run --yes"))
    error[launch]: Stream 'flu' was not launched.
      try: ameles run --yes
    """

    code = "launch"
    exit_code = 2


class SourceUnreadable(AmelesError):
    """A file of a source that cannot be read now; a later run reads it once that is possible.

    >>> print(SourceUnreadable("The file 'visits.csv' cannot be read.", why="permission denied"))
    error[source]: The file 'visits.csv' cannot be read.
      why: permission denied
    """

    code = "source"


class StoreRefused(AmelesError):
    """Stored state that must not be used: foreign, newer, damaged, or resumed before.

    >>> from ameles import BinaryCounter
    >>> from ameles.noise import Zero
    >>> try:
    ...     BinaryCounter(epsilon=1, horizon=8).resume(b"something else", Zero())
    ... except StoreRefused as refused:
    ...     print(refused.code, refused.exit_code)
    store 4
    """

    code = "store"
    exit_code = 4


class RunSpent(StoreRefused):
    """A run that was resumed from a snapshot, or that belongs to another process.

    >>> from ameles import EVENT, Ledger, Neighbours, Pure, SimpleTwoCounter
    >>> recipe = SimpleTwoCounter(epsilon=1)
    >>> ledger = Ledger("visitors", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
    >>> run = ledger.start(recipe, on="flu", why="weekly report")
    >>> again = ledger.resume(recipe, run.snapshot())  # from here on, only this one goes on
    >>> try:
    ...     run.step(1)
    ... except RunSpent as refused:
    ...     print(refused.what)
    This run was resumed from a snapshot and is spent.
    """

    code = "spent"


class NoCopy(AmelesError, TypeError):
    """A copy or a pickle of an object that must stay unique: a run, a ledger, a source of noise.

    >>> import copy
    >>> from ameles import BinaryCounter
    >>> from ameles.noise import Zero
    >>> try:
    ...     copy.copy(BinaryCounter(epsilon=1, horizon=8).start(Zero()))
    ... except NoCopy as refused:
    ...     print(refused.what)
    This run cannot be copied or pickled.
    """

    code = "copy"
    exit_code = 2


class MissingExtra(AmelesError, ImportError):
    """An optional dependency that is not installed.

    >>> tip = "pip install '.[plot]' in the clone of Ameles"
    >>> print(MissingExtra("Pictures need matplotlib, which is not installed.", tip=tip))
    error[extra]: Pictures need matplotlib, which is not installed.
      try: pip install '.[plot]' in the clone of Ameles
    """

    code = "extra"
