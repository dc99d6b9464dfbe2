"""Users whose state may be seized, for tests: their plans, what they do, what the engine does."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ameles.connectors.duck import connect
from ameles.connectors.standard_input import StandardInput
from ameles.core.exceptions import PlanError
from ameles.core.noise import Noise
from ameles.engine.engine import Engine
from ameles.engine.gathering.user_cells import Folding
from ameles.engine.sealed.stream_vault import StreamVault
from ameles.measures.table_choice import table_of
from ameles.noise import Zero
from ameles.store import StreamRecord, open_store
from tests.engine.worlds import HEADER, World, row

DISTINCT = '[[release]]\nname = "people"\nmeasure = "distinct"\ntable = 5000\n'
# A release of each other statistic that a table can tell, in tables of different sizes.
TABLES = {
    "seen": 'measure = "density"\ntable = 3000\nusers = 300',
    "often": 'measure = "cropped_mean"\ncrop = 3\ntable = 3100\nusers = 300',
    "twice": 'measure = "heavy"\nat_least = 2\ntable = 3200\nusers = 300',
    "once": 'measure = "incidence"\nexactly = 1\ntable = 3300\nusers = 300',
}
EVERY = f"{DISTINCT}share = 0.2\n" + "".join(
    f'[[release]]\nname = "{name}"\n{said}\nshare = 0.2\n' for name, said in TABLES.items()
)
TABLES_AND_RESIDUES = EVERY.replace("share = 0.2", "share = 0.15") + (
    '[[release]]\nname = "odd"\nmeasure = "modular"\nmodulus = 3\ntable = 3400\nusers = 300\n'
)
FEVER = (
    '[[release]]\nname = "ill"\nmeasure = "distinct"\ntable = 3000\nwhere = "fever"\nshare = 0.5\n'
)
USER = 'unit = "user"\nuser = "who"\nintrusions = "one"'
ANNOUNCED = USER.replace('"one"', '"announced"')
# So large that four users share no cell, but with a probability of 1.2e-5.
ROOMY = DISTINCT.replace("5000", "500000")
WINDOW = 'unit = "user-window"\nuser = "who"\nwindow = "3d"\nintrusions = "one"'


ZERO = Zero()


class People(World):
    """Users whose state may be seized, fed by hand."""

    def __init__(
        self, folder: Path, releases: str = DISTINCT, unit: str = USER, horizon: int | None = 8
    ) -> None:
        super().__init__(folder / "store", releases, unit=unit, horizon=horizon)
        self.text = (
            self.text.replace('source = "events.csv"', 'source = "-"')
            .replace('time = "at"\n', "")
            .replace('url = "s.db"', f'url = "s.db"\nvault = "{folder / "keys"}"')
        )

    def feed(self, *steps: Sequence[Sequence[str]], noise: Noise | None = None) -> None:
        """Folds the batches of some steps, and closes each of them."""
        with closing(open_store(str(self.folder / "s.db"))) as store:
            engine = Engine(self.plan, store, noise=noise)
            source = StandardInput("csv", self.plan.kinds)
            source.reading([f"{HEADER}\n".encode()])
            with engine.session() as session:
                for batches in steps:
                    for rows in batches:
                        text = "".join(f"{line}\n" for line in rows)
                        session.take(source.reading([text.encode()]), 0)
                    session.take(source.reading([]), session.stream.released + 1)

    def ones(self, release: str = "people") -> list[int]:
        """Without noise: how many bits are set, from what was published."""
        recipe: Any = self.plan.recipes[release]
        table = table_of(recipe)
        counts = []
        for value in self.values(release, ""):
            assert value is not None
            hits = (
                value if value < 0 else -table.users * np.expm1(value * np.log1p(-1 / table.users))
            )
            counts.append(round(hits * table.gamma + table.users / 2))
        return counts


def who(*names: str, fever: str = "true") -> list[str]:
    return [row(1, who=name, fever=fever) for name in names]


# A user in several batches and several times in one, among others; without the user the same
# events count nowhere.
BATCHES = [who("ada", "bob", "ada"), who("ada"), who("bob", "ada")]
WITHOUT = [[line.replace(",ada,", ",,") for line in rows] for rows in BATCHES]


def stream_of(world: World) -> StreamRecord:
    with (
        closing(open_store(str(world.folder / "s.db"))) as store,
        store.reading() as transaction,
    ):
        stream = transaction.stream("s")
    assert stream is not None
    return stream


def folded(world: World, batches: list[list[str]], stream: StreamRecord) -> list[list[int]]:
    """The cells that the engine folds, batch by batch."""
    source = StandardInput("csv", world.plan.kinds)
    source.reading([f"{HEADER}\n".encode()])
    batches_cells: list[list[int]] = []
    with closing(connect(zone="UTC", memory=1 << 28, readable=())) as duck:
        for rows in batches:
            reading = source.reading(["".join(f"{line}\n" for line in rows).encode()])
            cells = list(Folding(world.plan, duck, stream).cells(reading))
            batches_cells.append([int(c) for one in cells for c in one["people"]])
    return batches_cells


def snapshot_of(world: World, epoch: int) -> bytes:
    vault, snapshots = StreamVault(world.plan, stream_of(world).identity, epoch).open()
    vault.close()
    return bytes(snapshots["people"])


def problems(world: World) -> str:
    with pytest.raises(PlanError) as refused:
        _ = world.plan
    return str(refused.value)


def announcing(folder: Path, restarts: int, releases: str = ROOMY) -> People:
    return People(folder, releases, f"{ANNOUNCED}\nrestarts = {restarts}")


def announced(
    world: World, *steps: list[list[str]], why: str = "a theft", noise: Noise | None = ZERO
) -> int:
    """Announces an intrusion, and goes on in the same session."""
    with closing(open_store(str(world.folder / "s.db"))) as store:
        source = StandardInput("csv", world.plan.kinds)
        source.reading([f"{HEADER}\n".encode()])
        with Engine(world.plan, store, noise=noise).session() as session:
            count = session.announce("a theft")
            for batches in steps:
                for rows in batches:
                    text = "".join(f"{line}\n" for line in rows)
                    session.take(source.reading([text.encode()]), 0)
                session.take(source.reading([]), session.stream.released + 1)
    return count
