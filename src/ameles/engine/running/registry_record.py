"""The record of a population for public registries, from what a store holds.

Everything in it is public: ledger entries, renewals, and what the launched plans declare.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from ameles.core.exceptions import StoreRefused
from ameles.core.guarantee import Guarantee, Intrusions
from ameles.engine.running.chosen_bounds import chosen_privately
from ameles.engine.running.plan_checks import looked_at
from ameles.ledger.ledger import Ledger
from ameles.ledger.registry import (
    AFTER_LOOKING,
    DECLARED,
    DECLARED_KEYS,
    DISCOVERED_KEYS,
    PRIVATELY,
    Deployment,
    promised,
    registry,
)
from ameles.measures.keys import DISCOVERED
from ameles.plan.clock import instant
from ameles.plan.sections import StreamSection
from ameles.store import StreamRecord, Transaction
from ameles.store.gaps import Gap


def registered(
    transaction: Transaction,
    population: str,
    *,
    implementation: str,
    now: datetime | None = None,
) -> dict[str, Any]:
    """The registry's record of one population; ``implementation`` is the program's version."""
    record, ledger = transaction.population(population), transaction.ledger(population)
    if record is None or ledger is None:
        raise StoreRefused(f"The store has no population '{population}'.")
    mine = [stream for stream in transaction.streams() if stream.population == population]
    return registry(
        ledger,
        implementation=implementation,
        now=now or datetime.now(UTC),
        deployments=[
            deployment(
                stream,
                looked_at(transaction, stream),
                privately=chosen_privately(transaction, stream),
                gaps=transaction.gaps(stream),
            )
            for stream in mine
        ],
        genuine=transaction.genuine,
        unit_window=record.window,
    )


def promises(transaction: Transaction, ledger: Ledger) -> dict[int, Guarantee]:
    """What the plan of each ledger entry's stream promises, by number of the entry."""
    known = {stream.name: _intrusions(stream) for stream in transaction.streams()}
    return {entry.number: promised(entry, known.get(entry.stream)) for entry in ledger.entries}


def deployment(
    stream: StreamRecord,
    looked: datetime | None = None,
    *,
    privately: bool = False,
    gaps: Sequence[Gap] = (),
) -> Deployment:
    """What the plan of a launched stream declares.

    ``looked`` is when its owner first looked at the data before the launch; ``privately`` says that
    a mechanism chose its bounds, which means little after a look; ``gaps`` are those of its source.
    """
    section = _section(stream)
    clock = section.clock
    ends = None if section.horizon is None else instant(clock.end_of(section.horizon))
    return Deployment(
        name=stream.name,
        cadence=str(section.every),
        start=instant(clock.first),
        horizon=section.horizon,
        late=section.late,
        end=ends,
        launched=stream.launched,
        keys=DISCOVERED_KEYS if _discovers(stream) else DECLARED_KEYS,
        intrusions=_intrusions(stream),
        bounds=AFTER_LOOKING if looked is not None else PRIVATELY if privately else DECLARED,
        looked=looked,
        gaps=tuple((gap.at, gap.place, gap.why) for gap in gaps),
    )


def _section(stream: StreamRecord) -> StreamSection:
    """The stream's table of the plan, as it was launched."""
    try:
        return StreamSection.model_validate(json.loads(stream.plan)["stream"])
    except (ValueError, KeyError, TypeError):  # includes pydantic's errors, which are ValueErrors
        raise _unreadable(stream) from None


def _intrusions(stream: StreamRecord) -> Intrusions:
    """The intrusions of the launched plan; a stored plan leaves out keys with their default."""
    try:
        return Intrusions(json.loads(stream.plan)["privacy"].get("intrusions", "none"))
    except (ValueError, KeyError, AttributeError, TypeError):
        raise _unreadable(stream) from None


def _discovers(stream: StreamRecord) -> bool:
    """Whether a release of the launched plan has keys that are discovered."""
    try:
        releases = json.loads(stream.plan)["release"]
        return any(DISCOVERED in one.get("by", {}).values() for one in releases)
    except (ValueError, KeyError, AttributeError, TypeError):
        raise _unreadable(stream) from None


def _unreadable(stream: StreamRecord) -> StoreRefused:
    return StoreRefused(
        f"The plan of stream '{stream.name}' in the store cannot be read.",
        why="the store is damaged, or a newer program wrote it",
        tip="update ameles, or a backup of the store",
    )
