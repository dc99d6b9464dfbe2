"""Which intrusions a pan-private counter survives: one, or any number of announced ones."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Intrusions
from ameles.core.parameters import Parameter


@runtime_checkable
class Announced(Protocol):
    """A run that can be told of an intrusion."""

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
            "This run survives one intrusion, which nobody announces.",
            why="its noise was not planned for more",
            tip=f"{mechanism}(..., intrusions='announced')",
        )
