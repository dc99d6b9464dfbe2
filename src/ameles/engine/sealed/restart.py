"""Restarts: a pan-private stream whose state was lost begins again, as often as was paid for.

The order of a restart, so that a crash leaves either the old epoch, which has ended, or the new
one:

1. the store counts and records the restart; from here on the stream is in the new epoch;
2. the vault of the new epoch is made, with fresh noise in it;
3. the store records that the epoch has begun.

After a crash before the third, nothing was folded into the new epoch and nothing was released from
it: the next run makes its vault again, and counts no further restart.

Users whose state was seen begin anew in the same way: the table that follows an announced
intrusion is that of a new epoch.  A user may come in each epoch, so each was paid for at launch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.noise import Noise
from ameles.core.wiping import wipe_bytes
from ameles.engine.releasing.batch_ids import BatchIds
from ameles.engine.releasing.release_run import folded
from ameles.engine.sealed.stream_vault import BATCHES, StreamVault
from ameles.engine.sealed.vault import EpochEnded, Vault, VaultMissing
from ameles.mechanisms.catalogue import mechanism_from_json
from ameles.mechanisms.pan_private.erase import erase
from ameles.mechanisms.snapshot import adopted
from ameles.noise import System
from ameles.plan.plan import Plan, reserved_name
from ameles.store import EpochRecord, ReleaseState, Store, StreamRecord, Transaction


@dataclass(frozen=True)
class OpenedEpoch:
    """The vault of a stream's epoch, and what the stream has from the epochs before."""

    vault: Vault
    snapshots: dict[str, bytes] = field(repr=False)
    batch_ids: BatchIds  # that the open step has taken
    base: bytes = field(repr=False)  # the released counts that this epoch adds to
    ended: tuple[int, ...]  # the last released step of each earlier epoch


def nothing_to_restart(plan: Plan) -> BadInput:
    """The refusal of a restart if no state can have been lost."""
    sealed = plan.privacy.intrusions != "none"
    return BadInput(
        "There is nothing to restart: this stream has lost no state.",
        why="it was not launched yet" if sealed else 'it has intrusions = "none"',
        tip="ameles run, without --restart",
    )


@dataclass(frozen=True)
class Restarting:
    """The epochs of one stream, whose lock this process holds."""

    plan: Plan
    store: Store
    stream: StreamRecord
    noise: Noise | None

    def open(self, why: str | None) -> OpenedEpoch:
        """The current state; with a reason ``why``, the state of a new epoch after a loss."""
        epochs = self._epochs()
        try:
            if epochs and not epochs[-1].begun:
                self._erase_seen(epochs[-1].number - 1)
                self._begin(epochs[-1])
            vault, snapshots = self._stream_vault(epochs).open()
        except (EpochEnded, VaultMissing) as lost:
            if why is None:
                raise self._told(lost, len(epochs)) from None
            self._count(why, len(epochs))
            epochs = self._epochs()
            self._begin(epochs[-1])
            vault, snapshots = self._stream_vault(epochs).open()
        else:
            if why is not None:
                vault.close()
                raise BadInput(
                    "The state of this stream can be read: there is nothing to restart.",
                    why="a restart is for a state that was lost, and restarts are limited",
                    tip="ameles run, without --restart",
                )
        base = epochs[-1].base if epochs else b""
        ended = tuple(epoch.released for epoch in epochs)
        stored = snapshots.pop(BATCHES, None)
        batch_ids = BatchIds() if stored is None else BatchIds.from_bytes(stored)
        return OpenedEpoch(vault, snapshots, batch_ids, base, ended)

    def announced(self, vault: Vault, why: str) -> tuple[OpenedEpoch, int]:
        """The state of a new epoch after an announced intrusion into this vault, which is erased;
        and how many intrusions were announced so far.

        It is erased when the new epoch begins, so that a crash before leaves that to the next run.
        """
        used = len(self._epochs())
        if used >= self.plan.privacy.restarts:
            raise BadInput(
                f"The stream '{self.stream.name}' cannot begin anew: " + _used_up(used),
                why="a second look at one table shows who came since the first, and each new table "
                "is paid for when the stream is launched",
                tip="stop this stream; another name for a new one, with a budget of its own",
            )
        count = self._count(why, used, seen=True)
        vault.close()
        return self.open(None), count

    def _epochs(self) -> tuple[EpochRecord, ...]:
        with self.store.reading() as transaction:
            return transaction.epochs(self.stream)

    def _stream_vault(self, epochs: tuple[EpochRecord, ...]) -> StreamVault:
        return StreamVault(self.plan, self.stream.identity, 1 + len(epochs))

    def _told(self, lost: StoreRefused, used: int) -> StoreRefused:
        """The same refusal, with a tip."""
        reserved = self.plan.privacy.restarts
        if used < reserved:
            tip = f"ameles run --restart 'what happened'; {reserved - used} of {reserved} are left"
        else:
            tip = "another name for a new stream, with a budget of its own"
        if isinstance(lost, VaultMissing):
            tip = f"{lost.tip}; if it is lost, {tip}"
        return type(lost)(lost.what, why=lost.why, tip=tip)

    def _count(self, why: str, used: int, *, seen: bool = False) -> int:
        """Records one more restart and the counts that it adds to, in one transaction.

        With ``seen`` it also records the intrusion before it, and returns how many there were.
        """
        reserved = self.plan.privacy.restarts
        if used >= reserved:
            raise EpochEnded(
                f"The stream '{self.stream.name}' has ended: " + _used_up(reserved),
                why="every restart is paid for when the stream is launched",
                tip="another name for a new stream, with a budget of its own",
            )
        with self.store.writing() as transaction:
            states = [self._state(transaction, release.name) for release in self.plan.releases]
            base = b"".join(
                _last(state.history, release.question.width, goes_on=release.goes_on)
                for release, state in zip(self.plan.releases, states, strict=True)
            )
            now = datetime.now(UTC)
            transaction.add_epoch(self.stream, at=now, why=why, base=base)
            return transaction.add_intrusion(self.stream, at=now, why=why) if seen else 0

    def _erase_seen(self, epoch: int) -> None:
        """Erases the state of users that was seen, if a crash has left it where it was."""
        privacy = self.plan.privacy
        if privacy.intrusions != "announced" or privacy.user is None:
            return
        try:
            vault, snapshots = StreamVault(self.plan, self.stream.identity, epoch).open()
        except StoreRefused:
            return  # it is erased already, or lost, or the next epoch has its vault
        wipe_bytes(*snapshots.values())
        with vault:
            vault.erase()

    def _begin(self, epoch: EpochRecord) -> None:
        """Makes the vault of an epoch, with fresh noise."""
        with self.store.reading() as transaction:
            snapshots = {
                release.name: self._fresh(transaction, release.name, epoch)
                for release in self.plan.releases
            }
        made = StreamVault(self.plan, self.stream.identity, epoch.number)
        made.create(snapshots, step=epoch.released)
        wipe_bytes(*snapshots.values())
        with self.store.writing() as transaction:
            transaction.begin_epoch(self.stream, epoch.number)

    def _fresh(self, transaction: Transaction, release: str, epoch: EpochRecord) -> bytes:
        """The snapshot of a new mechanism at the current step: its steps so far were empty, and it
        has published nothing."""
        recipe = mechanism_from_json(self._state(transaction, release).recipe)
        noise = System.direct() if self.noise is None else self.noise
        run = folded(recipe.start(noise))
        run.skip(epoch.released)
        snapshot = run.snapshot()
        erase(run)
        paid = adopted(snapshot, self._paid(transaction, release, epoch.number - 1))
        wipe_bytes(snapshot)
        return paid

    def _paid(self, transaction: Transaction, release: str, restart: int) -> str:
        """The run that was bought for this epoch at launch."""
        name = release if self.plan.privacy.epochs_paid == 1 else reserved_name(release, restart)
        ledger = transaction.ledger(self.stream.population)
        entries = [] if ledger is None else ledger.entries
        for entry in entries:
            if entry.on == f"{self.stream.name}/{name}":
                return entry.run
        raise StoreRefused(
            f"The ledger has no entry that paid for restart {restart} of release '{release}'.",
            why="the store is damaged",
            tip="a backup of the store that is not older than its sinks",
        )

    def _state(self, transaction: Transaction, release: str) -> ReleaseState:
        state = transaction.state(self.stream, release)
        if state is None:
            raise StoreRefused(f"The store has no state of release '{release}'.")
        return state


def _used_up(reserved: int) -> str:
    if reserved == 0:
        return "it has no restarts."
    return (
        "its one restart is used up." if reserved == 1 else f"its {reserved} restarts are used up."
    )


def _last(history: bytes, width: int, *, goes_on: bool) -> bytes:
    """The last released outputs; zeros before the first step, or if the counts do not go on."""
    last = history[-8 * width :] if goes_on else b""
    return last or np.zeros(width, dtype="<i8").tobytes()
