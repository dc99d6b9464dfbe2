"""Sealed streams that reserve restarts, and ways to lose their state."""

from __future__ import annotations

from contextlib import closing

from ameles.connectors.standard_input import StandardInput
from ameles.core.noise import Noise
from ameles.engine.engine import Engine
from ameles.noise import Zero
from ameles.store import EpochRecord, open_store
from tests.engine.worlds import COUNT, HEADER, World

TOTAL = COUNT.replace('by = { region = ["north", "south"] }\n', "")


def reserving(world: World, restarts: int = 2) -> World:
    world.text = world.text.replace('intrusions = "', f'restarts = {restarts}\nintrusions = "')
    return world


def feed(
    world: World, *steps: list[str], restart: str | None = None, noise: Noise | None = None
) -> None:
    """Folds the rows of some steps, and closes each of them."""
    with closing(open_store(str(world.folder / "s.db"))) as store:
        engine = Engine(world.plan, store, noise=noise or Zero(), restart=restart)
        source = StandardInput("csv", world.plan.stream.columns)
        source.reading([f"{HEADER}\n".encode()])
        with engine.session() as session:
            for rows in steps:
                text = "".join(f"{line}\n" for line in rows)
                session.take(source.reading([text.encode()]), 0)
                session.take(source.reading([]), session.stream.released + 1)


def lose_key(world: World) -> None:
    """The key is gone, as after a reboot."""
    (key,) = (world.folder.parent / "keys").rglob("key")
    key.unlink()


def epochs(world: World) -> tuple[EpochRecord, ...]:
    with (
        closing(open_store(str(world.folder / "s.db"))) as store,
        store.reading() as transaction,
    ):
        stream = transaction.stream("s")
        assert stream is not None
        return transaction.epochs(stream)
