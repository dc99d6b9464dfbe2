"""The solvers: what they find, when they find nothing, and that they are loaded when needed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from ameles.audit import solver
from ameles.core.exceptions import MissingExtra


def test_the_cheapest_shift_and_its_dual_agree() -> None:
    matrix, target = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), np.array([1.0, 1.0])
    costs = np.array([1.0, 1.5, 1.0])
    proposal = solver.cheapest(matrix, target, costs)
    assert proposal is not None
    assert proposal.shift == pytest.approx([0, 1, 0])  # 1.5 for both rows, instead of 2
    assert costs @ np.abs(proposal.shift) == pytest.approx(abs(proposal.dual @ target))
    assert (np.abs(matrix.T @ proposal.dual) <= costs + 1e-9).all()


def test_a_box_keeps_every_part_short() -> None:
    matrix, costs = np.array([[1.0, 1.0]]), np.array([1.0, 3.0])
    free = solver.cheapest(matrix, np.array([2.0]), costs)
    boxed = solver.cheapest(matrix, np.array([2.0]), costs, longest=1)
    assert free is not None
    assert boxed is not None
    assert free.shift == pytest.approx([2, 0])
    assert boxed.shift == pytest.approx([1, 1])


def test_whole_shifts_are_whole() -> None:
    # in the reals 1/3 of the first alone; among whole numbers one of each
    matrix, costs = np.array([[3.0, -2.0]]), np.ones(2)
    real = solver.cheapest(matrix, np.ones(1), costs)
    assert real is not None
    assert real.shift == pytest.approx([1 / 3, 0])
    assert solver.cheapest_whole(matrix, np.ones(1), costs) == pytest.approx([1, 1])


def test_solvers_say_when_they_find_nothing() -> None:
    matrix, costs = np.array([[2.0]]), np.ones(1)
    assert solver.cheapest(np.zeros((1, 1)), np.ones(1), costs) is None
    assert solver.cheapest(matrix, np.array([6.0]), costs, longest=1) is None
    assert solver.cheapest_whole(matrix, np.ones(1), costs) is None


def test_quantiles_of_beta_laws() -> None:
    # Beta(1, n) has the distribution function 1 - (1 - x)^n, Beta(n, 1) has x^n
    ones, tens = np.array([1, 1]), np.array([10, 20])
    assert solver.beta_quantile(0.05, ones, tens) == pytest.approx(
        [1 - 0.95 ** (1 / 10), 1 - 0.95 ** (1 / 20)]
    )
    assert solver.beta_quantile(0.05, tens, ones) == pytest.approx(
        [0.05 ** (1 / 10), 0.05 ** (1 / 20)]
    )


def test_scipy_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[audit\]'"):
        solver.require()
    with pytest.raises(MissingExtra):
        solver.cheapest(np.ones((1, 1)), np.ones(1), np.ones(1))


def test_importing_the_audit_does_not_load_scipy() -> None:
    program = "import sys, ameles.audit; sys.exit('scipy' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=600)
