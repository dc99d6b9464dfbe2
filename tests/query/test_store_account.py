"""Answers in a store: paid once, computed again after a kill, never beyond the cap."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ameles.core.exceptions import BadInput, BudgetExceeded, StoreRefused
from ameles.core.guarantee import EVENT
from ameles.core.loss import Pure
from ameles.noise import Zero
from ameles.query import Query, StoreAccount, open_account
from ameles.query.account import LedgerAccount, PaidQuestion
from ameles.store import open_store, question_lock
from tests.query.tables import ledger, table
from tests.store.places import Place, SqlitePlace
from tests.warm_processes import run as run_warm
from tests.warm_processes import start

ROOT = Path(__file__).parents[2]


@contextmanager
def opened(place: Place, cap: str | None = "1", **more: Any) -> Iterator[StoreAccount]:
    loss = None if cap is None else Pure(cap)
    with open_account(place.url, "people", unit=EVENT, cap=loss, **more) as account:
        yield account


def test_a_question_is_paid_and_its_answer_stored(place: Place) -> None:
    with opened(place) as account:
        answer = table(account=account).noisy_count(epsilon="0.25")
        assert account.left == Pure("0.75")
    with open_store(place.url) as store, store.reading() as transaction:
        (asked,) = transaction.questions("people")
    assert asked.answer == answer.to_json()
    assert (asked.entry, asked.snapshot) == (answer.entry, b"")


def test_the_same_version_costs_nothing_in_another_process_too(place: Place) -> None:
    with opened(place) as account:
        first = table(account=account, version="v1").noisy_count(epsilon="0.25")
    with opened(place, None) as account:
        again = table(account=account, version="v1").noisy_count(epsilon="0.25")
        assert (again.value, again.repeated) == (first.value, True)
        assert account.left == Pure("0.75")
        other = table(account=account, version="v2").noisy_count(epsilon="0.25")
        assert not other.repeated
        assert account.left == Pure("0.5")


def test_the_cap_holds_and_a_child_has_its_own(place: Place) -> None:
    with opened(place):
        pass
    with open_store(place.url) as store, store.writing() as transaction:
        transaction.open_budget("people", "study", cap=Pure("0.3"))
    with opened(place, None, budget="study") as account:
        visits = table(account=account)
        visits.noisy_count(epsilon="0.2")
        assert account.left == Pure("0.1")
        with pytest.raises(BudgetExceeded, match=r"budget 'study' has 0\.1 left"):
            visits.noisy_count(epsilon="0.2")
    with opened(place, None) as account:
        assert account.left == Pure("0.8")
        with pytest.raises(BudgetExceeded, match=r"population 'people' has 0\.8 left"):
            table(account=account).noisy_count(epsilon="0.9")
        with pytest.raises(BudgetExceeded, match="'both' needs epsilon 1"):
            account.check_fits(
                [table(account=account).recipe("noisy_count", epsilon="0.5")] * 2, on="both"
            )


def test_parts_pay_for_the_most_expensive_one(place: Place) -> None:
    with opened(place, noise=Zero()) as account:
        parts = table(account=account).partition(region=["north", "south"])
        counts = [parts[name].noisy_count(epsilon="0.2").value for name in parts]
        assert counts == [3, 3]
        assert account.left == Pure("0.8")
        with pytest.raises(BadInput, match="pays for that part alone"):
            table(account=parts["north"].account)
        parts["north"].noisy_count(epsilon="0.1")
        assert account.left == Pure("0.7")


def test_parts_of_parts_pay_as_in_a_ledger(place: Place) -> None:
    people = ledger(cap=Pure(1))
    with opened(place, noise=Zero()) as stored:
        for account in (LedgerAccount(people), stored):
            outer = table(account=account).partition(region=["north", "south"])
            inner = [outer[name].partition(id=["1", "2"]) for name in outer]
            assert account.left == Pure(1)
            for one in inner:
                for name in one:
                    one[name].noisy_count(epsilon="0.2")
            assert account.left == Pure("0.8")
            outer["north"].noisy_count(epsilon="0.1")  # beside its parts
            inner[1]["2"].noisy_count(epsilon="0.05")
            assert account.left == Pure("0.7")
            inner[0]["1"].noisy_count(epsilon="0.1")
            assert account.left == Pure("0.6")


def test_a_population_is_opened_once(place: Place) -> None:
    if isinstance(place, SqlitePlace):
        with pytest.raises(StoreRefused, match="There is no store"), opened(place, None):
            pass
        assert not place.path.exists()
    with opened(place):
        pass
    with (
        pytest.raises(StoreRefused, match="opened with a cap of epsilon 1"),
        opened(place, "2"),
    ):
        pass
    with (
        pytest.raises(StoreRefused, match="no population 'others'"),
        open_account(place.url, "others", unit=EVENT),
    ):
        pass


class Died(BaseException):
    """Ends a question as a kill would, as far as the store can see."""


def unanswered(visits: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asks a question whose process ends between debit and answer."""

    def die(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr("ameles.query.query.looking", die)
        with pytest.raises(Died):
            visits.noisy_count(epsilon="0.25")


@pytest.mark.parametrize("version", [None, "v1"])
def test_an_unanswered_question_is_computed_again_at_no_cost(
    place: Place, monkeypatch: pytest.MonkeyPatch, version: str | None
) -> None:
    with opened(place) as account:
        visits = table(account=account, version=version)
        unanswered(visits, monkeypatch)
        assert account.left == Pure("0.75")  # the debit stands
        other = visits.where("age > 3").noisy_count(epsilon="0.25")
        assert (other.entry, account.left) == (2, Pure("0.5"))  # another question is another debit
        answer = visits.noisy_count(epsilon="0.25")
        assert (answer.entry, answer.repeated, account.left) == (1, False, Pure("0.5"))
        # it has its answer now: without a version the next one is paid for
        again = visits.noisy_count(epsilon="0.25")
        assert again.entry == (3 if version is None else 1)


@pytest.mark.parametrize("version", [None, "v1"])
def test_a_question_that_failed_is_paid_for_again(
    place: Place, monkeypatch: pytest.MonkeyPatch, version: str | None
) -> None:
    """Whether it fails may depend on a row, so each try tells something."""

    def fail(*_: Any) -> None:
        raise BadInput("It fails.")

    with opened(place) as account:
        visits = table(account=account, version=version)
        unanswered(visits, monkeypatch)  # killed: the first try after it is free
        with monkeypatch.context() as patch:
            patch.setattr("ameles.query.query.looking", fail)
            for left in ("0.75", "0.5"):
                with pytest.raises(BadInput, match="It fails"):
                    visits.noisy_count(epsilon="0.25")
                assert account.left == Pure(left)
        answer = visits.noisy_count(epsilon="0.25")
        assert (answer.entry, answer.repeated, account.left) == (3, False, Pure("0.25"))


def test_a_question_that_failed_elsewhere_has_no_answer(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(place) as account:
        visits = table(account=account)
        computed = PaidQuestion.answer

        def overtaken(self: Any, *given: Any, **named: Any) -> Any:
            with open_store(place.url) as store, store.writing() as transaction:
                transaction.set_answer("people", 1, "")
            return computed(self, *given, **named)

        with monkeypatch.context() as patch:
            patch.setattr(PaidQuestion, "answer", overtaken)
            with pytest.raises(StoreRefused, match="failed in another process"):
                visits.noisy_count(epsilon="0.25")
        assert visits.noisy_count(epsilon="0.25").entry == 2


def test_a_question_that_is_being_answered_is_not_taken_over(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(place) as account:
        visits = table(account=account)
        unanswered(visits, monkeypatch)
        with open_store(place.url) as store, store.holding(question_lock("people", 1)):
            assert visits.noisy_count(epsilon="0.25").entry == 2
        assert visits.noisy_count(epsilon="0.25").entry == 1


def test_the_first_stored_answer_is_the_one_that_is_shown(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(place, noise=Zero()) as account:
        visits = table(account=account, version="v1")
        told = visits.noisy_count(epsilon="0.25").to_json().replace('"value": 8', '"value": 77')
        unanswered(visits.where("age > 3"), monkeypatch)
        computed = PaidQuestion.answer

        def overtaken(self: Any, *given: Any, **named: Any) -> Any:
            # meanwhile somebody else has answered the same question
            with open_store(place.url) as store, store.writing() as transaction:
                transaction.set_answer("people", 2, told)
            return computed(self, *given, **named)

        monkeypatch.setattr(PaidQuestion, "answer", overtaken)
        assert visits.where("age > 3").noisy_count(epsilon="0.25").value == 77


def test_a_recipe_of_another_program_is_not_resumed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(place) as account:
        visits = table(account=account)
        unanswered(visits, monkeypatch)
        same = visits._ending

        def finer(end: str, arguments: Any) -> Any:
            ending, loss = same(end, {**arguments, "epsilon": "0.2"})
            return ending, loss

        monkeypatch.setattr("ameles.query.query.str", lambda _: "epsilon 0.25", raising=False)
        monkeypatch.setattr(type(visits), "_ending", lambda self, *given: finer(*given))
        assert visits.noisy_count(epsilon="0.25").entry == 2


def test_a_store_with_other_noise_is_marked(place: Place) -> None:
    with opened(place, noise=Zero()) as account:
        table(account=account).noisy_count(epsilon="0.25")
    with open_store(place.url) as store:
        assert not store.genuine


def test_no_lock_is_left(place: Place) -> None:
    with opened(place) as account:
        table(account=account).noisy_count(epsilon="0.25")
    with open_store(place.url) as store:
        assert not store.held(question_lock("people", 1))


KILLED = """
import os, signal, sys
from ameles.core.guarantee import EVENT
from ameles.query import open_account, query
from tests.query.tables import table
if sys.argv[2] == "kill":
    query.looking = lambda relation: os.kill(os.getpid(), signal.SIGKILL)
with open_account(sys.argv[1], "people", unit=EVENT) as account:
    answer = table(account=account).noisy_count(epsilon="0.25")
    print(answer.entry, account.left)
"""


def test_killed_between_debit_and_answer(place: Place) -> None:
    with opened(place):
        pass

    def run(how: str) -> subprocess.CompletedProcess[str]:
        return run_warm("-c", KILLED, place.url, how, cwd=ROOT)

    assert run("kill").returncode == -signal.SIGKILL
    assert run("answer").stdout.strip() == "1 epsilon 0.75"


RACE = """
import sys
from ameles.core.exceptions import BudgetExceeded
from ameles.core.guarantee import EVENT
from ameles.query import open_account
from tests.query.tables import table
won = []
with open_account(sys.argv[1], "people", unit=EVENT) as account:
    visits = table(account=account)
    print("ready", flush=True)
    sys.stdin.readline()
    for turn in range(3):
        try:
            won.append(visits.noisy_count(epsilon="0.1").entry)
        except BudgetExceeded:
            pass
print(*won)
"""


@contextmanager
def eight_at_once(url: str) -> Iterator[list[str]]:
    """Eight processes that ask three questions each, of a tenth; later the entries that paid."""
    racing = [
        start(
            *("-c", RACE, url),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        for _ in range(8)
    ]
    for process in racing:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in racing:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    entries: list[str] = []
    yield entries
    entries += [entry for process in racing for entry in process.communicate()[0].split()]
    assert [process.returncode for process in racing] == [0] * 8


def test_eight_processes_on_the_last_bit_of_a_budget(place: Place) -> None:
    # 24 questions for 10 places
    with opened(place):
        pass
    with eight_at_once(place.url) as entries:
        pass
    # each was paid for; one that asks just when another has paid may get the other's answer
    assert set(entries) == {str(number) for number in range(1, 11)}
    with opened(place, None) as account:
        assert account.left == Pure(0)


def test_threads_ask_at_the_same_time(place: Place) -> None:
    with opened(place) as account:
        visits = table(account=account)
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: visits.noisy_count(epsilon="0.1"), range(8)))
        assert account.left == Pure("0.2")
        assert {answer.entry for answer in answers} == set(range(1, 9))
