"""Merges the log of a store into its file in a thread of its own, so that no commit waits for it.

SQLite merges when the log has 1,000 pages, in the commit that filled it; that takes as long as ten
other commits.  A service commits many times a second, and somebody waits for each.  So the thread
copies pages while others write, and holds them up only for the last few.  The next commit after
that begins the log anew.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

from ameles.core.exceptions import StoreRefused

SECONDS = 1.0  # between two looks
COMMITS = 64  # fewer since the last look are not worth a merge
LONG = 4096  # pages of a log that must begin anew
LONGEST = 16384  # from here on, a commit merges the log itself: the thread cannot

_MERGE = "PRAGMA wal_checkpoint(PASSIVE)"  # it copies what it can, and never makes others wait


class LogMerging:
    """The thread, from its start to ``stop``.

    ``commits`` says how many commits there were; ``alone`` keeps writers of this process away.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        commits: Callable[[], int],
        alone: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._connection = connection
        self._commits = commits
        self._alone = alone
        self._merged = commits()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log merging", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._stop.set()
        self._thread.join()

    def look(self) -> None:
        """Merges the log if there were enough commits.

        A failure is left to the commits, which say what is wrong with the disk.
        """
        commits = self._commits()
        if commits - self._merged < COMMITS:
            return
        self._merged = commits
        with suppress(sqlite3.Error, StoreRefused):
            self._merge()
            if self._merge() >= LONG:  # what came during the first: little is left for the last
                with self._alone():
                    self._merge()

    def _run(self) -> None:
        while not self._stop.wait(SECONDS):
            self.look()

    def _merge(self) -> int:
        """Copies what it can; returns how many pages the log has."""
        _, pages, _ = self._connection.execute(_MERGE).fetchone()
        return int(pages)
