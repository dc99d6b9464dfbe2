r"""Requests that offer to go on in another protocol go on in this one.

Some clients offer HTTP/2 with every request that they send without TLS, those of Java by default.
A server may ignore that, but the parser would take what follows the head for the other protocol,
and the body would be lost.  So the parser does not get to see the offer.

>>> without_upgrade(b"POST / HTTP/1.1\r\nupgrade: h2c\r\n\r\nUpgrade: 1")
b'POST / HTTP/1.1\r\nnot-upgraded: h2c\r\n\r\nUpgrade: 1'
"""

from __future__ import annotations

import re

_OFFER = re.compile(rb"(?<=\r\n)upgrade(?=:)", re.IGNORECASE)
END_OF_HEAD = b"\r\n\r\n"


def without_upgrade(read: bytes) -> bytes:
    """Bytes that begin with a head, or a part of one, whose offer is called something else."""
    end = read.find(END_OF_HEAD)
    head = read if end < 0 else read[:end]
    if _OFFER.search(head) is None:
        return read
    return _OFFER.sub(b"not-upgraded", head) + read[len(head) :]
