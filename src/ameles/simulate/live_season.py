"""A season that happens now, faster than in life: a clock, and a log that grows with it.

The site writes each visit to its log when its time has come.  Whoever asks for the time finds in
the log everything that happened before: no visit is ever behind the clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ameles.simulate.files import write_csv
from ameles.simulate.visits import Season

DAY = 86_400


class LiveSeason:
    """``path`` gets the visits of a season; a day takes ``seconds``.

    It begins when somebody first asks for the time.

    ``start`` is when the season begins, in microseconds since 1970.
    """

    def __init__(
        self,
        path: Path,
        season: Season,
        *,
        start: int,
        seconds: float = 1.0,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        with TemporaryDirectory() as folder:
            whole = Path(folder) / "season.csv"
            write_csv(whole, season)
            header, *self._lines = whole.read_bytes().splitlines(keepends=True)
        times = [visits.reported_at.astype("datetime64[us]") for visits in season]
        # in the order of the log
        self._times = np.maximum.accumulate(np.concatenate(times).astype(np.int64))
        self._path = path
        self._start = start
        self._speed = DAY / seconds
        self._elapsed = elapsed
        self._lock = threading.Lock()
        self._written = 0  # lines
        path.write_bytes(header)
        self._since: float | None = None

    def now(self) -> int:
        """The time in the season, in microseconds since 1970, after the log has come up to it."""
        with self._lock:
            here = self._elapsed()
            self._since = here if self._since is None else self._since
            passed = here - self._since
            at = self._start + int(passed * self._speed * 1e6)
            until = int(np.searchsorted(self._times, at, side="left"))
            if until > self._written:
                with self._path.open("ab") as log:
                    log.writelines(self._lines[self._written : until])
                self._written = until
            return at
