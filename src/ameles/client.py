"""Sends events to a service of Ameles: in batches, again if an answer is lost, never twice.

It needs the standard library alone, so that it can be copied into any program.

Each batch has a random id and names the step in which it was first sent.  While that step is open
the service knows the id, so a batch may be sent again after a lost answer and still counts once.
When the step has closed meanwhile, nobody knows whether a batch without an answer was counted: it
is not sent again, and ``Sender.uncertain`` says how many events that were.

An answer of 408, 429, 502, 503 or 504, and no answer at all, is followed by another attempt.  Any
other refusal is final for its batch: ``Sender.refused`` counts its events, and the next call raises
it.  So is a 409 that says that the id belongs to another batch.  If the token is not valid or the
stream has ended (401, 403, 404 and 410), all later batches would be refused too: from then on
``send`` takes no event and raises that refusal each time.
"""

from __future__ import annotations

import gzip
import http.client
import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlsplit

__all__ = ["Refused", "Sender", "Unreachable"]

MOST_EVENTS = 1_000
MOST_BYTES = 900_000  # the service takes 1 MiB
LONGEST_PAUSE = 30.0
IDLE = 3.0  # seconds; servers close connections that are not used, many after 5
BUSY = frozenset({408, 429, 502, 503, 504})
NOT_COUNTED = frozenset({408, 429})  # those among them that are certain; others say so
CLOSED = 409
COUNTED = 200
ENDED = 410
OVER = frozenset({401, 403, 404, ENDED})  # every later batch would be refused in the same way
CERTAIN = range(300, 500)  # refusals that count nothing; a server that fails may have counted
TOKEN = re.compile(r"[!-~]+")


class Refused(Exception):
    """The service refused a batch for good; ``status`` is its answer.

    Nothing in it was counted, unless an earlier attempt had no answer.

    >>> Refused(401, "This token is not valid.")
    Refused(401, 'This token is not valid.')
    """

    def __init__(self, status: int, what: str) -> None:
        super().__init__(status, what)
        self.status = status
        self.what = what


class Unreachable(Exception):
    """The service did not answer for as long as was asked for; the events are kept.

    >>> str(Unreachable("the service gave no answer"))
    'the service gave no answer'
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)


@dataclass
class _Batch:
    """Events that go together."""

    lines: list[bytes] = field(default_factory=list, repr=False)
    size: int = 0
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    step: int | None = None  # in which it was first sent
    doubtful: bool = False  # it was sent, and there was no answer

    def takes(self, line: bytes) -> bool:
        return len(self.lines) < MOST_EVENTS and self.size + len(line) <= MOST_BYTES

    def add(self, line: bytes) -> None:
        self.lines.append(line)
        self.size += len(line)

    def body(self) -> bytes:
        return gzip.compress(b"".join(self.lines), compresslevel=1)


class Sender:
    """Collects events and sends them; it may be used from several threads.

    ``send`` adds an event and returns at once, unless a batch is full or under way: then it waits
    until that batch is sent.  A thread sends what has waited for ``every`` seconds.  ``flush``
    sends everything now.  A batch is tried for ``patience`` seconds.

    The first call after a refusal raises it.  If it was about that batch alone, the event given to
    ``send`` is kept; if the service refuses all events from now on, every later ``send`` raises.
    Each event counts, waits, or is in one of two numbers: ``refused`` has those that the service
    did not take, and ``uncertain`` those of which nobody knows.

    >>> with Sender("http://127.0.0.1:8421", stream="flu", token="...") as sender:
    ...     sender.uncertain  # of what was sent: here, nothing
    0
    """

    def __init__(
        self,
        url: str,
        *,
        stream: str,
        token: str,
        every: float = 1.0,
        patience: float = 60.0,
        timeout: float = 10.0,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise ValueError("url must be like https://stats.example.org")
        token = token.strip()  # a file that has it ends with a newline
        if not TOKEN.fullmatch(token):
            raise ValueError("token must be one word, as ameles token create has shown it")
        safe = parts.scheme == "https"
        kind = http.client.HTTPSConnection if safe else http.client.HTTPConnection
        self._connection: http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=timeout)
        self._path = f"{parts.path.rstrip('/')}/v1/streams/{quote(stream, safe='')}/events"
        self._token = token
        self._patience = patience
        self._sleep = sleep
        self._clock = clock
        self._lock = threading.RLock()
        self._batches: list[_Batch] = []
        self._step: int | None = None  # the open one, as the service said last
        self._answered = clock()
        self._refusal: Refused | None = None  # that nobody was told yet
        self._over: Refused | None = None  # the refusal of all later events
        self.refused = 0
        self.uncertain = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._regularly, args=(every,), daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<Sender to {self._path}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def send(self, event: Mapping[str, Any]) -> None:
        """Adds an event, by the names of the plan's columns.

        Raises what the service has refused since the last call.
        """
        line = json.dumps(event, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        if len(line) > MOST_BYTES:
            raise ValueError(f"an event may have {MOST_BYTES} bytes")
        with self._lock:
            if self._stop.is_set():
                raise ValueError("the sender is closed")
            if self._over is not None:
                self.refused += 1
                self._refusal = self._over
                self._tell()
            batch = self._batches[-1] if self._batches else None
            if batch is None or batch.step is not None or not batch.takes(line):
                batch = _Batch()
                self._batches.append(batch)
            batch.add(line)  # first: it is kept whatever happens to those before it
            self._send_all(but=0 if len(batch.lines) == MOST_EVENTS else 1)
            self._tell()

    def flush(self) -> None:
        """Sends everything now; raises what the service refused since the last call."""
        with self._lock:
            self._send_all()
            self._tell()

    def close(self) -> None:
        """Sends everything and ends; raises what the service refused since the last call."""
        self._stop.set()
        self._thread.join()
        try:
            self.flush()
        finally:
            self._connection.close()

    def _regularly(self, every: float) -> None:
        while not self._stop.wait(every):
            with self._lock, suppress(Unreachable):  # the events are kept, and sent again
                self._send_all()

    def _send_all(self, but: int = 0) -> None:
        """Sends all batches except so many; a refused one does not hold up those after it."""
        while len(self._batches) > but:
            batch = self._batches[0]
            try:
                self._deliver(batch)
            except Refused as refusal:
                self._note(refusal, batch)
            self._batches.pop(0)

    def _note(self, refusal: Refused, batch: _Batch) -> None:
        """Counts the events of a refused batch, and of all others if none will ever be taken."""
        lost = [batch]
        if refusal.status in OVER and refusal.what:  # the service says so, and no proxy
            self._over, lost = refusal, [*self._batches]
            del self._batches[1:]
        for one in lost:
            if one.doubtful or refusal.status not in CERTAIN:
                self.uncertain += len(one.lines)
            else:
                self.refused += len(one.lines)
        self._refusal = self._refusal or refusal

    def _tell(self) -> None:
        """Raises the first refusal that nobody was told yet."""
        refusal, self._refusal = self._refusal, None
        if refusal is not None:
            raise Refused(refusal.status, refusal.what)

    def _deliver(self, batch: _Batch) -> None:
        """Sends a batch until it is counted, refused, or cannot be known."""
        until, pause = self._clock() + self._patience, 0.1
        late = False
        while True:
            status, answer, wait = self._attempt(batch)
            if status == COUNTED:
                return
            if status == CLOSED and answer.get("outcome") == "not counted":
                raise Refused(status, str(answer.get("what", "")))  # its id was used before
            if status == CLOSED and batch.doubtful:
                self.uncertain += len(batch.lines)
                return
            if status == CLOSED:  # it was not counted: it goes into the step that is open now
                batch.step = None
                if not late:
                    late = True
                    continue
            elif status is not None and status not in BUSY:
                raise Refused(status, str(answer.get("what", "")))
            wait = max(wait, pause)
            if self._clock() + wait > until:
                raise Unreachable("the service gave no answer; the events are kept")
            self._sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _attempt(self, batch: _Batch) -> tuple[int | None, dict[str, Any], float]:
        """Sends a batch once: the status, the answer, and how long to wait."""
        if self._clock() - self._answered > IDLE:
            # Not the connection from before: if it is closed, nobody knows whether a batch came.
            self._connection.close()
            self._step = None
        try:
            if self._connection.sock is None:
                self._connection.connect()
            if batch.step is None and self._step is None:
                status, answer, wait = self._request("GET")
                if status != COUNTED:
                    return status, answer, wait
                if self._step is None:
                    return ENDED, {"what": "The stream has ended."}, wait
            batch.step = batch.step or self._step
        except (OSError, http.client.HTTPException, ValueError):
            self._connection.close()
            return None, {}, 0.0
        try:
            status, answer, wait = self._request("POST", batch)
        except (OSError, http.client.HTTPException, ValueError):
            self._connection.close()
            batch.doubtful = True
            return None, {}, 0.0
        if status in BUSY - NOT_COUNTED and answer.get("outcome") != "not counted":
            batch.doubtful = True  # somebody on the way did not get the answer, or nobody knows it
        return status, answer, wait

    def _request(
        self, method: str, batch: _Batch | None = None
    ) -> tuple[int, dict[str, Any], float]:
        headers = {"Authorization": f"Bearer {self._token}"}
        if batch is not None:
            headers |= {
                "Content-Type": "application/x-ndjson",
                "Content-Encoding": "gzip",
                "Ameles-Batch": batch.id,
                "Ameles-Step": str(batch.step),
            }
        body = None if batch is None else batch.body()
        self._connection.request(method, self._path, body, headers)
        response = self._connection.getresponse()
        content = response.read()
        self._answered = self._clock()
        plain = response.headers.get_content_type() == "application/json"
        answer = json.loads(content) if plain else {}
        if not isinstance(answer, dict):
            raise ValueError("an answer of another service")
        self._step = answer.get("step", self._step)
        after = response.headers.get("Retry-After", "")
        return response.status, answer, float(after) if after.isdigit() else 0.0
