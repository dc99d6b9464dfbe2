"""The season of a published stream, as its store has it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ameles.simulate.preview import released
from ameles.simulate.preview.released import released_season
from tests.store.stores import launch, minutes, new_store


def test_a_season_has_the_first_published_values_of_each_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_store(tmp_path) as store:
        assert released_season(store, "flu") == {}
        with store.writing() as transaction:
            stream = launch(transaction)
            transaction.add_steps(stream, minutes(1, 4))
            values = np.arange(8, dtype=np.int64).reshape(4, 2)
            transaction.add_releases(stream, 1, 1, values, values, values)
            transaction.advance(stream, released=4, scheduled=4)
        whole = released_season(store, "flu")
        assert [len(line) for line in whole.values()] == [4, 4]
        assert [line[0] for line in whole.values()] == [0, 1]
        monkeypatch.setattr(released, "MOST_STEPS", 2)
        short = released_season(store, "flu")
        assert {key: line[:2] for key, line in whole.items()} == short
