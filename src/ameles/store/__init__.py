"""The store: what must survive, in one place and one schema."""

from ameles.store.opening import open_store
from ameles.store.records import PopulationRecord, ReleaseState, Seen, Series, StreamRecord
from ameles.store.store import Store
from ameles.store.transaction import Transaction

__all__ = [
    "PopulationRecord",
    "ReleaseState",
    "Seen",
    "Series",
    "Store",
    "StreamRecord",
    "Transaction",
    "open_store",
]
