"""Trusted proxies: whose limit a request uses, and whom nobody believes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from ameles.core.exceptions import BadInput
from ameles.service.access import RATES, Access
from ameles.service.headers import Outermost
from ameles.service.proxies import TrustedProxies
from ameles.service.refusals import Refused
from tests.service.asgi import Client
from tests.service.small_service import NOW, Small

PROXIES = TrustedProxies(["10.0.0.0/8", "2001:db8::1"])


@pytest.mark.parametrize(
    ("peer", "told", "client"),
    [
        ("10.1.2.3", [], "10.1.2.3"),
        ("10.1.2.3", [b"192.0.2.7"], "192.0.2.7"),
        ("10.1.2.3", [b"192.0.2.7, 10.9.9.9"], "192.0.2.7"),
        ("10.1.2.3", [b"192.0.2.7", b"10.9.9.9 "], "192.0.2.7"),
        ("10.1.2.3", [b"10.9.9.9"], "10.9.9.9"),
        ("10.1.2.3", [b"198.51.100.9, 192.0.2.7"], "192.0.2.7"),  # the first is his own invention
        ("10.1.2.3", [b"198.51.100.9", b"192.0.2.7"], "192.0.2.7"),
        ("10.1.2.3", [b"192.0.2.7:4711"], "192.0.2.7"),
        ("10.1.2.3", [b"[2001:db8::7]:80"], "2001:db8::7"),
        ("10.1.2.3", [b"2001:db8::7"], "2001:db8::7"),
        ("2001:db8::1", [b"192.0.2.7"], "192.0.2.7"),
        ("::ffff:10.1.2.3", [b"192.0.2.7"], "192.0.2.7"),
        ("10.1.2.3", [b"192.0.2.7, unknown"], "10.1.2.3"),
        ("10.1.2.3", [b"192.0.2.7, unknown, 10.9.9.9"], "10.9.9.9"),
        ("10.1.2.3", [b"\xff,,"], "10.1.2.3"),
        ("192.0.2.1", [b"198.51.100.9"], "192.0.2.1"),  # nobody trusts him
        ("2001:db8::2", [b"198.51.100.9"], "2001:db8::2"),
        ("", [b"198.51.100.9"], ""),
    ],
)
def test_only_what_trusted_proxies_wrote_is_believed(
    peer: str, told: list[bytes], client: str
) -> None:
    assert PROXIES.client(peer, told) == client


@pytest.mark.parametrize("text", ["", "localhost", "10.0.0.1/8", "10.0.0.0/33", "*"])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="--trusted-proxy"):
        TrustedProxies([text])


@pytest.mark.parametrize(
    ("proxies", "client"),
    [(TrustedProxies(), "192.0.2.1"), (TrustedProxies(["192.0.2.1"]), "203.0.113.5")],
)
def test_the_application_sees_who_asked_the_proxy(proxies: TrustedProxies, client: str) -> None:
    seen: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["client"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    told: Mapping[str, str] = {"X-Forwarded-For": "203.0.113.5", "Forwarded": "for=203.0.113.6"}
    with closing(Client(Outermost(app, lambda problem: None, proxies))) as served:
        assert served.get("/", headers=told).status == 200
    assert seen == [(client, 50_000)]
    nobody: Scope = {"type": "http", "client": None, "headers": []}
    assert proxies.seen(nobody) == nobody


def test_addresses_of_one_ipv6_network_share_a_limit(service: Small) -> None:
    rates = {**RATES, None: 1.0}
    shown = list(service.shown.values())
    access = Access(shown, now=lambda: NOW, clock=lambda: 0.0, rates=rates)
    for address in ("2001:db8::1", "2001:db8:0:1::1", "192.0.2.1", "192.0.2.2", "a socket"):
        assert access.right(None, address) is None
    for address in ("2001:db8::ffff", "192.0.2.1", "::ffff:192.0.2.2", "a socket"):
        with pytest.raises(Refused) as caught:
            access.right(None, address)
        assert caught.value.status == 429
