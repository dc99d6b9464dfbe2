"""Entropy that a test decides: a script, or a fixed stream, with the bytes counted."""

from __future__ import annotations

import hashlib

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


class Exhausted(Exception):
    """More was asked for than the script holds."""


class Scripted:
    """Serves the bytes of a script in order and refuses to go beyond them."""

    genuine = False
    forgetful = True

    def __init__(self, *parts: bytes) -> None:
        self._script = b"".join(parts)
        self.used = 0

    def read(self, count: int) -> bytearray:
        taken = bytearray(self._script[self.used : self.used + count])
        self.used += count
        if len(taken) < count:
            raise Exhausted(f"{self.used} bytes asked for, {len(self._script)} scripted")
        return taken

    @property
    def spent(self) -> bool:
        """Whether exactly the script was read: no byte less, and more is refused above."""
        return self.used == len(self._script)


class Stream:
    """An endless stream that is the same in every run, so that no test fails by chance."""

    genuine = False
    forgetful = True

    def __init__(self, seed: str) -> None:
        key = algorithms.AES(hashlib.sha256(seed.encode()).digest())
        self._cipher = Cipher(key, modes.CTR(bytes(16))).encryptor()
        self.used = 0

    def read(self, count: int) -> bytearray:
        self.used += count
        return bytearray(self._cipher.update(bytes(count)))


def word(*numbers: int) -> bytes:
    """Numbers as the 64-bit words in which they are read."""
    return b"".join(number.to_bytes(8, "little") for number in numbers)
