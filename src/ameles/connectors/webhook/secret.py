"""The secrets that sign webhooks: lines of a file that only its owner can read.

A secret is ``whsec_`` and 24 to 64 random bytes in Base64, as Standard Webhooks has it.  With two
lines in the file each message has two signatures, so that a receiver can change to the new secret
at any time.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ameles.connectors.private_file import private_bytes
from ameles.core.exceptions import PlanError

PREFIX = "whsec_"
_MAKE = "(umask 077; echo whsec_$(openssl rand -base64 32) > hook.secret)"
_MOST = 1 << 12  # bytes of the file
_LENGTHS = range(24, 65)


def read_secrets(path: Path) -> tuple[bytes, ...]:
    """The keys in a file; refuses one that others can read or that is no list of secrets."""
    content = private_bytes(path, _MOST, partial(_refused, path), _MAKE)
    keys = [_key(line) for line in content.decode("ascii", "replace").split()]
    if not keys or None in keys or len(content) > _MOST:
        raise _refused(path, "must have a secret in each line: whsec_ and 24 to 64 bytes in Base64")
    return tuple(key for key in keys if key is not None)


def signatures(keys: Sequence[bytes], identity: str, stamp: str, body: bytes) -> str:
    """The header ``webhook-signature``: one signature for each key, separated by spaces.

    >>> key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    >>> body = b'{"test": 2432232314}'
    >>> signatures([key], "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", body)
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    signed = f"{identity}.{stamp}.".encode() + body
    made = (hmac.new(key, signed, hashlib.sha256).digest() for key in keys)
    return " ".join("v1," + base64.b64encode(one).decode() for one in made)


def _key(line: str) -> bytes | None:
    if not line.startswith(PREFIX):
        return None
    try:
        key = base64.b64decode(line.removeprefix(PREFIX), validate=True)
    except ValueError:
        return None
    return key if len(key) in _LENGTHS else None


def _refused(path: Path, what: str, tip: str = _MAKE) -> PlanError:
    return PlanError(
        f"The file '{path.name}' with the secret of a webhook {what}.",
        why="whoever has the secret can send messages in the name of Ameles",
        tip=tip,
    )
