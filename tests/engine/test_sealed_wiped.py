"""No event and no noise is left in a buffer of a sealed session, and no key and no state in one of
its vault: everything is overwritten when the call that used it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from ameles.connectors.standard_input import StandardInput
from ameles.core.exceptions import StoreRefused
from ameles.engine.engine import Engine
from ameles.engine.releasing.release_run import ReleaseRun
from ameles.engine.running.session import Session
from ameles.engine.sealed.sealed_state import SealedState
from ameles.engine.sealed.vault import FileSlot, Vault, VaultPlace, cipher
from ameles.engine.sealed.vault.slot import KeySlot
from ameles.noise import Zero
from ameles.store import open_store
from tests.engine.people import TABLES_AND_RESIDUES, People
from tests.engine.test_sealed import Sealed
from tests.engine.worlds import COUNT, HEADER, World, row
from tests.leftovers import Leftovers
from tests.mechanisms.pan_private.test_wiped import Handed, state_arrays

AMOUNT = 3_675_311
PAID = (
    '[[release]]\nname = "paid"\nmeasure = "sum"\ncolumn = "amount"\nlower = 0\nupper = 4000000\n'
    'granularity = 1\nover = "step"\n'
)


@contextmanager
def watched(world: World, noise: Any) -> Iterator[tuple[Session, StandardInput, Leftovers]]:
    """A session, what it reads, and what it leaves behind."""
    with closing(open_store(str(world.folder / "s.db"))) as store, Leftovers() as left:
        source = StandardInput("csv", world.plan.stream.columns)
        source.reading([f"{HEADER}\n".encode()])
        with Engine(world.plan, store, noise=noise).session() as opened:
            yield opened, source, left


def runs_of(session: Session) -> list[ReleaseRun]:
    assert isinstance(session.state, SealedState)
    return session.state.runs


def line(**given: Any) -> bytes:
    return f"{row(1, **given)}\n".encode()


@pytest.mark.parametrize("intrusions", ["one", "announced", "every"])
@pytest.mark.parametrize("scans", [1, 3])
def test_events_and_noise_are_gone_when_they_are_folded(
    tmp_path: Path, intrusions: str, scans: int
) -> None:
    world, noise = Sealed(tmp_path, COUNT + PAID, intrusions), Handed()
    with watched(world, noise) as (opened, source, left):
        for _ in range(3):
            # something in every cell, so that no number that is published is a noise
            rows = line(amount=AMOUNT) + line(amount=AMOUNT, region="south")
            blocks = [rows * (1 + scan) for scan in range(scans)]
            opened.take(source.reading(blocks), 0)
            opened.take(source.reading([]), opened.stream.released + 1)
        if intrusions == "announced":
            opened.announce("a laptop was stolen")
        states = [array for one in runs_of(opened) for array in state_arrays(one.run)]
    secrets = {AMOUNT * n for n in range(1, 60)}
    assert left.numbers(secrets | noise.numbers, but=states) == set()
    assert not any(np.isin(drawn, list(noise.numbers)).any() for drawn in noise.arrays)


def test_sums_of_many_scans_are_gone_when_they_are_added_up(tmp_path: Path) -> None:
    with watched(Sealed(tmp_path, PAID), Zero()) as (opened, source, left):
        opened.take(source.reading([line(amount=AMOUNT)] * 65), 0)
        states = [array for one in runs_of(opened) for array in state_arrays(one.run)]
    assert left.numbers({AMOUNT * n for n in range(1, 66)}, but=states) == set()


def test_cells_of_users_are_gone_when_they_are_folded(tmp_path: Path) -> None:
    """Of every statistic that a table can tell."""
    world = People(tmp_path, TABLES_AND_RESIDUES)
    assert len(world.plan.recipes) == 6  # chosen before anything is watched, and remembered
    folded: set[int] = set()
    with watched(world, Zero()) as (opened, source, left):
        runs: list[Any] = [one.run for one in runs_of(opened)]
        for run in runs:
            _note(run, folded)
        for batch in range(3):
            # each of them twice, so that clocks come round
            users = b"".join(line(who=f"user-{batch}-{number}") for number in range(4))
            opened.take(source.reading([users * 2]), 0)
        opened.take(source.reading([]), 1)
        states = [array for run in runs for array in state_arrays(run)]
    assert len(folded) > 20
    # small numbers are also counts of cells
    places = left.numbers({cell for cell in folded if cell > 30}, but=states)
    # What is packed is the state itself, whose noisy counts may be the number of a cell.
    own = ("noted", "pack")
    assert {where for where in places if not any(name in where for name in own)} == set()


def _note(run: Any, folded: set[int]) -> None:
    """Has the cells that a run folds noted."""
    add = run.add

    def noted(cells: Any) -> None:
        folded.update(np.asarray(cells).tolist())
        add(cells)

    run.add = noted


class Secrets:
    """Keys and states that went through a vault."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.keys: list[bytes] = []
        self.states: list[bytes] = []
        fresh, save = cipher.fresh_key, Vault.save

        def key() -> bytearray:
            made = fresh()
            self.keys.append(bytes(made))
            return made

        def saved(vault: Vault, state: bytes, releases: bytes = b"", *, step: int) -> None:
            self.states.append(bytes(state))
            save(vault, state, releases, step=step)

        monkeypatch.setattr(cipher, "fresh_key", key)
        monkeypatch.setattr(Vault, "save", saved)

    def left(self, left: Leftovers) -> set[str]:
        return left.bytes([*self.keys, *self.states])


def vault_in(
    folder: Path, how: Callable[[VaultPlace], Vault] = Vault.create, epoch: int = 1
) -> Vault:
    folder.mkdir(exist_ok=True)
    slot = FileSlot(folder / "keys" / "key")
    return how(VaultPlace(folder / "v", slot, identity=IDENTITY, size=200, epoch=epoch))


IDENTITY = uuid4()


def test_keys_and_states_are_gone_when_they_are_saved_and_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = Secrets(monkeypatch)
    with Leftovers() as left:
        with vault_in(tmp_path) as vault:
            for step in range(3):
                vault.save(b"a state that may be seized %d" % step, b"released", step=step)
                vault.load()
        with vault_in(tmp_path, Vault.open) as vault:
            vault.load()
            vault.erase()
    assert len(secrets.keys) == 3
    assert secrets.left(left) == set()


def test_a_save_that_fails_leaves_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = Secrets(monkeypatch)
    vault = vault_in(tmp_path)

    def fails(slot: KeySlot, sector: bytearray) -> None:
        raise OSError("no space")

    monkeypatch.setattr(KeySlot, "write", fails)
    with Leftovers() as left, pytest.raises(StoreRefused, match="cannot be written"):
        vault.save(b"a state that may be seized", step=1)
    assert len(secrets.keys) == 1
    assert secrets.left(left) == set()
    vault.close()


def test_a_new_epoch_leaves_nothing_of_the_key_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = Secrets(monkeypatch)
    with vault_in(tmp_path) as vault:
        vault.save(b"a state that may be seized", step=1)
    for file in (tmp_path / "v").glob("state.*"):  # the state is lost, and the key is still there
        file.write_bytes(bytes(file.stat().st_size))
    with Leftovers() as left:
        vault_in(tmp_path, epoch=2).close()
    assert len(secrets.keys) == 1
    assert secrets.left(left) == set()


def test_what_does_not_belong_to_a_key_is_decrypted_and_wiped() -> None:
    # GCM decrypts before it knows whether the tag is right
    key, plain = cipher.fresh_key(), bytearray(b"a state that may be seized")
    sealed = cipher.seal(key, plain, b"step 1")
    with Leftovers() as left:
        assert cipher.unseal(key, sealed, b"step 2") is None
    assert left.bytes([bytes(plain)]) == set()
    with Leftovers() as left:
        assert cipher.unseal(key, sealed, b"step 1") == plain
    assert left.bytes([bytes(plain)])


def test_what_is_not_wiped_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = Secrets(monkeypatch)
    monkeypatch.setattr(cipher, "wipe", lambda *buffers: None)
    with Leftovers() as left, vault_in(tmp_path) as vault:
        vault.save(b"a state that may be seized", step=1)
        vault.load()
    assert len(secrets.left(left)) >= 3
