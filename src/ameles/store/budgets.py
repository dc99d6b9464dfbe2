"""Populations and their ledgers in a store.

A ledger is restored from its entries inside a transaction; the same transaction writes what it
sells.  During a writing transaction nobody else can spend, so the cap holds across processes.  The
rules are those of ``Ledger``; this module only reads and writes entries.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from ameles.core import codec
from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.guarantee import Guarantee, Neighbours, Unit
from ameles.core.loss import Loss, loss_from_dict, loss_to_dict
from ameles.core.noise import Noise
from ameles.ledger import Entry, Ledger, Renewal
from ameles.ledger.entering import CapTerms
from ameles.mechanisms.snapshot import MAGIC, run_id
from ameles.store.records import PopulationRecord, StreamRecord, microseconds, moment
from ameles.store.session import Row, Session, TransactionPart

_HEADER = 128  # bytes that always include the head of a snapshot: its run and its step
_ENTRY = 'number, at, "on", why, "by", asked, paid, recipe, guarantee, run'
_POPULATION = 'number, name, cap, unit, neighbours, "window", contributions, opened, phase'


def _now() -> datetime:
    return datetime.now(UTC)


class StoredLedger(Ledger):
    """A ledger whose entries are rows; it sells only while its transaction is open.

    It resumes only snapshots that a stream stores as its state.  ``sealed`` is a stream whose state
    is in its vault: the caller who names it vouches for the snapshots, and the store knows the
    earliest step that they may have.
    """

    def __init__(
        self,
        session: Session,
        number: int,
        name: str,
        *,
        sealed: StreamRecord | None = None,
        **terms: Any,
    ) -> None:
        super().__init__(name, **terms)
        self._session = session
        self._number = number
        self._sealed = sealed

    def _check_newest(self, run: str, snapshot: bytes, step: int) -> None:
        # It does not matter what runs have drawn in this process: a failed transaction has released
        # nothing, and the stream goes on from its last commit.
        self._check_step(step, self._reached.get(run, 0))
        # The database never gets a state that may be seized: it would keep a copy in memory.
        known = self._is_stored(snapshot) if self._sealed is None else self._is_sealed(run, step)
        if not known:
            raise StoreRefused(
                "This snapshot is not the state of a stream in this store.",
                why="only its stream may resume a run of a store's ledger, because only the stream "
                "knows what was released",
                tip="transaction.set_state(...) when the run is bought, and after every step",
            )

    def _is_stored(self, snapshot: bytes) -> bool:
        found = self._session.row(
            "SELECT 1 FROM state JOIN stream ON stream.number = state.stream "
            "WHERE stream.population = ? AND state.snapshot = ?",
            (self._number, snapshot),
        )
        return found is not None

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
            _written(entry.asked),
            _written(entry.paid),
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
                _written(renewal.added),
            ),
            double=f"The ledger of population '{self.name}' was renewed elsewhere in this "
            "transaction.",
        )


class Budgets(TransactionPart):
    """The budgets of populations, and the mark of a store that saw noise not from the system."""

    @property
    def genuine(self) -> bool:
        """Whether all noise, so far and in this transaction, came from the operating system."""
        return self._session.row("SELECT 1 FROM meta WHERE name = 'noise'") is None

    def mark(self) -> None:
        """Marks the store forever as one that saw noise that was not from the operating system."""
        if self.genuine:
            self._session.write("INSERT INTO meta (name, value) VALUES ('noise', 'not genuine')")

    def open_population(
        self,
        name: str,
        *,
        cap: Loss,
        unit: Unit,
        neighbours: Neighbours,
        window: str | None = None,
        contributions: int | None = None,
        opened: datetime | None = None,
    ) -> PopulationRecord:
        """A new population with its cap, unit, relation and currency, fixed from now on.

        ``window`` is the length of a user-window as a time; each stream counts it in its own steps.
        """
        CapTerms(unit=unit, neighbours=neighbours, contributions=contributions)
        if (window is not None) != (unit.window is not None):
            raise BadInput(
                "A population has a 'window' if and only if its unit is user-window.",
                tip='window="30d"',
            )
        if not name:
            raise BadInput("A population must have a name.")
        number = self._session.one("SELECT coalesce(max(number), 0) + 1 FROM population")
        at = _now() if opened is None else opened
        self._session.write(
            f"INSERT INTO population ({_POPULATION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number,
                name,
                _written(cap),
                unit.tag,
                neighbours.value,
                window,
                contributions,
                microseconds(at),
                None,
            ),
            double=f"The population '{name}' was opened before.",
        )
        return PopulationRecord(
            name=name,
            cap=cap,
            unit=unit,
            neighbours=neighbours,
            window=window,
            contributions=contributions,
            opened=at,
        )

    def set_phase(self, population: str, phase: str) -> None:
        """Sets where the windows of a population's users begin; once set, it cannot change."""
        found = self.population(population)
        if found is None or found.window is None or found.phase not in (None, phase):
            raise StoreRefused(
                f"Population '{population}' has no windows that could begin then.",
                why="they always begin where the windows of its first stream do",
            )
        if found.phase is None:
            self._session.write(
                "UPDATE population SET phase = ? WHERE name = ?", (phase, population)
            )

    def population(self, name: str) -> PopulationRecord | None:
        """The population of this name, if it was opened."""
        row = self._session.row(f"SELECT {_POPULATION} FROM population WHERE name = ?", (name,))
        return None if row is None else _population(row)

    def populations(self) -> tuple[PopulationRecord, ...]:
        """All populations, in the order of their opening."""
        rows = self._session.rows(f"SELECT {_POPULATION} FROM population ORDER BY number")
        return tuple(_population(row) for row in rows)

    def ledger(
        self,
        population: str,
        *,
        noise: Noise | None = None,
        unit: Unit | None = None,
        clock: Callable[[], datetime] = _now,
        sealed: StreamRecord | None = None,
    ) -> Ledger | None:
        """The population's ledger with all its entries; None if the population was not opened.

        This transaction writes what the ledger sells; after its end the ledger sells nothing.
        ``unit`` is the population's unit in the steps of the stream that asks.  Noise that is not
        genuine marks the store.  ``sealed`` is the stream whose runs are resumed from its vault.
        """
        row = self._session.row(
            f"SELECT {_POPULATION} FROM population WHERE name = ?", (population,)
        )
        if row is None:
            return None
        record = _population(row)
        if unit is not None and unit.kind != record.unit.kind:
            raise BadInput(
                f"Population '{population}' protects {record.unit}. Got {unit} instead.",
                why="a cap is for one unit, fixed when the population was opened",
            )
        if noise is not None and not noise.genuine:
            self.mark()
        number = row[0]
        return StoredLedger(
            self._session,
            number,
            population,
            cap=record.cap,
            unit=record.unit if unit is None else unit,
            neighbours=record.neighbours,
            contributions=record.contributions,
            noise=noise,
            clock=clock,
            entries=self._entries(number),
            renewals=self._renewals(number),
            reached=self._reached(number),
            sealed=sealed,
        )

    def _entries(self, population: int) -> list[Entry]:
        rows = self._session.rows(
            f"SELECT {_ENTRY} FROM entry WHERE population = ? ORDER BY number", (population,)
        )
        return [_entry(row) for row in rows]

    def _renewals(self, population: int) -> list[Renewal]:
        rows = self._session.rows(
            "SELECT at, why, added FROM renewal WHERE population = ? ORDER BY number", (population,)
        )
        return [Renewal(at=moment(at), why=why, added=_loss(added)) for at, why, added in rows]

    def _reached(self, population: int) -> dict[str, int]:
        """The step of the stored snapshot of each run."""
        rows = self._session.rows(
            "SELECT substr(state.snapshot, 1, ?) FROM state JOIN stream "
            "ON stream.number = state.stream WHERE stream.population = ?",
            (_HEADER, population),
        )
        # SQLite gives NULL for the head of an empty snapshot: its state is kept elsewhere.
        heads = [head for (head,) in rows if head is not None and head.startswith(MAGIC)]
        return dict(run_id(head) for head in heads)


def _written(loss: Loss) -> str:
    return codec.write("loss", 1, loss_to_dict(loss))


# Cached, because many entries have the same price or the same guarantee.
@lru_cache(maxsize=1024)
def _loss(text: str) -> Loss:
    try:
        return loss_from_dict(codec.read("loss", 1, text))
    except BadInput:
        raise codec.damaged("loss") from None


@lru_cache(maxsize=1024)
def _guarantee(text: str) -> Guarantee:
    return Guarantee.from_json(text)


def _population(row: Row) -> PopulationRecord:
    _, name, cap, unit, neighbours, window, contributions, opened, phase = row
    try:
        return PopulationRecord(
            name=name,
            cap=_loss(cap),
            unit=Unit.tagged(unit),
            neighbours=Neighbours(neighbours),
            window=window,
            contributions=contributions,
            opened=moment(opened),
            phase=phase,
        )
    except ValueError:
        raise StoreRefused(
            f"The terms of population '{name}' cannot be read.",
            why="the store is damaged, or a newer program wrote it",
            tip="update ameles, or a backup of the store",
        ) from None


def _entry(row: Row) -> Entry:
    number, at, on, why, by, asked, paid, recipe, guarantee, run = row
    return Entry(
        number=number,
        at=moment(at),
        on=on,
        why=why,
        by=by,
        asked=_loss(asked),
        paid=_loss(paid),
        recipe=recipe,
        guarantee=_guarantee(guarantee),
        run=run,
    )
