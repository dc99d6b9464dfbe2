"""The ledger: what was spent, on whom, why, and what is left."""

from ameles.ledger.budget import Budget
from ameles.ledger.entry import BudgetRecord, Entry, Renewal
from ameles.ledger.ledger import Ledger

__all__ = ["Budget", "BudgetRecord", "Entry", "Ledger", "Renewal"]
