"""What was read and is not released yet: exact totals, records, and the state of the gatherer.

It is secret.  Totals are sparse: for each release, (step, cell) and the sum of its events.  A
release whose keys are discovered has single records instead (``key_records.py``).  The
state is the candidates of bounded users: events of steps that have not closed, because bounds are
applied when a step closes.  A candidate is a keyed hash of the user, cells and amounts, how many
events have these, and nothing else.

In the store it is a version, a checksum, a list of arrays, and their bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ameles.core.exceptions import StoreRefused
from ameles.engine.gathering.key_records import FAR, KeyRecords, steps_between
from ameles.engine.gathering.packed_arrays import Arrays, pack, unpack
from ameles.noise.arrays import IntArray

_MAGIC = b"AMELES\x00P\x02"
# Up to this many places, a table of all of them is quicker than sorting.
DENSE = 1 << 22


@dataclass
class Totals:
    """Exact sums of one release; one row for each (step, cell) with events."""

    step: IntArray
    cell: IntArray
    amounts: IntArray  # (rows, amounts)
    # by step, so that the rows of some steps are found without a search
    ordered: bool = field(default=False, kw_only=True)

    def __repr__(self) -> str:
        return "<Totals>"

    @classmethod
    def none(cls, amounts: int) -> Totals:
        """Totals without any row."""
        empty = np.empty(0, dtype=np.int64)
        return cls(empty, empty, np.empty((0, amounts), dtype=np.int64))

    @classmethod
    def joined(cls, parts: Iterable[Totals], amounts: int) -> Totals:
        """The sum of several totals, with one row for each (step, cell)."""
        some = [part for part in parts if len(part.step)]
        if len(some) < 2:
            return some[0] if some else cls.none(amounts)
        cells = 1 + max(int(part.cell.max()) for part in some)
        first = min(int(part.step.min()) for part in some)
        steps = 1 + max(int(part.step.max()) for part in some) - first
        places = [(part.step - first) * cells + part.cell for part in some]
        if steps * cells <= max(DENSE, 4 * sum(len(place) for place in places)):
            known = np.zeros(steps * cells, dtype=bool)
            for place in places:
                known[place] = True
            where = np.flatnonzero(known)
            index = np.cumsum(known) - 1
            ranks = [index[place] for place in places]
        else:
            where, inverse = np.unique(np.concatenate(places), return_inverse=True)
            ranks = np.split(inverse, np.cumsum([len(place) for place in places])[:-1])
        added = np.zeros((len(where), amounts), dtype=np.int64)
        for part, rank in zip(some, ranks, strict=True):
            added[rank] += part.amounts  # each part has a (step, cell) at most once
        return cls(first + where // cells, where % cells, added, ordered=True)

    def in_order(self) -> Totals:
        """The same by step."""
        if self.ordered:
            return self
        by = np.argsort(self.step, kind="stable")
        return Totals(self.step[by], self.cell[by], self.amounts[by], ordered=True)

    def after(self, last: int) -> Totals:
        """The steps after ``last``; a view of them if they are in order."""
        later = steps_between(self.step, last + 1, FAR, ordered=self.ordered)
        return Totals(self.step[later], self.cell[later], self.amounts[later], ordered=self.ordered)

    def matrix(self, first: int, steps: int, cells: int) -> IntArray:
        """The vectors of steps first, first + 1, ...: all cells of one amount after the other."""
        count = self.amounts.shape[1]
        rows = np.zeros((steps, count, cells), dtype=np.int64)
        if len(self.step):
            here = steps_between(self.step, first, first + steps - 1, ordered=self.ordered)
            step, cell = self.step[here] - first, self.cell[here]
            for place in range(count):  # no name for the sums: whoever wipes them cannot see it
                rows[step, place, cell] = self.amounts[here, place]
        return rows.reshape(steps, count * cells)


@dataclass
class GathererState:
    """What a gatherer passes from one reading to the next; nobody else looks into it."""

    arrays: Arrays = field(default_factory=dict)
    made_by: str = ""  # the version of DuckDB that computed their hashes

    def __repr__(self) -> str:
        return "<GathererState>"

    def __bool__(self) -> bool:
        return bool(self.arrays)


@dataclass
class Pending:
    """Everything that waits for its step to close, by release, and the gatherer's state."""

    totals: dict[str, Totals] = field(default_factory=dict)
    state: GathererState = field(default_factory=GathererState)
    records: dict[str, KeyRecords] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "<Pending>"

    def with_new(
        self,
        totals: Mapping[str, Totals],
        state: GathererState,
        records: Mapping[str, KeyRecords] | None = None,
    ) -> Pending:
        """This, plus what was gathered since."""
        new = {name: self._added(name, more) for name, more in totals.items()}
        both = dict(self.records)
        for name, more in (records or {}).items():
            earlier = [both[name]] if name in both else []
            both[name] = KeyRecords.joined([*earlier, more], more.amounts.shape[1])
        return Pending({**self.totals, **new}, state, both)

    def _added(self, name: str, new: Totals) -> Totals:
        earlier = self.totals.get(name)
        if earlier is None:
            return new
        return Totals.joined([new, earlier], new.amounts.shape[1])

    def after(self, step: int) -> Pending:
        """What waits once the steps up to this one are released."""
        later = {name: totals.after(step) for name, totals in self.totals.items()}
        left = {name: each.after(step) for name, each in self.records.items()}
        return Pending(later, self.state, left)

    def in_order(self) -> Pending:
        """The same by step: then ``after`` copies nothing, however often it is called."""
        totals = {name: each.in_order() for name, each in self.totals.items()}
        records = {name: each.in_order() for name, each in self.records.items()}
        return Pending(totals, self.state, records)

    @property
    def rows(self) -> int:
        """How many totals and records wait."""
        totals = sum(len(each.step) for each in self.totals.values())
        return totals + sum(map(len, self.records.values()))

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return not (self.state or self.rows)

    def to_bytes(self) -> bytes:
        """All arrays, for the store: secret."""
        parts: dict[str, NDArray[Any]] = {}
        for name, totals in self.totals.items():
            parts[f"total/{name}/step"] = totals.step
            parts[f"total/{name}/cell"] = totals.cell
            parts[f"total/{name}/amounts"] = totals.amounts
        for name, records in self.records.items():
            parts |= {f"record/{name}/{part}": a for part, a in records.to_arrays().items()}
        parts |= {f"candidate/{name}": array for name, array in self.state.arrays.items()}
        return _MAGIC + pack(parts, self.state.made_by)

    @classmethod
    def from_bytes(cls, stored: bytes) -> Pending:
        """What ``to_bytes`` wrote."""
        try:
            if stored.startswith(_MAGIC):
                return cls._from(*unpack(stored[len(_MAGIC) :]))
        except (KeyError, TypeError, ValueError, struct.error):
            pass  # the message may quote the data
        raise StoreRefused(
            "The pending state of this stream cannot be read.",
            why="it is damaged, or another version of the program wrote it",
            tip="the newest ameles, or a backup that is not older than its sinks",
        )

    @classmethod
    def _from(cls, parts: Mapping[str, NDArray[Any]], hashed_by: str) -> Pending:
        totals = {
            name: Totals(arrays["step"], arrays["cell"], arrays["amounts"])
            for name, arrays in _by_release(parts, "total/")
        }
        records = {
            name: KeyRecords.from_arrays(arrays) for name, arrays in _by_release(parts, "record/")
        }
        prefix = "candidate/"
        candidates = {
            name.removeprefix(prefix): array
            for name, array in parts.items()
            if name.startswith(prefix)
        }
        if "key" in candidates and "times" not in candidates:
            raise KeyError  # before equal events were one row
        return cls(totals, GathererState(candidates, hashed_by), records)


def _by_release(
    parts: Mapping[str, NDArray[Any]], prefix: str
) -> Iterator[tuple[str, dict[str, NDArray[Any]]]]:
    """The arrays whose names are prefix, release and part, by release and part."""
    releases: dict[str, dict[str, NDArray[Any]]] = {}
    for name, array in parts.items():
        if name.startswith(prefix):
            release, _, part = name.removeprefix(prefix).rpartition("/")
            releases.setdefault(release, {})[part] = array
    yield from sorted(releases.items())
