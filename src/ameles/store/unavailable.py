"""What cannot be used now and can be used later: whoever stands by waits for these two alone.

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
