"""The rule of users as a plain loop over records: what the arrays must agree with."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class PlainUsers:
    """What each user did so far, in dictionaries."""

    per_key: int
    records: int
    slots: Sequence[int]
    counts: dict[int, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    used: Counter[int] = field(default_factory=Counter)

    def take(self, user: int, number: int, *, public: bool) -> tuple[bool, int]:
        """Whether this record counts, and the weight that its key gets."""
        mine = self.counts[user]
        if mine[number] >= self.per_key or mine.total() >= self.records:
            return False, 0
        mine[number] += 1
        if mine[number] > 1 or public or self.used[user] >= len(self.slots):
            return True, 0
        self.used[user] += 1
        return True, self.slots[self.used[user] - 1]
