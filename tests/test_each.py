"""Many cases in one test: all of them run, with their parameters, and those that fail are named."""

from __future__ import annotations

import pytest

from tests.each import together

seen: list[tuple[int, str, int]] = []


@pytest.mark.parametrize("kept", [7, 8])
@together("first", [1, 2])
@together(("second", "third"), [("a", 3), ("b", 4)])
def test_every_case_runs_within_the_parameters_that_are_left(
    kept: int, first: int, second: str, third: int
) -> None:
    assert third == {"a": 3, "b": 4}[second]
    seen.append((kept, second, first))
    assert len([one for one in seen if one[0] == kept]) <= 4


def test_every_case_that_fails_is_named() -> None:
    tried = []

    @together(("number", "divisor"), [(1, 0), (2, 1), (10**5000, 0)])
    def divides(number: int, divisor: int) -> None:
        tried.append(number)
        assert number // divisor

    with pytest.raises(ExceptionGroup) as failed:
        divides()
    assert len(tried) == 3
    assert failed.value.message == (
        "2 of 3 cases fail: number 1, divisor 0; number of type int, divisor of type int"
    )
    assert [type(one) for one in failed.value.exceptions] == [ZeroDivisionError] * 2
    assert failed.value.exceptions[0].__notes__ == ["in the case: number 1, divisor 0"]
