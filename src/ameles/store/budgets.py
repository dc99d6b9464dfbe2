"""Populations and their ledgers in a store.

A ledger is restored from its entries inside a transaction; the same transaction writes what it
sells.  During a writing transaction nobody else can spend, so the cap holds across processes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.guarantee import Neighbours, Unit
from ameles.core.loss import Loss
from ameles.core.noise import Noise
from ameles.ledger import BudgetRecord, Ledger
from ameles.ledger.cap_terms import CapTerms
from ameles.store.records import PopulationRecord, StreamRecord, microseconds, moment
from ameles.store.session import Row, TransactionPart
from ameles.store.stored_ledger import StoredLedger, budget_records, read_loss, written_loss

_POPULATION = 'number, name, cap, unit, neighbours, "window", contributions, opened, phase'


def _now() -> datetime:
    return datetime.now(UTC)


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
                written_loss(cap),
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
        stored = self.population(population)
        if stored is None or stored.window is None or stored.phase not in (None, phase):
            raise StoreRefused(
                f"Population '{population}' has no windows that could begin then.",
                why="they always begin where the windows of its first stream do",
            )
        if stored.phase is None:
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
            sealed=sealed,
        )

    def open_budget(
        self, population: str, name: str, *, cap: Loss | None, parent: str | None = None
    ) -> BudgetRecord:
        """A new budget below a population's cap, or below another of its budgets, forever."""
        ledger = self.ledger(population)
        if ledger is None:
            raise StoreRefused(
                f"The store has no population '{population}'.",
                why="a budget below it is a part of its cap",
                tip="ameles run, which opens the population of its plan",
            )
        above = ledger if parent is None else ledger.budget(parent)
        above.child(name, cap=cap)
        return self.budget_records(population)[-1]

    def budget_records(self, population: str) -> tuple[BudgetRecord, ...]:
        """The named budgets of a population, in the order of their opening."""
        row = self._session.row("SELECT number FROM population WHERE name = ?", (population,))
        return () if row is None else tuple(budget_records(self._session, row[0]))


def _population(row: Row) -> PopulationRecord:
    _, name, cap, unit, neighbours, window, contributions, opened, phase = row
    try:
        return PopulationRecord(
            name=name,
            cap=read_loss(cap),
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
