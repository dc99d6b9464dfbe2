"""Snapshots: the complete state of a run as bytes, which only its own recipe can read.

The layout is fixed: magic, version, the recipe's fingerprint, run id, step, then the state
as parts of 64-bit integers, then a checksum.  Nothing in it has a size that depends on the
values of the state.

>>> state = State(run=bytes(16), step=7, parts=(np.array([3, 4]),))
>>> again = unpack(pack(state, b"f" * 32), b"f" * 32)
>>> again.step, again.parts[0].tolist()
(7, [3, 4])
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

import numpy as np

from ameles.core.exceptions import StoreRefused
from ameles.noise.arrays import IntArray

MAGIC = b"AMELES\x00S"
VERSION = 1
# Written by runs that count their noises in the state; its parts are those of version 1.
COUNTED = 2
_HEAD = struct.Struct("<8sH32s16sQI")
_LENGTH = struct.Struct("<Q")
_CHECK = 32


@dataclass(frozen=True)
class State:
    """The state of a run: its identity, its step and its integers."""

    run: bytes
    step: int
    parts: tuple[IntArray, ...]

    def __repr__(self) -> str:
        return f"State(run={self.run.hex()}, step={self.step})"


def pack(state: State, fingerprint: bytes, version: int = VERSION) -> bytes:
    """The bytes of a state under a recipe."""
    size = _HEAD.size + sum(_LENGTH.size + 8 * part.size for part in state.parts) + _CHECK
    # In one buffer, which is wiped: no copy of a state that may be seized may remain.
    buffer = bytearray(size)
    _HEAD.pack_into(buffer, 0, MAGIC, version, fingerprint, state.run, state.step, len(state.parts))
    place = _HEAD.size
    for part in state.parts:
        _LENGTH.pack_into(buffer, place, part.size)
        place += _LENGTH.size
        np.frombuffer(buffer, "<i8", count=part.size, offset=place)[:] = part
        place += 8 * part.size
    buffer[place:] = hashlib.sha256(memoryview(buffer)[:place]).digest()
    packed = bytes(buffer)
    buffer[:] = bytes(size)
    return packed


def unpack(snapshot: bytes, fingerprint: bytes) -> State:
    """The state in these bytes, if they are whole and of this recipe."""
    try:
        magic, version, written_by, run, step, count = _HEAD.unpack_from(snapshot)
    except (struct.error, TypeError) as problem:  # too short, or no bytes at all
        raise _damaged() from problem
    if magic != MAGIC:
        raise _damaged()
    if version > COUNTED:
        raise StoreRefused(
            f"This snapshot has version {version}; this program reads up to {COUNTED}.",
            why="a newer program wrote it",
            tip="update ameles",
        )
    body, check = memoryview(snapshot)[:-_CHECK], snapshot[-_CHECK:]
    if hashlib.sha256(body).digest() != check:
        raise _damaged()
    if written_by != fingerprint:
        raise StoreRefused(
            "This snapshot was taken under another recipe.",
            why="resuming it with other parameters would void both guarantees",
            tip="the recipe that the run was started with",
        )
    parts = []
    place = _HEAD.size
    for _ in range(count):
        (length,) = _LENGTH.unpack_from(body, place)
        place += _LENGTH.size
        parts.append(np.frombuffer(body, "<i8", count=length, offset=place).astype(np.int64))
        place += 8 * length
    return State(run, step, tuple(parts))


def run_id(snapshot: bytes) -> tuple[str, int]:
    """The run and the step of a snapshot, for the ledger, whatever the recipe."""
    try:
        magic, _, _, run, step, _ = _HEAD.unpack_from(snapshot)
    except (struct.error, TypeError) as problem:  # too short, or no bytes at all
        raise _damaged() from problem
    if magic != MAGIC:
        raise _damaged()
    return run.hex(), step


def adopted(snapshot: bytes, run: str) -> bytes:
    """The same state under the identity of another run, which was paid for and has not begun."""
    run_id(snapshot)  # refuses anything but a snapshot
    magic, version, fingerprint, _, step, count = _HEAD.unpack_from(snapshot)
    head = _HEAD.pack(magic, version, fingerprint, bytes.fromhex(run), step, count)
    body = head + snapshot[_HEAD.size : -_CHECK]
    return body + hashlib.sha256(body).digest()


def _damaged() -> StoreRefused:
    return StoreRefused(
        "This is not a snapshot that Ameles can read.",
        why="it is damaged, incomplete or something else",
        tip="the bytes that snapshot() returned, unchanged",
    )
