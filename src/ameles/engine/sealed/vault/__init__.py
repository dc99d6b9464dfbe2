"""The vault: the state of a pan-private stream on disk, so that never two states can be read.

Databases and file systems do not erase: an old state stays on disk long after it was deleted or
overwritten by a newer one.  An intruder who reads several states learns what happened between them,
which the guarantee for one intrusion does not cover.  The vault encrypts every state under a key of
its own, and writes every key to the same 32 bytes on the disk, the slot.  Whoever reads the disk at
any instant finds at most one key, and so at most one state.
"""

from ameles.engine.sealed.vault.problems import EpochEnded, VaultMissing
from ameles.engine.sealed.vault.slot import FileSlot, MemorySlot, Slot
from ameles.engine.sealed.vault.vault import Sealed, Vault, VaultPlace

__all__ = [
    "EpochEnded",
    "FileSlot",
    "MemorySlot",
    "Sealed",
    "Slot",
    "Vault",
    "VaultMissing",
    "VaultPlace",
]
