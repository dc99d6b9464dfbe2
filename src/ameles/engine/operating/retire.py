"""Retiring a stream: its secret state is erased, and it never runs again.

The order, so that a crash leaves a stream that cannot run, and that can be retired again:

1. one transaction records the retirement, revokes the stream's tokens and erases what the store
   has of its state;
2. the database erases what the removed rows have left;
3. the key of a pan-private state is overwritten, then its ciphertexts.

A stream on a cluster has files of users, and only its state in the store says where.  So they are
removed after the retirement is recorded, and before the state is erased.

Each may be done again: what is erased stays erased.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ameles.core.exceptions import StoreRefused
from ameles.engine.distributed.bucket_folder import BucketFolder
from ameles.engine.distributed.manifest import Manifest
from ameles.engine.gathering.pending import Pending
from ameles.engine.sealed.stream_vault import erase_state
from ameles.plan.plan import Plan
from ameles.store import Retirement, Store, StreamRecord, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredStream:
    """What was done, and how far what was erased is gone; all of it is public."""

    stream: str
    at: datetime
    why: str
    before: bool  # whether it was retired by an earlier call
    tokens: int  # how many were revoked now
    store: str  # how far the state in the store is erased
    key: str | None  # how far the key of a pan-private state is erased
    files: str | None  # how far the files of users are gone, if the stream ran on a cluster


def retire_stream(plan: Plan, store: Store, why: str) -> RetiredStream:
    """Retires the stream of a plan; again, if an earlier call was interrupted."""
    with store.holding(plan.stream.name):
        with store.writing() as transaction:
            stream = _launched(transaction, plan)
            before = transaction.retirement(stream)
            retired = before or Retirement(datetime.now(UTC), why)
            if before is None:
                transaction.retire(stream, at=retired.at, why=retired.why)
            tokens = _revoked(transaction, stream.name)
            folder = _folder(transaction, stream)
            if folder is None:
                transaction.erase_secrets(stream)
        files = None if folder is None else _without_files(store, stream, folder)
        erased = store.scrub()
        key = None if plan.privacy.intrusions == "none" else _erased(plan, stream)
    return RetiredStream(
        stream=stream.name,
        at=retired.at,
        why=retired.why,
        before=before is not None,
        tokens=tokens,
        store=erased,
        key=key,
        files=files,
    )


def _launched(transaction: Transaction, plan: Plan) -> StreamRecord:
    stream = transaction.stream(plan.stream.name)
    if stream is None:
        raise StoreRefused(
            f"Stream '{plan.stream.name}' was not launched, so there is nothing to retire."
        )
    return stream


def _folder(transaction: Transaction, stream: StreamRecord) -> BucketFolder | None:
    """The folder with files of users; None if there is none, or they are erased."""
    stored = transaction.pending(stream)
    manifest = None if stored is None else Manifest.of(Pending.from_bytes(stored).state)
    return None if manifest is None else BucketFolder(Path(manifest.folder))


def _without_files(store: Store, stream: StreamRecord, folder: BucketFolder) -> str:
    """Removes the files of users, then what the store has; says how far they are gone."""
    if not folder.path.is_dir():
        raise StoreRefused(
            f"Stream '{stream.name}' is retired, but its files of users are not removed yet: the "
            f"folder '{folder.path}' is not there.",
            why="they have the keyed hashes of its users",
            tip="a machine that has this folder, or an empty one if it is lost; then ameles retire "
            "again",
        )
    count = folder.remove_all()
    with store.writing() as transaction:
        transaction.erase_secrets(stream)
    folder.remove_if_empty()
    return f"{count} files of users removed; the salt of their hashes is erased with the store"


def _revoked(transaction: Transaction, stream: str) -> int:
    """Revokes all tokens for a stream; returns how many were still there."""
    left = [one for one in transaction.tokens() if one.stream == stream and one.revoked is None]
    for token in left:
        transaction.revoke_token(token.number, datetime.now(UTC))
    return len(left)


def _erased(plan: Plan, stream: StreamRecord) -> str:
    """Erases the state in the vault; says how far it is gone."""
    try:
        return erase_state(plan, stream.identity)
    except StoreRefused as problem:
        left = problem
    raise StoreRefused(
        f"Stream '{stream.name}' is retired, but its key is not erased yet. {left.what}",
        why=left.why,
        tip=f"{left.tip}; then ameles retire again",
    )
