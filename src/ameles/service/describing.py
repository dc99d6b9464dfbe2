"""The threads that keep the texts about streams up to date, beside those that follow them.

A release never waits for its explanation.  A text that cannot be stored, because somebody else
writes for too long or the disk is full, is tried again after pauses that grow.
"""

from __future__ import annotations

import threading

from ameles.engine.running.descriptions import PART, Descriptions
from ameles.service.log import Log, reason
from ameles.service.published import Shown

FIRST_PAUSE = 1.0  # seconds until texts that could not be written are tried again; then twice
LONGEST_PAUSE = 60.0


class Describing:
    """Writes the texts of one stream: at its beginning, and when they would end."""

    def __init__(self, shown: Shown, log: Log) -> None:
        self._name = shown.plan.stream.name
        self._texts = Descriptions(shown.plan, shown.store)
        self._log = log
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._part = -1
        self._thread: threading.Thread | None = None

    def begin(self, step: int) -> None:
        """Starts to write, once the stream is launched."""
        if self._thread is not None and self._thread.is_alive():
            return
        self._part = step // PART
        self._wake.set()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def released(self, step: int) -> None:
        """Says how far the stream is; wakes the thread if there are steps without texts."""
        if step // PART != self._part:
            self._part = step // PART
            self._wake.set()

    def stop(self) -> None:
        """Ends the thread after the text that it is writing, and waits for that."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        pause = FIRST_PAUSE
        known: dict[str, str] = {}  # why it failed, as it was last logged
        while not self._stop.is_set():
            try:
                self._texts.begin()
                while not self._stop.is_set():
                    self._wake.clear()
                    self._texts.catch_up(self._stop.is_set)
                    pause, known = FIRST_PAUSE, {}
                    self._wake.wait()
            except Exception as problem:  # numbers matter more than words about them
                if reason(problem) != known:  # once for each reason
                    self._log.failed(problem, stream=self._name, while_="describing")
                known = reason(problem)
                self._stop.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
