"""A transaction of a store: everything that can be read or written, by topic."""

from __future__ import annotations

from ameles.store.answers import Answers
from ameles.store.backup.replacement import Replacement
from ameles.store.batches import Batches
from ameles.store.budgets import Budgets
from ameles.store.checked import Checked
from ameles.store.descriptions import Descriptions
from ameles.store.epochs import Epochs
from ameles.store.gaps import Gaps
from ameles.store.intrusions import IntrusionLog
from ameles.store.published_tables import PublishedTables
from ameles.store.releases import Releases
from ameles.store.retirements import Retirements
from ameles.store.seen import SeenUsersTable
from ameles.store.states import States
from ameles.store.streams import Streams
from ameles.store.tokens import Tokens
from ameles.store.user_records import UserRecordsTable


class Transaction(
    Budgets,
    Answers,
    Streams,
    SeenUsersTable,
    UserRecordsTable,
    Releases,
    States,
    IntrusionLog,
    Epochs,
    Gaps,
    PublishedTables,
    Checked,
    Tokens,
    Batches,
    Descriptions,
    Retirements,
    Replacement,
):
    """What ``store.writing()`` and ``store.reading()`` give, until their end."""

    def __repr__(self) -> str:
        return "<Transaction>"
