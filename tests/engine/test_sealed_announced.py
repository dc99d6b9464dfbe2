"""Announced intrusions into tables of users: each begins anew with fresh tables that were paid
for at launch, and what was seen never comes back."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.standard_input import StandardInput
from ameles.core.exceptions import BadInput, StoreRefused
from ameles.engine.engine import Engine
from ameles.engine.sealed.vault import Vault
from ameles.mechanisms.pan_private.density import DensityRun
from ameles.noise import Zero
from ameles.plan.forecast import in_words
from ameles.store import open_store
from ameles.store.epochs import Epochs
from tests.engine.people import (
    ANNOUNCED,
    ROOMY,
    WINDOW,
    People,
    announced,
    announcing,
    problems,
    snapshot_of,
    who,
)
from tests.engine.worlds import HEADER, World


def test_announced_intrusions_are_paid_for_in_advance(tmp_path: Path) -> None:
    told = problems(People(tmp_path, unit=ANNOUNCED))
    assert "costs as much again" in told
    assert "privacy.restarts" in told
    words = " ".join(in_words(announcing(tmp_path, 2).plan))
    assert "may be seized 3 times, if each time is announced before the next" in words
    assert "is lost or an intrusion announced, it can begin anew 2 times" in words
    assert "divided among the 3 parts" in words


def test_after_an_announcement_users_are_counted_anew_and_it_says_so(tmp_path: Path) -> None:
    world = announcing(tmp_path, 2)
    world.feed([who("ada", "bob")], [], noise=Zero())
    seen = snapshot_of(world, 1)
    assert announced(world, [who("ada", "cyn", "dan")]) == 1
    assert announced(world) == 2
    world.feed([who("ada")], noise=Zero())
    assert world.ones() == [2, 2, 3, 1]
    assert [r.label for r in world.releases()] == ["", "", "restarted", "restarted"]
    assert snapshot_of(world, 3) != seen
    with pytest.raises(StoreRefused, match="in epoch"):
        snapshot_of(world, 1)
    with closing(open_store(str(world.folder / "s.db"))) as store:
        with store.reading() as transaction:
            stream = transaction.stream("s")
            assert stream is not None
            assert [one.why for one in transaction.intrusions(stream)] == ["a theft"] * 2
            ledger = transaction.ledger("people")
            assert ledger is not None
            assert [str(entry.paid) for entry in ledger.entries] == ["epsilon 1/3"] * 3
        with (
            Engine(world.plan, store, noise=Zero()).session() as session,
            pytest.raises(BadInput, match=r"its 2 restarts are used up"),
        ):
            session.announce("once more")
        with store.reading() as transaction:
            assert len(transaction.intrusions(stream)) == 2, "a refused one is not noted"
    world.feed([who("cyn")], noise=Zero())
    assert world.ones() == [2, 2, 3, 1, 2]


@pytest.mark.parametrize("call", ["erase", "begin_epoch"])
def test_a_crash_while_it_begins_anew_does_not_bring_back_what_was_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    world = announcing(tmp_path, 1)
    world.feed([who("ada", "bob")], noise=Zero())

    def dies(*given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Vault if call == "erase" else Epochs, call, dies)
    with pytest.raises(KeyboardInterrupt):
        announced(world)
    monkeypatch.undo()
    world.feed([who("cyn")], noise=Zero())
    assert world.ones() == [2, 1], "nobody who came before is in the new table"
    with pytest.raises(StoreRefused, match="in epoch"):
        snapshot_of(world, 1)


def test_what_the_open_step_had_is_lost_and_it_says_so(tmp_path: Path) -> None:
    """Before the first release, and in the first step of a window."""
    window = f"{WINDOW}\nrestarts = 2".replace('"one"', '"announced"')
    world = People(tmp_path, ROOMY, window, None)
    _fold(world, who("ada", "bob"))
    assert announced(world, [], [who("ada")], []) == 1
    _fold(world, who("cyn", "dan"))
    assert announced(world, [who("ada")], [], [], []) == 2
    assert world.ones() == [0, 1, 1, 1, 1, 1, 0]
    assert [r.label for r in world.releases()] == [*["restarted"] * 6, ""]


def _fold(world: World, rows: list[str]) -> None:
    """Folds a batch into the open step, which stays open."""
    with closing(open_store(str(world.folder / "s.db"))) as store:
        source = StandardInput("csv", world.plan.kinds)
        source.reading([f"{HEADER}\n".encode()])
        with Engine(world.plan, store, noise=Zero()).session() as session:
            session.take(source.reading(["".join(f"{line}\n" for line in rows).encode()]), 0)


def test_beginning_anew_draws_no_tables_of_windows_that_are_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = f"{WINDOW}\nrestarts = 1".replace('"one"', '"announced"')
    world = People(tmp_path, ROOMY, window, None)
    world.feed(*[[]] * 10, noise=Zero())
    drawn: list[int] = []
    opened = DensityRun.open

    def counted(run: DensityRun) -> None:
        drawn.append(1)
        opened(run)

    monkeypatch.setattr(DensityRun, "open", counted)
    assert announced(world, [who("ada")], [], []) == 1
    assert len(drawn) == 3, "at the start, for step 10, and for the window from step 13 on"
    assert world.ones()[10:] == [1, 1, 0]


def test_nobody_announces(tmp_path: Path) -> None:
    world = People(tmp_path)
    world.feed([])
    with (
        closing(open_store(str(world.folder / "s.db"))) as store,
        Engine(world.plan, store).session() as session,
        pytest.raises(BadInput, match="without an announcement"),
    ):
        session.announce("a theft")
