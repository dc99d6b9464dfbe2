"""Brings the sinks of a followed stream up to date, and says when one fails."""

from __future__ import annotations

from collections.abc import Callable

from ameles.engine.running.session import Session


class Publishing:
    """Retries failing sinks with each step, and reports when a sink begins or stops to fail."""

    def __init__(self, session: Session, failing: Callable[[str], None]) -> None:
        self._session = session
        self._failing = failing
        self._failed: set[str] = set()

    def publish(self) -> None:
        """Sends released steps; fails only if no sink is left that could accept them."""
        failed = self._session.try_publish()
        for sink in failed:
            if sink.name not in self._failed and sink.failed is not None:
                self._failing(
                    f"{sink.failed.what} ({sink.failed.why}) It is tried again, "
                    "and the stream goes on."
                )
        now = {sink.name for sink in failed}
        for name in sorted(self._failed - now):
            self._failing(f"The sink {name} is written again, and has everything.")
        self._failed = now
        if self._session.deserted:
            self._session.publish()
