"""A bare server beside which the service is measured: it reads each body and answers its length."""

from __future__ import annotations

import socket
import sys
from typing import Any

import uvicorn


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Reads a body, answers."""
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    said = b'{"step":1,"size":%d}' % size
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(said))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": said})


def main() -> None:
    """Serves at a free port, which it prints."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as opened:
        print(opened.getsockname()[1], flush=True)
        config = uvicorn.Config(echo, lifespan="off", access_log=False, log_level="warning")
        uvicorn.Server(config).run(sockets=[opened])


if __name__ == "__main__":
    sys.exit(main())
