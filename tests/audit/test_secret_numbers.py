"""Secrets add up like the numbers that they are; everything else is refused and written down."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ameles.audit.secret_numbers import Looked, Secret, SecretArray, Trace, plain, secret_array


def secret(value: int, trace: Trace | None = None) -> Any:
    return Secret(value, trace or Trace())


def secrets(trace: Trace | None = None) -> Any:
    return secret_array([3, -4, 5], trace or Trace())


def test_sums_are_those_of_the_numbers() -> None:
    x = secret(5)
    assert [plain(y) for y in (x + 2, 2 + x, x - 1, 1 - x, x * 3, 3 * x, -x, +x, x + x)] == [
        *(7, 7, 4, -4, 15, 15, -5, 5, 10)
    ]
    assert plain(x % (1 << 64)) == 5
    assert plain(secret((1 << 63) + 1)) == -(1 << 63) + 1
    # the wrap is all that may be asked
    assert -(1 << 63) <= x < 1 << 63
    assert not x > (1 << 63) - 1
    assert not secret(1 << 63) <= (1 << 63) - 1
    assert secret(1 << 63) >= 1 << 63


def test_arrays_too() -> None:
    xs = secrets()
    for result, expected in [
        (xs + 1, [4, -3, 6]),
        (np.array([1, 2, 3]) + xs, [4, -2, 8]),
        (xs + secret(1), [4, -3, 6]),
        (np.cumsum(xs), [3, -1, 4]),
        (xs[1:], [-4, 5]),
        (xs.reshape(3, 1).copy(), [[3], [-4], [5]]),
        (np.concatenate([xs, xs])[3:], [3, -4, 5]),
    ]:
        assert isinstance(result, SecretArray)
        assert plain(result).tolist() == expected
    assert plain(xs.sum()) == 4
    assert [plain(x) for x in xs] == [3, -4, 5] == [plain(x) for x in xs.tolist()]
    assert [plain(x) for row in xs.reshape(3, 1).tolist() for x in row] == [3, -4, 5]
    assert plain(xs.item(1)) == -4


def test_a_sum_in_place_makes_its_place_secret() -> None:
    totals: Any = np.zeros(3, dtype=np.int64)
    place = totals
    totals += secrets()
    assert isinstance(totals, SecretArray)
    assert place.tolist() == [3, -4, 5]
    assert plain(np.array([secret(7)], dtype=object)).tolist() == [7]


LOOKS: dict[str, tuple[Callable[[], object], str]] = {
    "less": (lambda: secret(5) < 7, "compares"),
    "greater": (lambda: secret(5) > 7, "compares"),
    "at most": (lambda: secret(5) <= 7, "compares"),
    "at least": (lambda: secret(5) >= 2**62, "compares"),
    "equal": (lambda: secret(5) == 5, "compares"),
    "unequal": (lambda: secret(5) != 5, "compares"),
    "true": (lambda: bool(secret(5)), "decides"),
    "hash": (lambda: {secret(5): 1}, "as a key"),
    "float": (lambda: float(secret(5)), "floats"),
    "times a float": (lambda: secret(5) * 0.5, "floats"),
    "ratio": (lambda: secret(5) / 2, "floats"),
    "root": (lambda: math.sqrt(secret(5)), "floats"),
    "format": (lambda: f"{secret(5)}", "prints"),
    "text": (lambda: str(secret(5)), "prints"),
    "repr": (lambda: repr(secret(5)), "prints"),
    "quotient": (lambda: secret(5) // 2, "add them up"),
    "remainder": (lambda: secret(5) % 2, "add them up"),
    "mask": (lambda: secret(5) & 1, "add them up"),
    "digits": (lambda: secret(5) >> 3, "add them up"),
    "size": (lambda: abs(secret(5)), "add them up"),
    "power": (lambda: secret(5) ** 2, "add them up"),
    "array less": (lambda: secrets() < 7, "compares"),
    "array equal": (lambda: secrets() == 5, "compares"),
    "array above another": (lambda: np.arange(3) > secrets(), "compares"),
    "array true": (lambda: bool(secrets()[:1]), "decides"),
    "member": (lambda: 5 in secrets(), "as a key"),
    "array text": (lambda: str(secrets()), "prints"),
    "largest": (lambda: secrets().max(), "add them up"),
    "any": (lambda: secrets().any(), "add them up"),
    "clipped": (lambda: np.clip(secrets(), 0, 1), "add them up"),
    "where": (lambda: np.where(secrets(), 0, 1), "add them up"),
    "sorted": (lambda: np.sort(secrets()), "add them up"),
    "order": (lambda: secrets().argsort(), "add them up"),
    "array ratio": (lambda: secrets() / 2, "add them up"),
    "array and floats": (lambda: secrets() * np.array([0.5, 1, 2]), "floats"),
    "index": (lambda: secrets()[secrets()], "index"),
    "bytes": (lambda: secrets().tobytes(), "add them up"),
    "scalar and array": (lambda: np.maximum(secret(5), np.arange(3)), "add them up"),
}


@pytest.mark.parametrize("name", LOOKS)
def test_looks_are_refused(name: str) -> None:
    look, what = LOOKS[name]
    with pytest.raises(Looked, match=what) as refusal:
        look()
    assert "test_secret_numbers.py, line " in str(refusal.value)


def test_a_look_is_written_down_even_if_the_code_goes_on() -> None:
    trace = Trace()
    with pytest.raises(Looked):
        bool(secret(5, trace))
    assert not issubclass(Looked, Exception), "no code catches it by accident"
    assert [look.partition(" (")[0] for look in trace.looks] == ["decides by its data"]


def test_a_plain_integer_leaves_sight() -> None:
    trace = Trace()
    assert int(secret(5, trace)) == 5
    assert [1, 2, 3][secret(1, trace)] == 2
    assert int(secrets(trace)[:1].reshape(())) == 3
    assert len(trace.lost) == 3
    assert all(place.startswith("test_secret_numbers.py") for place in trace.lost)
