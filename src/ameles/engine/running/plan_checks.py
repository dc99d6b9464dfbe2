"""Whether a plan was checked against its source before it is launched, and when.

The store keeps digests and times.  One digest covers the parts of the plan that cannot change once
the stream is launched: a plan that was changed later was not checked.  The other digest is of the
population: an owner who looks at its data and then changes the plan has still looked, and the
registry says so.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from ameles.plan.plan import Plan
from ameles.store import StreamRecord, Transaction


def mark_checked(transaction: Transaction, plan: Plan, at: datetime) -> None:
    """Records that this plan was checked."""
    people = _of_population(plan.privacy.population)
    transaction.set_checked([_digest(plan.to_json()), people], at)


def checked_at(transaction: Transaction, plan: Plan) -> datetime | None:
    """When exactly this plan was first checked; None: never."""
    return transaction.checked(_digest(plan.to_json()))


def looked_at(transaction: Transaction, stream: StreamRecord) -> datetime | None:
    """When data of the stream's population was first looked at, if that was before its launch."""
    first = transaction.checked(_of_population(stream.population))
    return first if first is not None and first <= stream.launched else None


def _of_population(name: str) -> str:
    return _digest(f"population {name}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
