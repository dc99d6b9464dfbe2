"""Whether what a topic seems to have lost is lost: only a loss that holds for a while is believed.

Just after a broker has started, or a leader was elected, a partition may end before what was read,
because the broker does not yet know how far the others had come; or the broker may not know the
topic yet.  Nothing is lost then.  A topic with another id, and messages before the first one that a
partition keeps, are lost at once: neither ever comes back.
"""

from __future__ import annotations

from time import monotonic, sleep

SETTLE = 30.0  # seconds for which a loss must hold
PAUSE = 0.5  # seconds between two looks


class Doubt:
    """A loss that is not believed yet."""

    def __init__(self) -> None:
        self._since: float | None = None

    def wait(self) -> bool:
        """Waits until it is time to look again; False once the loss has held."""
        now = monotonic()
        if self._since is None:
            self._since = now
        if now - self._since >= SETTLE:
            return False
        sleep(PAUSE)
        return True

    def clear(self) -> None:
        """Nothing seems to be lost now."""
        self._since = None
