"""The rule of what users may add, record by record, in plain Python: what the arrays must equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ameles.mechanisms.discovery import KeyDiscovery


@dataclass
class PlainUser:
    """One user: counted records by number, and slots used."""

    counted: Counter[int] = field(default_factory=Counter)
    slots: int = 0

    def take(self, recipe: KeyDiscovery, public: set[int], number: int) -> int | None:
        """The weight that a record adds; None if it does not count."""
        if self.counted[number] >= recipe.per_key or self.counted.total() >= recipe.records:
            return None
        weight = 0
        if not self.counted[number] and number not in public and self.slots < len(recipe.slots):
            weight = recipe.slots[self.slots]
            self.slots += 1
        self.counted[number] += 1
        return weight


def plain_step(
    recipe: KeyDiscovery,
    users: dict[int, PlainUser],
    public: set[int],
    records: Iterable[tuple[int, int, int, int]],
) -> dict[int, list[int]]:
    """Number to weight and amounts, from records of user, number, cell and amount."""
    rows: dict[int, list[int]] = {}
    for user, number, cell, amount in records:
        weight = users.setdefault(user, PlainUser()).take(recipe, public, number)
        if weight is None:
            continue
        row = rows.setdefault(number, [0] * (1 + recipe.cells))
        row[0] += weight
        row[1 + cell] += max(-recipe.bound, min(amount, recipe.bound))
    return rows
