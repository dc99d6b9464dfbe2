"""A webhook: each step is posted to an address, signed, in order, at least once.

The headers are those of Standard Webhooks: ``webhook-id``, ``webhook-timestamp`` and
``webhook-signature``, an HMAC with SHA-256 over id, timestamp and body.  The id depends on the
launch of the stream, on what is sent, and on the step alone: a receiver recognises a message that
it has had.  Any answer from 200 to 299 accepts a message.  Redirects are not followed, no proxy is
used, the body of an answer is not read, and certificates are verified.

Whoever writes the plan chooses the address, and is trusted with that as with every other path of
the plan: addresses of internal networks are not refused.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from pathlib import Path
from typing import Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from ameles.connectors.remote_sink import OutgoingBatch, RemoteSink, Undelivered
from ameles.connectors.sink import Row, SinkRequest
from ameles.connectors.webhook.messages import messages
from ameles.connectors.webhook.secret import read_secrets, signatures
from ameles.core.exceptions import PlanError

TIMEOUT = 10.0  # seconds without a sign of life
WHOLE = 30.0  # seconds for one attempt
LONGEST_WAIT = 3600.0  # the most seconds that a receiver can ask for
GONE = 410


class WebhookSink(RemoteSink):
    """An address that gets all releases, or alerts only."""

    settings: ClassVar[Mapping[str, Any]] = {
        "secret": str,
        "send": Literal["releases", "alerts"],
    }

    @classmethod
    def open(cls, request: SinkRequest) -> Self:
        refusal = cls.refusal(request.target, request.settings)
        if refusal is not None:
            raise refusal
        secret = request.base / request.settings["secret"]
        read_secrets(secret)
        return cls(
            request.target,
            secret,
            identity=request.identity,
            alerts=request.settings.get("send") == "alerts",
        )

    @classmethod
    def refusal(cls, target: str, settings: Mapping[str, str]) -> PlanError | None:
        if not settings.get("secret"):
            return PlanError(
                "A webhook needs a secret.",
                why="a receiver must be able to tell your messages from others",
                tip='secret = "hook.secret", the path of a file that only you can read',
            )
        return _bad_address(target)

    @classmethod
    def describe(cls, target: str) -> str:
        return f"a webhook at {urlsplit(target).hostname}"

    def __init__(
        self,
        url: str,
        secret: Path,
        *,
        identity: str,
        alerts: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.name = f"webhook:{url}"
        self._address = urlsplit(url)
        self._secret = secret
        self._identity = identity
        self._alerts = alerts
        self._now = now
        self._connection: HTTPConnection | None = None  # of the attempt that is under way

    def first_needed(self, sent: int) -> int:
        """For alerts also the step before, to see which series have just halted."""
        after = super().first_needed(sent)
        return max(1, sent) if self._alerts else after

    def batches(self, rows: Iterable[Row], sent: int) -> Iterator[OutgoingBatch]:
        return messages(rows, sent, launch=self._identity, alerts=self._alerts)

    def send(self, batch: OutgoingBatch) -> None:
        stamp = str(int(self._now()))
        keys = read_secrets(self._secret)  # each time, so that it can be changed
        headers = {
            "content-type": "application/json",
            "user-agent": "ameles",
            "webhook-id": batch.id,
            "webhook-timestamp": stamp,
            "webhook-signature": signatures(keys, batch.id, stamp, batch.body),
        }
        status, wait = self._post(batch.body, headers)
        if not 200 <= status < 300:
            raise self._undelivered(f"it answers {status}", wait=wait, final=status == GONE)

    def abort(self) -> None:
        connection = self._connection
        if connection is not None and connection.sock is not None:
            try:
                connection.sock.shutdown(2)
            except OSError:
                return  # it has just ended

    def _post(self, body: bytes, headers: dict[str, str]) -> tuple[int, float]:
        """One attempt: the status of the answer, and how many seconds it asks to wait."""
        path = self._address.path or "/"
        query = f"?{self._address.query}" if self._address.query else ""
        watchdog = threading.Timer(WHOLE, self.abort)
        watchdog.daemon = True
        self._connection = connection = self._connected()
        watchdog.start()
        try:
            connection.request("POST", path + query, body, headers)
            answer = connection.getresponse()
            return answer.status, self._wait(answer.getheader("retry-after") or "")
        except (OSError, HTTPException, ValueError) as problem:
            raise self._undelivered(_reason(problem)) from None
        finally:
            watchdog.cancel()
            connection.close()
            self._connection = None

    def _connected(self) -> HTTPConnection:
        host, port = self._address.hostname or "", self._address.port
        if self._address.scheme == "http":
            return HTTPConnection(host, port, timeout=TIMEOUT)
        trusted = ssl.create_default_context()
        return HTTPSConnection(host, port, timeout=TIMEOUT, context=trusted)

    def _wait(self, asked: str) -> float:
        """The seconds of a header ``Retry-After``: a number, or a date."""
        if asked.isascii() and asked.isdigit():
            return min(LONGEST_WAIT, float(asked[:9]))
        try:
            until = parsedate_to_datetime(asked)
        except ValueError:
            return 0.0
        until = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
        return min(LONGEST_WAIT, max(0.0, until.timestamp() - self._now()))

    def _undelivered(self, why: str, *, wait: float = 0.0, final: bool = False) -> Undelivered:
        return Undelivered(
            f"The sink {self.name} {'wants no more messages' if final else 'cannot be reached'}.",
            why=why,
            tip="another address in the plan, or start again when it is back"
            if final
            else "fix that; the releases are in the store, and are sent again in their order",
            wait=wait,
            final=final,
        )


def _bad_address(url: str) -> PlanError | None:
    """Why an address cannot be posted to safely."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    plain = url.isascii() and url.isprintable() and not set(url) & set(" #")
    if not host or not plain or port == 0 or parts.scheme not in ("https", "http"):
        return PlanError(
            "A webhook needs an address.", tip='webhook = "https://example.org/hooks/flu"'
        )
    if "@" in parts.netloc:
        return PlanError(
            "The address of a webhook has a user name or a password.",
            why="an address is shown in messages and by ameles status",
            tip="leave them out; the receiver recognises messages by their signature",
        )
    if parts.scheme == "http" and not _is_here(host):
        return PlanError(
            "The address of a webhook on another machine must begin with https.",
            why="on the way, anybody could read messages, and keep alerts back",
            tip=f'webhook = "https://{host}/..."',
        )
    return None


def _is_here(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _reason(problem: Exception) -> str:
    """Why an attempt failed, without a word of the other side."""
    if isinstance(problem, TimeoutError):
        return f"it has not answered for {TIMEOUT:.0f} seconds"
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {problem.verify_message}"
    if isinstance(problem, ssl.SSLError):
        return "there is no secure connection to it"
    if isinstance(problem, OSError):
        return problem.strerror or "it has closed the connection"
    return "its answer is not one of HTTP"
