"""Pan-private plans for users: one noisy bit each, in a table of public size, and nothing else."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ameles.connectors.standard_input import StandardInput
from ameles.core.guarantee import Intrusions, Neighbours
from ameles.core.loss import Approx
from ameles.engine.engine import Engine
from ameles.engine.running.registry_record import registered
from ameles.engine.sealed.sealed_state import SealedState
from ameles.engine.sealed.stream_vault import StreamVault
from ameles.measures.table_choice import inner_of
from ameles.mechanisms.continual.afresh import Afresh
from ameles.noise import Zero
from ameles.store import open_store
from tests.engine.people import (
    DISTINCT,
    FEVER,
    ROOMY,
    TABLES_AND_RESIDUES,
    USER,
    WINDOW,
    People,
    stream_of,
    who,
)
from tests.engine.worlds import HEADER, World, row
from tests.stand_in import bare_store


def test_without_noise_every_user_has_set_one_bit(tmp_path: Path) -> None:
    world = People(tmp_path, ROOMY + FEVER.replace("3000", "500000"))
    world.feed(
        [who("ada", "bob", "ada"), who("ada")],
        [who("cyn", fever="false"), [row(1, who="")]],
        [],
        [who("ada", "dan")],
        noise=Zero(),
    )
    assert world.ones() == [2, 3, 3, 4]
    assert world.ones("ill") == [2, 2, 2, 3]


def test_windows_begin_anew(tmp_path: Path) -> None:
    world = People(tmp_path, ROOMY, WINDOW, None)
    world.feed([who("ada")], [who("bob")], [], [who("ada")], [], noise=Zero())
    world.feed([who("cyn", "dan")], [], noise=Zero())
    assert world.ones() == [1, 2, 2, 1, 1, 3, 0]


def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    world = People(tmp_path, ROOMY)
    world.feed([who("ada")], noise=Zero())
    world.feed([who("ada", "bob")], noise=Zero())
    assert world.ones() == [1, 2]


def test_a_crash_between_folding_and_releasing_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = People(tmp_path, ROOMY)
    world.feed([], noise=Zero())

    def dies(*given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SealedState, "_store_step", dies)
    with pytest.raises(KeyboardInterrupt):
        world.feed([who("ada", "bob")], noise=Zero())
    monkeypatch.undo()
    world.feed([who("cyn")], noise=Zero())
    assert world.ones() == [0, 2, 3]
    # folded, and killed before the step was closed
    with closing(open_store(str(world.folder / "s.db"))) as store:
        source = StandardInput("csv", world.plan.kinds)
        source.reading([f"{HEADER}\n".encode()])
        with Engine(world.plan, store, noise=Zero()).session() as session:
            session.take(source.reading([f"{who('dan')[0]}\n".encode()]), 0)
    world.feed([], noise=Zero())
    assert world.ones() == [0, 2, 3, 4]


def test_with_a_delta_long_streams_have_less_noise(tmp_path: Path) -> None:
    world = People(tmp_path, ROOMY, f"{USER}\ndelta = 1e-6", 5000)
    world.feed([who("ada", "bob")], [who("ada", "cyn")], noise=Zero())
    assert world.ones() == [2, 3]
    assert _recipe(world).variance is not None
    with (
        closing(open_store(str(world.folder / "s.db"))) as store,
        store.reading() as transaction,
    ):
        ledger = transaction.ledger("people")
    assert ledger is not None
    assert ledger.spent == Approx(1, "1e-6")


def _recipe(world: World) -> Afresh:
    inner = inner_of(world.plan.recipes["people"])
    assert isinstance(inner, Afresh)
    return inner


# What is kept ---------------------------------------------------------------------------------


def test_nothing_tells_who_was_there(tmp_path: Path) -> None:
    world = People(tmp_path, TABLES_AND_RESIDUES)
    world.feed([who("canary-canary")] * 2, [who("canary-canary")])
    with bare_store(world.folder / "s.db") as bare:
        for table in ("pending", "seen", "position"):
            assert bare.execute(f"SELECT count(*) FROM {table}").fetchall() == [(0,)]
        assert bare.execute("SELECT max(length(snapshot)) FROM state").fetchall() == [(0,)]
        ((salt,),) = bare.execute("SELECT salt FROM stream").fetchall()
    stream = salt.hex().encode() + b"canary-canary"
    hashed = hashlib.sha256(stream)
    written = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    vault, snapshots = StreamVault(world.plan, stream_of(world).identity).open()
    vault.close()
    for content in (*written, *snapshots.values()):
        for canary in (b"canary", hashed.digest()[:7], hashed.hexdigest()[:14].encode()):
            assert canary not in content


def test_the_state_has_one_size_and_its_bits_are_noise(tmp_path: Path) -> None:
    sizes = set()
    for users in (0, 1, 400):
        folder = tmp_path / str(users)
        world = People(folder, TABLES_AND_RESIDUES)
        world.feed([who(*(f"u{i}" for i in range(users)))])
        vault, snapshots = StreamVault(world.plan, stream_of(world).identity).open()
        vault.close()
        sizes.add(tuple(map(len, snapshots.values())))
        # 5,000 fair bits, of which at most 400 were drawn again; false alarm 1e-6
        ones = np.frombuffer(snapshots["people"], np.uint8)
        assert abs(np.count_nonzero(ones == 1) - 2500) < 5 * 35.4 + 200
    assert len(sizes) == 1


def test_the_promise_is_in_the_ledger_and_the_registry(tmp_path: Path) -> None:
    world = People(tmp_path, DISTINCT, WINDOW, None)
    world.feed([])
    with (
        closing(open_store(str(world.folder / "s.db"))) as store,
        store.reading() as transaction,
    ):
        ledger = transaction.ledger("people")
        assert ledger is not None
        (entry,) = ledger.entries
        record = registered(transaction, "people", implementation="0")
    assert entry.guarantee.intrusions is Intrusions.ONE
    assert entry.guarantee.neighbours is Neighbours.USER_PRESENCE
    assert str(entry.guarantee.unit) == "one user within 3 steps"
    assert str(entry.paid) == "epsilon 1"
    (deployment,) = record["deployments"]
    assert deployment["intrusions"] == ["one"]
