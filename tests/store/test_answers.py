"""Questions and answers: paid once, answered once, shown only as they are stored."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.core.loss import Pure
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.store import Store, Transaction
from tests.store.places import Place
from tests.store.stores import MARCH, fever, launch, new_store, open_visitors, visitors
from tests.warm_processes import run as run_warm

ROOT = Path(__file__).parents[2]
COUNT = SimpleOneCounter(epsilon="1/4", horizon=1)


def ask(
    transaction: Transaction, question: str = "count", label: str | None = None
) -> tuple[int, bytes]:
    """Pays for a question; its entry, and the run before its first step."""
    ledger = visitors(transaction)
    run = ledger.start(COUNT, on="a table", why="a question")
    entry, snapshot = ledger.entries[-1].number, run.snapshot()
    transaction.add_question(
        "visitors", entry=entry, question=question, label=label, snapshot=snapshot, asked=MARCH
    )
    return entry, snapshot


def test_an_answer_is_kept_in_the_place_of_the_snapshot(store: Store) -> None:
    with store.writing() as transaction:
        entry, snapshot = ask(transaction, label="2026-03")
    with store.reading() as transaction:
        (asked,) = transaction.questions("visitors")
    assert (asked.population, asked.entry, asked.question) == ("visitors", entry, "count")
    assert (asked.label, asked.snapshot, asked.asked) == ("2026-03", snapshot, MARCH)
    assert (asked.answer, asked.answered) == (None, None)
    assert "snapshot" not in repr(asked)
    with store.writing() as transaction:
        assert transaction.set_answer("visitors", entry, "12", answered=MARCH) == "12"
    with store.reading() as transaction:
        (answered,) = transaction.questions("visitors")
    assert (answered.answer, answered.answered, answered.snapshot) == ("12", MARCH, b"")


def test_the_first_answer_wins(store: Store) -> None:
    with store.writing() as transaction:
        entry, _ = ask(transaction)
    for text in ("12", "13", ""):
        with store.writing() as transaction:
            assert transaction.set_answer("visitors", entry, text) == "12"


def test_questions_are_found_by_their_text_and_label(store: Store) -> None:
    with store.writing() as transaction:
        transaction.open_population(
            "others",
            cap=Pure(1),
            unit=visitors(transaction).unit,
            neighbours=visitors(transaction).neighbours,
        )
        for question, label in (("count", "b"), ("count", None), ("sum", "b"), ("count", "b")):
            ask(transaction, question, label)

        def entries(question: str | None = None, label: str | None = None) -> list[int]:
            records = transaction.questions("visitors", question=question, label=label)
            return [record.entry for record in records]

        assert entries() == [1, 2, 3, 4]
        assert entries("count", "b") == [1, 4]
        assert entries("count") == [2]
        assert entries("sum", "b") == [3]
        assert entries("sum") == entries("COUNT", "b") == []
        assert transaction.questions("others") == ()


def test_what_was_not_paid_for_is_not_asked(store: Store) -> None:
    with store.writing() as transaction:
        ledger = visitors(transaction)
        run = ledger.start(COUNT, on="a table", why="a question")
        other = ledger.start(COUNT, on="a table", why="a question")
        before = run.snapshot()
        run.step(1)

        def add(entry: int, snapshot: bytes, population: str = "visitors") -> None:
            transaction.add_question(
                population, entry=entry, question="count", label=None, snapshot=snapshot
            )

        with pytest.raises(StoreRefused, match="has no entry 3 for a question"):
            add(3, before)
        with pytest.raises(StoreRefused, match="no population 'others'"):
            add(1, before, "others")
        for entry, snapshot in ((1, run.snapshot()), (1, other.snapshot()), (2, before)):
            with pytest.raises(StoreRefused, match="not of the run that entry"):
                add(entry, snapshot)
        assert transaction.questions("visitors") == ()
        add(1, before)
    with (
        pytest.raises(StoreRefused, match="paid for another question before"),
        store.writing() as transaction,
    ):
        transaction.add_question("visitors", entry=1, question="sum", label=None, snapshot=before)
    with store.writing() as transaction:
        with pytest.raises(StoreRefused, match="paid for no question"):
            transaction.set_answer("visitors", 2, "12")
        for refused in (transaction.questions, lambda name: transaction.set_answer(name, 1, "")):
            with pytest.raises(StoreRefused, match="no population 'others'"):
                refused("others")


def test_the_run_of_a_stream_answers_no_question(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        stream = launch(transaction)
        state = transaction.state(stream, "fever")
        assert state is not None
        with pytest.raises(StoreRefused, match="has no entry 1 for a question"):
            transaction.add_question(
                "visitors", entry=1, question="count", label=None, snapshot=state.snapshot
            )
        transaction.set_state(stream, "fever", fever(b""))  # also if its state is in a vault
        with pytest.raises(StoreRefused, match="has no entry 1 for a question"):
            transaction.add_question(
                "visitors", entry=1, question="count", label=None, snapshot=state.snapshot
            )


def test_an_open_question_is_resumed_and_an_answered_one_is_not(store: Store) -> None:
    with store.writing() as transaction:
        entry, snapshot = ask(transaction)
        stranger = visitors(transaction).start(COUNT, on="a table", why="a question").snapshot()
    for _ in range(2):  # the one that resumed it first died as well
        with store.reading() as transaction:
            run = visitors(transaction).resume(COUNT, snapshot)
            with pytest.raises(StoreRefused, match="not the state of a stream or of an open"):
                visitors(transaction).resume(COUNT, stranger)
        run.step(12)
    with store.reading() as transaction, pytest.raises(StoreRefused, match="not the state"):
        visitors(transaction).resume(COUNT, run.snapshot())
    with store.writing() as transaction:
        transaction.set_answer("visitors", entry, "12")
    with store.reading() as transaction, pytest.raises(StoreRefused, match="not the state"):
        visitors(transaction).resume(COUNT, snapshot)


def test_answers_and_budgets_are_permanent(place: Place, store: Store) -> None:
    with store.writing() as transaction:
        transaction.open_budget("visitors", "study", cap=Pure("1/2"))
        entry, _ = ask(transaction)
        ask(transaction, "sum")
        transaction.set_answer("visitors", entry, "12")
    empty, some = ("X''", "X'00'") if place.url.endswith(".db") else ("''::bytea", "'x'::bytea")
    answer = f"UPDATE answer SET answer = '1', answered = 1, snapshot = {empty}"
    with place.connected() as connection:
        for change in (
            "UPDATE answer SET answer = '13' WHERE entry = 1",
            f"UPDATE answer SET answer = NULL, answered = NULL, snapshot = {some} WHERE entry = 1",
            "UPDATE answer SET answered = answered + 1 WHERE entry = 1",
            "DELETE FROM answer",
            f"UPDATE answer SET snapshot = {some} WHERE entry = 2",
            "UPDATE answer SET question = 'count' WHERE entry = 2",
            f"{answer}, population = population + 1 WHERE entry = 2",
            f"{answer}, entry = 9 WHERE entry = 2",
            f"{answer}, question = 'x' WHERE entry = 2",
            f"{answer}, label = 'x' WHERE entry = 2",
            f"{answer}, asked = 7 WHERE entry = 2",
            "UPDATE budget SET cap = NULL",
            "DELETE FROM budget",
        ):
            with pytest.raises(place.errors, match="permanent"):
                connection.execute(change)
        for change in (
            "UPDATE answer SET answer = '1', answered = 1 WHERE entry = 2",
            f"UPDATE answer SET answer = '1', snapshot = {empty} WHERE entry = 2",
        ):
            with pytest.raises(place.errors, match=r"(?i)check"):
                connection.execute(change)
    with store.reading() as transaction:
        first, second = transaction.questions("visitors")
        assert (first.answer, second.answer) == ("12", None)


def test_no_answer_is_truncated_either(schema: Place) -> None:
    with new_store(schema) as store, store.writing() as transaction:
        open_visitors(transaction)
    with schema.connected() as connection:
        for table in ("answer", "budget"):
            with pytest.raises(schema.errors, match="permanent"):
                connection.execute(f"TRUNCATE {table} CASCADE")


DIE = """
import os, signal, sys
from ameles.store import open_store, question_lock
from tests.store.test_answers import COUNT
store = open_store(sys.argv[1])
with store.writing() as transaction:
    ledger = transaction.ledger("visitors")
    run = ledger.start(COUNT, on="a table", why="a question")
    entry = ledger.entries[-1].number
    transaction.add_question(
        "visitors", entry=entry, question="count", label=None, snapshot=run.snapshot()
    )
with store.holding(question_lock("visitors", entry)):
    run.step(12)
    print(entry, flush=True)
    if sys.argv[2] == "late":
        with store.writing() as transaction:
            transaction.set_answer("visitors", entry, "12")
            os.kill(os.getpid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("when", ["early", "late"])
def test_killed_between_debit_and_answer_the_same_question_is_answered_at_no_cost(
    place: Place, when: str
) -> None:
    with new_store(place) as store, store.writing() as transaction:
        open_visitors(transaction)
    ended = run_warm("-c", DIE, place.url, when, cwd=ROOT)
    assert ended.returncode == -signal.SIGKILL
    with new_store(place) as store:
        with store.reading() as transaction:
            (asked,) = transaction.questions("visitors", question="count")
            assert (asked.entry, asked.answer) == (int(ended.stdout), None)
            ledger = visitors(transaction)
            assert ledger.spent == Pure("1/4"), "the debit stands"
            run = ledger.resume(COUNT, asked.snapshot)
        answer = str(run.step(12))
        with store.writing() as transaction:
            assert transaction.set_answer("visitors", asked.entry, answer) == answer
        with store.reading() as transaction:
            assert visitors(transaction).spent == Pure("1/4")
            assert [one.answer for one in transaction.questions("visitors")] == [answer]


def ask_and_fail(store: Store) -> None:
    with store.writing() as transaction:
        ask(transaction)
        raise ZeroDivisionError


def test_a_question_that_was_not_committed_was_not_paid(store: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        ask_and_fail(store)
    with store.reading() as transaction:
        assert transaction.questions("visitors") == ()
        assert visitors(transaction).spent == Pure(0)
