"""A receiver of webhooks that answers as a test says, and remembers what it was sent."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias

KEY = bytes(range(32))
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"
CANARY = "canary-4711"  # what a receiver says must not be repeated


@dataclass(frozen=True)
class Message:
    """One request, as it came in."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def data(self) -> Any:
        return json.loads(self.body)["data"]


Answer: TypeAlias = int | tuple[int, dict[str, str]] | Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Receiver:
    """``answers`` are given in turn, then 204."""

    port: int = 0
    answers: list[Answer] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    going: threading.Event = field(default_factory=threading.Event)  # set at its end
    scheme: str = "http"
    came: Callable[[Message], None] = lambda message: None

    @property
    def url(self) -> str:
        return f"{self.scheme}://localhost:{self.port}/hooks/flu?to=me"

    @property
    def steps(self) -> list[int]:
        return [message.data["step"] for message in self.messages]

    def plan(self, folder: Path, more: str = "") -> str:
        """The table of a plan, and the file with its secret."""
        secret = folder / "hook.secret"
        secret.touch(mode=0o600)
        secret.write_text(SECRET + "\n", encoding="ascii")
        return f'[[sink]]\nwebhook = "{self.url}"\nsecret = "hook.secret"\n{more}\n'


def stall(receiver: Receiver) -> Answer:
    """Takes the message, and says nothing until the receiver ends."""
    return lambda handler: (receiver.going.wait(), None)[1]


def drip(receiver: Receiver) -> Answer:
    """Sends a header that never ends, a byte now and then."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        with suppress(OSError):
            while not receiver.going.wait(0.005):
                handler.wfile.write(b"H")

    return answer


def drop(handler: BaseHTTPRequestHandler) -> None:
    """Closes the connection without an answer."""
    handler.close_connection = True


def babble(handler: BaseHTTPRequestHandler) -> None:
    """Answers in no language of HTTP."""
    handler.wfile.write(f"{CANARY} {CANARY}\r\n\r\n".encode())


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: object) -> None:
        """Whoever hangs up is no error of the receiver."""


@contextmanager
def receiving(port: int = 0, certificate: Path | None = None) -> Iterator[Receiver]:
    """A receiver at a port of this machine; with a certificate, over TLS."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            message = Message(self.path, dict(self.headers.items()), body)
            receiver.messages.append(message)
            receiver.came(message)
            answer = receiver.answers.pop(0) if receiver.answers else 204
            if callable(answer):
                self.close_connection = True
                answer(self)
                return
            status, headers = answer if isinstance(answer, tuple) else (answer, {})
            said = CANARY.encode()
            with suppress(OSError):
                self.send_response(status, CANARY)
                for name, value in {**headers, "content-length": str(len(said))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if status != 204:
                    self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            pass

    server = _Server(("127.0.0.1", port), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        receiver.scheme = "https"
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.going.set()
        server.shutdown()
        server.server_close()
        thread.join()
