"""Where random bytes come from: the operating system, directly or through a keystream.

``OperatingSystem`` asks the kernel for every byte and keeps nothing; state that may be
seized needs this.  ``Keystream`` stretches fresh kernel keys with AES-256-CTR, some fifteen
times faster: every block has a key of its own that is dropped as soon as the block is
made, and bytes are wiped from the block as they are handed out, so what was drawn cannot
be computed from memory afterwards.  A fork or a second thread never sees the same bytes,
and a keystream cannot be copied.  A virtual machine that is cloned does copy the unread
rest of a block; where that may happen, use ``OperatingSystem``.

>>> len(Keystream().read(5))
5
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import NoReturn, Protocol

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ameles.core.exceptions import NoCopy
from ameles.core.parameters import refuse

BLOCK = 1 << 16
_ZEROS = memoryview(bytes(1 << 20))
_ONCE = bytes(16)  # the counter may start at zero, since a key is never used twice


class Entropy(Protocol):
    """A source of independent, uniform bytes."""

    @property
    def genuine(self) -> bool:
        """Whether the bytes are the operating system's, and not a test's."""
        ...

    @property
    def forgetful(self) -> bool:
        """Whether no byte handed out before or later can be computed from memory."""
        ...

    def read(self, count: int) -> bytearray:
        """``count`` new bytes, which belong to the caller alone."""
        ...


class OperatingSystem:
    """The kernel's generator, asked anew for every byte."""

    genuine = True
    forgetful = True

    def read(self, count: int) -> bytearray:
        return bytearray(os.urandom(count))


class Keystream:
    """AES-256-CTR under kernel keys that are each used for one block and dropped."""

    genuine = True
    forgetful = False  # the unread part of a block is noise that is yet to be used

    def __init__(self) -> None:
        self._block = bytearray(BLOCK)
        self._forget()
        _streams.add(self)

    def _forget(self) -> None:
        # Also called in a forked child: there the rest of the block is the parent's noise to
        # come, and another thread may have held the old lock.
        self._used = BLOCK
        self._lock = threading.Lock()
        self._block[:] = _ZEROS[:BLOCK]

    def __reduce__(self) -> NoReturn:
        # A copy would share the block but not how far it was used: it would read wiped bytes.
        raise NoCopy("A keystream cannot be copied or pickled.", tip="make a new one")

    def read(self, count: int) -> bytearray:
        if count < 0:  # a slice would take it, and hand out wiped bytes ever after
            raise refuse("count", "zero or more", count)
        if count > BLOCK // 2:
            taken = bytearray(count)
            _encrypt(taken)
            return taken
        with self._lock:
            if count > BLOCK - self._used:
                _encrypt(self._block)
                self._used = 0
            end = self._used + count
            taken = self._block[self._used : end]
            self._block[self._used : end] = _ZEROS[:count]
            self._used = end
            return taken


def _encrypt(target: bytearray) -> None:
    """Fills the whole target with the keystream of one fresh key."""
    cipher = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(_ONCE)).encryptor()
    view = memoryview(target)
    for start in range(0, len(view), len(_ZEROS)):
        part = view[start : start + len(_ZEROS)]
        cipher.update_into(_ZEROS[: len(part)], part)


# A forked child starts with a copy of every unread block; it must not use one.
_streams: weakref.WeakSet[Keystream] = weakref.WeakSet()


def _forget_all() -> None:
    for stream in list(_streams):
        stream._forget()


os.register_at_fork(after_in_child=_forget_all)
