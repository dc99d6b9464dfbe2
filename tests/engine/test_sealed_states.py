"""The states of a sealed stream, written, read, bought or made anew: each object that held one is
overwritten when the call that used it is over."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.standard_input import StandardInput
from ameles.engine.engine import Engine
from ameles.engine.releasing.release_run import folded
from ameles.engine.running import launch
from ameles.engine.sealed import restart, sealed_state, stream_vault
from ameles.engine.sealed.vault import Vault
from ameles.ledger import Ledger
from ameles.store import open_store
from tests.engine.lost_states import feed, lose_key, reserving
from tests.engine.people import ANNOUNCED, TABLES_AND_RESIDUES, People
from tests.engine.test_sealed import Sealed
from tests.engine.test_sealed_wiped import AMOUNT, PAID, line, runs_of, watched
from tests.engine.worlds import COUNT, HEADER, row
from tests.mechanisms.pan_private.test_wiped import Handed, state_arrays


class Held:
    """The states themselves that were written, packed, read or unpacked: no copies of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.states: dict[str, list[bytes]] = {
            "packed": [],
            "unpacked": [],
            "saved": [],
            "read": [],
        }
        self.runs: list[Any] = []
        pack, unpack = stream_vault.packed, stream_vault.unpacked
        save, load = Vault.save, Vault.load
        launch = Ledger.launch

        def packed(snapshots: Iterable[bytes]) -> bytes:
            held = list(snapshots)
            self.states["packed"] += held
            return pack(held)

        def unpacked(state: bytes) -> list[bytes]:
            held = unpack(state)
            self.states["unpacked"] += held
            return held

        def saved(vault: Vault, state: bytes, releases: bytes = b"", *, step: int) -> None:
            self.states["saved"].append(state)
            save(vault, state, releases, step=step)

        def loaded(vault: Vault) -> Any:
            held = load(vault)
            self.states["read"] += [] if held is None else [held.state]
            return held

        def launched(*given: Any, **options: Any) -> Any:
            runs = launch(*given, **options)
            self.runs += runs.values()
            return runs

        for module in (sealed_state, stream_vault):
            monkeypatch.setattr(module, "packed", packed)
        monkeypatch.setattr(stream_vault, "unpacked", unpacked)
        monkeypatch.setattr(Vault, "save", saved)
        monkeypatch.setattr(Vault, "load", loaded)
        monkeypatch.setattr(Ledger, "launch", launched)

    def left(self) -> set[str]:
        """Which of them can still be read."""
        return {kind for kind, states in self.states.items() for state in states if any(state)}


def test_states_are_gone_when_they_are_sealed_and_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, world = Held(monkeypatch), Sealed(tmp_path, COUNT + PAID, "announced")
    with watched(world, Handed()) as (opened, source, _):
        assert held.left() == set()
        opened.take(source.reading([line(amount=AMOUNT)]), 1)
        opened.announce("a laptop was stolen")
        assert held.left() == set()
    with watched(world, Handed()):
        assert held.left() == set()
    assert {kind: len(states) >= 4 for kind, states in held.states.items()} == dict.fromkeys(
        held.states, True
    )
    # the runs that were bought are not those that go on, which are resumed from the vault
    assert len(held.runs) == 2
    assert not any(array.any() for run in held.runs for array in state_arrays(run))


def test_tables_that_were_seen_are_gone_when_users_are_counted_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables in memory, and every state that was read, packed or made on the way."""
    held = Held(monkeypatch)
    world = People(tmp_path, TABLES_AND_RESIDUES, f"{ANNOUNCED}\nrestarts = 1")
    with (
        closing(open_store(str(world.folder / "s.db"))) as store,
        Engine(world.plan, store).session() as opened,
    ):
        source = StandardInput("csv", world.plan.kinds)
        source.reading([f"{HEADER}\n".encode()])
        opened.take(source.reading([line(who="ada"), line(who="bob")]), 1)
        seen: list[Any] = [run.run for run in runs_of(opened)]
        assert all(any(array.any() for array in state_arrays(run)) for run in seen)
        made: list[dict[str, bytes]] = []
        create = stream_vault.StreamVault.create

        def created(vault: Any, snapshots: dict[str, bytes], step: int = 0) -> None:
            made.append(dict(snapshots))
            create(vault, snapshots, step)

        monkeypatch.setattr(stream_vault.StreamVault, "create", created)
        assert opened.announce("a laptop was stolen") == 1
        assert not any(array.any() for run in seen for array in state_arrays(run))
        assert held.left() == set()
        ((*states,),) = [one.values() for one in made]
        assert len(states) == 6
        assert not any(any(state) for state in states)
        fresh = [run.run for run in runs_of(opened)]
        assert all(any(array.any() for array in state_arrays(run)) for run in fresh)


@pytest.mark.parametrize(
    ("module", "kind"), [(stream_vault, "saved"), (launch, "packed"), (sealed_state, "unpacked")]
)
def test_states_that_are_not_wiped_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any, kind: str
) -> None:
    held, world = Held(monkeypatch), Sealed(tmp_path, COUNT, "one")
    monkeypatch.setattr(module, "wipe_bytes", lambda *secrets: None)
    with watched(world, Handed()):
        pass
    assert kind in held.left()


def test_the_runs_that_make_a_new_epochs_state_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = reserving(Sealed(tmp_path, COUNT))
    feed(world, [row(1)])
    lose_key(world)
    runs: list[Any] = []
    snapshots: list[bytes] = []
    adopt = vars(restart)["adopted"]

    def recorded(run: Any) -> Any:
        runs.append(run)
        return folded(run)

    def adopted(snapshot: bytes, run: str) -> bytes:
        assert any(snapshot)
        paid: bytes = adopt(snapshot, run)
        assert any(paid)
        snapshots.extend([snapshot, paid])
        return paid

    monkeypatch.setattr(restart, "folded", recorded)
    monkeypatch.setattr(restart, "adopted", adopted)
    feed(world, [row(1)], restart="a reboot", noise=Handed())
    assert (len(runs), len(snapshots)) == (1, 2)
    assert not any(array.any() for array in state_arrays(runs[0]))
    assert not any(any(snapshot) for snapshot in snapshots)
