"""Encryption under keys that are used once and wiped.

AES-256-GCM.  A key encrypts one message and is then only ever used to read it, so the nonce can be
the same for all.  Keys and plaintexts live in ``bytearray`` buffers that are overwritten after use;
the low-level interface of ``cryptography`` is used because it fills such buffers, where the usual
one returns ``bytes`` that nobody can wipe.
"""

from __future__ import annotations

import ctypes

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

KEY = 32
TAG = 16
_NONCE = bytes(12)
_SYSTEM = ctypes.CDLL(None, use_errno=True)


def fresh_key() -> bytearray:
    """A new key from the operating system, written straight into a buffer that can be wiped."""
    key = bytearray(KEY)
    # os.urandom would leave a copy of the key in an object that cannot be overwritten.
    if _SYSTEM.getentropy((ctypes.c_char * KEY).from_buffer(key), ctypes.c_size_t(KEY)) != 0:
        raise OSError(ctypes.get_errno(), "the operating system gives no random bytes")
    return key


def wipe(*buffers: bytearray) -> None:
    """Overwrites buffers where they are."""
    for buffer in buffers:
        buffer[:] = bytes(len(buffer))


def seal(key: bytearray, plain: bytearray, bound: bytes) -> bytearray:
    """The ciphertext and its tag; ``bound`` is not in it, but has to be the same to open it."""
    sealed = bytearray(len(plain) + TAG)
    cipher = Cipher(algorithms.AES(key), modes.GCM(_NONCE)).encryptor()
    cipher.authenticate_additional_data(bound)
    cipher.update_into(plain, memoryview(sealed)[: len(plain)])
    cipher.finalize()
    sealed[len(plain) :] = cipher.tag
    return sealed


def unseal(key: bytearray, sealed: bytearray, bound: bytes) -> bytearray | None:
    """The plaintext, or None where key, ciphertext and ``bound`` do not belong together."""
    plain = bytearray(max(0, len(sealed) - TAG))
    cipher = Cipher(algorithms.AES(key), modes.GCM(_NONCE)).decryptor()
    cipher.authenticate_additional_data(bound)
    cipher.update_into(memoryview(sealed)[: len(plain)], plain)
    try:
        cipher.finalize_with_tag(bytes(sealed[len(plain) :]))
    except (InvalidTag, ValueError):  # the latter where there is no whole tag
        wipe(plain)
        return None
    return plain
