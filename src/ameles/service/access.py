"""Who may do what: tokens, their scopes, and public streams.

A token is 256 random bits.  The store has its SHA-256 only, and looks it up by that digest, so an
answer takes the same time for every wrong token.  A token has one scope on one stream; the scopes
are disjoint.  Streams that a request has no right to answer like streams that do not exist.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from ameles.core.exceptions import StoreRefused
from ameles.core.token import TOKEN, token_digest
from ameles.service.proxies import limited_as
from ameles.service.published import Shown
from ameles.service.rate_limit import RateLimit
from ameles.service.refusals import Refused, unknown_stream
from ameles.service.views import Right, Scope
from ameles.store.tokens import TokenRecord

RATES: Mapping[Scope | None, float] = {  # requests a second; None: without a token, by address
    "ingest": 10_000,
    "read": 100,
    "admin": 100,
    None: 1_000,
}
KNOWN_FOR = 1.0  # seconds that a valid token is remembered: so long a revocation may take
MOST_KNOWN = 1_000
_HEADER = re.compile(rf"[Bb]earer ({TOKEN.pattern})")


class Access:
    """The rights of requests on the streams of some plans; a ``Gate``."""

    def __init__(
        self,
        shown: Sequence[Shown],
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Callable[[], float] = time.monotonic,
        rates: Mapping[Scope | None, float] = RATES,
    ) -> None:
        self._shown = {one.plan.stream.name: one for one in shown}
        self._stores = list({id(one.store): one.store for one in shown}.values())
        self._now = now
        self._clock = clock
        self._rates = rates
        self._limit = RateLimit(clock)
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, tuple[float, TokenRecord]] = OrderedDict()

    def check(
        self, authorization: str | None, address: str, stream: str, scopes: frozenset[Scope]
    ) -> Right | None:
        """Lets a request about a stream pass, or refuses it.

        Anybody may read a public stream; the answer is then None.
        """
        token = self._token(authorization, address, stream)
        one = self._shown.get(stream)
        own = token is not None and token.stream == stream
        if token is not None and own and token.scope in scopes:
            return _right(token)
        if one is not None and one.plan.serve.public and "read" in scopes:
            return None
        raise _wrong_scope(scopes) if own else unknown_stream()

    def knows(self, authorization: str) -> bool:
        """Whether a check of this token looks into no store."""
        read = _HEADER.fullmatch(authorization)
        return read is None or self._known_now(token_digest(read[1])) is not None

    def still_allows(self, authorization: str, stream: str, scopes: frozenset[Scope]) -> bool:
        """Whether a token that let a request pass would do so now.

        No rate limits it: whoever sends too many requests must not keep a right that has ended.
        """
        token, one = self._valid(authorization, stream), self._shown[stream]
        if token is None:
            return False
        return one.plan.serve.public or (token.stream == stream and token.scope in scopes)

    def right(self, authorization: str | None, address: str) -> Right | None:
        """What the token of a request allows; None if there is none, refused if it is invalid."""
        token = self._token(authorization, address)
        return None if token is None else _right(token)

    def visible(self, right: Right | None) -> tuple[str, ...]:
        """The streams that the holder of a right, or anybody, may know of."""
        own = None if right is None else right.stream
        return tuple(
            name for name, one in self._shown.items() if one.plan.serve.public or name == own
        )

    def _token(
        self, authorization: str | None, address: str, stream: str | None = None
    ) -> TokenRecord | None:
        """The valid token of a request about a stream, if it is about one, within its rate."""
        if authorization is None:
            self._pass(f"address {limited_as(address)}", None)
            return None
        try:
            token = self._valid(authorization, stream)
        except StoreRefused:
            self._pass(f"address {limited_as(address)}", None)
            raise
        if token is None:
            self._pass(f"address {limited_as(address)}", None)
            raise _invalid()
        self._pass(f"token {token.stream} {token.number}", token.scope, token)
        return token

    def _valid(self, authorization: str, stream: str | None) -> TokenRecord | None:
        """The token of a header; None if it is unknown, expired or revoked."""
        read = _HEADER.fullmatch(authorization)
        token = None if read is None else self._looked_up(token_digest(read[1]), stream)
        return token if token is not None and token.valid(self._now()) else None

    def _known_now(self, digest: bytes) -> TokenRecord | None:
        with self._lock:
            until, known = self._known.get(digest, (-math.inf, None))
            return known if self._clock() < until else None

    def _looked_up(self, digest: bytes, stream: str | None) -> TokenRecord | None:
        """The token with this digest, if its stream is one of this service, in its own store.

        The store of the stream that is asked for comes first: another one may not answer.
        """
        known = self._known_now(digest)
        if known is not None:
            return known
        refusal: StoreRefused | None = None
        asked = None if stream is None else self._shown.get(stream)
        for store in sorted(self._stores, key=lambda one: asked is None or one is not asked.store):
            try:
                with store.reading() as transaction:
                    token = transaction.token(digest)
            except StoreRefused as problem:  # it must not keep the tokens of other stores out
                refusal = problem
                continue
            one = None if token is None else self._shown.get(token.stream)
            if token is not None and one is not None and one.store is store:
                self._remember(digest, token)
                return token
        if refusal is not None:
            raise refusal
        return None

    def _remember(self, digest: bytes, token: TokenRecord) -> None:
        with self._lock:
            self._known[digest] = self._clock() + KNOWN_FOR, token
            self._known.move_to_end(digest)
            if len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)

    def _pass(self, name: str, scope: Scope | None, holder: TokenRecord | None = None) -> None:
        waits = self._limit.wait(name, self._rates[scope])
        if waits:
            refusal = Refused(
                429,
                "There are too many requests.",
                why=f"at most {self._rates[scope]:g} a second",
                tip="wait as long as Retry-After says",
                headers={"Retry-After": str(math.ceil(waits))},
            )
            refusal.holder = None if holder is None else _right(holder)
            raise refusal


def _right(token: TokenRecord) -> Right:
    return Right(name=token.name, stream=token.stream, scope=token.scope, expires=token.expires)


def _invalid() -> Refused:
    return Refused(
        401,
        "This token is not valid.",
        why="it is unknown, expired or revoked",
        tip="ameles token create makes a new one; send it as 'Authorization: Bearer ...'",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _wrong_scope(scopes: frozenset[Scope]) -> Refused:
    needed = " or ".join(sorted(scopes))
    return Refused(
        403,
        "This token has another scope.",
        why=f"the request needs the scope {needed}",
        tip="ameles token create --scope",
    )
