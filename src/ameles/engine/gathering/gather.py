"""Gathering: new rows of a source, bounded and added up, in DuckDB.

For events, sums are taken as the rows pass.  For users, the rows of a share of the users are
held at a time, as many shares as fit into memory: what is kept of a user depends on that user's
events alone, so shares are independent and their sums add up.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from ameles.connectors.duck import OutOfMemory, quiet
from ameles.connectors.reading import Reading
from ameles.engine.gathering.bounds import Bounding, Lookup, Seen
from ameles.engine.gathering.event_sql import Asking, sum_of
from ameles.engine.gathering.pending import Candidates, Pending, Totals
from ameles.plan.plan import Plan

# Rows of users that are held at a time; more are taken in several passes over the source.
ROWS_AT_ONCE = 2_500_000
# Twice as many fit if no user was seen before, and four times if they only pass.
ROWS_OF_NEW_USERS = 2 * ROWS_AT_ONCE
ROWS_PASSING = 4 * ROWS_AT_ONCE
# How many bytes of a file are about one row: no harm if they are more or fewer.
BYTES_A_ROW = 16
MOST_PASSES = 1 << 12


@dataclass
class Gathered:
    """What was read: totals of every step that may close, and what waits."""

    pending: Pending
    position: str
    seen: list[Seen] = field(default_factory=list)

    def __repr__(self) -> str:
        return "<Gathered>"


@dataclass
class Gathering:
    """One reading of a source, under the plan's bounds.

    ``released`` is the last released step, ``target`` the last that is to close now, ``last`` the
    last that may ever have events.
    """

    plan: Plan
    duck: duckdb.DuckDBPyConnection
    reading: Reading
    released: int
    target: int
    last: int
    salt: bytes = field(repr=False)
    waiting: Pending
    lookup: Lookup | None
    arrived: int | None = None

    def gather(self) -> Gathered:
        """Everything that the source has now."""
        if self.plan.privacy.user is None:
            return self._events()
        passes = -(-self.reading.size // (BYTES_A_ROW * self._at_once)) or 1
        # The hashes of another DuckDB divide the users into other shares: then there is only one.
        whole = bool(self.waiting.candidates) and self.waiting.hashed_by != duckdb.__version__
        passes = 1 if whole else passes
        while True:
            try:
                return self._users(passes)
            except OutOfMemory:
                if whole or passes >= MOST_PASSES:
                    raise
                passes *= 2  # smaller shares of the users

    @property
    def _asking(self) -> Asking:
        return Asking(self.plan)

    def _selected(self, share: int = 0, shares: int = 1) -> Generator[str]:
        """The events of each scan, with their answers."""
        for relation in self.reading.scans(self.duck):
            yield self._asking.events(
                relation,
                released=self.released,
                last=self.last,
                salt=self.salt.hex(),
                arrived=self.arrived,
                share=share,
                shares=shares,
            )

    def _events(self) -> Gathered:
        parts = self._parts()
        weight = "weight" if self.plan.stream.weight is not None else None
        for selected in self._selected():
            self._add_up(selected, parts, weight)
        totals = self._joined(parts, self.waiting.totals)
        return Gathered(Pending(totals), self.reading.position)

    def _users(self, passes: int) -> Gathered:
        parts, waiting, seen = self._parts(), [], []
        once = {r.name: r.question.once for r in self.plan.releases if r.question.once is not None}
        cells = self._asking.cells
        bounding = self._bounding
        for share in range(passes):
            selected = self._selected(share, passes)
            # Closed now, if it fails: at its end it takes back what the next try is to read.
            with closing(selected):
                with quiet("bounding what each user adds"):
                    if self._passing:
                        kept = bounding.pass_by(next(selected))
                    else:
                        kept = bounding.take(
                            selected,
                            self.waiting.candidates,
                            share=share,
                            passes=passes,
                            single=self.reading.single,
                        )
                self._add_up(kept, parts, None)
                for name, span in once.items():
                    self._add_up_one(name, bounding.once(cells[name], name, span), parts)
                with quiet("keeping the events of open steps"):
                    waiting.append(bounding.candidates())
                    seen.append(bounding.seen(cells))
                    bounding.let_go()
                for _ in selected:  # at its end it says whether all of it was still there
                    pass
        totals, kept_open = self._joined(parts, {}), _stacked(waiting)
        # While any of them may have older hashes, all are taken to have them.
        older = bool(self.waiting.candidates) and bool(kept_open)
        return Gathered(
            Pending(totals, kept_open, self.waiting.hashed_by if older else duckdb.__version__),
            self.reading.position,
            [some for some in seen if some is not None],
        )

    @property
    def _at_once(self) -> int:
        """How many rows to take at a time."""
        if self._passing:
            return ROWS_PASSING
        new = self.lookup is None and not self.waiting.candidates and self.reading.single
        return ROWS_OF_NEW_USERS if new else ROWS_AT_ONCE

    @property
    def _passing(self) -> bool:
        """Whether users can be bounded as their events pass: in one scan, with no memory."""
        apart = self.waiting.candidates or self._bounding.remembers
        return self.reading.single and not apart

    @cached_property
    def _bounding(self) -> Bounding:
        once = {release.name: release.question.once for release in self.plan.releases}
        return Bounding(
            duck=self.duck,
            unit=self.plan.unit,
            per_step=self.plan.privacy.max_per_step or 1,
            max_steps=self.plan.privacy.max_steps or 1,
            lifetime=self.plan.unit.window or self.plan.stream.horizon,
            answers=self._asking.columns,
            marks=tuple(name for name, span in once.items() if span == "life"),
            released=self.released,
            target=self.target,
            last=self.last,
            salt=self.salt,
            lookup=self.lookup,
        )

    def _parts(self) -> dict[str, list[Totals]]:
        return {release.name: [] for release in self.plan.releases}

    def _joined(
        self, parts: dict[str, list[Totals]], earlier: dict[str, Totals]
    ) -> dict[str, Totals]:
        whole = {
            release.name: Totals.joined(
                [*parts[release.name], *filter(None, [earlier.get(release.name)])],
                len(release.question.amounts),
            )
            for release in self.plan.releases
        }
        for name, found in parts.items():
            for part in found:
                if part is not whole[name]:
                    part.amounts.fill(0)
        return whole

    def _add_up(self, selected: str, parts: dict[str, list[Totals]], weight: str | None) -> None:
        """Sums of all releases that count every event, in one pass over the rows."""
        cells, amounts = self._asking.cells, self._asking.amounts
        counted = [release for release in self.plan.releases if release.question.once is None]
        if not counted:
            return
        columns = list(dict.fromkeys(cells[release.name] for release in counted))
        added = list(dict.fromkeys(name for r in counted for name in amounts[r.name]))
        sums = ", ".join(f"{sum_of(name, weight)} AS {name}" for name in added)
        sets = ", ".join(f"(step, {column})" for column in columns)
        which = ", ".join(f"GROUPING({column}) AS of_{column}" for column in columns)
        query = (
            f"SELECT step, {', '.join(columns)}, {which}, {sums} FROM ({selected}) "
            f"GROUP BY GROUPING SETS ({sets})"
        )
        with quiet("adding up the events of each step"):
            found = self.duck.execute(query).fetchnumpy()
        for release in counted:
            column = cells[release.name]
            here = np.asarray(found[f"of_{column}"]) == 0
            parts[release.name].append(
                _totals(found, here, column, [found[name] for name in amounts[release.name]])
            )
        _wipe(found)
        for release in counted:  # many small scans: keep one row for each cell
            if len(parts[release.name]) >= 64:
                whole = Totals.joined(parts[release.name], len(amounts[release.name]))
                for part in parts[release.name]:
                    part.amounts.fill(0)
                parts[release.name][:] = [whole]

    def _add_up_one(self, name: str, counted: str, parts: dict[str, list[Totals]]) -> None:
        """A release in which each user counts once: (step, cell) of those that do."""
        query = f"SELECT step, cell, count(*) AS n FROM ({counted}) GROUP BY ALL"
        with quiet("adding up the users of each step"):
            found = self.duck.execute(query).fetchnumpy()
        every = np.ones(len(found["step"]), dtype=bool)
        parts[name].append(_totals(found, every, "cell", [found["n"]]))
        _wipe(found)


def _totals(
    found: dict[str, Any], here: NDArray[np.bool_], column: str, amounts: list[Any]
) -> Totals:
    cell = found[column]
    masked = np.ma.getmaskarray(cell)  # NULL: the event counts nowhere
    here = here & ~masked
    exact = [np.ma.getdata(amount)[here].astype(np.int64, copy=False) for amount in amounts]
    totals = Totals(
        np.asarray(found["step"])[here].astype(np.int64),
        np.ma.getdata(cell)[here].astype(np.int64),
        np.stack(exact, axis=1),
    )
    for copied in exact:
        copied.fill(0)
    return totals


def _wipe(found: dict[str, Any]) -> None:
    """Overwrites what DuckDB gave: of some streams no exact sum may stay in memory."""
    for column in found.values():
        np.ma.getdata(column).fill(0)


def _stacked(parts: list[Candidates]) -> Candidates:
    some = [part for part in parts if part]
    if not some:
        return {}
    return {name: np.concatenate([part[name] for part in some]) for name in some[0]}
