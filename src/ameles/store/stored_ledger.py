"""A ledger whose entries are rows of a store: how they are written, and how they are read again.

The rules are those of ``Ledger``.  It lives as long as its transaction, which writes what it sells.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ameles.core import codec
from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.guarantee import Guarantee
from ameles.core.loss import Loss, loss_from_dict, loss_to_dict
from ameles.ledger import Budget, BudgetRecord, Entry, Ledger, Renewal
from ameles.ledger.budget import Child
from ameles.ledger.run_progress import check_newest
from ameles.mechanisms.snapshot import MAGIC, run_id
from ameles.store.records import StreamRecord, microseconds, moment
from ameles.store.session import Row, StoreSession

_HEADER = 128  # bytes that always include the head of a snapshot: its run and its step
_ENTRY = 'number, at, "on", why, "by", asked, paid, recipe, guarantee, run'


class StoredLedger(Ledger):
    """A ledger whose entries are rows; it sells only while its transaction is open.

    It resumes only snapshots that a stream stores as its state, and those of questions that have no
    answer yet.  ``sealed`` is a stream whose state is in its vault: the caller who names it vouches
    for the snapshots, and the store knows the earliest step that they may have.
    """

    def __init__(
        self,
        session: StoreSession,
        number: int,
        name: str,
        *,
        sealed: StreamRecord | None = None,
        **terms: Any,
    ) -> None:
        super().__init__(
            name,
            entries=_entries(session, number),
            renewals=_renewals(session, number),
            budgets=budget_records(session, number),
            reached=_reached(session, number),
            **terms,
        )
        self._session = session
        self._number = number
        self._sealed = sealed

    def _check_newest(self, run: str, snapshot: bytes, step: int) -> None:
        # It does not matter what runs have drawn in this process: a failed transaction has released
        # nothing, and the stream goes on from its last commit.
        check_newest(step, self._runs.stored(run))
        # The database never gets a state that may be seized: it would keep a copy in memory.
        known = self._is_stored(snapshot) if self._sealed is None else self._is_sealed(run, step)
        if not known:
            raise StoreRefused(
                "This snapshot is not the state of a stream or of an open question in this store.",
                why="only its stream may resume a run of a store's ledger, because only the stream "
                "knows what was released; of an open question, nothing was",
                tip="transaction.set_state(...) when the run is bought, and after every step",
            )

    def _is_stored(self, snapshot: bytes) -> bool:
        """Whether it is the state of a stream, or of a question that has no answer yet."""
        row = self._session.row(
            "SELECT 1 FROM state JOIN stream ON stream.number = state.stream "
            "WHERE stream.population = ? AND state.snapshot = ? UNION ALL "
            "SELECT 1 FROM answer WHERE population = ? AND snapshot = ?",
            (self._number, snapshot, self._number, snapshot),
        )
        return row is not None

    def _is_sealed(self, run: str, step: int) -> bool:
        """Whether the run was bought for the stream of this vault, and is not behind the store."""
        if self._sealed is None:
            return False
        row = self._session.row(
            "SELECT released FROM stream WHERE number = ? AND population = ? AND NOT EXISTS "
            "(SELECT 1 FROM state WHERE stream = number AND length(snapshot) > 0)",
            (self._sealed.number, self._number),
        )
        name = f"{self._sealed.name}/"
        bought = any(entry.run == run and entry.on.startswith(name) for entry in self.entries)
        return row is not None and bought and step >= row[0]

    def _record(self, entry: Entry) -> None:
        values = (
            self._number,
            entry.number,
            microseconds(entry.at),
            entry.on,
            entry.why,
            entry.by,
            written_loss(entry.asked),
            written_loss(entry.paid),
            entry.recipe,
            entry.guarantee.to_json(),
            entry.run,
        )
        self._session.write(
            f"INSERT INTO entry (population, {_ENTRY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values,
            double=f"The ledger of population '{self.name}' was spent from elsewhere in this "
            "transaction.",
        )

    def _record_renewal(self, renewal: Renewal) -> None:
        self._session.write(
            "INSERT INTO renewal (population, number, at, why, added) VALUES (?, ?, ?, ?, ?)",
            (
                self._number,
                len(self.renewals) + 1,
                microseconds(renewal.at),
                renewal.why,
                written_loss(renewal.added),
            ),
            double=f"The ledger of population '{self.name}' was renewed elsewhere in this "
            "transaction.",
        )

    def _record_budget(self, record: BudgetRecord, parent: Budget) -> None:
        # Then what an entry paid is what every named budget above it paid, and nothing else has to
        # be kept to add them up again.
        if parent.payer is not parent:
            raise BadInput(
                f"A store keeps no budget below '{parent.name}'.",
                why="that one is scaled or a part of a partition, and is not kept itself",
                tip="a child of the population, or of another child",
            )
        self._session.write(
            "INSERT INTO budget (population, number, name, parent, cap, opened) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (
                self._number,
                len(self.children) + 1,
                record.name,
                record.parent,
                None if record.cap is None else written_loss(record.cap),
                microseconds(record.opened),
            ),
            double=f"A budget of population '{self.name}' was opened elsewhere in this "
            "transaction.",
        )

    def _record_budget_renewal(self, child: Child, renewal: Renewal) -> None:
        self._session.write(
            "INSERT INTO budget_renewal (population, budget, number, at, why, added) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (
                self._number,
                child.name,
                len(child.renewals) + 1,
                microseconds(renewal.at),
                renewal.why,
                written_loss(renewal.added),
            ),
            double=f"Budget '{child.name}' of population '{self.name}' was renewed elsewhere in "
            "this transaction.",
        )


def budget_records(session: StoreSession, population: int) -> list[BudgetRecord]:
    """The named budgets of a population, in the order of their opening."""
    rows = session.rows(
        "SELECT name, parent, cap, opened FROM budget WHERE population = ? ORDER BY number",
        (population,),
    )
    raised: dict[str, list[Renewal]] = {}
    for name, at, why, added in session.rows(
        "SELECT budget, at, why, added FROM budget_renewal WHERE population = ? "
        "ORDER BY budget, number",
        (population,),
    ):
        renewal = Renewal(at=moment(at), why=why, added=read_loss(added))
        raised.setdefault(name, []).append(renewal)
    return [
        BudgetRecord(
            name=name,
            parent=parent,
            cap=None if cap is None else read_loss(cap),
            opened=moment(opened),
            renewals=tuple(raised.get(name, ())),
        )
        for name, parent, cap, opened in rows
    ]


def _entries(session: StoreSession, population: int) -> list[Entry]:
    rows = session.rows(
        f"SELECT {_ENTRY} FROM entry WHERE population = ? ORDER BY number", (population,)
    )
    return [_entry(row) for row in rows]


def _renewals(session: StoreSession, population: int) -> list[Renewal]:
    rows = session.rows(
        "SELECT at, why, added FROM renewal WHERE population = ? ORDER BY number", (population,)
    )
    return [Renewal(at=moment(at), why=why, added=read_loss(added)) for at, why, added in rows]


def _reached(session: StoreSession, population: int) -> dict[str, int]:
    """The step of the stored snapshot of each run."""
    rows = session.rows(
        "SELECT substr(state.snapshot, 1, ?) FROM state JOIN stream "
        "ON stream.number = state.stream WHERE stream.population = ?",
        (_HEADER, population),
    )
    # SQLite gives NULL for the head of an empty snapshot: its state is kept elsewhere.
    heads = [head for (head,) in rows if head is not None and head.startswith(MAGIC)]
    return dict(run_id(head) for head in heads)


def written_loss(loss: Loss) -> str:
    """A loss as the store keeps it."""
    return codec.write("loss", 1, loss_to_dict(loss))


# Cached, because many entries have the same price or the same guarantee.
@lru_cache(maxsize=1024)
def read_loss(text: str) -> Loss:
    """A loss that the store has kept."""
    try:
        return loss_from_dict(codec.read("loss", 1, text))
    except BadInput:
        raise codec.damaged("loss") from None


@lru_cache(maxsize=1024)
def _guarantee(text: str) -> Guarantee:
    return Guarantee.from_json(text)


def _entry(row: Row) -> Entry:
    number, at, on, why, by, asked, paid, recipe, guarantee, run = row
    return Entry(
        number=number,
        at=moment(at),
        on=on,
        why=why,
        by=by,
        asked=read_loss(asked),
        paid=read_loss(paid),
        recipe=recipe,
        guarantee=_guarantee(guarantee),
        run=run,
    )
