"""Bounds: what is kept of each user's events, across keys and releases, before any condition.

In a step a user keeps at most ``max_per_step`` events, those whose keyed hash is smallest; of all
steps, the first ``max_steps`` that have any.  With windows of time both begin anew at each edge.
What is kept of a user depends on that user's events alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import duckdb
import numpy as np
from numpy.typing import NDArray

from ameles.core.guarantee import Unit
from ameles.engine.pending import Candidates
from ameles.noise.arrays import IntArray

KEY_BYTES = 16
_CROWDS = 1 << 32


@dataclass(frozen=True)
class Seen:
    """What is remembered of users in one window: steps that they used, releases that have them."""

    window: int
    users: list[bytes]
    steps: IntArray
    marks: IntArray

    def __repr__(self) -> str:
        return "<Seen>"


Lookup: TypeAlias = Callable[[int, list[bytes]], Seen]


@dataclass
class Bounding:
    """The bounds of a plan, applied to one share of the users after the other.

    ``marks`` numbers the releases in which a user counts once for life; ``lifetime`` is the number
    of steps that there are, for a user or in a window; None: without end.  ``released`` is the
    last released step, ``target`` the last that closes now, ``last`` the last that may have events.
    """

    duck: duckdb.DuckDBPyConnection
    unit: Unit
    per_step: int
    max_steps: int
    lifetime: int | None
    answers: tuple[str, ...]
    marks: tuple[str, ...]
    released: int
    target: int
    last: int
    salt: bytes
    lookup: Lookup | None  # None: nothing was remembered yet

    @property
    def remembers(self) -> bool:
        """Whether anything of a user must outlive the step."""
        limited = self.lifetime is None or self.max_steps < self.lifetime
        return limited or bool(self.marks)

    def window_of(self, step: int) -> int:
        """The window that a step is in, from 0."""
        return 0 if self.unit.window is None else (step - 1) // self.unit.window

    def pass_by(self, select: str) -> str:
        """Bounds the events of one scan as they pass; gives the rows that count now.

        For bounds that remember nothing: then each step is by itself, and only the events of
        those that stay open are held.  The scan must last until the rows are read.
        """
        closing = f" WHERE step <= {self.target}" if self._hold_ahead(select) else ""
        names = ", ".join(("step", "key", "place", *self.answers))
        rows = (
            f"SELECT *, who AS key, CAST(hash(who, step) % {_CROWDS} AS UINTEGER) AS crowd "
            f"FROM ({select}){closing}"
        )
        # Few users have more events in a step than they may.  Counts by a short hash leave out all
        # who certainly have not, and only the others are put in order.
        self._run(
            f"CREATE OR REPLACE TEMP TABLE crowded AS SELECT crowd FROM ({rows}) "
            f"GROUP BY crowd HAVING count(*) > {self.per_step}"
        )
        self._run(
            f"CREATE OR REPLACE TEMP TABLE foremost AS SELECT {names} FROM ({rows}) "
            f"SEMI JOIN crowded USING (crowd) {self._foremost('key')}"
        )
        self._run(
            f"CREATE OR REPLACE TEMP VIEW allowed AS SELECT {names} FROM ({rows}) "
            f"ANTI JOIN crowded USING (crowd) UNION ALL SELECT {names} FROM foremost"
        )
        return "SELECT * FROM allowed"

    def take(self, selects: Iterable[str], waiting: Candidates, *, share: int, passes: int) -> str:
        """Holds the events of one share of the users, bounded; gives the rows that count now."""
        scans = self._fresh(selects)
        if waiting or scans > 1 or self.remembers or self._ahead("fresh"):
            self._keyed(waiting, share, passes, again=bool(waiting) or scans > 1)
        else:
            self._run("CREATE OR REPLACE TEMP VIEW held AS SELECT *, who AS key FROM fresh")
        self._allow()
        return "SELECT * FROM allowed"

    def let_go(self) -> None:
        """Holds nothing any longer: the next share needs the memory."""
        for table in ("fresh", "keyed", "limited", "crowded", "foremost"):
            self._run(f"DROP TABLE IF EXISTS {table}")

    def once(self, cell: str, release: str, span: Literal["step", "life"]) -> str:
        """SQL: (step, cell) in which each user counts for a release in which it counts once."""
        if span == "step":
            unseen, one = "", "key, step ORDER BY place"
        else:
            unseen = f" AND (marks & {_bit(self.marks.index(release))}) = 0"
            one = "key, span ORDER BY step, place"
        return (
            f"SELECT step, {cell} AS cell FROM allowed WHERE {cell} IS NOT NULL{unseen} "
            f"QUALIFY row_number() OVER (PARTITION BY {one}) = 1"
        )

    def candidates(self) -> Candidates:
        """The events of steps that stay open."""
        if not self._ahead("held"):
            return {}
        columns = ", ".join(("step", "key", "place", "part", *self.answers))
        found = self._fetched(f"SELECT {columns} FROM held WHERE step > {self.target}")
        kept: Candidates = {"key": _packed(found.pop("key"))}
        for name, values in found.items():
            plain = np.ma.getdata(values)
            kept[name] = plain if name in ("place", "part") else plain.astype(np.int64)
            if name in self.answers:
                kept[f"no_{name}"] = np.ma.getmaskarray(values)
        return kept

    def seen(self, cells: dict[str, str]) -> Seen | None:
        """What must be remembered of the users of this share; ``cells`` of the marked releases."""
        span = self.window_of(self.target + 1)
        if not self.remembers:
            return None
        bits = " | ".join(
            f"CASE WHEN bool_or({cells[name]} IS NOT NULL) THEN {_bit(place)} ELSE 0 END"
            for place, name in enumerate(self.marks)
        )
        found = self._fetched(
            f"SELECT key, any_value(used) + count(DISTINCT step) AS steps, "
            f"any_value(marks) | ({bits or 0}) AS marks "
            f"FROM allowed WHERE span = {span} GROUP BY key ORDER BY key"
        )
        users = [bytes(key) for key in found["key"]]
        return Seen(span, users, _whole(found["steps"]), _whole(found["marks"]))

    def _fresh(self, selects: Iterable[str]) -> int:
        """New events, bounded within each scan."""
        answers = "".join(f", {name} BIGINT" for name in self.answers)
        self._run(
            "CREATE OR REPLACE TEMP TABLE fresh "
            f"(step BIGINT, who VARCHAR, place UBIGINT, part UBIGINT{answers})"
        )
        names = ", ".join(("step", "who", "place", "part", *self.answers))
        scans = 0
        for select in selects:
            scans += 1
            self._run(f"INSERT INTO fresh SELECT {names} FROM ({select}) {self._foremost('who')}")
        return scans

    def _hold_ahead(self, select: str) -> bool:
        """Holds the events of one scan whose steps stay open; whether there are any."""
        some = self._ahead(f"({select})")
        self._fresh([f"SELECT * FROM ({select}) WHERE step > {self.target}"] if some else [])
        self._keyed({}, 0, 1, again=False)
        return some

    def _foremost(self, user: str) -> str:
        """SQL: only the events that a user keeps in a step."""
        nth = f"row_number() OVER (PARTITION BY {user}, step ORDER BY place)"
        return f"QUALIFY {nth} <= {self.per_step}"

    def _keyed(self, waiting: Candidates, share: int, passes: int, *, again: bool) -> None:
        """Users as keyed hashes, with their events of earlier runs."""
        names = ", ".join(("step", "key", "place", "part", *self.answers))
        key = f"unhex(left(sha256('{self.salt.hex()}' || who), {2 * KEY_BYTES}))"
        rows = (
            f"SELECT {names} FROM fresh JOIN "
            f"(SELECT who, {key} AS key FROM (SELECT DISTINCT who FROM fresh)) USING (who)"
        )
        if waiting:
            mine = "" if passes == 1 else f" WHERE part % {passes} = {share}"
            answers = "".join(
                f", CASE WHEN no_{name} THEN NULL ELSE {name} END AS {name}"
                for name in self.answers
            )
            self.duck.register("waiting", {**waiting, "key": _unpacked(waiting["key"])})
            rows += f" UNION ALL SELECT step, key, place, part{answers} FROM waiting{mine}"
        if again:
            rows = f"SELECT * FROM ({rows}) {self._foremost('key')}"
        self._run(f"CREATE OR REPLACE TEMP TABLE keyed AS {rows}")
        self._run("DROP TABLE fresh")
        self._run("CREATE OR REPLACE TEMP VIEW held AS SELECT * FROM keyed")
        if waiting:
            self.duck.unregister("waiting")

    def _allow(self) -> None:
        """The events of closing steps, of the first steps of each user."""
        closing = f"step <= {self.target}"
        if not self.remembers:
            self._run(
                "CREATE OR REPLACE TEMP VIEW allowed AS "
                f"SELECT *, 0 AS span, 0 AS used, 0 AS marks FROM held WHERE {closing}"
            )
            return
        span = "0" if self.unit.window is None else f"(step - 1) // {self.unit.window}"
        self._remember(span)
        self._run(
            "CREATE OR REPLACE TEMP TABLE limited AS SELECT * EXCLUDE (nth) FROM ("
            "SELECT *, dense_rank() OVER (PARTITION BY key, span ORDER BY step) AS nth FROM ("
            f"SELECT held.*, {span} AS span, coalesce(remembered.steps, 0) AS used, "
            "coalesce(remembered.marks, 0) AS marks FROM held LEFT JOIN remembered "
            f"ON remembered.key = held.key AND remembered.span = {span} WHERE {closing}"
            f")) WHERE nth + used <= {self.max_steps}"
        )
        self._run("CREATE OR REPLACE TEMP VIEW allowed AS SELECT * FROM limited")

    def _remember(self, span: str) -> None:
        """What earlier runs saw of these users, in the window that goes on."""
        self._run(
            "CREATE OR REPLACE TEMP TABLE remembered "
            "(key BLOB, span BIGINT, steps BIGINT, marks BIGINT)"
        )
        if self.lookup is None:
            return
        current = self.window_of(self.released + 1)
        found = self._fetched(f"SELECT DISTINCT key FROM held WHERE {span} = {current}")
        known = self.lookup(current, [bytes(key) for key in found["key"]])
        if known.users:
            keys = np.empty(len(known.users), dtype=object)
            keys[:] = known.users
            self.duck.register("known", {"key": keys, "steps": known.steps, "marks": known.marks})
            self._run(f"INSERT INTO remembered SELECT key, {current}, steps, marks FROM known")
            self.duck.unregister("known")

    def _ahead(self, table: str) -> bool:
        """Whether any of its events is of a step that stays open."""
        if self.target >= self.last:
            return False
        query = f"SELECT count(*) > 0 FROM {table} WHERE step > {self.target}"
        # all of it, since a result that is not read to its end blocks the connection
        ((found,),) = self.duck.execute(query).fetchall()
        return bool(found)

    def _run(self, query: str) -> None:
        self.duck.execute(query)

    def _fetched(self, query: str) -> dict[str, Any]:
        return self.duck.execute(query).fetchnumpy()


def _bit(place: int) -> str:
    """SQL: a BIGINT with this bit alone; the last of 64 makes it negative."""
    return f"CAST({1 << place if place < 63 else -(1 << 63)} AS BIGINT)"


def _whole(values: Any) -> IntArray:
    return np.ma.getdata(values).astype(np.int64)


def _packed(keys: Any) -> NDArray[np.uint8]:
    joined = b"".join(bytes(key) for key in keys)
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, KEY_BYTES).copy()


def _unpacked(keys: NDArray[Any]) -> NDArray[Any]:
    found = np.empty(len(keys), dtype=object)
    found[:] = [bytes(row) for row in keys]
    return found
