"""``ameles compact``: what closed steps no longer need goes; releases, entries, positions stay."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from ameles.store import open_store
from ameles.store.batches import NewBatch
from tests.cli.conftest import Program
from tests.cli.test_run import change
from tests.store.backup.test_backup import contents

STAYS = ("release", "step", "series", "entry", "position", "stream", "state", "token")
USERS = np.zeros(4, dtype=np.int64)


def rows() -> dict[str, list[tuple[object, ...]]]:
    with closing(open_store("flu.db")) as store:
        return contents(store)


def remember() -> None:
    """Users of four windows, and batches of a closed and an open step."""
    with closing(open_store("flu.db")) as store, store.writing() as transaction:
        (stream,) = transaction.streams()
        for window in range(4):
            users = [bytes([window]) * 15 + bytes([user]) for user in range(4)]
            transaction.set_seen(stream, window, users, USERS, USERS)
        batches = [
            NewBatch(bytes([step]) * 16, bytes([step, 1]) * 8, step, "json", b"{}\n")
            for step in (9, 10, 11)
        ]
        transaction.add_batches(stream, batches)


def windows() -> set[object]:
    return {row[1] for row in rows()["seen"]}


@pytest.mark.usefixtures("fresh")
def test_batch_ids_of_closed_steps_go(ameles: Program) -> None:
    assert ameles("run", "--until", "2025-10-11").code == 0  # ten steps
    remember()
    before = rows()
    done = ameles("compact")
    assert (done.code, done.err) == (0, "The store is compact; its streams are flu.\n")
    after = rows()
    assert [row[1] for row in after["batch"]] == [11, 11], "of its id and of its body"
    assert after["arrived"] == before["arrived"]  # not counted yet
    assert windows() == {0, 1, 2, 3}  # its users have no windows
    assert {name: after[name] for name in STAYS} == {name: before[name] for name in STAYS}
    assert ameles("run", "--until", "2025-10-13").code == 0


@pytest.mark.usefixtures("fresh")
def test_users_of_windows_that_ended_go(ameles: Program) -> None:
    change('unit = "user" ', 'unit = "user-window"\nwindow = "4d" ')
    change("max_steps = 6", "max_steps = 2")
    assert ameles("run", "--until", "2025-10-11").code == 0  # ten steps: two windows have ended
    remember()
    assert ameles("compact").code == 0
    assert windows() == {2, 3}
    assert ameles("run", "--until", "2025-10-13").code == 0


@pytest.mark.usefixtures("site")
def test_a_stream_that_has_ended_needs_no_users(ameles: Program) -> None:
    remember()
    assert ameles("compact", "--json").out == '{"compacted": ["flu"]}\n'
    assert windows() == set()
    assert ameles("run").code == 0


@pytest.mark.sqlite_only("the size of its file")
@pytest.mark.usefixtures("site")
def test_the_file_shrinks_and_leaves_no_other(site: Path, ameles: Program) -> None:
    with closing(open_store("flu.db")) as store, store.writing() as transaction:
        transaction.set_pending(transaction.streams()[0], bytes(1 << 20))
    with closing(open_store("flu.db")) as store, store.writing() as transaction:
        transaction.set_pending(transaction.streams()[0], None)
    names, large = set(site.iterdir()), Path("flu.db").stat().st_size
    assert ameles("compact").code == 0
    assert Path("flu.db").stat().st_size < large - (1 << 20) + 8192
    assert set(site.iterdir()) == names


@pytest.mark.usefixtures("site")
def test_it_waits_for_no_stream(ameles: Program) -> None:
    with closing(open_store("flu.db")) as store, store.holding("flu"):
        refused = ameles("compact")
    assert (refused.code, "is run by another process" in refused.err) == (4, True)
    change('name = "flu"', 'name = "cold"')
    refused = ameles("compact")
    assert (refused.code, "Stream 'cold' was not launched yet" in refused.err) == (4, True)
