from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.accounting.composition import compose
from ameles.accounting.filter import Filter, admit, left_of
from ameles.core.exceptions import BadInput, BudgetExceeded
from ameles.core.loss import Approx, Concentrated, Loss, Pure

amounts = st.integers(0, 50).map(lambda n: Fraction(n, 50))
small = st.integers(0, 10).map(lambda n: Fraction(n, 100))
pure = st.builds(Pure, amounts)
approx = st.builds(Approx, amounts, small)
zcdp = st.builds(Concentrated, amounts)


class Spender(Protocol):
    @property
    def spent(self) -> Loss: ...
    def spend(self, loss: Loss) -> None: ...


def problems(make: Callable[[Loss], Spender]) -> list[str]:
    """What is wrong with a filter: the one check, for ours and for the broken ones."""
    mistakes = []
    for n in (3, 7, 10, 49, 365):
        spender = make(Pure(1))
        try:
            for _ in range(n):
                spender.spend(Pure(Fraction(1, n)))
        except BudgetExceeded:
            mistakes.append("refuses the last bit")
        try:
            spender.spend(Pure(Fraction(1, 10**12)))
            mistakes.append("overspends")
        except BudgetExceeded:
            pass
    spender = make(Pure(1))
    spender.spend(Pure("0.6"))
    try:
        spender.spend(Pure("0.6"))
    except BudgetExceeded:
        if spender.spent != Pure("0.6"):
            mistakes.append("charges for a refusal")
    spender = make(Approx(1, "1e-6"))
    try:
        spender.spend(Approx("0.1", "1e-5"))
        mistakes.append("forgets delta")
    except BudgetExceeded:
        pass
    return sorted(set(mistakes))


class Broken(Filter):
    """A filter whose way to spend is replaced."""

    def __init__(self, cap: Loss) -> None:
        super().__init__(cap)
        self.so_far = 0.0

    def refusal(self, loss: Loss) -> BudgetExceeded:
        return BudgetExceeded(
            "over", spent=self.spent, asked=loss, left=self.left, blocked_by="epsilon"
        )


class Floating(Broken):
    def spend(self, loss: Loss) -> None:
        assert not isinstance(loss, Concentrated)
        assert not isinstance(self.cap, Concentrated)
        if self.so_far + float(loss.epsilon) > float(self.cap.epsilon):
            raise self.refusal(loss)
        self.so_far += float(loss.epsilon)
        self._spent = Pure(loss.epsilon)


class DebitsFirst(Broken):
    def spend(self, loss: Loss) -> None:
        self._spent = compose([self._spent, loss])
        assert not isinstance(self._spent, Concentrated)
        assert not isinstance(self.cap, Concentrated)
        if self._spent.epsilon > self.cap.epsilon:
            raise self.refusal(loss)


class Generous(Broken):
    def spend(self, loss: Loss) -> None:
        self._spent = compose([self._spent, loss])


def test_the_filter_has_no_problems_and_broken_ones_have() -> None:
    assert problems(Filter) == []
    assert "refuses the last bit" in problems(Floating) or "overspends" in problems(Floating)
    assert "charges for a refusal" in problems(DebitsFirst)
    assert "forgets delta" in problems(DebitsFirst)
    assert "overspends" in problems(Generous)


@given(st.integers(1, 400), st.sampled_from([Pure, Concentrated]))
def test_n_spends_of_one_nth_fit_exactly(n: int, kind: type[Pure | Concentrated]) -> None:
    spender = Filter(kind(1))
    for _ in range(n):
        spender.spend(kind(Fraction(1, n)))
    assert spender.spent == kind(1)
    assert spender.left == kind(0)
    with pytest.raises(BudgetExceeded):
        spender.spend(kind(Fraction(1, 10**30)))
    spender.spend(kind(0))


@given(
    st.tuples(st.just(Pure(3)), st.lists(pure, max_size=10))
    | st.tuples(st.just(Approx(3, "0.25")), st.lists(pure | approx, max_size=10))
    | st.tuples(st.just(Concentrated(2)), st.lists(pure | zcdp, max_size=10))
)
def test_what_passes_composes_to_what_is_spent_and_never_beyond_the_cap(
    case: tuple[Loss, list[Loss]],
) -> None:
    cap, asked = case
    spender = Filter(cap)
    passed: list[Loss] = []
    for loss in asked:
        before = spender.spent
        refusal: BudgetExceeded | None = None
        try:
            spender.spend(loss)
            passed.append(loss)
        except BudgetExceeded as raised:
            refusal = raised
        if refusal is not None:
            assert spender.spent == refusal.spent == before
            assert refusal.left == spender.left
            assert refusal.blocked_by in vars(cap)
    total = compose([type(cap)(**dict.fromkeys(vars(cap), 0)), *passed])
    assert spender.spent == total
    for name, limit in vars(cap).items():
        assert vars(total)[name] <= limit
        assert vars(spender.left)[name] == limit - vars(total)[name]


def test_a_refusal_says_everything() -> None:
    spender = Filter(Approx(1, "1e-6"))
    spender.spend(Approx("0.75", "1e-6"))
    with pytest.raises(BudgetExceeded) as caught:
        spender.spend(Approx("0.25", "1e-7"))
    refusal = caught.value
    assert refusal.spent == Approx("0.75", "1e-6")
    assert refusal.asked == Approx("0.25", "1e-7")
    assert refusal.left == Approx("0.25", 0)
    assert refusal.blocked_by == "delta"
    assert "epsilon 0.25, delta 0 is left of epsilon 1, delta 1e-06" in str(refusal)
    spender.spend(Pure("0.25"))
    assert spender.left == Approx(0, 0)


def test_pure_enters_a_zcdp_cap_as_half_its_square() -> None:
    spender = Filter(Concentrated("0.5"))
    spender.spend(Pure("0.6"))
    spender.spend(Approx("0.8", 0))
    assert spender.left == Concentrated(0)


@pytest.mark.parametrize(
    ("cap", "loss"),
    [
        (Pure(1), Approx("0.1", "1e-6")),
        (Pure(1), Concentrated("0.1")),
        (Approx(1, "1e-6"), Concentrated("0.1")),
        (Concentrated(1), Approx("0.1", "1e-6")),
    ],
)
def test_what_has_no_place_in_the_cap_is_bad_input(cap: Loss, loss: Loss) -> None:
    spender = Filter(cap)
    with pytest.raises(BadInput) as caught:
        spender.spend(loss)
    assert caught.value.tip
    assert spender.left == cap


def test_a_ledger_can_keep_the_sums_itself() -> None:
    assert admit(Pure("0.2"), cap=Pure(1), spent=Pure("0.3")) == Pure("0.5")
    assert left_of(Approx(1, "1e-6"), spent=Pure("0.3")) == Approx("0.7", "1e-6")
    # A cap that was lowered below what is spent lets nothing pass, and says so.
    with pytest.raises(BudgetExceeded) as caught:
        admit(Pure("0.1"), cap=Pure("0.5"), spent=Pure("0.6"))
    assert caught.value.left == Pure(0)


def test_the_filter_prints_what_it_is() -> None:
    assert repr(Filter(Pure(1))) == (
        "Filter(cap=Pure(epsilon=Fraction(1, 1)), spent=Pure(epsilon=Fraction(0, 1)))"
    )
    assert Filter(Pure(1)).cap == Pure(1)
