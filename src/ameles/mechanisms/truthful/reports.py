"""What truthful mechanisms share: reports of agents, utilities, and what a lie can gain.

Each of a public number of agents has a type and reports one.  A mechanism that is epsilon-private
in each report changes its outcome's law by at most tanh(epsilon / 2) in total variation when one
agent lies.  So a lie gains at most that much, if utilities lie between 0 and 1:

>>> round(largest_gain("0.5"), 3)
0.245
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours, Norm
from ameles.core.loss import Pure
from ameles.core.parameters import Epsilon, Exact, Parameter, Whole, exact, refuse, whole
from ameles.mechanisms.clamped import reports
from ameles.mechanisms.one_shot.one_shot import Look
from ameles.noise.arrays import IntArray

Outcome = TypeVar("Outcome")
Utilities: TypeAlias = tuple[tuple[tuple[Fraction, ...], ...], ...]
REPLACED = (Neighbours.REPLACE, Neighbours.USER_SUBSTITUTION)
MOST_AGENTS = 1 << 20
LARGEST_TABLE = 1 << 22
LARGEST_GRID = 1 << 30


def largest_gain(epsilon: Exact, group: int = 1) -> float:
    """The most that a lie of one agent, or of a group that lies together, can gain in a mechanism
    with this loss and with utilities between 0 and 1.

    >>> round(largest_gain("0.1", group=5), 3)
    0.245
    """
    loss = exact(epsilon, "epsilon")
    if loss < 0:
        raise refuse("epsilon", "0 or more", epsilon)
    return math.tanh(float(whole(group, "group", low=1, high=MOST_AGENTS) * loss) / 2)


@dataclass(frozen=True, kw_only=True)
class ReportMechanism(Look[Outcome], Generic[Outcome]):
    """A mechanism whose input is one report of each agent; neighbours differ in one report."""

    norm: ClassVar[Norm] = Norm.MAX

    def __post_init__(self) -> None:
        if self.neighbours not in REPLACED:
            raise BadInput(
                "Agents of this mechanism report something else; they do not come and go.",
                why="its number of agents is public",
                tip="neighbours='replace'",
            )

    @property
    def reach(self) -> int:
        """One agent changes one report."""
        return 1


@dataclass(frozen=True, kw_only=True)
class PrivateChoice(ReportMechanism[Outcome], Generic[Outcome]):
    """A mechanism that chooses among outcomes, with a loss of epsilon."""

    epsilon: Epsilon = Epsilon()
    agents: Whole = Whole(1, MOST_AGENTS)

    @property
    def loss(self) -> Pure:
        """Epsilon, about the report of one agent."""
        return Pure(self.epsilon)

    @property
    def gain(self) -> float:
        """What a lie can gain at most, with utilities between 0 and 1."""
        return largest_gain(self.epsilon)

    @abstractmethod
    def law(self, reports: Any) -> Sequence[float]:
        """The probability of each outcome, for tests and teaching: it tells the reports."""


class UtilityTable(Parameter[Sequence[Sequence[Sequence[Exact]]], Utilities]):
    """Utilities between 0 and 1: for each type, outcome and reaction."""

    def check(self, value: Sequence[Sequence[Sequence[Exact]]]) -> Utilities:
        try:
            table = tuple(
                tuple(tuple(exact(cell, self.name) for cell in row) for row in rows)
                for rows in value
            )
        except TypeError:
            raise refuse(self.name, "a table: a list for each type and outcome", value) from None
        outcomes = {len(rows) for rows in table}
        reactions = {len(row) for rows in table for row in rows}
        if len(outcomes) != 1 or len(reactions) != 1 or 0 in outcomes | reactions:
            raise BadInput(
                f"The '{self.name}' need the same outcomes for each type, and the same reactions "
                "for each outcome."
            )
        cells = [cell for rows in table for row in rows for cell in row]
        if len(cells) > LARGEST_TABLE:
            raise BadInput(f"The '{self.name}' may have at most {LARGEST_TABLE} cells.")
        if not all(0 <= cell <= 1 for cell in cells):
            raise BadInput(
                f"All '{self.name}' must be from 0 to 1.",
                why="what a lie can gain is bounded for that range",
                tip="shift and scale them",
            )
        return table


class Numbers(Parameter[Sequence[Exact], tuple[Fraction, ...]]):
    """At least one number, each zero or more."""

    def check(self, value: Sequence[Exact]) -> tuple[Fraction, ...]:
        numbers = tuple(exact(one, self.name) for one in _listed(value, self.name))
        if min(numbers) < 0:
            raise BadInput(f"None of the '{self.name}' may be below 0.")
        return numbers


class Counts(Parameter[Sequence[int], tuple[int, ...]]):
    """At least one whole number, each one or more."""

    def check(self, value: Sequence[int]) -> tuple[int, ...]:
        counts = _listed(value, self.name)
        return tuple(whole(one, self.name, low=1, high=1 << 30) for one in counts)


class ValueTable(Parameter[Sequence[Sequence[Exact]], tuple[tuple[Fraction, ...], ...]]):
    """Values between 0 and 1: for each type and place."""

    def check(self, value: Sequence[Sequence[Exact]]) -> tuple[tuple[Fraction, ...], ...]:
        rows = [_listed(row, self.name) for row in _listed(value, self.name)]
        table = tuple(tuple(exact(cell, self.name) for cell in row) for row in rows)
        if len({len(row) for row in table}) != 1:
            raise BadInput(f"The '{self.name}' need the same places for each type.")
        if not all(0 <= cell <= 1 for row in table for cell in row):
            raise BadInput(f"All '{self.name}' must be from 0 to 1.", tip="shift and scale them")
        common_denominator([cell for row in table for cell in row])
        return table


def _listed(value: object, name: str) -> Sequence[Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence) or not value:
        raise refuse(name, "a list of numbers", value)
    return value


def reports_of(x: object, agents: int, largest: int) -> IntArray:
    """One report of each agent, a whole number; those outside of 0 to ``largest`` are clamped, and
    what is no whole number counts as 0.

    A refusal would tell that somebody reported nonsense.

    >>> reports_of([0, 5, -1, None], 4, 2)
    array([0, 2, 0, 0])
    """
    return reports(x, 0, largest, count=agents, refuse=partial(_not, (agents,)))[0]


def table_of(x: object, agents: int, columns: int, largest: int) -> IntArray:
    """The same for agents who each report ``columns`` numbers; an odd report has zeros."""
    refuse = partial(_not, (agents, columns))
    return reports(x, 0, largest, count=agents, width=columns, refuse=refuse)[0]


def _not(shape: tuple[int, ...], got: str) -> BadInput:
    each = "one whole number" if len(shape) == 1 else f"{shape[1]} whole numbers"
    return BadInput(f"The reports must be {each} for each of {shape[0]} agents. Got {got} instead.")


def exponential_law(scores: Sequence[Fraction], rate: Fraction) -> list[float]:
    """Probabilities proportional to exp(rate * score)."""
    top = max(scores)
    weights = [math.exp(float(rate * (score - top))) for score in scores]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def common_denominator(values: Sequence[Fraction]) -> int:
    """The grid on which all of them are whole; refused if it is too fine."""
    grid = math.lcm(*(value.denominator for value in values))
    if grid > LARGEST_GRID:
        raise BadInput(
            "These numbers have too fine a common denominator.",
            why="scores are added up in 64 bits",
            tip="numbers that are rounded to a few digits",
        )
    return grid
