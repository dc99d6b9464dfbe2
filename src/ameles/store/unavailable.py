"""Errors that a standby process retries: the stream is locked, the store cannot be used now.

>>> from ameles.store.lock_names import in_use
>>> isinstance(in_use("flu", ""), Unavailable)
True
"""

from __future__ import annotations

from ameles.core.exceptions import StoreRefused


class Unavailable(StoreRefused):
    """A refusal that ends by itself."""


class StreamInUse(Unavailable):
    """Another process runs the stream."""


class StoreAway(Unavailable):
    """The server of the store cannot be reached, or has ended the connection with the locks."""


class StoreBusy(Unavailable):
    """The store is locked, its disk is full or fails, or its file may not be opened."""
