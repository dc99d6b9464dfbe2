"""Everything that Ameles refuses, as one tree.

    AmelesError
    ├── BadInput          a parameter or an input that cannot be used          exit 2
    │   └── HorizonReached    a step past the declared end of the stream
    ├── PlanError         a plan that cannot be run as written                 exit 2
    ├── BudgetExceeded    a spend that the population's cap does not allow      exit 3
    ├── SourceUnreadable  a file that cannot be read now                       exit 1
    ├── StoreRefused      state that is foreign, newer, damaged or used up      exit 4
    │   └── RunSpent          a run that goes on elsewhere
    ├── NoCopy            a copy of what there may be one of                   exit 2
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

if TYPE_CHECKING:
    from ameles.core.loss import Loss


class AmelesError(Exception):
    """The root: what happened, why it is so, and what to do next."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, why: str = "", tip: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.tip = tip

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {self.what}"]
        if self.why:
            lines.append(f"  why: {self.why}")
        if self.tip:
            lines.append(f"  try: {self.tip}")
        return "\n".join(lines)


class BadInput(AmelesError, ValueError):
    """A parameter or an input that cannot be used; nothing has changed."""

    code = "input"
    exit_code = 2


class HorizonReached(BadInput):
    """A step past the horizon that the noise was calibrated for."""

    code = "horizon"


class PlanError(AmelesError):
    """A plan that cannot be run as written."""

    code = "plan"
    exit_code = 2


class BudgetExceeded(AmelesError):
    """A spend that does not fit under a cap; nothing has been spent."""

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
        # Exceptions are rebuilt from their positional arguments alone; these have names.
        again = partial(
            type(self),
            spent=self.spent,
            asked=self.asked,
            left=self.left,
            blocked_by=self.blocked_by,
        )
        return again, self.args, vars(self)


class SourceUnreadable(AmelesError):
    """A file of a source that cannot be read now; it is taken when it can be."""

    code = "source"


class StoreRefused(AmelesError):
    """Stored state that must not be used: foreign, newer, damaged, or resumed before."""

    code = "store"
    exit_code = 4


class RunSpent(StoreRefused):
    """A run that was resumed from a snapshot, or that belongs to another process."""

    code = "spent"


class NoCopy(AmelesError, TypeError):
    """A copy or a pickle of what there may be only one of: a run, a ledger, a source of noise."""

    code = "copy"
    exit_code = 2


class MissingExtra(AmelesError, ImportError):
    """An optional dependency that is not installed."""

    code = "extra"
