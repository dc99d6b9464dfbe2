"""The ledger: exact to the last bit, safe under threads, and resumable once."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from ameles.core.exceptions import BadInput, BudgetExceeded, StoreRefused
from ameles.core.guarantee import EVENT, USER, Neighbours
from ameles.core.loss import Approx, Concentrated, Pure
from ameles.ledger import Ledger
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.noise import Tape, Zero
from tests.ledger.populations import costing, population

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


def test_a_run_is_bought_and_works() -> None:
    ledger = Ledger(
        "visitors", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE, noise=Zero()
    )
    run = ledger.start(SimpleOneCounter(epsilon=0.3, horizon=10), on="flu", why="dashboard")
    assert [run.step(x) for x in (1, 0, 2)] == [1, 1, 3]
    assert ledger.spent == Pure("0.3")
    (entry,) = ledger.entries
    assert (entry.number, entry.on, entry.why, entry.by) == (1, "flu", "dashboard", "visitors")
    assert entry.paid == entry.asked == Pure("0.3")
    assert entry.run == run.id
    assert entry.recipe == SimpleOneCounter(epsilon=0.3, horizon=10).to_json()


@pytest.mark.parametrize("n", [*range(1, 33), 49, 100, 365, 997, 1000])
def test_n_runs_of_one_nth_fit_and_not_one_more(n: int) -> None:
    ledger = population(Pure(1))
    recipe = SimpleTwoCounter(epsilon=Fraction(1, n))
    for _ in range(n):
        ledger.start(recipe, on="x", why="y")
    assert ledger.left == Pure(0)
    with pytest.raises(BudgetExceeded):
        ledger.start(costing("1e-9"), on="x", why="y")


def test_for_every_n_up_to_a_thousand_the_last_nth_fits() -> None:
    # sums of fractions are exact, so all but the last can be spent at once
    for n in range(2, 1001):
        ledger = population(Pure(1))
        for amount in (Fraction(n - 1, n), Fraction(1, n)):
            (quote,) = ledger.quote(Pure(amount), on="x")
            ledger.settle(quote.total)
        assert ledger.left == Pure(0)
        with pytest.raises(BudgetExceeded):
            ledger.quote(Pure(Fraction(1, 10**30)), on="x")


def test_a_float_budget_would_refuse_the_last_of_them() -> None:
    # the check above can fail: with floats it does, for one N in four
    def fits(n: int) -> bool:
        spent = 0.0
        for _ in range(n):
            if spent + 1 / n > 1.0:
                return False
            spent += 1 / n
        return True

    assert sum(not fits(n) for n in range(1, 1001)) > 200


def test_threads_racing_for_the_last_bit_never_overspend() -> None:
    ledger = population(Pure(1))
    won: list[str] = []
    refused: list[BudgetExceeded] = []
    barrier = threading.Barrier(8)

    def race() -> None:
        barrier.wait()
        for _ in range(40):
            try:
                won.append(ledger.start(costing("1/100"), on="x", why="y").id)
            except BudgetExceeded as refusal:
                refused.append(refusal)

    threads = [threading.Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(refused)) == (100, 220)
    assert len(set(won)) == 100
    assert ledger.spent == Pure(1)
    assert [entry.number for entry in ledger.entries] == list(range(1, 101))


class Unlocked:
    """A lock that does not lock."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def test_without_its_lock_the_ledger_overspends(monkeypatch: pytest.MonkeyPatch) -> None:
    # the race is real: pausing between the quote and the entry lets two threads in
    ledger = population(Pure(1))
    both_have_quotes = threading.Barrier(2)

    def pausing(noise: object) -> object:
        both_have_quotes.wait(timeout=600)
        return SimpleTwoCounter(epsilon=1).start(Zero())

    monkeypatch.setattr(ledger, "_lock", Unlocked())
    recipe = costing(1)
    monkeypatch.setattr(type(recipe), "start", lambda self, noise: pausing(noise))
    threads = [
        threading.Thread(target=lambda: ledger.start(recipe, on="x", why="y")) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    paid = sum(entry.paid.epsilon for entry in ledger.entries if isinstance(entry.paid, Pure))
    assert paid == 2


def test_a_refusal_says_everything_and_changes_nothing() -> None:
    ledger = Ledger(
        "visitors",
        cap=Pure(1),
        unit=EVENT,
        neighbours=Neighbours.ADD_REMOVE,
        clock=lambda: MARCH,
    )
    ledger.start(SimpleTwoCounter(epsilon=0.5), on="cold", why="a report")
    ledger.start(SimpleTwoCounter(epsilon=0.3), on="flu", why="a report")
    with pytest.raises(BudgetExceeded) as caught:
        ledger.start(SimpleTwoCounter(epsilon=0.5), on="cough", why="a report")
    refusal = caught.value
    assert str(refusal).splitlines() == [
        "error[budget]: 'cough' needs epsilon 0.5; population 'visitors' has 0.2 left of 1",
        "  why: 'flu' was started with epsilon 0.3 on 2026-03-01 (a report), after 1 other",
        "  try: a loss of at most epsilon 0.2, or a renewal by the owner of population 'visitors'",
    ]
    assert refusal.spent == Pure("0.8")
    assert refusal.asked == Pure("0.5")
    assert refusal.left == Pure("0.2")
    assert refusal.exit_code == 3
    assert ledger.spent == Pure("0.8")
    assert len(ledger.entries) == 2


def test_a_recipe_that_cannot_start_costs_nothing() -> None:
    ledger = population(Pure(1))
    with pytest.raises(BadInput):
        ledger.start(SimpleTwoCounter(epsilon=2**20), on="x", why="y")
    assert ledger.spent == Pure(0)
    assert ledger.entries == ()


def test_a_renewal_is_an_entry_and_forgets_nothing() -> None:
    ledger = Ledger(
        "visitors",
        cap=Pure(1),
        unit=EVENT,
        neighbours=Neighbours.ADD_REMOVE,
        clock=lambda: MARCH,
    )
    ledger.start(costing(1), on="x", why="y")
    ledger.renew(Pure("1/2"), why="a new consent form")
    assert ledger.cap == Pure("3/2")
    assert ledger.spent == Pure(1)
    assert ledger.left == Pure("1/2")
    (renewal,) = ledger.renewals
    assert (renewal.at, renewal.why, renewal.added) == (MARCH, "a new consent form", Pure("1/2"))


def test_a_renewal_has_the_currency_of_the_cap() -> None:
    with pytest.raises(BadInput):
        population(Pure(1)).renew(Approx(1, "1e-6"), why="no")


def test_pure_losses_enter_a_cap_in_rho() -> None:
    ledger = population(Concentrated("1/2"))
    ledger.start(costing(1), on="x", why="y")
    assert ledger.left == Concentrated(0)


def test_events_enter_a_cap_for_users_by_their_number() -> None:
    users = Ledger(
        "people", cap=Pure(1), unit=USER, neighbours=Neighbours.USER_PRESENCE, contributions=4
    )
    users.start(SimpleTwoCounter(epsilon="1/4"), on="x", why="y")
    assert users.left == Pure(0)


def test_tests_mark_their_ledgers() -> None:
    assert population(Pure(1)).genuine
    for noise in (Zero(), Tape()):
        marked = Ledger(
            "visitors", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE, noise=noise
        )
        assert not marked.genuine


def test_a_snapshot_is_resumed_once() -> None:
    ledger = population(Pure(1))
    recipe = SimpleOneCounter(epsilon=1, horizon=10)
    run = ledger.start(recipe, on="x", why="y")
    run.step(1)
    first = run.snapshot()

    resumed = ledger.resume(recipe, first)
    assert (resumed.id, resumed.t) == (run.id, 1)
    with pytest.raises(StoreRefused, match="resumed from step 1"):
        ledger.resume(recipe, first)
    resumed.step(1)
    assert ledger.resume(recipe, resumed.snapshot()).t == 2
    with pytest.raises(StoreRefused):
        ledger.resume(recipe, first)
    assert ledger.spent == Pure(1)


def test_a_snapshot_older_than_the_run_that_goes_on_is_refused() -> None:
    # What the run has released since would be released again, with other noise.
    ledger = population(Pure(1))
    recipe = SimpleTwoCounter(epsilon=1)
    run = ledger.start(recipe, on="x", why="y")
    first = run.snapshot()
    run.step(1)
    with pytest.raises(StoreRefused, match="of step 0; the run has gone on to step 1"):
        ledger.resume(recipe, first)
    run.step(1)  # a refused resumption does not spend the run
    assert ledger.resume(recipe, run.snapshot()).t == 2


def test_only_runs_bought_here_are_resumed() -> None:
    recipe = SimpleTwoCounter(epsilon=1)
    elsewhere = population(Pure(1)).start(recipe, on="x", why="y").snapshot()
    ledger = population(Pure(1))
    bought = ledger.start(recipe, on="x", why="y").snapshot()
    with pytest.raises(StoreRefused, match="no run that was bought here"):
        ledger.resume(recipe, elsewhere)
    with pytest.raises(StoreRefused, match="no run that was bought here"):
        ledger.resume(SimpleTwoCounter(epsilon=2), bought)
    with pytest.raises(StoreRefused):
        ledger.resume(recipe, b"not a snapshot")
    damaged = bought[:-1] + bytes([bought[-1] ^ 1])
    with pytest.raises(StoreRefused):
        ledger.resume(recipe, damaged)
    # a refused resumption does not use the snapshot up
    assert ledger.resume(recipe, bought).t == 0


def test_what_is_printed_has_parameters_and_no_state() -> None:
    ledger = population(Pure(1))
    ledger.child("research")
    assert repr(ledger) == "<Ledger 'visitors': cap epsilon 1, spent epsilon 0>"
    assert repr(ledger.child("c")) == "<Child 'c': no cap of its own, spent epsilon 0>"
