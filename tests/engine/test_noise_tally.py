"""How many noises are in a published total, or in a window of it."""

from __future__ import annotations

import pytest

from ameles.engine.releasing.noise_tally import NoiseTally


def test_a_total_has_all_noises_of_its_run() -> None:
    tally = NoiseTally.blank(0)
    assert [tally.count(run=run, step=step, window=None) for step, run in ((1, 4), (2, 9))] == [
        4,
        9,
    ]


def test_a_window_has_those_of_its_steps() -> None:
    tally = NoiseTally.blank(2)
    runs = [3, 5, 9, 20]
    counts = [tally.count(run=run, step=step, window=2) for step, run in enumerate(runs, 1)]
    assert counts == [3, 5, 9 - 3, 20 - 5]


def test_a_new_run_goes_on_from_the_totals() -> None:
    tally = NoiseTally.blank(0)
    tally.count(run=7, step=1, window=None)
    tally.begin()
    assert tally.count(run=2, step=2, window=None) == 9
    again = NoiseTally.read(tally.to_bytes(), 0)
    assert again.count(run=5, step=3, window=None) == 12


def test_counts_of_another_window_are_refused() -> None:
    stored = NoiseTally.blank(3).to_bytes()
    for steps in (0, 1, 2, 4):
        with pytest.raises(ValueError, match="3"):
            NoiseTally.read(stored, steps)
