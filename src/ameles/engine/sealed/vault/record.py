"""The one sector that decides which state is current: its layout and its checksum.

    bytes     0 -   7   what this is, and the version of the layout
              8         1 nothing saved yet, 2 holds a key, 3 ended
             16 -  31   identity of the stream
             32 -  39   epoch
             40 -  47   generation: how many states were saved before and with this one
             48 -  55   step of the state
             64 -  95   SHA-256 of the ciphertext
             96 - 127   the key
            480 - 511   SHA-256 of all that stands before

The rest is zero.  A sector that was written only in part fails the checksum.  The key has one
place, so wherever a write stops, each byte belongs either to the old key or to the new one.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from enum import IntEnum
from uuid import UUID

from ameles.core.exceptions import StoreRefused

SECTOR = 512
_MAGIC = b"AMELKEY"
_VERSION = 1
_LAYOUT = struct.Struct(">7sBB7x16sQQQ8x32s")
_KEY = slice(96, 128)
_CHECKED = 480


class Holds(IntEnum):
    """What the slot holds."""

    NOTHING = 1
    KEY = 2
    ENDED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The fields of the sector except the key; all of them are public."""

    holds: Holds
    identity: UUID
    epoch: int
    generation: int = 0
    step: int = 0
    digest: bytes = bytes(32)

    def bound(self) -> bytes:
        """The fields that the ciphertext is bound to: it opens in no other vault and for no other
        step."""
        return b"ameles vault 1" + struct.pack(
            ">16sQQQ", self.identity.bytes, self.epoch, self.generation, self.step
        )


def write(record: Record, key: bytearray | None = None) -> bytearray:
    """The sector; the caller must wipe it after use."""
    sector = bytearray(SECTOR)
    _LAYOUT.pack_into(
        sector,
        0,
        _MAGIC,
        _VERSION,
        record.holds,
        record.identity.bytes,
        record.epoch,
        record.generation,
        record.step,
        record.digest,
    )
    if key is not None:
        sector[_KEY] = key
    sector[_CHECKED:] = hashlib.sha256(memoryview(sector)[:_CHECKED]).digest()
    return sector


def read(sector: bytearray) -> Record | None:
    """The fields of a sector, or None if its checksum is wrong."""
    checked = hashlib.sha256(memoryview(sector)[:_CHECKED]).digest()
    if len(sector) != SECTOR or sector[_CHECKED:] != checked or not sector.startswith(_MAGIC):
        return None
    _, version, holds, identity, epoch, generation, step, digest = _LAYOUT.unpack_from(sector)
    if version > _VERSION:
        raise StoreRefused(
            f"The key slot has version {version}; this Ameles knows {_VERSION}.",
            tip="the Ameles that wrote it, or a newer one",
        )
    return Record(
        holds=Holds(holds),
        identity=UUID(bytes=identity),
        epoch=epoch,
        generation=generation,
        step=step,
        digest=digest,
    )


def key_in(sector: bytearray) -> bytearray:
    """A copy of the key in a sector; the caller must wipe it after use."""
    return sector[_KEY]
