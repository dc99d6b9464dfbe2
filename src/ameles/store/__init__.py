"""The store: everything that must survive a crash, in one place and one schema."""

from ameles.store.backup.backup import BackedUp, Backup, opened_backup, write_backup
from ameles.store.backup.restore import restore
from ameles.store.epochs import EpochRecord
from ameles.store.lock_names import question_lock
from ameles.store.opening import exists, open_store, public_address
from ameles.store.records import (
    PopulationRecord,
    QuestionRecord,
    ReleaseState,
    Seen,
    Series,
    StreamRecord,
)
from ameles.store.retirements import Retirement
from ameles.store.store import Store
from ameles.store.transaction import Transaction
from ameles.store.unavailable import StoreAway, StoreBusy, StreamInUse, Unavailable

__all__ = [
    "BackedUp",
    "Backup",
    "EpochRecord",
    "PopulationRecord",
    "QuestionRecord",
    "ReleaseState",
    "Retirement",
    "Seen",
    "Series",
    "Store",
    "StoreAway",
    "StoreBusy",
    "StreamInUse",
    "StreamRecord",
    "Transaction",
    "Unavailable",
    "exists",
    "open_store",
    "opened_backup",
    "public_address",
    "question_lock",
    "restore",
    "write_backup",
]
