"""Exact totals of releases with declared keys, added up by DuckDB, whose copies are overwritten."""

from __future__ import annotations

from typing import Any, Literal

import duckdb
import numpy as np
from numpy.typing import NDArray

from ameles.connectors.duck import quiet
from ameles.engine.gathering.event_sql import EventSql, sum_of
from ameles.engine.gathering.few_events import few_totals
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.pending import Totals
from ameles.engine.gathering.prepared_queries import Numbers, run_prepared

MANY = 64  # so many parts of a release are joined into one before more are added


class AddingUp:
    """The totals of each release so far, part after part."""

    def __init__(self, events: EventSql, duck: duckdb.DuckDBPyConnection) -> None:
        plan = events.plan
        self._events = events
        self._duck = duck
        self._weight = "weight" if plan.stream.weight is not None else None
        self._cells, self._amounts = events.cells, events.amounts
        self._releases = [one for one in plan.releases if one.question.word is None]
        self._parts: dict[str, list[Totals]] = {release.name: [] for release in self._releases}

    @property
    def once(self) -> dict[str, Literal["step", "life"]]:
        """The releases in which a user counts once, and their columns of cells."""
        asked = {release.name: release.question.once for release in self._releases}
        return {name: span for name, span in asked.items() if span is not None}

    def add_events(self, selected: str, numbers: Numbers | None = None) -> None:
        """Sums of all releases that count every event, in one pass over the rows.

        With ``numbers``, which ``selected`` has places for, the query is prepared.
        """
        counted = [release for release in self._releases if release.question.once is None]
        if not counted:
            return
        columns = list(dict.fromkeys(self._cells[release.name] for release in counted))
        added = list(dict.fromkeys(name for r in counted for name in self._amounts[r.name]))
        sums = ", ".join(f"{sum_of(name, self._weight)} AS {name}" for name in added)
        sets = ", ".join(f"(step, {column})" for column in columns)
        which = ", ".join(f"GROUPING({column}) AS of_{column}" for column in columns)
        query = (
            f"SELECT step, {', '.join(columns)}, {which}, {sums} FROM ({selected}) "
            f"GROUP BY GROUPING SETS ({sets})"
        )
        with quiet("adding up the events of each step"):
            found = (
                self._duck.execute(query)
                if numbers is None
                else run_prepared(self._duck, query, numbers)
            )
            groups = found.fetchnumpy()
        for release in counted:
            column = self._cells[release.name]
            here = np.asarray(groups[f"of_{column}"]) == 0
            amounts = [groups[name] for name in self._amounts[release.name]]
            self._add(release.name, _totals(groups, here, column, amounts))
        _wipe(groups)

    def add_few(self, relation: str, moment: Moment) -> None:
        """The same for a plan without users and a relation with a few events."""
        for name, totals in few_totals(self._events, self._duck, relation, moment).items():
            self._add(name, totals)

    def _add(self, name: str, totals: Totals) -> None:
        parts = self._parts[name]
        parts.append(totals)
        if len(parts) >= MANY:  # after many small scans, keep only one row for each cell
            self._parts[name] = [self._joined(name)]

    def add_users(self, name: str, counted: str) -> None:
        """Adds a release in which each user counts once, from the (step, cell) of each user."""
        query = f"SELECT step, cell, count(*) AS n FROM ({counted}) GROUP BY ALL"
        with quiet("adding up the users of each step"):
            groups = self._duck.execute(query).fetchnumpy()
        every = np.ones(len(groups["step"]), dtype=bool)
        self._parts[name].append(_totals(groups, every, "cell", [groups["n"]]))

    def totals(self) -> dict[str, Totals]:
        """The totals of each release, one row for each step and cell."""
        return {release.name: self._joined(release.name) for release in self._releases}

    def _joined(self, name: str) -> Totals:
        parts = self._parts[name]
        whole = Totals.joined(parts, len(self._amounts[name]))
        for part in parts:
            if part is not whole:
                part.amounts.fill(0)
        return whole


def _totals(
    groups: dict[str, Any], here: NDArray[np.bool_], column: str, amounts: list[Any]
) -> Totals:
    cell = groups[column]
    if np.ma.is_masked(cell):  # NULL: the event counts nowhere
        here = here & ~np.ma.getmaskarray(cell)
    exact = [np.ma.getdata(amount)[here].astype(np.int64, copy=False) for amount in amounts]
    totals = Totals(
        np.asarray(groups["step"])[here].astype(np.int64),
        np.ma.getdata(cell)[here].astype(np.int64),
        np.stack(exact, axis=1),
    )
    for copied in exact:
        copied.fill(0)
    return totals


def _wipe(groups: dict[str, Any]) -> None:
    """Overwrites DuckDB's result: some streams must leave no exact sum in memory."""
    for column in groups.values():
        np.ma.getdata(column).fill(0)
