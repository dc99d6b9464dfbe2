"""A launch is one: what another process launched meanwhile is not launched again."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.engine.running.launching import launch
from ameles.noise import Zero
from ameles.store import open_store
from tests.engine.worlds import World


def test_a_stream_that_another_process_launched_just_now_is_refused(tmp_path: Path) -> None:
    plan = World(tmp_path).plan
    with closing(open_store(str(tmp_path / "s.db"))) as store:
        with store.writing() as transaction:
            launch(transaction, plan, uuid4(), Zero())
        refused = pytest.raises(StoreRefused, match="launched by another process just now")
        with refused, store.writing() as transaction:
            launch(transaction, plan, uuid4(), Zero())
