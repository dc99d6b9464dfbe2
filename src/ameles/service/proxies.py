"""Proxies that are trusted to say for whom they ask: to limit the rate of those without a token.

A request through a proxy comes from the proxy's address, so all visitors would share one limit.  A
trusted proxy adds the address of each to ``X-Forwarded-For``, at its end.  Whatever stands before
was written by somebody else, and is believed only as far as further trusted proxies wrote it.  The
header ``Forwarded`` is not read: a proxy that writes one of the two passes the other on unread.

>>> proxies = TrustedProxies(["10.0.0.0/8"])
>>> proxies.client("10.0.0.1", [b"203.0.113.9, 192.0.2.7, 10.0.0.2"])
'192.0.2.7'
>>> proxies.client("198.51.100.1", [b"192.0.2.7"])
'198.51.100.1'
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TypeAlias

from starlette.types import Scope

from ameles.core.exceptions import BadInput

HEADER = b"x-forwarded-for"
_Address: TypeAlias = IPv4Address | IPv6Address
_Network: TypeAlias = IPv4Network | IPv6Network
_NEIGHBOURS = 64  # bits of an IPv6 address that a customer of a provider cannot choose


class TrustedProxies:
    """The addresses and networks of the proxies in front of a service."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._networks = [_network(text) for text in texts]

    def seen(self, scope: Scope) -> Scope:
        """A request as if it came from whoever asked the proxy."""
        if not self._networks or scope["client"] is None:
            return scope
        peer, port = scope["client"]
        told = [value for name, value in scope["headers"] if name == HEADER]
        return {**scope, "client": (self.client(peer, told), port)}

    def client(self, peer: str, told: Sequence[bytes]) -> str:
        """The nearest address that is no trusted proxy; a trusted one if there is no other."""
        hops = [hop for line in told for hop in line.decode("latin-1").split(",")]
        client = peer
        while hops and self._trusts(client):
            before = _read(hops.pop())
            if before is None:
                break
            client = str(before)
        return client

    def _trusts(self, text: str) -> bool:
        address = _read(text)
        return address is not None and any(address in network for network in self._networks)


def limited_as(address: str) -> str:
    """What shares a limit with an address: a provider's customer has 2^64 addresses of IPv6.

    >>> limited_as("192.0.2.7"), limited_as("2001:db8::7"), limited_as("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7')
    """
    read = _read(address)
    if isinstance(read, IPv6Address):
        return str(ip_network((read, _NEIGHBOURS), strict=False))
    return address if read is None else str(read)


def _read(text: str) -> _Address | None:
    """An address, which a proxy may have written with its port; None if it is something else."""
    plain = text.strip()
    if plain.startswith("["):
        plain = plain[1:].partition("]")[0]
    elif plain.count(":") == 1:
        plain = plain.partition(":")[0]
    with suppress(ValueError):
        read = ip_address(plain)
        mapped = read.ipv4_mapped if isinstance(read, IPv6Address) else None
        return mapped or read
    return None


def _network(text: str) -> _Network:
    with suppress(ValueError):
        return ip_network(text.strip())
    raise BadInput(
        f"--trusted-proxy must be an address or a network. Got {text[:80]!r} instead.",
        tip="--trusted-proxy 127.0.0.1, or --trusted-proxy 10.0.0.0/8",
    )
