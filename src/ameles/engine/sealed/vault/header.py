"""The public file beside a vault's ciphertexts: which stream it belongs to, and its size."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from ameles.core import codec
from ameles.core.exceptions import StoreRefused
from ameles.engine.sealed.vault import disk

NAME = "vault.json"
_LONGEST = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The stream, the epoch, and the bytes that a state and its releases may have together."""

    identity: UUID
    epoch: int
    size: int

    @classmethod
    def read(cls, folder: int, path: Path) -> Header | None:
        """The header of the vault in a folder, or None if no vault was finished there."""
        try:
            handle = disk.open_file(folder, NAME)
        except FileNotFoundError:
            return None
        try:
            text = disk.read(handle, _LONGEST).decode("utf-8", errors="replace")
        finally:
            os.close(handle)
        fields = codec.read("vault", 1, text)
        try:
            identity, epoch, size = (fields[name] for name in ("identity", "epoch", "size"))
            return cls(identity=UUID(identity), epoch=int(epoch), size=int(size))
        except (KeyError, ValueError, TypeError, AttributeError):
            raise StoreRefused(
                f"The vault '{path}' is damaged.", why=f"its file {NAME} cannot be read"
            ) from None

    def put(self, folder: int) -> None:
        """Writes the header, which makes the files in the folder a vault."""
        fields = {"identity": str(self.identity), "epoch": self.epoch, "size": self.size}
        disk.put(folder, NAME, codec.write("vault", 1, fields).encode())

    def refuse_another(self, asked: Header, path: Path) -> None:
        """Refuses another stream than the one that made the vault, and a store that is older."""
        if self.identity != asked.identity:
            raise StoreRefused(
                f"The vault '{path}' belongs to another stream, or to another launch of this one.",
                tip="another folder",
            )
        if self.epoch > asked.epoch:
            raise StoreRefused(
                f"The vault '{path}' is in epoch {self.epoch}, but the store is in {asked.epoch}.",
                why="the store is older than its vault, as after a backup was restored",
                tip="the newest copy of the store",
            )
