"""Declared intrusions: their parameters, and the refusals of a run to which one is announced."""

from __future__ import annotations

from typing import NoReturn, Protocol, runtime_checkable

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Intrusions
from ameles.core.parameters import Exact, Parameter, Whole, exact
from ameles.mechanisms.counters.lower_bounds import intrusion_bound

PAPER = "Dwork-Naor-Pitassi-Rothblum 2010"
SEEN_TWICE = (
    "who looks at one table twice sees whose entry changed in between: the loss is infinite; and "
    "no count of users that may be seized after each of n steps has an error below the order of "
    f"sqrt(n) ({PAPER}, Thm 4.3)"
)


@runtime_checkable
class Announced(Protocol):
    """A run to which an intrusion can be announced."""

    def announce(self) -> None:
        """Says that the state was seized: call it after the intrusion, before the next one."""
        ...


class Survived(Parameter[Intrusions | str, Intrusions]):
    """A recipe's parameter for the intrusions that its noise is planned for."""

    def check(self, value: Intrusions | str) -> Intrusions:
        if value in (Intrusions.ONE, "one"):
            return Intrusions.ONE
        if value in (Intrusions.ANNOUNCED, "announced"):
            return Intrusions.ANNOUNCED
        got = value.value if isinstance(value, Intrusions) else value
        raise BadInput(
            f"The '{self.name}' parameter must be 'one' or 'announced'. Got {got!r} instead.",
            why="two states with no fresh noise between them differ by exactly what was added; "
            "with n unannounced intrusions no counter has an error below the order of sqrt(n) "
            "(Dwork-Naor-Pitassi-Rothblum 2010, Thm 4.3)",
            tip="SimpleTwoCounter, whose state may be seized after every step",
        )


def refuse_unplanned(planned: Intrusions, mechanism: str) -> None:
    """Refuses an announcement to a run whose noise was planned for one intrusion."""
    if planned is not Intrusions.ANNOUNCED:
        raise BadInput(
            "This run survives one intrusion, without an announcement.",
            why="its noise was not planned for more",
            tip=f"{mechanism}(..., intrusions='announced')",
        )


class Seizures(Whole):
    """How many intrusions into a table of users are declared: all but the last are announced."""

    def check(self, value: int) -> int:
        given: object = value
        if isinstance(given, str | Intrusions):
            got = given.value if isinstance(given, Intrusions) else given
            raise BadInput(
                f"The '{self.name}' parameter must be a whole number from {self.low} to "
                f"{self.high}, of announced intrusions. Got {got!r} instead.",
                why=SEEN_TWICE,
                tip="a number: each intrusion is announced before more is added, and paid for",
            )
        return super().check(value)


def refuse_second_intrusion(*, epsilon: Exact, steps: int) -> NoReturn:
    """Refuses two unannounced intrusions into a counter with one noisy total."""
    bound = intrusion_bound(intrusions=steps, epsilon=exact(epsilon, "epsilon"), beta=0.25)
    raise BadInput(
        "The state of this counter cannot be seized twice without an announcement.",
        why="its total differs between two steps by exactly what came in: the loss is infinite "
        "(Dwork-Roth, Fig 12.2); and a counter that may be seized after each of "
        f"{steps} steps is wrong by more than {bound:g} with probability 1/4 (Thm 4.3)",
        tip="SimpleTwoCounter, whose state may be seized after every step, or intrusions = "
        "'announced'",
    )


def check_intrusions(allowed: Intrusions, asked: Intrusions, *, epsilon: Exact, steps: int) -> None:
    """Refuses more intrusions than a mechanism allows; fewer are always covered."""
    order = list(Intrusions)
    if allowed is Intrusions.ONE and order.index(asked) > order.index(allowed):
        refuse_second_intrusion(epsilon=epsilon, steps=steps)
    if order.index(asked) > order.index(allowed):
        raise BadInput(
            f"The state of this mechanism may be seized: {allowed.value}. "
            f"Got {asked.value} instead.",
            tip="a mechanism whose guarantee covers these intrusions",
        )
