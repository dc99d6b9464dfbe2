"""A client for users' devices, which needs the standard library alone: copy this folder."""

from .client import BudgetRefused, Client

__all__ = ["BudgetRefused", "Client"]
