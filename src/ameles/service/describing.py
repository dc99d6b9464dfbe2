"""The threads that keep the texts about streams up to date, beside those that follow them.

A release never waits for its explanation.
"""

from __future__ import annotations

import threading

from ameles.engine.running.descriptions import PART, Descriptions
from ameles.service.log import Log
from ameles.service.published import Shown


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
        """Starts to write, once the stream is launched; again if that has failed."""
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
        try:
            self._texts.begin()
            while not self._stop.is_set():
                self._wake.clear()
                self._texts.catch_up(self._stop.is_set)
                self._wake.wait()
        except BaseException as problem:  # numbers matter more than words about them
            self._log.failed(problem, stream=self._name, while_="describing")
