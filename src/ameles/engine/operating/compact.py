"""Forgets what closed steps no longer need, and shrinks the store.

    batch ids        of released steps: a batch that names one is refused without looking
    users seen       of windows that ended; all of them if the last step is released
    their records    of discovered keys, likewise

Releases, entries, positions and states stay.  A vault has nothing to forget: each state overwrites
the one before, also in a new epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from ameles.core.exceptions import StoreRefused
from ameles.plan.plan import Plan
from ameles.store import Store, StreamRecord, Transaction


def compact_store(plans: Sequence[Plan], store: Store) -> tuple[str, ...]:
    """Compacts the store of some plans; returns its streams.

    All streams are locked meanwhile.  Users are forgotten of the streams whose plans are given:
    only a plan says how long a window is.
    """
    with store.reading() as transaction:
        streams = transaction.streams()
    by_name = {plan.stream.name: plan for plan in plans}
    unknown = by_name.keys() - {stream.name for stream in streams}
    if unknown:
        raise StoreRefused(
            f"Stream '{min(unknown)}' was not launched yet.",
            why="the store has no stream of this name, and so nothing to forget",
            tip="the plans of streams that were launched",
        )
    with ExitStack() as locks:
        for stream in streams:
            locks.enter_context(store.holding(stream.name))
        with store.writing() as transaction:
            for stream in transaction.streams():
                transaction.forget_digests(stream)
                if plan := by_name.get(stream.name):
                    _forget_users(transaction, stream, plan)
        store.shrink()
    return tuple(stream.name for stream in streams)


def _forget_users(transaction: Transaction, stream: StreamRecord, plan: Plan) -> None:
    if stream.released == plan.stream.horizon:
        transaction.forget_all_seen(stream)
        transaction.forget_all_user_records(stream)
    elif plan.unit.window is not None:
        window = stream.released // plan.unit.window
        transaction.forget_seen(stream, window)
        transaction.forget_user_records(stream, window)
