"""Questions about tables, under differential privacy, for people who are not experts in it."""

from ameles.query.answer import Answer
from ameles.query.partition import Partition
from ameles.query.private_partition import PrivatePartition
from ameles.query.query import Query
from ameles.query.store_account import StoreAccount, open_account
from ameles.query.table import Table

__all__ = [
    "Answer",
    "Partition",
    "PrivatePartition",
    "Query",
    "StoreAccount",
    "Table",
    "open_account",
]
