"""Encryption under keys that are used once and wiped.

AES-256-GCM.  A key encrypts one message and is then used only to read it, so all messages can have
the same nonce.  Keys and plaintexts live in ``bytearray`` buffers that are overwritten after use.
The low-level interface of ``cryptography`` can fill such buffers; the usual one returns ``bytes``,
which nobody can wipe.
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
    """Overwrites buffers in place."""
    for buffer in buffers:
        buffer[:] = bytes(len(buffer))


def seal(key: bytearray, plain: bytearray, bound: bytes) -> bytearray:
    """The ciphertext and its tag; ``bound`` is not part of it, but opening needs the same value."""
    sealed = bytearray(len(plain) + TAG)
    cipher = Cipher(algorithms.AES(key), modes.GCM(_NONCE)).encryptor()
    cipher.authenticate_additional_data(bound)
    cipher.update_into(plain, memoryview(sealed)[: len(plain)])
    cipher.finalize()
    sealed[len(plain) :] = cipher.tag
    return sealed


def unseal(key: bytearray, sealed: bytearray, bound: bytes) -> bytearray | None:
    """The plaintext, or None if key, ciphertext and ``bound`` do not belong together."""
    plain = bytearray(max(0, len(sealed) - TAG))
    cipher = Cipher(algorithms.AES(key), modes.GCM(_NONCE)).decryptor()
    cipher.authenticate_additional_data(bound)
    cipher.update_into(memoryview(sealed)[: len(plain)], plain)
    try:
        cipher.finalize_with_tag(bytes(sealed[len(plain) :]))
    except (InvalidTag, ValueError):  # ValueError if the tag is incomplete
        wipe(plain)
        return None
    return plain
