"""Releases in a store: appended once, never changed, read in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.release import Release, written
from ameles.store.records import Series, StreamRecord, moment
from ameles.store.session import Row
from ameles.store.states import States

Numbers: TypeAlias = NDArray[np.integer[Any]] | NDArray[np.floating[Any]]

_BLOCK = 1 << 16  # rows that exist as Python objects at a time
_FOREVER = 1 << 62


class Releases(States):
    """Series, steps, and a value for each pair of them."""

    def add_series(
        self,
        stream: StreamRecord,
        release: str,
        keys: Sequence[str],
        mechanism: str,
        entry: int,
    ) -> int:
        """Adds one series for each key of a release; returns the number of the first, and the
        others have the numbers that follow."""
        self.paid(stream, entry)
        first = self._session.one(
            "SELECT coalesce(max(number), 0) + 1 FROM series WHERE stream = ?", (stream.number,)
        )
        self._session.append(
            "series",
            {
                "stream": stream.number,
                "number": np.arange(first, first + len(keys)),
                "release": release,
                "key": list(keys),
                "mechanism": mechanism,
                "entry": entry,
            },
            double=f"A key of release '{release}' already has a series.",
        )
        return int(first)

    def series(self, stream: StreamRecord) -> tuple[Series, ...]:
        """All series of a stream, by number."""
        rows = self._session.rows(
            'SELECT number, release, "key", mechanism, entry FROM series WHERE stream = ? '
            "ORDER BY number",
            (stream.number,),
        )
        return tuple(Series(*row) for row in rows)

    def add_steps(self, stream: StreamRecord, steps: Iterable[tuple[int, int, int]]) -> None:
        """Adds steps with their start and end, in microseconds since 1970, UTC."""
        table = list(steps)
        self._session.append(
            "step",
            {
                "stream": stream.number,
                "step": [row[0] for row in table],
                "start_us": [row[1] for row in table],
                "end_us": [row[2] for row in table],
            },
            double=f"A step of stream '{stream.name}' was closed before.",
        )

    def add_releases(
        self,
        stream: StreamRecord,
        first_step: int,
        first_series: int,
        value: Numbers,
        low: Numbers,
        high: Numbers,
        label: NDArray[np.str_] | None = None,
    ) -> None:
        """Adds values of consecutive steps (rows) and series (columns); one that is not finite
        becomes None.

        A second value for one step and series is refused.
        """
        shape = np.shape(value)
        others = [low, high] if label is None else [low, high, label]
        if len(shape) != 2 or any(np.shape(other) != shape for other in others):
            raise BadInput("Values, bounds and labels must be tables of one shape.")
        if any(table.dtype.kind not in "if" for table in (value, low, high)):
            raise BadInput("Values and bounds must be integers or floats.")
        steps, width = shape
        self._declared(stream, first_step, steps, first_series, width)
        series = np.arange(first_series, first_series + width)
        block = max(1, _BLOCK // max(1, width))
        for done in range(0, steps, block):
            part = slice(done, min(done + block, steps))
            count = part.stop - part.start
            numbers = np.arange(part.start, part.stop) + first_step
            self._session.append(
                "release",
                {
                    "stream": stream.number,
                    "step": first_step + done if count == 1 else np.repeat(numbers, width),
                    "series": series if count == 1 else np.tile(series, count),
                    "value": value[part].ravel(),
                    "low": low[part].ravel(),
                    "high": high[part].ravel(),
                    "label": "" if label is None else label[part].ravel(),
                },
                double=f"A step of stream '{stream.name}' was released before.",
            )

    def release_rows(
        self,
        stream: StreamRecord,
        *,
        release: str | None = None,
        key: str | None = None,
        first: int = 1,
        last: int | None = None,
    ) -> Iterator[Row]:
        """Releases as plain tuples in the order of ``COLUMNS``, times as files have them.

        By step, then series; they must be read before the transaction ends.
        """
        return self._release_rows(stream, release, key, first, last, written)

    def releases(
        self,
        stream: StreamRecord,
        *,
        release: str | None = None,
        key: str | None = None,
        first: int = 1,
        last: int | None = None,
    ) -> Iterator[Release]:
        """Releases from step ``first`` to ``last``, of one release and one key or of all.

        By step, then series; they must be read before the transaction ends.
        """
        for row in self._release_rows(stream, release, key, first, last, lambda time: time):
            yield _release(*row)

    def release_table(
        self,
        stream: StreamRecord,
        column: Literal["value", "low", "high", "label"],
        steps: tuple[int, int],
        series: tuple[int, int],
    ) -> NDArray[Any]:
        """One column of the releases in two ranges (first and last): a row a step, a column a
        series.

        Numbers are floats, and NaN if there is none.
        """
        cells = self._session.published_column(stream.number, steps, series, column)
        shape = steps[1] - steps[0] + 1, series[1] - series[0] + 1
        kind = object if column == "label" else np.float64
        if len(cells) == shape[0] * shape[1]:
            return np.array(cells, dtype=kind).reshape(shape)
        # some series begin later, because their keys were discovered
        table = np.full(shape, "" if column == "label" else np.nan, dtype=kind)
        place = 4 + ("value", "low", "high", "label").index(column)
        for chunk in self._session.published(stream.number, steps, series):
            for row in chunk:
                table[row[0] - steps[0], row[3] - series[0]] = row[place]
        return table

    def _release_rows(
        self,
        stream: StreamRecord,
        release: str | None,
        key: str | None,
        first: int,
        last: int | None,
        as_time: Callable[[datetime], str | datetime],
    ) -> Iterator[Row]:
        wanted = {
            series.number: (series.release, series.key, series.mechanism, series.entry)
            for series in self.series(stream)
            if release in (None, series.release) and key in (None, series.key)
        }
        if not wanted:
            return
        final = _FOREVER if last is None else last
        chosen = min(wanted), max(wanted)
        known = -1
        start: str | datetime = ""
        end: str | datetime = ""
        for chunk in self._session.published(stream.number, (first, final), chosen):
            for step, start_us, end_us, number, value, low, high, label in chunk:
                if number not in wanted:
                    continue
                if step != known:
                    start, end, known = as_time(moment(start_us)), as_time(moment(end_us)), step
                name, which, mechanism, entry = wanted[number]
                yield (
                    stream.name,
                    name,
                    which,
                    step,
                    start,
                    end,
                    value,
                    low,
                    high,
                    label,
                    mechanism,
                    entry,
                )

    def _declared(
        self, stream: StreamRecord, first_step: int, steps: int, first_series: int, width: int
    ) -> None:
        """Refuses values of steps or series that were not added before."""
        (there,) = self._session.rows(
            "SELECT "
            "(SELECT count(*) FROM step WHERE stream = ? AND step >= ? AND step < ?), "
            "(SELECT count(*) FROM series WHERE stream = ? AND number >= ? AND number < ?)",
            (
                *(stream.number, first_step, first_step + steps),
                *(stream.number, first_series, first_series + width),
            ),
        )
        if tuple(there) != (steps, width):
            raise StoreRefused(
                f"These releases of stream '{stream.name}' have steps or series that were not "
                "declared.",
                tip="add_series(...) and add_steps(...) before add_releases(...)",
            )


def _release(
    stream: str,
    release: str,
    key: str,
    step: int,
    start: datetime,
    end: datetime,
    value: int | float | None,
    low: int | float | None,
    high: int | float | None,
    label: str,
    mechanism: str,
    entry: int,
) -> Release:
    """A row as a record; written out, because that is the fastest call with keyword arguments."""
    return Release(
        stream=stream,
        release=release,
        key=key,
        step=step,
        start=start,
        end=end,
        value=value,
        low=low,
        high=high,
        label=label,
        mechanism=mechanism,
        entry=entry,
    )
