"""How many events bounds keep: the plan's bounds, and others with the noise that they need."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import numpy as np

from ameles.connectors.duck import quiet
from ameles.core.exceptions import AmelesError
from ameles.engine.owner_check.facts import Choice, UserFacts
from ameles.noise.arrays import IntArray
from ameles.plan.forecast import forecasts
from ameles.plan.plan import Plan

ROUND = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000, 1_000_000)
SIDE = 5  # rows and columns of the table
_ROWS = 2_000_000  # pairs of user and step that are sorted at a time


class UserLook:
    """Counts the events of users scan by scan, for one share of the users at a time."""

    def __init__(self, plan: Plan, duck: duckdb.DuckDBPyConnection) -> None:
        self._plan = plan
        self._duck = duck
        self._per_step = plan.privacy.max_per_step or 1
        self._max_steps = plan.privacy.max_steps or 1
        self._rounded = sorted({*ROUND, self._per_step})
        # row n: events in the n-th steps of all users: column 0 all, then by max_per_step
        self._sums: IntArray = np.zeros((1, 1 + len(self._rounded)), dtype=np.int64)
        self.facts = UserFacts()
        self._empty()

    def add(self, events: str) -> None:
        """Adds the rows of ``events``, which has the columns ``step`` and ``who``."""
        with quiet("looking at users"):
            self._duck.execute(
                "INSERT INTO visits SELECT md5_number(who), step, count(*) "
                f"FROM ({events}) GROUP BY ALL"
            )

    def fold(self) -> None:
        """Counts what bounds keep of the added users; no more events of these users may follow."""
        with quiet("looking at what bounds leave out"):
            ((rows,),) = self._duck.execute("SELECT count(*) FROM visits").fetchall()
            shares = -(-rows // _ROWS) or 1
            for share in range(shares):
                self._fold_share(share, shares)
        self._empty()

    def finished(self) -> UserFacts:
        """The facts, with the table of other bounds."""
        kept = self._sums.cumsum(axis=0)  # row s: with max_steps = s
        self.facts.events = int(kept[-1, 0])
        self.facts.kept = self._kept(kept, self._per_step, self._max_steps)
        if self._plan.privacy.max_steps is not None:
            self.facts.choices = self._choices(kept)
        return self.facts

    def _empty(self) -> None:
        self._duck.execute(
            "CREATE OR REPLACE TEMP TABLE visits (who UHUGEINT, step BIGINT, events BIGINT)"
        )

    def _fold_share(self, share: int, shares: int) -> None:
        window = self._plan.unit.window
        span = "0" if window is None else f"(step - 1) // {window}"
        part = "" if shares == 1 else f"WHERE who % {shares} = {share}"
        nth = "row_number() OVER (PARTITION BY who, span ORDER BY step)"
        self._duck.execute(
            f"CREATE OR REPLACE TEMP TABLE ordered AS SELECT who, span, events, {nth} AS nth FROM "
            f"(SELECT who, {span} AS span, step, sum(events) AS events FROM visits {part} "
            "GROUP BY ALL)"
        )
        sums = ", ".join(f"sum(least(events, {most}))" for most in self._rounded)
        rows = self._duck.execute(
            f"SELECT nth, sum(events), {sums} FROM ordered GROUP BY nth"
        ).fetchall()
        highest = max((row[0] for row in rows), default=0)
        if highest >= len(self._sums):
            more = np.zeros((highest + 1 - len(self._sums), self._sums.shape[1]), dtype=np.int64)
            self._sums = np.concatenate([self._sums, more])
        for row in rows:
            self._sums[row[0]] += np.array([int(value) for value in row[1:]], dtype=np.int64)
        whole = "SELECT who, max(nth) AS steps, max(events) AS most FROM ordered GROUP BY who, span"
        beyond = f"steps > {self._max_steps} OR most > {self._per_step}"
        ((users, bounded, most, steps),) = self._duck.execute(
            f"SELECT count(DISTINCT who), count(DISTINCT who) FILTER ({beyond}), "
            f"coalesce(max(most), 0), coalesce(max(steps), 0) FROM ({whole})"
        ).fetchall()
        self._duck.execute("DROP TABLE ordered")
        self.facts.users += users
        self.facts.bounded += bounded
        self.facts.most_in_a_step = max(self.facts.most_in_a_step, int(most))
        self.facts.most_steps = max(self.facts.most_steps, steps)

    def _kept(self, kept: IntArray, per_step: int, max_steps: int) -> int:
        row = min(max_steps, len(kept) - 1)
        return int(kept[row, 1 + self._rounded.index(per_step)])

    def _choices(self, kept: IntArray) -> list[Choice]:
        there_are = self._plan.unit.window or self._plan.stream.horizon
        steps = [s for s in ROUND if there_are is None or s <= there_are]
        return [
            Choice(a, b, self._kept(kept, a, b), half_widths(self._plan, a, b))
            for a in _around(self._per_step, ROUND, self.facts.most_in_a_step)
            for b in _around(self._max_steps, steps, self.facts.most_steps)
        ]


def half_widths(plan: Plan, per_step: int, max_steps: int) -> dict[str, float | None]:
    """The half-width of each release at the last step, under these bounds."""
    bounds = {"max_per_step": per_step, "max_steps": max_steps}
    other = replace(plan, privacy=plan.privacy.model_copy(update=bounds))
    try:
        return {forecast.release: forecast.half_widths[-1] for forecast in forecasts(other)}
    except AmelesError:  # the release refuses these bounds
        return dict.fromkeys([release.name for release in plan.releases])


def _around(own: int, others: list[int] | tuple[int, ...], enough: int) -> list[int]:
    """Some bounds around the plan's own, up to the first bound that leaves nothing out.

    >>> _around(6, ROUND, 30), _around(1, ROUND, 1)
    ([3, 5, 6, 10, 20], [1])
    """
    useful = [one for place, one in enumerate(others) if not place or others[place - 1] < enough]
    listed = sorted({*useful, own})
    first = max(0, min(listed.index(own) - SIDE // 2, len(listed) - SIDE))
    return listed[first : first + SIDE]
