"""Tokens of a service as texts: 256 random bits behind a prefix that scanners of code recognise.

>>> token = new_token()
>>> len(token), TOKEN.fullmatch(token) is not None, len(token_digest(token))
(71, True, 32)
"""

from __future__ import annotations

import hashlib
import os
import re

BITS = 256
TOKEN = re.compile(r"ameles_[0-9a-f]{64}")


def new_token() -> str:
    """A token that nobody has seen, from the operating system's random bytes."""
    return f"ameles_{os.urandom(BITS // 8).hex()}"


def token_digest(token: str) -> bytes:
    """What a store keeps of a token: nobody can compute the token from it."""
    return hashlib.sha256(token.encode()).digest()
