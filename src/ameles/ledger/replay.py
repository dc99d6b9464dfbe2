"""What a ledger's past adds up to, checked, and the past in words.

>>> from ameles.core.loss import Pure
>>> replayed(Pure(1), [], []).spent
Pure(epsilon=Fraction(0, 1))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from ameles.core.exceptions import StoreRefused
from ameles.core.loss import Loss, currency
from ameles.ledger.amounts import added
from ameles.ledger.entry import Entry, Renewal


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a ledger stands."""

    cap: Loss
    spent: Loss


def replayed(cap: Loss, entries: Sequence[Entry], renewals: Sequence[Renewal]) -> Standing:
    """The cap with all renewals and the sum of all debits, if this can be the past of a ledger."""
    losses = [*(entry.paid for entry in entries), *(renewal.added for renewal in renewals)]
    numbered = [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    if not numbered or any(currency(loss) != currency(cap) for loss in losses):
        raise impossible("its entries have gaps, or are in another currency than its cap")
    raised = reduce(added, (renewal.added for renewal in renewals), cap)
    spent = type(cap)(
        **{name: sum(vars(entry.paid)[name] for entry in entries) for name in vars(cap)}
    )
    if any(vars(spent)[name] > limit for name, limit in vars(raised).items()):
        raise impossible("more was spent than its cap allows")
    return Standing(raised, spent)


def told(entries: Sequence[Entry]) -> str:
    """What was bought last, and how much before, in one line."""
    if not entries:
        return ""
    last = entries[-1]
    # The entries of one launch are one purchase to a person.
    together = [entry for entry in entries if (entry.at, entry.stream) == (last.at, last.stream)]
    if len(together) > 1:
        asked = reduce(added, (entry.asked for entry in together))
        last = replace(last, on=last.stream, asked=asked)
    others = len(entries) - len(together)
    after = f", after {others} other{'s' * (others > 1)}" if others else ""
    return f"{last}{after}"


def impossible(why: str) -> StoreRefused:
    """The error for a past that no ledger can have."""
    return StoreRefused(
        "This is not the past of a ledger of Ameles.",
        why=why,
        tip="the store as Ameles wrote it, or a backup of it",
    )
