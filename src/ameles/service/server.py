"""Runs the application: a socket, the event loop, and an orderly end."""

from __future__ import annotations

import contextlib
import gc
import resource
import socket
import threading
from collections.abc import Callable, Iterator

import uvicorn
from starlette.types import ASGIApp

from ameles.core.exceptions import AmelesError, BadInput
from ameles.service.log import Log
from ameles.service.slow_clients import TimedRequests, drop_late
from ameles.service.unread_bodies import with_unread_bodies

GRACE = 10  # seconds for requests that are under way when the service ends
STALLED_MS = 60_000  # a reader who takes nothing for so long is disconnected by the system
OPEN_FILES = 65_536
KEPT_FILES = 512  # for all but connections; a quarter, where there are few
BACKLOG = 4096  # connections that wait to be accepted; further ones would have to try again
GARBAGE = 10_000  # new objects after which Python looks for garbage; its own are 700


def address_of(text: str) -> tuple[str, int]:
    """The host and port of ``--listen``.

    >>> address_of("127.0.0.1:8421"), address_of("[::1]:80")
    (('127.0.0.1', 8421), ('::1', 80))
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise BadInput(
            f"--listen must be an address and a port. Got {text[:80]!r} instead.",
            tip="--listen 127.0.0.1:8421",
        )
    return host, int(port)


def listening(text: str) -> socket.socket:
    """A socket at an address; refuses one that cannot be used."""
    host, port = address_of(text)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # accepted sockets inherit it
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALLED_MS)
        opened.bind((host, port))
        opened.listen(BACKLOG)
    except OSError as problem:
        opened.close()
        raise AmelesError(
            f"Nothing can listen at {host}, port {port}.",
            why=problem.strerror or "the system refuses it",
            tip="another --listen, or stop what listens there",
        ) from None
    return opened


def url_of(opened: socket.socket) -> str:
    """The address of a listening socket, for people."""
    host, port = opened.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def run_server(
    app: ASGIApp,
    opened: socket.socket,
    log: Log,
    stop: threading.Event,
    ending: Callable[[], None] = lambda: None,
    unread: frozenset[str] = frozenset(),
) -> None:
    """Serves until ``stop`` is set, then finishes the requests that are under way.

    ``ending`` is called first: it ends answers that have no end of their own.  The bodies of
    requests to the paths of ``unread`` stay in their sockets until they are asked for.
    """
    allow_open_files()
    backlog, most = connection_limits(bool(unread))
    requests = with_unread_bodies(unread) if unread else TimedRequests
    for name in ("uvicorn", "uvicorn.error", "uvicorn.asgi", "asyncio"):
        log.take_over(name)
    server = _Server(
        uvicorn.Config(
            app,
            http=requests.of_one_server(),
            # with unread bodies the server looks into its sockets, which are not the loop's own
            loop="asyncio" if unread else "auto",
            log_config=None,
            access_log=False,  # it would have addresses of readers
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=GRACE,
            backlog=backlog,
            limit_concurrency=most,
        )
    )

    def end() -> None:
        stop.wait()
        ending()
        server.should_exit = True

    threading.Thread(target=end, daemon=True).start()
    # Not in the main thread: there uvloop takes over all signals, and nobody would hear SIGTERM.
    serving = threading.Thread(target=server.run, kwargs={"sockets": [opened]})
    with spared_garbage_collection():
        serving.start()
        serving.join()
    stop.set()  # if the server has ended for another reason


class _Server(uvicorn.Server):
    """Drops clients who are too slow.  Leaves signals to the command: they also end the threads
    that follow streams."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def on_tick(self, counter: int) -> bool:
        """What the server does ten times a second."""
        if counter % 10 == 0:
            drop_late(self.server_state.connections)
        return await super().on_tick(counter)


@contextlib.contextmanager
def spared_garbage_collection() -> Iterator[None]:
    """Shortens the moments in which all threads wait while Python looks for garbage.

    What was loaded at the start stays, so it need not be looked at again and again.  A program that
    has frozen its objects has done this itself, and they stay frozen.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE)
    try:
        yield
    finally:
        gc.unfreeze()  # else DuckDB says at the end of the process that its functions stayed


def connection_limits(unread: bool) -> tuple[int, int]:
    """How many connections may wait to be accepted, and how many there may be.

    A connection is an open file, two with unread bodies, and so are stores, sources and databases:
    they keep what they need.  A burst is accepted before the first of it is refused, and another
    one while these are closed.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = OPEN_FILES if soft == resource.RLIM_INFINITY else soft
    each = 2 if unread else 1
    backlog = max(1, min(BACKLOG, files // 16 // each))
    return backlog, (files - min(KEPT_FILES, files // 4)) // each - 3 * backlog


def allow_open_files() -> None:
    """A live reader is an open file, and the usual limit is 1,024.

    A sandbox may forbid to change it; the service then has fewer readers.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
