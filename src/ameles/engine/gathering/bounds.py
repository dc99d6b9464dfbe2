"""Bounds: what is kept of each user's events, across keys and releases, before any condition.

In a step a user keeps at most ``max_per_step`` events, those whose keyed hash is smallest; of all
steps, the first ``max_steps`` that have any.  With windows of time both begin anew at each edge.
What is kept of a user depends on that user's events alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import duckdb
import numpy as np
from numpy.typing import NDArray

from ameles.core.guarantee import Unit
from ameles.engine.gathering.crowded import foremost, without_crowds
from ameles.engine.gathering.pending import Candidates
from ameles.noise.arrays import IntArray

KEY_BYTES = 16


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
    salt: bytes = field(repr=False)
    lookup: Lookup | None  # None: nothing was remembered yet
    _hashed: bool = True  # whether users go by what is stored of them, or by their ids

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
        bounded = self._bounded(f"SELECT * FROM ({select}){closing}")
        self._run(f"CREATE OR REPLACE TEMP VIEW allowed AS SELECT *, who AS key FROM ({bounded})")
        return "SELECT * FROM allowed"

    def take(
        self,
        selects: Iterable[str],
        waiting: Candidates,
        *,
        share: int = 0,
        passes: int = 1,
        single: bool = False,
    ) -> str:
        """Holds the events of one share of the users, bounded; gives the rows that count now."""
        scans = self._fresh(selects, single=single)
        known = self.remembers and self.lookup is not None
        self._hashed = bool(waiting) or scans > 1 or known or self._ahead("fresh")
        if self._hashed:
            self._keyed(waiting, share, passes, again=bool(waiting) or scans > 1)
        else:  # hashes are slower than what they stand for, and nobody needs them here
            self._run("CREATE OR REPLACE TEMP VIEW held AS SELECT *, who AS key FROM fresh")
        self._allow()
        return "SELECT * FROM allowed"

    def let_go(self) -> None:
        """Holds nothing any longer: the next share needs the memory."""
        for table in ("fresh", "keyed", "users", "limited", "crowded", "foremost"):
            self._run(f"DROP TABLE IF EXISTS {table}")

    def once(self, cell: str, release: str, span: Literal["step", "life"]) -> str:
        """SQL: (step, cell) in which each user counts for a release in which it counts once."""
        if span == "step":
            unseen, one = "", "key, step ORDER BY place"
        else:
            bit = _bit(self.marks.index(release))
            known = f"SELECT key, span FROM remembered WHERE (marks & {bit}) <> 0"
            unseen, one = (
                f"ANTI JOIN ({known}) USING (key, span) ",
                "key, span ORDER BY step, place",
            )
        return (
            f"SELECT step, {cell} AS cell FROM allowed {unseen}WHERE {cell} IS NOT NULL "
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
        rows = f"SELECT key, used, steps, marks FROM users WHERE span = {span}"
        if self.marks:
            bits = " | ".join(
                f"CASE WHEN bool_or({cells[name]} IS NOT NULL) THEN {_bit(place)} ELSE 0 END"
                for place, name in enumerate(self.marks)
            )
            marked = f"SELECT key, {bits} AS bits FROM allowed WHERE span = {span} GROUP BY key"
            both = f"({rows}) JOIN ({marked}) USING (key)"
            rows = f"SELECT * REPLACE (marks | bits AS marks) FROM {both}"
        key = "key" if self._hashed else self._hash("key")
        found = self._fetched(
            f"SELECT {key} AS key, least(used + steps, {self.max_steps}) AS steps, marks "
            f"FROM ({rows}) WHERE used < {self.max_steps} ORDER BY key"
        )
        users = [bytes(key) for key in found["key"]]
        return Seen(span, users, _whole(found["steps"]), _whole(found["marks"]))

    def _fresh(self, selects: Iterable[str], *, single: bool = False) -> int:
        """New events, bounded within each scan."""
        answers = "".join(f", {name} BIGINT" for name in self.answers)
        self._run(
            "CREATE OR REPLACE TEMP TABLE fresh "
            f"(step BIGINT, who VARCHAR, place UBIGINT, part UBIGINT{answers})"
        )
        scans = 0
        for select in selects:
            scans += 1
            kept = f"SELECT {self._columns} FROM ({select}) {foremost('who', self.per_step)}"
            if single:  # it is large, and quick to read again
                kept = self._bounded(select)
            self._run(f"INSERT INTO fresh {kept}")
        return scans

    @property
    def _columns(self) -> str:
        return ", ".join(("step", "who", "place", "part", *self.answers))

    def _bounded(self, select: str) -> str:
        return without_crowds(self.duck, select, self._columns, self.per_step)

    def _hold_ahead(self, select: str) -> bool:
        """Holds the events of one scan whose steps stay open; whether there are any."""
        some = self._ahead(f"({select})")
        self._fresh([f"SELECT * FROM ({select}) WHERE step > {self.target}"] if some else [])
        self._keyed({}, 0, 1, again=False)
        return some

    def _keyed(self, waiting: Candidates, share: int, passes: int, *, again: bool) -> None:
        """Users as keyed hashes, with their events of earlier runs."""
        names = ", ".join(("step", "key", "place", "part", *self.answers))
        hashes = f"SELECT who, {self._hash('who')} AS key FROM (SELECT DISTINCT who FROM fresh)"
        rows = f"SELECT {names} FROM fresh JOIN ({hashes}) USING (who)"
        if waiting:
            mine = "" if passes == 1 else f" WHERE part % {passes} = {share}"
            answers = "".join(
                f", CASE WHEN no_{name} THEN NULL ELSE {name} END AS {name}"
                for name in self.answers
            )
            self.duck.register("waiting", {**waiting, "key": _unpacked(waiting["key"])})
            rows += f" UNION ALL SELECT step, key, place, part{answers} FROM waiting{mine}"
        if again:
            rows = f"SELECT * FROM ({rows}) {foremost('key', self.per_step)}"
        self._run(f"CREATE OR REPLACE TEMP TABLE keyed AS {rows}")
        self._run("DROP TABLE fresh")
        self._run("CREATE OR REPLACE TEMP VIEW held AS SELECT * FROM keyed")
        if waiting:
            self.duck.unregister("waiting")

    def _hash(self, who: str) -> str:
        """SQL: what is stored in a user's place."""
        return f"unhex(left(sha256('{self.salt.hex()}' || {who}), {2 * KEY_BYTES}))"

    def _allow(self) -> None:
        """The events of closing steps, of the first steps of each user."""
        span = "0" if self.unit.window is None else f"(step - 1) // {self.unit.window}"
        names = ", ".join(("step", "key", "place", "span", *self.answers))
        rows = f"SELECT *, {span} AS span FROM held WHERE step <= {self.target}"
        if not self.remembers:
            self._run(f"CREATE OR REPLACE TEMP VIEW allowed AS SELECT {names} FROM ({rows})")
            return
        self._remember(span)
        found = f"SELECT key, span, count(DISTINCT step) AS steps FROM ({rows}) GROUP BY ALL"
        self._run(
            "CREATE OR REPLACE TEMP TABLE users AS SELECT found.*, "
            "coalesce(remembered.steps, 0) AS used, coalesce(marks, 0) AS marks "
            f"FROM ({found}) AS found LEFT JOIN remembered USING (key, span)"
        )
        # Of most users all steps count; only those of the others are put in order.
        busy = f"(SELECT key, span, used FROM users WHERE used + steps > {self.max_steps})"
        nth = "dense_rank() OVER (PARTITION BY key, span ORDER BY step)"
        self._run(
            f"CREATE OR REPLACE TEMP TABLE limited AS SELECT {names} FROM ({rows}) "
            f"JOIN {busy} USING (key, span) QUALIFY {nth} + used <= {self.max_steps}"
        )
        self._run(
            f"CREATE OR REPLACE TEMP VIEW allowed AS SELECT {names} FROM ({rows}) "
            f"ANTI JOIN {busy} USING (key, span) UNION ALL SELECT {names} FROM limited"
        )

    def _remember(self, span: str) -> None:
        """What earlier runs saw of these users, in the window that goes on."""
        key = "BLOB" if self._hashed else "VARCHAR"
        self._run(
            "CREATE OR REPLACE TEMP TABLE remembered "
            f"(key {key}, span BIGINT, steps BIGINT, marks BIGINT)"
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
