"""An account in a store: durable, and safe to use from several processes.

A question is paid for in one short transaction and computed outside of any; another transaction
stores its answer.  A lock, which ends with the process, tells other processes that the answer is on
its way.  If nobody holds the lock of an unanswered question, whoever asks it again computes it.  A
question that failed is closed, and paid for again: whether it fails may depend on a row.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from ameles.core.exceptions import StoreRefused
from ameles.core.guarantee import EVENT, Neighbours, Unit
from ameles.core.loss import Loss
from ameles.core.noise import Noise
from ameles.ledger import Budget, Entry, Ledger
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.run import Run
from ameles.mechanisms.snapshot import run_id
from ameles.query.account import Account, Compute, PaidQuestion, charged, numbered
from ameles.query.answer import Answer
from ameles.store import (
    QuestionRecord,
    Store,
    Transaction,
    exists,
    open_store,
    public_address,
    question_lock,
)

_FAILED = ""  # stored in place of an answer that could not be computed
_ANSWERING: set[str] = set()  # the runs whose answers this process computes


@dataclass
class Parts:
    """The parts of a partition, and what each has spent: parts are not in the store.

    A new partition, even of the same data, starts at zero and is paid for anew.
    """

    names: list[str]
    touching: int
    spent: dict[str, Loss] = field(default_factory=dict)
    paying: threading.Lock = field(default_factory=threading.Lock)


class StoreAccount(Account):
    """The budget of a population in a store, or one of its children.

    ``budget`` names the child that pays.  If a stream asks, ``unit`` is the population's unit
    in the steps of that stream.  ``noise`` replaces the operating system's in tests, and
    marks the store.  ``parts`` are the parts of partitions that it is, the
    outermost first.

    >>> from tempfile import TemporaryDirectory
    >>> from ameles import EVENT, Pure
    >>> with TemporaryDirectory() as folder:
    ...     with open_account(f"{folder}/flu.db", "visitors", unit=EVENT, cap=Pure(1)) as account:
    ...         isinstance(account, StoreAccount), account.population
    (True, 'visitors')
    """

    def __init__(
        self,
        store: Store,
        population: str,
        *,
        budget: str | None = None,
        unit: Unit | None = None,
        noise: Noise | None = None,
        parts: tuple[tuple[Parts, str], ...] = (),
    ) -> None:
        self._store = store
        self._population = population
        self._child = budget
        self._asking = unit
        self._noise = noise
        self._parts = parts
        with store.reading() as transaction:
            ledger = self._ledger(transaction, None)
            self._unit, self._neighbours = ledger.unit, ledger.neighbours
            self._budget(ledger)  # refused here if there is no such child

    def __repr__(self) -> str:
        return f"<account of {self._child or self._population}>"

    @property
    def population(self) -> str:
        return self._population

    @property
    def unit(self) -> Unit:
        return self._unit

    @property
    def neighbours(self) -> Neighbours:
        return self._neighbours

    @property
    def left(self) -> Loss | None:
        with self._store.reading() as transaction:
            return self._budget(self._ledger(transaction, None)).left

    @property
    def of_part(self) -> bool:
        return bool(self._parts)

    def price(self, recipe: AnyMechanism) -> Loss:
        with self._store.reading() as transaction:
            return self._ledger(transaction, None).prices({"question": recipe})["question"]

    def charge(self, recipe: AnyMechanism) -> Loss:
        price = self.price(recipe)
        with self._store.reading() as transaction:
            return charged(self._budget(self._ledger(transaction, None)), price)

    def check_fits(self, recipes: Sequence[AnyMechanism], *, on: str) -> None:
        with self._store.reading() as transaction:
            self._budget(self._ledger(transaction, None)).check_fits(numbered(recipes), on=on)

    def stored(self, purchase: PaidQuestion) -> bool:
        if purchase.version is None:
            return False
        with self._store.reading() as transaction:
            return any(one.answer is not None for one in self._records(transaction, purchase))

    def ask(self, purchase: PaidQuestion, compute: Compute) -> Answer:
        with ExitStack() as locks:
            known = self._known(purchase, locks)
            if isinstance(known, Answer):
                return known
            entry, run = self._bought(purchase, locks) if known is None else known
            try:
                text = purchase.answer(compute(run), entry, self._population).to_json()
            except Exception:
                self._store_answer(entry, _FAILED)
                raise
            stored = self._store_answer(entry, text)
        if stored == _FAILED:
            raise StoreRefused(
                "This question failed in another process that computed it at the same time.",
                why="the first end of a question is the one that counts",
                tip="the same question again, which is paid for again",
            )
        return Answer.from_json(stored, repeated=False)

    def parts(self, names: list[str], *, touching: int) -> dict[str, Account]:
        shared = Parts(names, touching)
        return {
            name: StoreAccount(
                self._store,
                self._population,
                budget=self._child,
                unit=self._asking,
                noise=self._noise,
                parts=(*self._parts, (shared, name)),
            )
            for name in names
        }

    def _known(
        self, purchase: PaidQuestion, locks: ExitStack
    ) -> Answer | tuple[Entry, Run[Any, Any]] | None:
        """A stored answer, or the run of a question that was paid for and never answered."""
        with self._store.reading() as transaction:
            records = self._records(transaction, purchase)
        if purchase.version is not None:
            for record in records:
                if record.answer is not None:
                    return Answer.from_json(record.answer, repeated=True)
        if self._parts:
            return None  # it shared a price with others about a copy of rows that is gone
        for record in records:
            with ExitStack() as lock:
                if record.answer is None and self._abandoned(record, lock):
                    resumed = self._resumed(purchase, record.entry)
                    if resumed is not None:
                        locks.push(lock.pop_all())
                        return resumed
        return None

    def _store_answer(self, entry: Entry, text: str) -> str:
        with self._store.writing() as transaction:
            return transaction.set_answer(self._population, entry.number, text)

    def _records(self, transaction: Transaction, purchase: PaidQuestion) -> list[QuestionRecord]:
        """Those that are answered, or may be."""
        records = transaction.questions(self._population, purchase.question, label=purchase.version)
        return [one for one in records if one.answer != _FAILED]

    def _abandoned(self, record: QuestionRecord, lock: ExitStack) -> bool:
        """Whether no other process computes this question; this one then does."""
        run, _ = run_id(record.snapshot)
        return run not in _ANSWERING and self._locked(record.entry, lock)

    def _locked(self, entry: int, lock: ExitStack) -> bool:
        """Tells other processes that the answer is on its way."""
        try:
            lock.enter_context(self._store.holding(question_lock(self._population, entry)))
        except StoreRefused:
            return False
        return True

    def _resumed(
        self, purchase: PaidQuestion, number: int
    ) -> Answer | tuple[Entry, Run[Any, Any]] | None:
        """The answer that was stored meanwhile, or the run of an unanswered question."""
        with self._store.writing() as transaction:
            records = self._records(transaction, purchase)
            record = next((one for one in records if one.entry == number), None)
            if record is None:
                return None  # failed since we looked
            if record.answer is not None:  # stored since we looked
                same = purchase.version is not None
                return Answer.from_json(record.answer, repeated=True) if same else None
            ledger = self._ledger(transaction, self._noise)
            entry = next(one for one in ledger.entries if one.number == number)
            if entry.recipe != purchase.recipe.to_json():
                return None  # bought with another recipe, by another version of the program
            return entry, ledger.resume(purchase.recipe, record.snapshot)

    def _bought(self, purchase: PaidQuestion, locks: ExitStack) -> tuple[Entry, Run[Any, Any]]:
        """Pays, and stores the question with its run before the first step."""
        with ExitStack() as paying:
            if self._parts:  # else two threads would pay from the same total
                paying.enter_context(self._parts[0][0].paying)
            entry, run, totals = self._paid(purchase, locks)
            for (shared, name), total in zip(self._parts[::-1], totals, strict=False):
                shared.spent[name] = total
        # Another process that asks the same just now may be faster, and answer in our place: then
        # both show the answer that is stored first.
        self._locked(entry.number, locks)
        return entry, run

    def _paid(
        self, purchase: PaidQuestion, locks: ExitStack
    ) -> tuple[Entry, Run[Any, Any], list[Loss]]:
        """The entry, the run, and what the payer and each budget above it have spent with it."""
        with self._store.writing() as transaction:
            ledger = self._ledger(transaction, self._noise)
            payer = self._budget(ledger)
            run = payer.start(purchase.recipe, on=purchase.on, why=purchase.why)
            entry = next(one for one in ledger.entries[::-1] if one.run == run.id)
            # set before other threads can see the question, so that none thinks it was abandoned
            _ANSWERING.add(run.id)
            locks.callback(_ANSWERING.discard, run.id)
            transaction.add_question(
                self._population,
                entry=entry.number,
                question=purchase.question,
                label=purchase.version,
                snapshot=run.snapshot(),
            )
            return entry, run, [one.spent for one in payer.upwards()]

    def _ledger(self, transaction: Transaction, noise: Noise | None) -> Ledger:
        """The ledger; with ``noise`` it sells runs, and marks the store if that is not genuine."""
        ledger = transaction.ledger(self._population, noise=noise, unit=self._asking)
        if ledger is None:
            raise StoreRefused(
                f"The store has no population '{self._population}'.",
                why="a population has a budget, which its owner decides before the first question",
                tip="open_account(..., cap=...), or ameles query ... --cap 1.0",
            )
        return ledger

    def _budget(self, ledger: Ledger) -> Budget:
        """What pays: the population, a child of it, or a part of a partition of either."""
        payer: Budget = ledger if self._child is None else ledger.budget(self._child)
        for shared, name in self._parts:
            parts = payer.partition(shared.names, of=self._unit, touching=shared.touching)
            for one, spent in shared.spent.items():
                parts[one].settle(spent)
            payer = parts[name]
        return payer


@contextmanager
def open_account(
    url: str,
    population: str,
    *,
    unit: Unit,
    cap: Loss | None = None,
    budget: str | None = None,
    noise: Noise | None = None,
) -> Iterator[StoreAccount]:
    """The account of a population in a store; ``cap`` opens a new population, or a new store.

    >>> from tempfile import TemporaryDirectory
    >>> from ameles import EVENT, Pure
    >>> with TemporaryDirectory() as folder:
    ...     with open_account(f"{folder}/flu.db", "visitors", unit=EVENT, cap=Pure(1)) as account:
    ...         print(account.left)
    epsilon 1
    """
    if cap is None and not exists(url):
        raise StoreRefused(
            f"There is no store '{public_address(url)}'.",
            why="a new store needs a population with a cap",
            tip="a cap, such as --cap 1.0",
        )
    relation = Neighbours.ADD_REMOVE if unit == EVENT else Neighbours.USER_PRESENCE
    with closing(open_store(url, create=cap is not None)) as store:
        if cap is not None:
            with store.writing() as transaction:
                known = transaction.population(population)
                if known is None:
                    transaction.open_population(population, cap=cap, unit=unit, neighbours=relation)
                elif known.cap != cap:
                    raise StoreRefused(
                        f"Population '{population}' was opened with a cap of {known.cap}.",
                        why="a cap is fixed when a population is opened",
                        tip="leave the cap out, or a renewal by the owner of the population",
                    )
        yield StoreAccount(store, population, budget=budget, noise=noise)
