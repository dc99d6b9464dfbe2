"""The season of a stream that was published before, as a preview draws noise around it.

Published values are free to use: whatever is computed from them is no more than was published.
"""

from __future__ import annotations

from ameles.core.release import COLUMNS
from ameles.simulate.preview.preview import MOST_STEPS, Season
from ameles.store import Store

_RELEASE, _KEY, _VALUE = (COLUMNS.index(name) for name in ("release", "key", "value"))


def released_season(store: Store, stream: str) -> Season:
    """The values of the first steps, by release and key; nothing if it was not launched."""
    season: dict[tuple[str, str], list[float | None]] = {}
    with store.reading() as transaction:
        found = transaction.stream(stream)
        if found is None:
            return season
        for row in transaction.release_rows(found, last=min(found.released, MOST_STEPS)):
            season.setdefault((row[_RELEASE], row[_KEY]), []).append(row[_VALUE])
    return season
