"""Where the store of a test is: in SQLite and in Postgres."""

from __future__ import annotations

from tests.store.conftest import place

__all__ = ["place"]
